//! Looking for what others ask, beside the driver.

use std::{pin::pin, time::Duration};

use futures::{
    StreamExt,
    future::{Either, select},
    stream::FuturesUnordered,
};
use rustagents_core::{
    journal::{Select, Seq, kind},
    recorder::Durability,
    scope::{Halt, RunShared, Scope},
};
use rustagents_graph::{GraphEnd, GraphState, Outcome};

use super::{LOOK, root};

/// How long it takes between two looks. Every write of the driver's own would be one
/// otherwise.
const PAUSE: Duration = Duration::from_millis(250);

/// Does the `work` of a run, and cancels the run once somebody asks for that in a
/// record after the place `since`. Says whether somebody did.
///
/// The watcher wakes by itself, and is not polled when the work is.
pub(crate) async fn heeding<T>(
    scope: &Scope,
    since: Seq,
    work: impl Future<Output = T>,
) -> (T, bool) {
    let run = scope.run();
    let mut work = pin!(work);
    // Of a run that records nothing, nobody knows enough to ask.
    if run.durability == Durability::None {
        return (work.await, false);
    }
    let mut watcher = FuturesUnordered::from_iter([asked(run, since)]);
    match select(work.as_mut(), watcher.next()).await {
        Either::Left((done, _)) => (done, false),
        Either::Right(_) => {
            run.cancel.cancel();
            (work.await, true)
        }
    }
}

/// Whether a run that stopped so is not over.
pub(crate) fn is_left<S: GraphState>(end: &Result<GraphEnd<S>, Halt>) -> bool {
    match end {
        Ok(end) => matches!(end.outcome, Outcome::Suspended(_)),
        Err(halt) => matches!(halt, Halt::Cancelled | Halt::Drained),
    }
}

/// Waits until somebody asks for the end of the run.
async fn asked(run: &RunShared, since: Seq) {
    let requests = Select::all().on(root()).of(kind::CANCEL).limit(LOOK);
    let mut after = since;
    loop {
        run.clock.sleep(PAUSE).await;
        // What the journal cannot do now, the driver will find out by itself.
        let Ok(last) = run.journal.changed(&run.thread, after).await else {
            continue;
        };
        let requests = requests.clone().after(after).newest_first();
        let Ok(found) = run.journal.read(&run.thread, requests).await else {
            continue;
        };
        if found.iter().any(|request| request.run == run.run) {
            return;
        }
        after = last;
    }
}
