//! One thread as it stands: what a batch is checked against, and what is read.

use std::{collections::BTreeMap, collections::BTreeSet, sync::Arc};

use foldhash::{HashMap, HashSet};
use rustagents_core::{
    digest::Digest,
    ids::{Branch, FactKey, MessageId, ThreadId},
    journal::{
        Author, Batch, Chain, Compaction, Entry, Epoch, JournalError, Place, PlacedMessage, Record,
        Select, Seq, ThreadImage, ThreadRow, mention,
    },
    message::Message,
};

/// Records, messages and heads of one thread. Contents belong to its family.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thread {
    pub(crate) epoch: Epoch,
    last_seq: Seq,
    updated_at_ms: u64,
    /// By place; after a compaction there are gaps.
    records: Vec<Record>,
    heads: BTreeMap<Chain, Seq>,
    facts: BTreeMap<Branch, HashMap<FactKey, Seq>>,
    last_place: u64,
    messages: Vec<PlacedMessage>,
    message_ids: HashMap<MessageId, u64>,
}

impl Thread {
    /// A thread without records, which was claimed `epoch` times.
    pub(crate) fn at(epoch: Epoch) -> Self {
        Self {
            epoch,
            ..Self::default()
        }
    }

    /// The thread that `image` shows.
    pub(crate) fn of(image: ThreadImage) -> Result<Self, JournalError> {
        let mut thread = Self::at(image.epoch);
        for message in image.messages {
            thread.add_message(message);
        }
        for record in image.records {
            thread.put(record)?;
        }
        Ok(thread)
    }

    /// The records up to `upto`, and all messages.
    pub(crate) fn copy(&self, upto: Option<Seq>) -> Result<Self, JournalError> {
        let mut copy = Self {
            last_place: self.last_place,
            messages: self.messages.clone(),
            message_ids: self.message_ids.clone(),
            ..Self::at(self.epoch)
        };
        let within = |record: &&Record| upto.is_none_or(|upto| record.seq <= upto);
        for record in self.records.iter().filter(within) {
            copy.put(record.clone())?;
        }
        Ok(copy)
    }

    pub(crate) fn last_seq(&self) -> Seq {
        self.last_seq
    }

    pub(crate) fn row(&self, thread: &ThreadId) -> ThreadRow {
        ThreadRow {
            thread: thread.clone(),
            epoch: self.epoch,
            last_seq: self.last_seq,
            updated_at_ms: self.updated_at_ms,
        }
    }

    pub(crate) fn messages(&self, after: u64, limit: usize) -> &[PlacedMessage] {
        let from = self.messages.partition_point(|(place, _)| *place <= after);
        let later = self.messages.get(from..).unwrap_or_default();
        later.get(..limit.min(later.len())).unwrap_or_default()
    }

    pub(crate) fn select(&self, select: &Select) -> Vec<Record> {
        let from = self.records.partition_point(|r| r.seq <= select.after);
        let to = select.before.map_or(self.records.len(), |before| {
            self.records.partition_point(|r| r.seq < before)
        });
        let within = self.records.get(from..to).unwrap_or_default().iter();
        let matching = within.filter(|record| select.matches(record));
        if select.newest_first {
            matching.rev().take(select.limit).cloned().collect()
        } else {
            matching.take(select.limit).cloned().collect()
        }
    }

    fn record(&self, seq: Seq) -> Option<&Record> {
        let index = self.records.binary_search_by_key(&seq, |r| r.seq).ok()?;
        self.records.get(index)
    }

    fn fact(&self, branch: &Branch, key: &FactKey) -> Option<&Record> {
        self.record(*self.facts.get(branch)?.get(key)?)
    }

    fn message(&self, id: &MessageId) -> Option<&Arc<Message>> {
        let place = self.message_ids.get(id)?;
        let index = self
            .messages
            .binary_search_by_key(place, |(p, _)| *p)
            .ok()?;
        self.messages.get(index).map(|(_, message)| message)
    }

    /// Whether the batch may be written now.
    pub(crate) fn check(&self, batch: &Batch) -> Result<(), JournalError> {
        self.check_author(batch)?;
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
            if let Some(existing) = self.fact(&entry.chain.branch, key) {
                return Err(JournalError::AlreadyRecorded {
                    existing: Box::new(existing.clone()),
                });
            }
        }
        let changed = |message: &&Arc<Message>| {
            let known = self.message(&message.id);
            known.is_some_and(|known| known != *message)
        };
        match batch.messages.iter().find(changed) {
            Some(_) => Err(JournalError::Malformed {
                rule: "a message never changes",
            }),
            None => Ok(()),
        }
    }

    pub(crate) fn check_epoch(&self, thread: &ThreadId, own: Epoch) -> Result<(), JournalError> {
        if own == self.epoch {
            return Ok(());
        }
        Err(JournalError::Fenced {
            thread: thread.clone(),
            own,
            current: self.epoch,
        })
    }

    fn check_author(&self, batch: &Batch) -> Result<(), JournalError> {
        match &batch.author {
            Author::Outside => Ok(()),
            Author::Driver(own) => self.check_epoch(&batch.thread, *own),
            Author::Late { epoch, intent } => {
                let mut branches = batch.entries.iter().map(|entry| &entry.chain.branch);
                let its_own = branches.all(|branch| {
                    let intent = self.fact(branch, intent);
                    intent.is_some_and(|intent| intent.epoch == *epoch)
                });
                if its_own {
                    Ok(())
                } else {
                    self.check_epoch(&batch.thread, *epoch)
                }
            }
        }
    }

    /// Writes a batch that was checked.
    pub(crate) fn write(&mut self, batch: Batch) -> Vec<Seq> {
        for message in batch.messages {
            self.add_message(message);
        }
        self.updated_at_ms = batch.at_ms;
        let (epoch, at_ms) = (self.epoch, batch.at_ms);
        batch
            .entries
            .into_iter()
            .map(|entry| self.place(entry, epoch, at_ms))
            .collect()
    }

    fn add_message(&mut self, message: Arc<Message>) {
        if self.message_ids.contains_key(&message.id) {
            return;
        }
        self.last_place += 1;
        self.message_ids.insert(message.id.clone(), self.last_place);
        self.messages.push((self.last_place, message));
    }

    fn place(&mut self, entry: Entry, epoch: Epoch, at_ms: u64) -> Seq {
        let seq = self.last_seq + 1;
        self.index(Record {
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

    /// Adds a record that knows its place.
    fn put(&mut self, record: Record) -> Result<(), JournalError> {
        if record.seq <= self.last_seq {
            return Err(JournalError::Malformed {
                rule: "records are in the order of their places",
            });
        }
        let key = record.key();
        if key.is_some_and(|key| self.fact(&record.chain.branch, key).is_some()) {
            return Err(JournalError::Malformed {
                rule: "a key is unique in its branch",
            });
        }
        self.updated_at_ms = record.at_ms;
        self.index(record);
        Ok(())
    }

    fn index(&mut self, record: Record) {
        self.last_seq = record.seq;
        match &record.place {
            Place::Commit => match self.heads.get_mut(&record.chain) {
                Some(head) => *head = record.seq,
                None => drop(self.heads.insert(record.chain.clone(), record.seq)),
            },
            Place::Fact(key) => {
                let facts = self.facts.entry(record.chain.branch.clone()).or_default();
                facts.insert(key.clone(), record.seq);
            }
        }
        self.records.push(record);
    }

    /// Takes records out, and the messages that no record mentions any more.
    pub(crate) fn compact(&mut self, compaction: &Compaction) -> Result<(), JournalError> {
        let records = std::mem::take(&mut self.records);
        let (last_seq, updated) = (self.last_seq, self.updated_at_ms);
        self.heads.clear();
        self.facts.clear();
        for record in records {
            if !compaction.drops(record.seq) {
                self.index(record);
            }
        }
        (self.last_seq, self.updated_at_ms) = (last_seq, updated);
        let mut mentioned = HashSet::default();
        for record in &self.records {
            mention_strings(record, &mut |text| {
                if let Some((id, _)) = self.message_ids.get_key_value(text) {
                    mentioned.insert(id.clone());
                }
            })?;
        }
        self.messages
            .retain(|(_, message)| mentioned.contains(&message.id));
        self.message_ids.retain(|id, _| mentioned.contains(id));
        Ok(())
    }

    /// Adds the digests that the thread mentions.
    pub(crate) fn mentioned(&self, digests: &mut BTreeSet<Digest>) -> Result<(), JournalError> {
        for record in &self.records {
            mention_strings(record, &mut |text| {
                mention::digests(text, &mut |digest| {
                    digests.insert(digest);
                });
            })?;
        }
        for (_, message) in &self.messages {
            mention::digests(&message.text(), &mut |digest| {
                digests.insert(digest);
            });
        }
        Ok(())
    }
}

fn mention_strings(record: &Record, each: &mut dyn FnMut(&str)) -> Result<(), JournalError> {
    mention::strings(&record.body, each).map_err(|error| JournalError::Corrupt {
        place: format!("record {} ({})", record.seq, record.kind),
        reason: error.to_string(),
    })
}
