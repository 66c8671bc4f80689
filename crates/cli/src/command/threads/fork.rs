//! `rag threads fork` and `rag threads copy`.

use std::sync::Arc;

use rustagents_core::journal::Journal;
use rustagents_runtime::{ThreadView, threads};

use super::{at, name, store_of};
use crate::{
    arguments::{Copy, Fork},
    failure::Failure,
    output::Output,
};

pub(super) async fn fork(
    journal: Option<Arc<dyn Journal>>,
    given: &Fork,
    output: &Output,
) -> Result<(), Failure> {
    let (from, checkpoint) = at(&given.from)?;
    let fork = threads::Fork {
        from,
        to: name(&given.to)?,
        checkpoint,
        repeats: given.yes,
    };
    perform(journal, &fork, output).await
}

pub(super) async fn copy(
    journal: Option<Arc<dyn Journal>>,
    given: &Copy,
    output: &Output,
) -> Result<(), Failure> {
    let fork = threads::Fork {
        from: name(&given.thread)?,
        to: name(&given.to)?,
        checkpoint: None,
        repeats: false,
    };
    perform(journal, &fork, output).await
}

async fn perform(
    journal: Option<Arc<dyn Journal>>,
    fork: &threads::Fork,
    output: &Output,
) -> Result<(), Failure> {
    let journal = store_of(journal, &fork.from)?;
    let calls = threads::fork(&*journal, fork).await?;
    let view = ThreadView::load(&*journal, &fork.to).await?;
    output.forked(fork, view.as_ref(), &calls)
}
