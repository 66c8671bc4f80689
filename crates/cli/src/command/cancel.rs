//! `rag cancel`: gives up the last run of a thread.

use std::process::ExitCode;

use rustagents_core::ids::ThreadId;
use rustagents_runtime::{RunError, ThreadView, view::Phase};

use crate::{
    arguments::Cancel, command::runtime, failure::Failure, output::Output, store::Address,
};

pub(crate) async fn cancel(arguments: &Cancel, output: &Output) -> Result<ExitCode, Failure> {
    let address = Address::parse(arguments.common.store.as_deref())?;
    let thread = ThreadId::new(&arguments.thread).map_err(|error| Failure::of(&error))?;
    if !address.exists()? {
        return Err(RunError::UnknownThread { thread }.into());
    }
    let journal = address.open()?;
    let view = ThreadView::load(&*journal, &thread).await?;
    let runtime = runtime(journal).taking_over(arguments.takeover);
    let report = runtime.cancel(&thread).await?;
    output.cancelled(&report)?;
    if let Some(view) = view.filter(|view| !matches!(view.phase, Phase::Closed(_))) {
        for (call, started) in view.started()? {
            output.note(&format!(
                "call {call} had started something that may still be at work: {started}"
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}
