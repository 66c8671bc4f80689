//! Whether a backend does what a model does, operation by operation.
//!
//! A property test makes bytes; each few of them are an [operation](agree) on
//! three threads with few names, so that conflicts are frequent.
//!
//! Epochs are not compared. Where a thread begins whose name was used before is left to
//! a backend: it may remember the highest epoch of each name, or that of all. What the
//! contract says of them is asked of model and backend, each by itself (`epochs.rs`).

mod epochs;
mod state;
mod step;

use std::collections::BTreeMap;

use rustagents_core::{
    code::Code,
    ids::ThreadId,
    journal::{Claim, Journal},
};

use epochs::Epochs;
use state::State;
use step::Step;

/// How many bytes make an operation.
const WORD: usize = 4;

/// Performs the operations that `bytes` stand for on `model` and on a backend
/// that `open` opens, and compares all that can be seen. The backend is open twice, as
/// in two processes; now and again both are opened anew.
///
/// # Panics
/// Where the backend does something else, or one of the two breaks a promise about
/// epochs.
pub async fn agree<J: Journal>(model: &dyn Journal, open: impl Fn() -> J, bytes: &[u8]) {
    let (mut expected, mut found) = (Side::default(), Side::default());
    let mut handles = [open(), open()];
    for word in bytes.chunks_exact(WORD) {
        let [operation, names, first, second] = *word else {
            continue;
        };
        if operation % 16 == 15 {
            // As if the processes had ended.
            expected.claims.clear();
            found.claims.clear();
            drop(handles);
            handles = [open(), open()];
            continue;
        }
        let [one, other] = &handles;
        let (used, watching) = if names < 128 {
            (one, other)
        } else {
            (other, one)
        };
        let step = Step::new(operation % 16, names, first, second);
        let by_model = expected.take(&step, model).await;
        let by_backend = found.take(&step, used).await;
        assert_eq!(by_backend, by_model, "{step:?}");
        expected.state.is_shown_by(&found.state, &step);
        let seen = State::of(watching).await;
        assert!(seen == found.state, "{step:?}: another handle sees it so");
    }
}

/// The model, or the backend: what is held of it, and what was seen last.
#[derive(Default)]
struct Side {
    claims: BTreeMap<ThreadId, Claim>,
    state: State,
    epochs: Epochs,
}

impl Side {
    /// Takes a step, and looks at what came of it.
    async fn take(&mut self, step: &Step, journal: &dyn Journal) -> Result<Vec<u64>, Code> {
        let did = step.perform(journal, self).await;
        let before = std::mem::replace(&mut self.state, State::of(journal).await);
        self.epochs.check(step, &did, &before, &self.state);
        step.told(did)
    }
}
