//! A journal that lives as long as its process: for tests, and for runs that
//! need no durability.

use std::{
    collections::{BTreeMap, hash_map},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use foldhash::HashMap;
use futures::FutureExt;
use rustagents_core::{
    BoxFuture,
    digest::Digest,
    ids::{Branch, FactKey, MessageId, ThreadId},
    journal::{
        Author, Batch, Chain, Claim, Entry, Epoch, Journal, JournalError, Owner, Place,
        PlacedMessage, Record, Seq, ThreadRow,
    },
    message::Message,
};

/// The in-memory journal. Clones share their threads.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal(Arc<Mutex<Threads>>);

type Threads = BTreeMap<ThreadId, Thread>;

#[derive(Debug, Default)]
struct Thread {
    epoch: Epoch,
    owner: Option<Owner>,
    records: Vec<Record>,
    heads: BTreeMap<Chain, Seq>,
    facts: BTreeMap<Branch, HashMap<FactKey, usize>>,
    messages: Vec<Arc<Message>>,
    message_ids: HashMap<MessageId, usize>,
    contents: BTreeMap<Digest, Vec<u8>>,
}

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> Self {
        Self::default()
    }

    fn threads(&self) -> MutexGuard<'_, Threads> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claim_now(&self, id: &ThreadId, owner: Owner) -> Result<Claim, JournalError> {
        let mut threads = self.threads();
        let thread = threads.entry(id.clone()).or_default();
        if let Some(owner) = &thread.owner {
            return Err(JournalError::Busy {
                thread: id.clone(),
                owner: owner.clone(),
            });
        }
        thread.epoch += 1;
        thread.owner = Some(owner);
        let guard = Guard {
            journal: self.clone(),
            thread: id.clone(),
        };
        Ok(Claim::new(thread.epoch, guard))
    }

    fn append_now(&self, batch: Batch) -> Result<Vec<Seq>, JournalError> {
        batch.check()?;
        let mut threads = self.threads();
        let Some(thread) = threads.get_mut(&batch.thread) else {
            return Err(JournalError::UnknownThread {
                thread: batch.thread,
            });
        };
        thread.check(&batch)?;
        Ok(thread.write(batch))
    }
}

/// Lets the thread go when the claim is dropped.
struct Guard {
    journal: MemoryJournal,
    thread: ThreadId,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(thread) = self.journal.threads().get_mut(&self.thread) {
            thread.owner = None;
        }
    }
}

impl Thread {
    fn check(&self, batch: &Batch) -> Result<(), JournalError> {
        if let Author::Driver(own) = batch.author
            && own != self.epoch
        {
            let thread = batch.thread.clone();
            return Err(JournalError::Fenced {
                thread,
                own,
                current: self.epoch,
            });
        }
        for (chain, expected) in &batch.heads {
            let found = self.heads.get(chain).copied();
            if found != *expected {
                return Err(JournalError::HeadMoved {
                    thread: batch.thread.clone(),
                    chain: chain.clone(),
                    expected: *expected,
                    found,
                });
            }
        }
        for entry in &batch.entries {
            let Place::Fact(key) = &entry.place else {
                continue;
            };
            let facts = self.facts.get(&entry.chain.branch);
            let taken = facts.and_then(|facts| facts.get(key));
            if let Some(existing) = taken.and_then(|index| self.records.get(*index)) {
                return Err(JournalError::AlreadyRecorded {
                    existing: Box::new(existing.clone()),
                });
            }
        }
        for message in &batch.messages {
            let known = self
                .message_ids
                .get(&message.id)
                .and_then(|at| self.messages.get(*at));
            if known.is_some_and(|known| known != message) {
                return Err(JournalError::Malformed {
                    rule: "a message never changes",
                });
            }
        }
        Ok(())
    }

    fn write(&mut self, batch: Batch) -> Vec<Seq> {
        for message in batch.messages {
            if let hash_map::Entry::Vacant(place) = self.message_ids.entry(message.id.clone()) {
                place.insert(self.messages.len());
                self.messages.push(message);
            }
        }
        for content in batch.contents {
            self.contents.entry(content.digest).or_insert(content.bytes);
        }
        let (epoch, at_ms) = (self.epoch, batch.at_ms);
        batch
            .entries
            .into_iter()
            .map(|entry| self.place(entry, epoch, at_ms))
            .collect()
    }

    fn place(&mut self, entry: Entry, epoch: Epoch, at_ms: u64) -> Seq {
        let index = self.records.len();
        let seq = index as Seq + 1;
        let chain = &entry.chain;
        match &entry.place {
            Place::Commit => match self.heads.get_mut(chain) {
                Some(head) => *head = seq,
                None => drop(self.heads.insert(chain.clone(), seq)),
            },
            Place::Fact(key) => {
                let facts = self.facts.entry(chain.branch.clone()).or_default();
                facts.insert(key.clone(), index);
            }
        }
        self.records.push(Record {
            seq,
            chain: entry.chain,
            place: entry.place,
            kind: entry.kind.name.into(),
            version: entry.kind.version,
            run: entry.run,
            attempt: entry.attempt,
            epoch,
            at_ms,
            effect: entry.effect,
            digest: entry.digest,
            body: entry.body,
        });
        seq
    }
}

fn after<T: Clone>(items: &[T], after: u64, limit: usize) -> impl Iterator<Item = (u64, T)> {
    let skip = usize::try_from(after).unwrap_or(usize::MAX);
    (1..).zip(items.iter().cloned()).skip(skip).take(limit)
}

impl Journal for MemoryJournal {
    fn claim<'a>(
        &'a self,
        thread: &'a ThreadId,
        owner: Owner,
    ) -> BoxFuture<'a, Result<Claim, JournalError>> {
        async move { self.claim_now(thread, owner) }.boxed()
    }

    fn owner<'a>(
        &'a self,
        thread: &'a ThreadId,
    ) -> BoxFuture<'a, Result<Option<Owner>, JournalError>> {
        async move {
            Ok(self
                .threads()
                .get(thread)
                .and_then(|thread| thread.owner.clone()))
        }
        .boxed()
    }

    fn append(&self, batch: Batch) -> BoxFuture<'_, Result<Vec<Seq>, JournalError>> {
        async move { self.append_now(batch) }.boxed()
    }

    fn read<'a>(
        &'a self,
        thread: &'a ThreadId,
        from: Seq,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Record>, JournalError>> {
        async move {
            let threads = self.threads();
            let records = threads
                .get(thread)
                .map_or(&[][..], |thread| &thread.records);
            Ok(after(records, from, limit)
                .map(|(_, record)| record)
                .collect())
        }
        .boxed()
    }

    fn messages<'a>(
        &'a self,
        thread: &'a ThreadId,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<PlacedMessage>, JournalError>> {
        async move {
            let threads = self.threads();
            let messages = threads
                .get(thread)
                .map_or(&[][..], |thread| &thread.messages);
            Ok(after(messages, from, limit).collect())
        }
        .boxed()
    }

    fn threads<'a>(
        &'a self,
        after: Option<&'a ThreadId>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ThreadRow>, JournalError>> {
        async move {
            let threads = self.threads();
            let rows = threads
                .iter()
                .filter(|(name, _)| after.is_none_or(|after| *name > after));
            let row = |(name, thread): (&ThreadId, &Thread)| ThreadRow {
                thread: name.clone(),
                epoch: thread.epoch,
                last_seq: thread.records.len() as Seq,
                updated_at_ms: thread.records.last().map_or(0, |record| record.at_ms),
            };
            Ok(rows.map(row).take(limit).collect())
        }
        .boxed()
    }

    fn content<'a>(
        &'a self,
        thread: &'a ThreadId,
        digest: Digest,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, JournalError>> {
        async move {
            let threads = self.threads();
            Ok(threads
                .get(thread)
                .and_then(|thread| thread.contents.get(&digest).cloned()))
        }
        .boxed()
    }
}
