//! Looking for what others ask, beside the driver.

use std::{pin::pin, time::Duration};

use futures::{
    StreamExt,
    future::{Either, select},
    stream::FuturesUnordered,
};
use rustagents_core::{
    BoxFuture,
    journal::{JournalError, Select, Seq, kind},
    recorder::Durability,
    scope::{Halt, RunShared, Scope},
};
use rustagents_graph::{GraphEnd, GraphState, Outcome};

use super::{LOOK, root};

/// How long it takes between two looks. Every write of the driver's own would be one
/// otherwise.
const PAUSE: Duration = Duration::from_millis(250);

/// Why a run is stopped from outside.
enum Told {
    /// Somebody asks for its end.
    Cancel,
    /// Somebody else drives its thread.
    Lost(JournalError),
}

/// Does the `work` of a run, and cancels the run once somebody asks for that in a
/// record after the place `since`. Says whether somebody did.
///
/// The rest of the work is cancelled, too, once another driver took the thread over and
/// what can still be told to it is told: nothing that comes of it could be recorded.
///
/// The watchers wake by themselves, and are not polled when the work is.
pub(crate) async fn heeding<T>(
    scope: &Scope,
    since: Seq,
    work: impl Future<Output = Result<T, Halt>>,
) -> (Result<T, Halt>, bool) {
    let run = scope.run();
    let mut work = pin!(work);
    // Of a run that records nothing, nobody knows enough to ask.
    if run.durability == Durability::None {
        return (work.await, false);
    }
    let asked = async {
        asked(run, since).await;
        Told::Cancel
    };
    let lost = async { Told::Lost(scope.lost().await) };
    let watchers: [BoxFuture<'_, Told>; 2] = [Box::pin(asked), Box::pin(lost)];
    let mut watchers = FuturesUnordered::from_iter(watchers);
    match select(work.as_mut(), watchers.next()).await {
        Either::Left((done, _)) => (done, false),
        Either::Right((Some(Told::Lost(error)), _)) => {
            run.cancel.cancel();
            // Which of its tasks was told first says nothing.
            let end = match work.await {
                Err(Halt::Cancelled | Halt::Drained) => Err(Halt::Journal(error)),
                end => end,
            };
            (end, false)
        }
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
