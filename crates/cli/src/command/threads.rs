//! `rag threads`: looks at threads, and does what is done with whole ones.

mod delete;
mod fork;
mod going;
pub(crate) mod prune;
mod stats;
mod transfer;

use std::{process::ExitCode, sync::Arc};

use rustagents_core::{Code, ids::ThreadId, journal::Journal};
use rustagents_runtime::{
    ThreadView,
    inbox::queue,
    inspect,
    threads::{find, whole_at},
};

use crate::{
    arguments::{Action, List, Threads},
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
    if let Some(Action::Import(import)) = &arguments.action {
        // An import is the one action that may make the store.
        transfer::import(address.open()?, import, output).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let journal = address.exists()?.then(|| address.open()).transpose()?;
    match &arguments.action {
        Some(Action::Retry(given)) => going::retry(&address, journal, given, output).await,
        Some(Action::Delete(given)) => {
            delete::delete(&address, journal, given, output).await?;
            Ok(ExitCode::SUCCESS)
        }
        action => perform(action.as_ref(), journal, output).await,
    }
}

async fn perform(
    action: Option<&Action>,
    journal: Option<Arc<dyn Journal>>,
    output: &Output,
) -> Result<ExitCode, Failure> {
    match action {
        None => list(journal, &inspect::Filter::default(), 100, output).await?,
        Some(Action::List(given)) => {
            list(
                journal,
                &filter(given)?,
                given.limit.min(MAX_LISTED),
                output,
            )
            .await?;
        }
        Some(Action::Show(of)) if of.state => {
            let (thread, checkpoint) = at(&of.thread)?;
            let (journal, view) = known(journal, thread.as_str()).await?;
            let state = whole_at(&*journal, &thread, checkpoint).await?;
            output.state(&state, view.opened.target.has_plan())?;
        }
        Some(Action::Show(of)) => {
            let (journal, thread) = listed(journal, &of.thread).await?;
            let view = ThreadView::load(&*journal, &thread).await?;
            let standing = inspect::standing(&*journal, &thread, view.as_ref()).await?;
            let waiting = queue(&*journal, &thread).await?;
            match view {
                Some(view) => output.thread(&view, standing, &waiting)?,
                None => output.thread_without_run(&thread, standing, &waiting)?,
            }
        }
        Some(Action::History(of)) => {
            let (journal, thread) = listed(journal, &of.thread).await?;
            let moments = inspect::history(&*journal, &thread, of.limit.get(), of.before).await?;
            output.history(thread.as_str(), &moments)?;
        }
        Some(Action::Rewind(given)) => going::rewind(journal, given, output).await?,
        Some(Action::Update(given)) => going::update(journal, given, output).await?,
        Some(Action::Stats(of)) => stats::stats(journal, of, output).await?,
        Some(Action::Fork(given)) => fork::fork(journal, given, output).await?,
        Some(Action::Copy(given)) => fork::copy(journal, given, output).await?,
        Some(Action::Prune(given)) => return prune::prune(journal, given, output).await,
        Some(Action::Export(given)) => transfer::export(journal, given, output).await?,
        Some(Action::Import(_) | Action::Retry(_) | Action::Delete(_)) => {}
    }
    Ok(ExitCode::SUCCESS)
}

fn filter(given: &List) -> Result<inspect::Filter, Failure> {
    Ok(inspect::Filter {
        after: given.after.as_deref().map(name).transpose()?,
        prefix: given.prefix.clone().unwrap_or_default(),
        since_ms: given.since.unwrap_or_default(),
        standing: given.status.clone(),
    })
}

async fn list(
    journal: Option<Arc<dyn Journal>>,
    filter: &inspect::Filter,
    limit: usize,
    output: &Output,
) -> Result<(), Failure> {
    let threads = match journal {
        Some(journal) => inspect::list(&*journal, filter, limit).await?,
        None => Vec::new(),
    };
    output.threads(&threads)
}

/// The store that holds `thread`, or would; without a store there is no thread.
fn store_of(
    journal: Option<Arc<dyn Journal>>,
    thread: &ThreadId,
) -> Result<Arc<dyn Journal>, Failure> {
    journal.ok_or_else(|| Failure::unknown_thread(thread))
}

/// A thread that the store knows, whether it has a run or none.
async fn listed(
    journal: Option<Arc<dyn Journal>>,
    given: &str,
) -> Result<(Arc<dyn Journal>, ThreadId), Failure> {
    let thread = name(given)?;
    let journal = store_of(journal, &thread)?;
    match find(&*journal, &thread).await? {
        Some(_) => Ok((journal, thread)),
        None => Err(Failure::unknown_thread(&thread)),
    }
}

/// The last run of a thread.
async fn known(
    journal: Option<Arc<dyn Journal>>,
    given: &str,
) -> Result<(Arc<dyn Journal>, ThreadView), Failure> {
    let thread = name(given)?;
    let journal = store_of(journal, &thread)?;
    let view = ThreadView::known(&*journal, &thread).await?;
    Ok((journal, view))
}

fn name(given: &str) -> Result<ThreadId, Failure> {
    ThreadId::new(given).map_err(|error| Failure::of(&error))
}

/// Splits `THREAD[@CHECKPOINT]`.
pub(super) fn at(given: &str) -> Result<(ThreadId, Option<u64>), Failure> {
    let Some((thread, number)) = given.rsplit_once('@') else {
        return Ok((name(given)?, None));
    };
    let number = number.parse().map_err(|_| not_at(given))?;
    Ok((name(thread)?, Some(number)))
}

fn not_at(given: &str) -> Failure {
    let message = format!("`{given}` is not THREAD@CHECKPOINT");
    Failure::new(Code::Usage, message)
        .hint("a checkpoint is a number, as `rag threads history` shows it")
}
