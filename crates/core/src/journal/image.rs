//! A whole thread, and what is taken out of one.

use std::{ops::RangeInclusive, sync::Arc};

use super::{Batch, Content, Epoch, Record, Seq};
use crate::{ids::ThreadId, message::Message};

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
