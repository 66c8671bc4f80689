//! One thread as it stands: what a batch is checked against, and what is read.
//!
//! A model in memory, for backends that hold whole threads. [`Thread::check`] says
//! whether a batch may be written. Then either [`Thread::write`] takes it in, or a
//! backend with a log of its own places the records ([`Thread::place`]), writes
//! them down, and takes them in with [`Thread::extend`], as it does when it reads
//! its log back.

mod check;
mod compact;

use std::{collections::BTreeMap, sync::Arc};

use foldhash::HashMap;
use rustagents_core::{
    ids::{Branch, FactKey, MessageId, ThreadId},
    journal::{
        Batch, Chain, Entry, Epoch, JournalError, Place, PlacedMessage, Record, Select, Seq,
        ThreadImage, ThreadRow,
    },
    message::Message,
};

use crate::pieces::Pieces;

/// Records, messages and heads of one thread. Contents belong to its family.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// How often it was claimed.
    pub epoch: Epoch,
    last_seq: Seq,
    updated_at_ms: u64,
    /// By place; after a compaction there are gaps.
    records: Pieces<Record>,
    heads: BTreeMap<Chain, Seq>,
    facts: BTreeMap<Branch, HashMap<FactKey, Seq>>,
    last_place: u64,
    messages: Vec<PlacedMessage>,
    message_ids: HashMap<MessageId, u64>,
}

/// What a thread remembers beside its records and messages. They may be gone by
/// now: places are not given twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// How often it was claimed.
    pub epoch: Epoch,
    /// The highest place that a record ever had.
    pub last_seq: Seq,
    /// The highest place that a message ever had.
    pub last_place: u64,
    /// When it was last written to, by the writer's clock.
    pub updated_at_ms: u64,
}

impl Thread {
    /// A thread without records, which was claimed `epoch` times.
    pub fn at(epoch: Epoch) -> Self {
        Self {
            epoch,
            ..Self::default()
        }
    }

    /// Lifts its epoch above `removed`, the last one of a thread that had its name; 0
    /// if there was none. Nobody drives it yet, so that epoch must not count for it.
    pub fn rise_above(&mut self, removed: Epoch) {
        if removed > 0 {
            self.epoch = self.epoch.max(removed + 1);
        }
    }

    /// Remembers a claim. It counts as a write, to who looks for the last one.
    pub fn claimed(&mut self, epoch: Epoch, at_ms: u64) {
        self.epoch = epoch;
        self.updated_at_ms = self.updated_at_ms.max(at_ms);
    }

    /// The thread that `image` shows.
    ///
    /// # Errors
    /// [`JournalError::Malformed`] if its records are not in order.
    pub fn of(image: ThreadImage) -> Result<Self, JournalError> {
        let mut thread = Self::at(image.epoch);
        for message in image.messages {
            thread.add_message(message);
        }
        for record in image.records {
            thread.put(record)?;
        }
        Ok(thread)
    }

    /// A thread of the records up to `upto`, and of all messages.
    ///
    /// # Errors
    /// None that a thread made by these methods could have.
    pub fn copy(&self, upto: Option<Seq>) -> Result<Self, JournalError> {
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

    /// The place of the last record; 0 if there was none yet.
    pub fn last_seq(&self) -> Seq {
        self.last_seq
    }

    /// What is remembered beside records and messages.
    pub fn marks(&self) -> Marks {
        Marks {
            epoch: self.epoch,
            last_seq: self.last_seq,
            last_place: self.last_place,
            updated_at_ms: self.updated_at_ms,
        }
    }

    /// Remembers `marks`, after the records and messages were put back.
    ///
    /// # Errors
    /// [`JournalError::Malformed`] if a place is higher than they say.
    pub fn restore(&mut self, marks: &Marks) -> Result<(), JournalError> {
        if marks.last_seq < self.last_seq || marks.last_place < self.last_place {
            return Err(JournalError::Malformed {
                rule: "no place is higher than the highest one",
            });
        }
        self.epoch = marks.epoch;
        self.last_seq = marks.last_seq;
        self.last_place = marks.last_place;
        self.updated_at_ms = marks.updated_at_ms;
        Ok(())
    }

    /// All records, in order.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.iter()
    }

    /// The thread as a list shows it.
    pub fn row(&self, thread: &ThreadId) -> ThreadRow {
        ThreadRow {
            thread: thread.clone(),
            epoch: self.epoch,
            last_seq: self.last_seq,
            updated_at_ms: self.updated_at_ms,
        }
    }

    /// Up to `limit` messages after the place `after`.
    pub fn messages(&self, after: u64, limit: usize) -> &[PlacedMessage] {
        let from = self.messages.partition_point(|(place, _)| *place <= after);
        let later = self.messages.get(from..).unwrap_or_default();
        later.get(..limit.min(later.len())).unwrap_or_default()
    }

    /// The records that `select` asks for.
    pub fn select(&self, select: &Select) -> Vec<Record> {
        let from = self.records.partition_point(|r| r.seq <= select.after);
        let to = select.before.map_or(self.records.len(), |before| {
            self.records.partition_point(|r| r.seq < before)
        });
        let within = self.records.range(from, to);
        let matching = within.filter(|record| select.matches(record));
        if select.newest_first {
            matching.rev().take(select.limit).cloned().collect()
        } else {
            matching.take(select.limit).cloned().collect()
        }
    }

    fn record(&self, seq: Seq) -> Option<&Record> {
        let place = self.records.partition_point(|record| record.seq < seq);
        let found = self.records.get(place)?;
        (found.seq == seq).then_some(found)
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

    /// Writes a batch that was checked.
    pub fn write(&mut self, batch: Batch) -> Vec<Seq> {
        for message in batch.messages {
            self.add_message(message);
        }
        self.updated_at_ms = batch.at_ms;
        let mut seqs = Vec::with_capacity(batch.entries.len());
        for entry in batch.entries {
            let seq = self.last_seq + 1;
            self.index(placed(entry, seq, self.epoch, batch.at_ms));
            seqs.push(seq);
        }
        seqs
    }

    /// The records that the entries of a batch would be now.
    pub fn place(&self, entries: Vec<Entry>, at_ms: u64) -> Vec<Record> {
        let entries = entries.into_iter().zip(self.last_seq + 1..);
        entries
            .map(|(entry, seq)| placed(entry, seq, self.epoch, at_ms))
            .collect()
    }

    /// Takes in what a batch became: records that were placed, and messages.
    ///
    /// # Errors
    /// [`JournalError::Malformed`] if the records do not follow those that are
    /// there, or a key is taken; some may have been taken in by then.
    pub fn extend(
        &mut self,
        messages: Vec<Arc<Message>>,
        records: Vec<Record>,
        at_ms: u64,
    ) -> Result<(), JournalError> {
        for message in messages {
            self.add_message(message);
        }
        for record in records {
            if record.seq != self.last_seq + 1 {
                return Err(JournalError::Malformed {
                    rule: "a batch follows the last record",
                });
            }
            self.put(record)?;
        }
        self.updated_at_ms = at_ms;
        Ok(())
    }

    fn add_message(&mut self, message: Arc<Message>) {
        if self.message_ids.contains_key(&message.id) {
            return;
        }
        self.last_place += 1;
        self.message_ids.insert(message.id.clone(), self.last_place);
        self.messages.push((self.last_place, message));
    }

    /// Adds a message that knows its place.
    ///
    /// # Errors
    /// [`JournalError::Malformed`] if it is out of order, or there already.
    pub fn put_message(&mut self, place: u64, message: Arc<Message>) -> Result<(), JournalError> {
        if place <= self.last_place || self.message_ids.contains_key(&message.id) {
            return Err(JournalError::Malformed {
                rule: "messages are in the order of their places, each once",
            });
        }
        self.last_place = place;
        self.message_ids.insert(message.id.clone(), place);
        self.messages.push((place, message));
        Ok(())
    }

    /// Adds a record that knows its place.
    ///
    /// # Errors
    /// [`JournalError::Malformed`] if it is out of order, or its key is taken.
    pub fn put(&mut self, record: Record) -> Result<(), JournalError> {
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
}

/// The record that `entry` is at the place `seq`.
fn placed(entry: Entry, seq: Seq, epoch: Epoch, at_ms: u64) -> Record {
    Record {
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
    }
}
