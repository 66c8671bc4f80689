//! What a process that crashed left running.

use std::time::Duration;

use rustagents_core::tool::{Reconciled, ToolContext};
use rustix::process::Signal;
use serde_json::Value;
use tokio::time;

use super::{job::GRACE, mark::Mark};

/// How often a process that is no child of this one is looked at.
const PAUSE: Duration = Duration::from_millis(20);

/// Waits for a program that still runs, up to the time that a call has, and
/// ends what is left then. How a program ended, only the process that started it
/// is told; so it is lost either way.
///
/// Being cancelled leaves everything as it is, for a later attempt.
pub(super) async fn reconcile(started: &Value, context: &ToolContext) -> Reconciled {
    if let Some(mark) = Mark::read(started).filter(Mark::is_here) {
        let key = context.idempotency_key.to_string();
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => {}
            () = end(&mark, &key, context.timeout) => {}
        }
    }
    Reconciled::Lost
}

async fn end(mark: &Mark, key: &str, timeout: Duration) {
    let ended = until(|| !mark.is_running());
    if time::timeout(timeout, ended).await.is_err() {
        mark.signal(key, Signal::TERM);
        let gone = until(|| !mark.has_running(key));
        let _ = time::timeout(GRACE, gone).await;
    }
    mark.signal(key, Signal::KILL);
    let gone = until(|| !mark.has_running(key));
    let _ = time::timeout(GRACE, gone).await;
}

async fn until(holds: impl Fn() -> bool) {
    while !holds() {
        time::sleep(PAUSE).await;
    }
}
