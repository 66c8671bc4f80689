//! Which records, and which threads, a reader wants.

use std::borrow::Cow;

use super::{Chain, Epoch, Kind, Record, Seq};
use crate::ids::ThreadId;

/// Which records of a thread are read, in which order.
///
/// ```
/// use rustagents_core::journal::{Select, kind};
/// // The ten newest checkpoints before record 400.
/// let page = Select::all().of(kind::CHECKPOINT).before(400).newest_first().limit(10);
/// assert_eq!(page.limit, 10);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Select {
    /// Only records that stand after this place.
    pub after: Seq,
    /// Only records that stand before this place.
    pub before: Option<Seq>,
    /// Only records on this chain: its commits, and the facts that hang on it.
    pub chain: Option<Chain>,
    /// Only records of these kinds, in any version; empty for all.
    pub kinds: Cow<'static, [&'static str]>,
    /// The newest first; else in the order in which they stand.
    pub newest_first: bool,
    /// How many at the most.
    pub limit: usize,
}

impl Select {
    /// All records, in order.
    pub fn all() -> Self {
        Self {
            after: 0,
            before: None,
            chain: None,
            kinds: Cow::Borrowed(&[]),
            newest_first: false,
            limit: usize::MAX,
        }
    }

    /// Only what stands after `seq`.
    #[must_use]
    pub fn after(self, seq: Seq) -> Self {
        Self { after: seq, ..self }
    }

    /// Only what stands before `seq`.
    #[must_use]
    pub fn before(self, seq: Seq) -> Self {
        Self {
            before: Some(seq),
            ..self
        }
    }

    /// Only what stands on `chain`.
    #[must_use]
    pub fn on(self, chain: Chain) -> Self {
        Self {
            chain: Some(chain),
            ..self
        }
    }

    /// Also records of `kind`; without a call, all kinds.
    #[must_use]
    pub fn of(mut self, kind: Kind) -> Self {
        self.kinds.to_mut().push(kind.name);
        self
    }

    /// The newest first.
    #[must_use]
    pub fn newest_first(self) -> Self {
        Self {
            newest_first: true,
            ..self
        }
    }

    /// At most `limit` records.
    #[must_use]
    pub fn limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Whether `record` is one of them, the limit left aside.
    pub fn matches(&self, record: &Record) -> bool {
        record.seq > self.after
            && self.before.is_none_or(|before| record.seq < before)
            && self
                .chain
                .as_ref()
                .is_none_or(|chain| *chain == record.chain)
            && (self.kinds.is_empty() || self.kinds.contains(&&*record.kind))
    }
}

/// Which threads are listed. They come by the bytes of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadQuery {
    /// Only threads whose names follow this one.
    pub after: Option<ThreadId>,
    /// Only threads whose names begin so.
    pub prefix: String,
    /// Only threads that were written to at this time or later, in milliseconds
    /// since the Unix epoch, by the writers' clocks.
    pub updated_since_ms: u64,
    /// How many at the most.
    pub limit: usize,
}

impl ThreadQuery {
    /// All threads.
    pub fn all() -> Self {
        Self {
            after: None,
            prefix: String::new(),
            updated_since_ms: 0,
            limit: usize::MAX,
        }
    }

    /// Only threads whose names follow `thread`.
    #[must_use]
    pub fn after(self, thread: Option<ThreadId>) -> Self {
        Self {
            after: thread,
            ..self
        }
    }

    /// At most `limit` threads.
    #[must_use]
    pub fn limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Whether `row` is one of them, the limit left aside.
    pub fn matches(&self, row: &ThreadRow) -> bool {
        self.after.as_ref().is_none_or(|after| row.thread > *after)
            && row.thread.as_str().starts_with(&self.prefix)
            && row.updated_at_ms >= self.updated_since_ms
    }
}

/// A thread, as a listing shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadRow {
    /// Its name.
    pub thread: ThreadId,
    /// How often it was claimed.
    pub epoch: Epoch,
    /// The place of its last record; 0 if it has none.
    pub last_seq: Seq,
    /// When it was last written to, by the writer's clock.
    pub updated_at_ms: u64,
}
