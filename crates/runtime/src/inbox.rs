//! What others ask of a thread that somebody drives, as facts of its journal.
//!
//! Who drives a thread looks for them beside its work (`inbox/watch.rs`), at a pace of
//! its own, so that no step waits for it. `inbox/cancel.rs` asks for the end of a run,
//! `inbox/answer.rs` answers its questions, `inbox/queue.rs` has inputs that wait.

mod answer;
mod cancel;
mod queue;
mod watch;

use rustagents_core::{
    encode::{self, EncodeError},
    ids::{Branch, FactKey, Namespace, RunId, ThreadId},
    journal::{Author, Batch, Chain, Entry, JournalError, Kind, Place},
};
use serde::Serialize;

use crate::runs::Runtime;

pub use answer::Answered;
pub(crate) use answer::is_answered;
pub use cancel::{CancelBody, CancelRequest, Cancelling};
pub(crate) use cancel::{is_asked, still_asked};
pub(crate) use queue::item_of_key;
pub use queue::{ItemBody, OnBusy, QueuedInput, TakenBody, Turn, queue};
pub(crate) use queue::{Taking, Waiting};
pub(crate) use watch::{heeding, is_left};

/// How many records are read in one look; any of them is reason enough.
const LOOK: usize = 100;

/// The chain that they stand on.
fn root() -> Chain {
    Chain {
        branch: Branch::main(),
        namespace: Namespace::root(),
    }
}

/// Facts of somebody who does not drive the thread, about attempt `attempt` at `run`.
struct Outside {
    run: RunId,
    attempt: u32,
    entries: Vec<Entry>,
}

impl Outside {
    fn about(run: &RunId, attempt: u32) -> Self {
        Self {
            run: run.clone(),
            attempt,
            entries: Vec::new(),
        }
    }

    fn fact(
        &mut self,
        key: FactKey,
        kind: Kind,
        body: &impl Serialize,
    ) -> Result<(), JournalError> {
        let body = encode::json(body, str::to_owned).map_err(EncodeError::of_record)?;
        self.entries.push(Entry {
            chain: root(),
            place: Place::Fact(key),
            kind,
            run: self.run.clone(),
            attempt: self.attempt,
            effect: None,
            digest: None,
            body,
        });
        Ok(())
    }

    fn batch(self, runtime: &Runtime, thread: &ThreadId) -> Batch {
        Batch {
            thread: thread.clone(),
            author: Author::Outside,
            heads: Vec::new(),
            entries: self.entries,
            messages: Vec::new(),
            contents: Vec::new(),
            at_ms: runtime.now_ms(),
        }
    }
}
