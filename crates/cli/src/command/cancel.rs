//! `rag cancel`: gives up the last run of a thread.

use std::process::ExitCode;

use rustagents_core::ids::ThreadId;
use rustagents_runtime::RunError;

use crate::{
    arguments::Cancel, command::runtime, failure::Failure, output::Output, store::Address,
};

pub(crate) async fn cancel(arguments: &Cancel, output: &Output) -> Result<ExitCode, Failure> {
    let address = Address::parse(arguments.common.store.as_deref())?;
    let thread = ThreadId::new(&arguments.thread).map_err(|error| Failure::of(&error))?;
    if !address.exists()? {
        return Err(RunError::UnknownThread { thread }.into());
    }
    let report = runtime(address.open()?).cancel(&thread).await?;
    output.cancelled(&report)?;
    Ok(ExitCode::SUCCESS)
}
