//! Whether anything of a call may have left.

use std::sync::atomic::{AtomicBool, Ordering};

use rustagents_core::tool::Executed;

/// How far a call got. It is looked at when the call ends, however it does.
#[derive(Debug, Default)]
pub(super) struct Flight(AtomicBool);

impl Flight {
    /// A request is handed to the client; whether one was before.
    pub(super) fn starts(&self) -> bool {
        self.0.swap(true, Ordering::Relaxed)
    }

    /// The call's only request never left.
    pub(super) fn never_left(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// What is proven.
    pub(super) fn executed(&self) -> Executed {
        if self.0.load(Ordering::Relaxed) {
            Executed::Unknown
        } else {
            Executed::No
        }
    }
}
