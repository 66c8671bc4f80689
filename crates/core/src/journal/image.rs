//! A whole thread, and what is taken out of one.

use std::{ops::RangeInclusive, sync::Arc};

use super::{Batch, Content, Epoch, JournalError, Record, Seq};
use crate::{
    digest::Digest,
    encode::{self, MAX_READ_DEPTH},
    ids::ThreadId,
    message::Message,
};

/// A whole thread, as it moves from one store to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadImage {
    /// Its name.
    pub thread: ThreadId,
    /// How often it was claimed.
    pub epoch: Epoch,
    /// Its records, in order.
    pub records: Vec<Record>,
    /// Its messages, in the order in which they were written.
    pub messages: Vec<Arc<Message>>,
    /// The contents that its records and messages refer to.
    pub contents: Vec<Content>,
    /// The family that it joins; without one it begins a family of its own.
    pub family: Option<Family>,
}

/// The family of threads that an image joins, as a copy does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// A thread of the family.
    pub of: ThreadId,
    /// The contents that the family has and that the image needs. They are shared, and
    /// not in the image.
    pub shared: Vec<Digest>,
}

/// The highest number of a place, in any backend.
pub const MAX_SEQ: Seq = u32::MAX as Seq;

/// The highest epoch, time or count: numbers beyond it are no whole numbers
/// everywhere.
pub(super) const MAX_NUMBER: u64 = 1 << 53;

impl ThreadImage {
    /// Checks what needs no look at the store: that its numbers are in bounds, that
    /// its records stand in order and can be read, and that its contents have their
    /// digests.
    ///
    /// # Errors
    /// [`JournalError::Malformed`], and [`JournalError::TooDeep`] for a record that no
    /// reader takes.
    pub fn check(&self) -> Result<(), JournalError> {
        let malformed = |rule| Err(JournalError::Malformed { rule });
        let mut last = 0;
        for record in &self.records {
            if record.seq <= last || record.seq >= MAX_SEQ {
                return malformed("records are in the order of their places, below 2^32 - 1");
            }
            last = record.seq;
            if record.epoch > self.epoch || record.at_ms > MAX_NUMBER {
                return malformed("a record's epoch is its thread's or an earlier one");
            }
            if encode::depth(&record.body) > usize::from(MAX_READ_DEPTH) {
                let limit = MAX_READ_DEPTH;
                return Err(JournalError::TooDeep { limit });
            }
        }
        let numbers = self.messages.iter().map(|message| message.id.number());
        if self.epoch > MAX_NUMBER || numbers.max().unwrap_or(0) > MAX_NUMBER {
            return malformed("epochs and messages are numbered up to 2^53");
        }
        check_digests(&self.contents)
    }
}

pub(super) fn check_digests(contents: &[Content]) -> Result<(), JournalError> {
    let wrong = |content: &Content| Digest::of(&content.bytes) != content.digest;
    if contents.iter().any(wrong) {
        return Err(JournalError::Malformed {
            rule: "a content has its digest",
        });
    }
    Ok(())
}

/// Takes records out of a thread, together with a batch that makes up for them.
#[derive(Clone, Debug)]
pub struct Compaction {
    /// What is written first, by the thread's driver.
    pub batch: Batch,
    /// The places whose records go; places without a record are passed over. The
    /// head of a chain is the last of its commits that are left, if any is.
    pub drop: Vec<RangeInclusive<Seq>>,
}

impl Compaction {
    /// Whether the record at `seq` goes.
    pub fn drops(&self, seq: Seq) -> bool {
        self.drop.iter().any(|range| range.contains(&seq))
    }
}
