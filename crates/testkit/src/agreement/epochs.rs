//! What the contract says of epochs: those of a name only rise, a record keeps the one
//! that it was written under, and a thread that is made under a name that was used is
//! above all that its name ever had.

use std::collections::BTreeMap;

use rustagents_core::{
    ids::ThreadId,
    journal::{Epoch, JournalError},
};

use super::{
    state::{Seen, State},
    step::{Did, Step},
};

/// The highest epoch that each name ever had.
#[derive(Default)]
pub(super) struct Epochs(BTreeMap<ThreadId, Epoch>);

impl Epochs {
    /// Checks all epochs after a step.
    pub(super) fn check(
        &mut self,
        step: &Step,
        did: &Result<Did, JournalError>,
        before: &State,
        after: &State,
    ) {
        let did = did.as_ref().unwrap_or(&Did::Nothing);
        for seen in after.threads() {
            let source = match did {
                Did::Made if seen.thread == step.other => &step.thread,
                _ => &seen.thread,
            };
            let source = before.of_thread(source);
            let own = if seen.thread == step.thread {
                did
            } else {
                &Did::Nothing
            };
            records_keep_theirs(step, own, source, seen);
            self.rises(step, did, source, seen);
            self.0.insert(seen.thread.clone(), seen.epoch);
        }
    }

    /// Checks the thread's own epoch.
    fn rises(&self, step: &Step, did: &Did, source: Option<&Seen>, seen: &Seen) {
        let highest = self.0.get(&seen.thread).copied().unwrap_or(0);
        match did {
            Did::Claimed(epoch) if seen.thread == step.thread => {
                assert!(*epoch > highest, "{step:?}: {epoch} after {highest}");
                assert_eq!(seen.epoch, *epoch, "{step:?}");
            }
            Did::Made if seen.thread == step.other => {
                let source = source.map_or(0, |source| source.epoch);
                let (made, name) = (seen.epoch, &seen.thread);
                assert!(made >= source, "{step:?}: {name:?} at {made}, of {source}");
                assert!(
                    made > highest,
                    "{step:?}: {name:?} at {made}, was {highest}"
                );
            }
            _ => {
                let epoch = source.map_or(0, |source| source.epoch);
                assert_eq!(seen.epoch, epoch, "{step:?}: {:?}", seen.thread);
            }
        }
    }
}

/// Checks that records have the epoch of their thread when they were written.
fn records_keep_theirs(step: &Step, own: &Did, source: Option<&Seen>, seen: &Seen) {
    for record in &seen.records {
        let expected = match own {
            Did::Placed(seqs) if seqs.contains(&record.seq) => source.map(|source| source.epoch),
            _ => source.and_then(|source| Some(source.record(record.seq)?.epoch)),
        };
        assert_eq!(Some(record.epoch), expected, "{step:?}: {record:?}");
    }
}
