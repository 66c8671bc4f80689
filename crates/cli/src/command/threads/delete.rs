//! `rag threads delete`.

use std::sync::Arc;

use rustagents_core::{ids::RunId, journal::Journal};
use rustagents_runtime::{KeepEvents, threads::ThreadsError};

use super::{name, store_of};
use crate::{
    arguments::Delete, command::runtime, failure::Failure, output::Output, store::Address,
};

pub(super) async fn delete(
    address: &Address,
    journal: Option<Arc<dyn Journal>>,
    given: &Delete,
    output: &Output,
) -> Result<(), Failure> {
    let thread = name(&given.thread)?;
    let runtime = runtime(store_of(journal, &thread)?);
    if let Some(run) = &given.run {
        let removed = runtime
            .delete_run(&thread, &RunId::from(run.as_str()))
            .await?;
        return output.deleted(&thread, Some((run, &removed)));
    }
    let runtime = match address.kept_events() {
        Some(events) => runtime.keeping(KeepEvents::new(events)),
        None => runtime,
    };
    let deleted = runtime.delete(&thread, given.yes).await;
    deleted.map_err(|error| {
        let unfinished = matches!(
            error,
            ThreadsError::Waits { .. } | ThreadsError::Unfinished { .. }
        );
        let failure = Failure::from(error);
        if unfinished {
            failure.hint("resume it, or delete it all the same with `--yes`")
        } else {
            failure
        }
    })?;
    output.deleted(&thread, None)
}
