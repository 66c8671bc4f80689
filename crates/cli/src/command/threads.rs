//! `rag threads`: looks at threads, and changes nothing.

use std::{process::ExitCode, sync::Arc};

use rustagents_core::{ids::ThreadId, journal::Journal};
use rustagents_runtime::{RunError, ThreadView, inspect};

use crate::{
    arguments::{Action, Threads},
    failure::Failure,
    output::Output,
    store::Address,
};

/// The most threads that one listing reads.
const MAX_LISTED: usize = 10_000;

pub(crate) async fn threads(arguments: &Threads, output: &Output) -> Result<ExitCode, Failure> {
    let store = arguments
        .chosen()
        .store
        .as_deref()
        .or(arguments.common.store.as_deref());
    let address = Address::parse(store)?;
    let journal = address.exists()?.then(|| address.open()).transpose()?;
    match &arguments.action {
        None => list(journal, None, 100, output).await?,
        Some(Action::List(given)) => {
            let after = given.after.as_deref().map(name).transpose()?;
            list(journal, after, given.limit.min(MAX_LISTED), output).await?;
        }
        Some(Action::Show(of)) => {
            let (journal, view) = known(journal, &of.thread).await?;
            output.thread(&view, inspect::standing(&*journal, &view).await?)?;
        }
        Some(Action::History(of)) => {
            let (journal, view) = known(journal, &of.thread).await?;
            let moments = inspect::history(&*journal, &view.thread, of.limit).await?;
            output.history(view.thread.as_str(), &moments)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(
    journal: Option<Arc<dyn Journal>>,
    after: Option<ThreadId>,
    limit: usize,
    output: &Output,
) -> Result<(), Failure> {
    let threads = match journal {
        Some(journal) => inspect::list(&*journal, after.as_ref(), limit).await?,
        None => Vec::new(),
    };
    output.threads(&threads)
}

async fn known(
    journal: Option<Arc<dyn Journal>>,
    given: &str,
) -> Result<(Arc<dyn Journal>, ThreadView), Failure> {
    let thread = name(given)?;
    let unknown = || {
        Failure::from(RunError::UnknownThread {
            thread: thread.clone(),
        })
    };
    let journal = journal.ok_or_else(unknown)?;
    let view = ThreadView::load(&*journal, &thread)
        .await?
        .ok_or_else(unknown)?;
    Ok((journal, view))
}

fn name(given: &str) -> Result<ThreadId, Failure> {
    ThreadId::new(given).map_err(|error| Failure::of(&error))
}
