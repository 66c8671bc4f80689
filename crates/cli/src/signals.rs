//! Ctrl-C stops now, SIGTERM and the end of the terminal (SIGHUP) at the next boundary,
//! for which a call that changes nothing holds nobody up; a second Ctrl-C or SIGTERM
//! does not wait.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use rustagents_core::CancellationToken;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;

/// The exit status after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// The exit status after SIGTERM.
const TERMINATED: u8 = 143;

/// The exit status after the terminal was closed.
pub(crate) const HUNG_UP: u8 = 129;

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
        let mut hang_up = if is_ignored() {
            None
        } else {
            Some(signal(SignalKind::hangup()).map_err(|error| Failure::internal(&error))?)
        };
        let told = signals.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    Some(()) = interrupt.recv() => told.stop(INTERRUPTED, &told.cancel),
                    Some(()) = terminate.recv() => told.stop(TERMINATED, &told.drain),
                    Some(()) = closing(&mut hang_up) => told.hang_up(),
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

    /// A shell and the system may both tell of the same closed terminal, so that a
    /// second time says nothing new.
    fn hang_up(&self) {
        let told = (Ordering::SeqCst, Ordering::SeqCst);
        if self
            .status
            .compare_exchange(0, HUNG_UP, told.0, told.1)
            .is_ok()
        {
            self.drain.cancel();
        }
    }

    /// Whether the terminal was closed, so that nobody sees what is said.
    pub(crate) fn is_hung_up(&self) -> bool {
        self.status.load(Ordering::SeqCst) == HUNG_UP
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

/// Never, where nobody listens.
async fn closing(hang_up: &mut Option<Signal>) -> Option<()> {
    match hang_up {
        Some(hang_up) => hang_up.recv().await,
        None => std::future::pending().await,
    }
}

/// Whether who started the process had it ignore SIGHUP, as `nohup` does: it outlives
/// its terminal then. Only Linux says so.
fn is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 == 1)
}
