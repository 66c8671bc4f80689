//! When a chain gets a snapshot of its state: seldom enough that appending costs
//! what it appends, often enough that loading costs what is alive.
//!
//! A snapshot is due when the deltas since the last one take more than twice the
//! bytes of the state and 64 KiB. A state that only grows never gets one, since
//! its deltas are the state. How large the state is, is looked at only when the
//! deltas outgrew what it was then, so that the looks cost a constant share.

use rustagents_core::journal::MAX_BATCH_BYTES;

use crate::record::Snapshot;

/// The bytes of deltas that are always allowed.
const ALLOWANCE: usize = 64 << 10;

/// The largest snapshot: it shares its batch with the checkpoint before it.
const LARGEST: usize = MAX_BATCH_BYTES / 4;

/// What the deltas since the last snapshot of a chain came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Growth {
    /// The bytes of the checkpoints since the last snapshot.
    since: usize,
    /// The bytes of the state when it was last looked at.
    live: usize,
}

impl Growth {
    /// After a snapshot of `live` bytes.
    pub(crate) fn after_snapshot(live: usize) -> Self {
        Self { since: 0, live }
    }

    /// Counts a checkpoint of `bytes`.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.since += bytes;
    }

    fn is_over(self) -> bool {
        self.since > self.live.saturating_mul(2).saturating_add(ALLOWANCE)
    }

    /// The encoded snapshot, if one is due; `snapshot` makes it.
    pub(crate) fn due(&mut self, snapshot: impl FnOnce() -> Snapshot) -> Option<Snapshot> {
        if !self.is_over() {
            return None;
        }
        let snapshot = snapshot();
        self.live = snapshot.bytes();
        if !self.is_over() || self.live > LARGEST {
            return None;
        }
        self.since = 0;
        Some(snapshot)
    }
}
