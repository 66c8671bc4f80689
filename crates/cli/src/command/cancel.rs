//! `rag cancel`: gives up the last run of a thread, also one that another process
//! drives.

use std::{process::ExitCode, sync::Arc, time::Duration};

use rustagents_core::{Code, ids::ThreadId};
use rustagents_runtime::{
    CancelRequest, Cancelling, KeepEvents, Runtime, ThreadView, inbox::queue, view::Phase,
};

use crate::{
    arguments::Cancel,
    command::runtime,
    failure::Failure,
    output::{Output, plural},
    store::Address,
};

/// How long a process that drives a thread is waited for that is asked to give a run up.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) async fn cancel(arguments: &Cancel, output: &Output) -> Result<ExitCode, Failure> {
    let address = Address::parse(arguments.common.store.as_deref())?;
    let thread = ThreadId::new(&arguments.thread).map_err(|error| Failure::of(&error))?;
    if !address.exists()? {
        return Err(Failure::unknown_thread(&thread));
    }
    let journal = address.open()?;
    if let Some(id) = &arguments.queued {
        return withdraw(&runtime(journal), &thread, id, output).await;
    }
    let view = ThreadView::load(&*journal, &thread).await?;
    let runtime = runtime(Arc::clone(&journal)).taking_over(arguments.takeover);
    let runtime = keeping_on(runtime, &address, view.as_ref()).await?;
    let reason = arguments.reason.as_deref();
    let patience = Duration::from_secs(arguments.wait);
    let report = match runtime.cancel_within(&thread, reason, patience).await? {
        Cancelling::Closed(report) => report,
        Cancelling::Standing(request) => return Err(standing(&thread, &request)),
        _ => return Err(Failure::internal(&"the run ended in an unknown way")),
    };
    output.cancelled(&report)?;
    if let Some(view) = view.filter(|view| !matches!(view.phase, Phase::Closed(_))) {
        output.started(&view.started()?);
    }
    let waiting = queue(&*journal, &thread).await?.len();
    if waiting > 0 {
        let waiting = plural(waiting, "input");
        output.note(&format!(
            "{waiting} in the queue; `rag resume` goes on with the first"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The runtime, keeping the end of the run where its events are kept.
async fn keeping_on(
    runtime: Runtime,
    address: &Address,
    view: Option<&ThreadView>,
) -> Result<Runtime, Failure> {
    let Some(view) = view.filter(|view| !matches!(view.phase, Phase::Closed(_))) else {
        return Ok(runtime);
    };
    Ok(match address.events_of(&view.run).await? {
        Some(events) => runtime.keeping(KeepEvents::new(events)),
        None => runtime,
    })
}

async fn withdraw(
    runtime: &Runtime,
    thread: &ThreadId,
    id: &str,
    output: &Output,
) -> Result<ExitCode, Failure> {
    if !runtime.withdraw(thread, id).await? {
        let message = format!("no input `{id}` waits for thread `{thread}`");
        let hint = "`rag threads show` names those that do";
        return Err(Failure::new(Code::RunStands, message).hint(hint));
    }
    output.withdrawn(thread, id)?;
    Ok(ExitCode::SUCCESS)
}

/// The driver has not ended the run yet.
fn standing(thread: &ThreadId, request: &CancelRequest) -> Failure {
    let message = if request.is_repeated {
        let process = request.body.process;
        format!("thread `{thread}` is still driven; process {process} had asked for the same")
    } else {
        format!("thread `{thread}` is still driven")
    };
    Failure::busy(Code::Busy, message).hint(
        "the request stands: the driver, or the next `rag resume`, closes the run; where the \
         driver hangs, take the thread over with `--takeover`",
    )
}
