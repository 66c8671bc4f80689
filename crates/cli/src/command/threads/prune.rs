//! `rag threads prune`.

use std::{process::ExitCode, sync::Arc};

use rustagents_core::{
    Code,
    ids::ThreadId,
    journal::{Journal, ThreadQuery},
};
use rustagents_runtime::{
    Runtime,
    threads::{Keep, Pruned},
};

use super::{name, store_of};
use crate::{arguments::Prune, command::runtime, failure::Failure, output::Output};

/// How many names are asked for at once.
const PAGE: usize = 500;

/// What became of one thread.
pub(crate) struct Told {
    pub(crate) thread: ThreadId,
    pub(crate) outcome: Result<Pruned, Failure>,
}

pub(super) async fn prune(
    journal: Option<Arc<dyn Journal>>,
    given: &Prune,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let keep = match (given.keep, given.since) {
        (_, Some(since)) => Keep::Since(since),
        (keep, None) => Keep::Last(keep.unwrap_or(1)),
    };
    let names = given.threads.iter().map(|given| name(given));
    let names = names.collect::<Result<Vec<_>, _>>()?;
    let mut told = Vec::new();
    if let [thread] = names.as_slice() {
        // The failure of the one thread is that of the command.
        let runtime = runtime(store_of(journal, thread)?);
        let outcome = Ok(runtime.prune(thread, keep).await?);
        let thread = thread.clone();
        told.push(Told { thread, outcome });
    } else if let Some(first) = names.first() {
        let runtime = runtime(store_of(journal, first)?);
        each(&runtime, names, keep, &mut told).await;
    } else if let Some(journal) = journal {
        all(&journal, keep, &mut told).await?;
    }
    output.pruned(&told)?;
    Ok(status(&told))
}

async fn all(journal: &Arc<dyn Journal>, keep: Keep, told: &mut Vec<Told>) -> Result<(), Failure> {
    let runtime = runtime(Arc::clone(journal));
    let mut query = ThreadQuery::all().limit(PAGE);
    loop {
        let page = journal.threads(query.clone()).await?;
        let is_last = page.len() < PAGE;
        query.after = page.last().map(|row| row.thread.clone());
        let names = page.into_iter().map(|row| row.thread);
        each(&runtime, names.collect(), keep, told).await;
        // One may have been deleted since it was listed.
        told.retain(|told| {
            let failure = told.outcome.as_ref().err();
            failure.is_none_or(|failure| failure.code != Code::UnknownThread)
        });
        if is_last {
            return Ok(());
        }
    }
}

async fn each(runtime: &Runtime, names: Vec<ThreadId>, keep: Keep, told: &mut Vec<Told>) {
    for thread in names {
        let outcome = runtime.prune(&thread, keep).await;
        let outcome = outcome.map_err(Failure::from);
        told.push(Told { thread, outcome });
    }
}

/// 1 if something failed, else 5 if somebody drives one of the threads.
fn status(told: &[Told]) -> ExitCode {
    let failures = told.iter().filter_map(|told| told.outcome.as_ref().err());
    let mut status = 0;
    for failure in failures {
        if failure.code != Code::Busy {
            return ExitCode::from(1);
        }
        status = 5;
    }
    ExitCode::from(status)
}
