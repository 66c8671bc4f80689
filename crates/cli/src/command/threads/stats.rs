//! `rag threads stats`.

use std::sync::Arc;

use rustagents_core::journal::{Journal, JournalError, ThreadQuery};
use rustagents_runtime::threads::stats::{Stats, stats as count};

use super::{name, store_of};
use crate::{arguments, failure::Failure, output::Output};

/// How many names are asked for at once.
const PAGE: usize = 500;

pub(super) async fn stats(
    journal: Option<Arc<dyn Journal>>,
    given: &arguments::Stats,
    output: &Output,
) -> Result<(), Failure> {
    if let Some(thread) = &given.thread {
        let thread = name(thread)?;
        let counted = count(&*store_of(journal, &thread)?, &thread).await?;
        return output.stats(Some(&thread), &counted);
    }
    let mut together = Stats::default();
    if let Some(journal) = journal {
        let mut query = ThreadQuery::all().limit(PAGE);
        loop {
            let page = journal.threads(query.clone()).await?;
            for row in &page {
                match count(&*journal, &row.thread).await {
                    Ok(counted) => together = together.and(counted),
                    // It was deleted since it was listed.
                    Err(JournalError::UnknownThread { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            query.after = page.last().map(|row| row.thread.clone());
            if page.len() < PAGE {
                break;
            }
        }
    }
    output.stats(None, &together)
}
