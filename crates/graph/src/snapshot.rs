//! When a chain gets a snapshot of its state: seldom enough that appending costs
//! what it appends, often enough that loading costs what is alive.
//!
//! A snapshot is due when the deltas since the last one take more than twice the
//! bytes of the state and 64 KiB. A state that only grows never gets one, since
//! its deltas are the state. How large the state is, is looked at only when the
//! deltas outgrew what it was then, so that the looks cost a constant share. One that
//! its batch has no room for is not written, and as much has to be written once more
//! before the state is looked at again.
//!
//! A call that goes on from another one counts what that one has as its own deltas.
//! It begins with all that is kept, as with a snapshot, if one is due or if it would
//! rest on more than [`MAX_BASES`].

use rustagents_core::journal::MAX_BATCH_BYTES;

use crate::{
    record::Snapshot,
    state::{ChannelName, Delta},
};

/// The most calls that one goes on from, each from the one before.
pub(crate) const MAX_BASES: usize = 16;

/// The bytes of deltas that are always allowed.
const ALLOWANCE: usize = 64 << 10;

/// The most that a call begins with anew: its first checkpoint cannot do without it.
const LARGEST: usize = MAX_BATCH_BYTES / 4;

/// What the deltas since the last snapshot of a chain came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Growth {
    /// The bytes of the checkpoints since the last snapshot.
    since: usize,
    /// The bytes of the state when it was last looked at.
    live: usize,
    /// The calls before this one whose checkpoints make its state.
    bases: usize,
}

impl Growth {
    /// After a snapshot of `live` bytes.
    pub(crate) fn after_snapshot(live: usize) -> Self {
        Self {
            since: 0,
            live,
            bases: 0,
        }
    }

    /// Counts a checkpoint of `bytes`.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.since += bytes;
    }

    fn is_over(self) -> bool {
        self.since > self.live.saturating_mul(2).saturating_add(ALLOWANCE)
    }

    /// The snapshot, if one is due and takes no more than `room`; `snapshot` makes it.
    pub(crate) fn due(
        &mut self,
        room: impl FnOnce() -> usize,
        snapshot: impl FnOnce() -> Snapshot,
    ) -> Option<Snapshot> {
        if !self.is_over() {
            return None;
        }
        let snapshot = snapshot();
        self.live = snapshot.bytes();
        if !self.is_over() {
            return None;
        }
        if self.live > room() {
            self.since = 0;
            return None;
        }
        *self = Self::after_snapshot(self.live);
        Some(snapshot)
    }

    /// A call begins that goes on from here.
    pub(crate) fn goes_on(&mut self) {
        self.bases += 1;
    }

    /// What was counted is that of a call on `bases` others.
    pub(crate) fn rests_on(&mut self, bases: usize) {
        self.bases = bases;
    }

    /// All that is kept, if a call is to begin with that; `whole` makes it. What is
    /// too large for a snapshot is not written once more.
    pub(crate) fn begins_anew(
        &mut self,
        whole: impl FnOnce() -> Vec<(ChannelName, Delta)>,
    ) -> Option<Vec<(ChannelName, Delta)>> {
        let is_long = self.bases > MAX_BASES;
        if !is_long && !self.is_over() {
            return None;
        }
        let whole = whole();
        self.live = serde_json::to_vec(&whole).map_or(usize::MAX, |body| body.len());
        if !(is_long || self.is_over()) || self.live > LARGEST {
            return None;
        }
        *self = Self::after_snapshot(self.live);
        Some(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_without_room_is_looked_at_once_more_when_as_much_was_written() {
        let snapshot = || Snapshot {
            checkpoint: 1,
            at: None,
            messages: 0,
            calls: 0,
            state: vec![("a".into(), Delta::Set("x".repeat(1_000_000).into()))],
            kept: std::collections::BTreeMap::new(),
            migrations: Vec::new(),
        };
        let mut growth = Growth::default();
        let mut looks = 0;
        for _ in 0..1_000 {
            growth.add(10_000);
            let due = growth.due(
                || 0,
                || {
                    looks += 1;
                    snapshot()
                },
            );
            assert!(due.is_none(), "there is no room");
        }
        assert!((4..=6).contains(&looks), "ten times the state: {looks}");
        growth.add(3_000_000);
        assert!(growth.due(|| 2_000_000, snapshot).is_some(), "there is");
    }
}
