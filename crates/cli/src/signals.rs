//! Ctrl-C stops now, SIGTERM at the next boundary, for which a call that changes
//! nothing holds nobody up; a second one does not wait.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use rustagents_core::CancellationToken;
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;

/// The exit status after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// The exit status after SIGTERM.
const TERMINATED: u8 = 143;

/// What the process was told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signals {
    pub(crate) cancel: CancellationToken,
    pub(crate) drain: CancellationToken,
    status: Arc<AtomicU8>,
}

impl Signals {
    /// Listens from now on.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let signals = Self::default();
        let mut interrupt =
            signal(SignalKind::interrupt()).map_err(|error| Failure::internal(&error))?;
        let mut terminate =
            signal(SignalKind::terminate()).map_err(|error| Failure::internal(&error))?;
        let told = signals.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    Some(()) = interrupt.recv() => told.stop(INTERRUPTED, &told.cancel),
                    Some(()) = terminate.recv() => told.stop(TERMINATED, &told.drain),
                    else => return,
                }
            }
        });
        Ok(signals)
    }

    fn stop(&self, status: u8, token: &CancellationToken) {
        if self.status.swap(status, Ordering::SeqCst) != 0 {
            leave(status);
        }
        token.cancel();
    }

    /// The exit status of a run that was stopped.
    pub(crate) fn status(&self) -> u8 {
        match self.status.load(Ordering::SeqCst) {
            0 => INTERRUPTED,
            status => status,
        }
    }
}

#[expect(clippy::exit, reason = "a second signal asks for exactly this")]
fn leave(status: u8) {
    std::process::exit(status.into());
}
