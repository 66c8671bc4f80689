//! What is done with whole threads.
//!
//! Reading order: `survey.rs` (what stands where in a thread), `state.rs` (the
//! state at any checkpoint, from the recorded changes alone), [`fork`] (and `anew.rs`: what it
//! asks anew), `rewind.rs` (which goes back in the thread itself), `delete.rs`
//! and `prune.rs` (which take records out, in one batch with what makes up for
//! them: `rewrite.rs`, and not what later calls go on from: `calls.rs`), [`stats`](mod@stats), [`check`](mod@check), and [`transfer`]
//! with the form of its lines.

mod anew;
mod calls;
pub mod check;
mod delete;
mod error;
mod fork;
mod lines;
mod prune;
mod rewind;
mod rewrite;
mod state;
pub mod stats;
mod survey;
pub mod transfer;

use rustagents_core::{
    ids::{Branch, Namespace, ThreadId},
    journal::{Chain, Journal, JournalError, ThreadQuery, ThreadRow},
};

pub use error::{Again, ThreadsError};
pub use fork::{Fork, fork};
pub use prune::{Keep, Pruned};
pub use rewind::{Rewind, Rewound, opened_at};
pub use rewrite::Removed;
pub(crate) use state::snapshot_at;
pub use state::{StateAt, state_at, whole_at};

/// The row of a thread in the journal's listing, if there is such a thread.
///
/// # Errors
/// Whatever the journal says.
pub async fn find(
    journal: &dyn Journal,
    thread: &ThreadId,
) -> Result<Option<ThreadRow>, JournalError> {
    // Of all names that begin so, the name itself comes first.
    let query = ThreadQuery {
        prefix: thread.as_str().to_owned(),
        ..ThreadQuery::all().limit(1)
    };
    let rows = journal.threads(query).await?;
    Ok(rows.into_iter().find(|row| row.thread == *thread))
}

/// The row of a thread that has to be there.
async fn known(journal: &dyn Journal, thread: &ThreadId) -> Result<ThreadRow, JournalError> {
    let row = find(journal, thread).await?;
    row.ok_or_else(|| JournalError::UnknownThread {
        thread: thread.clone(),
    })
}

/// The chain of the runs themselves.
fn root() -> Chain {
    Chain {
        branch: Branch::main(),
        namespace: Namespace::root(),
    }
}
