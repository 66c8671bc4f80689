//! What others ask of a thread that somebody drives, as facts of its journal.
//!
//! Who drives a thread looks for them beside its work (`inbox/watch.rs`), at a pace of
//! its own, so that no step waits for it. `inbox/cancel.rs` asks for the end of a run.

mod cancel;
mod watch;

use rustagents_core::{
    ids::{Branch, Namespace},
    journal::Chain,
};

pub use cancel::{CancelBody, CancelRequest, Cancelling};
pub(crate) use cancel::{is_asked, still_asked};
pub(crate) use watch::{heeding, is_left};

/// The chain that they stand on.
fn root() -> Chain {
    Chain {
        branch: Branch::main(),
        namespace: Namespace::root(),
    }
}
