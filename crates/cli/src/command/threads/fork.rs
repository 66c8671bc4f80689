//! `rag threads fork` and `rag threads copy`.

use std::sync::Arc;

use rustagents_core::{Code, journal::Journal};
use rustagents_runtime::{ThreadView, threads};

use super::{name, store_of};
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
    let (thread, checkpoint) = match given.from.rsplit_once('@') {
        Some((thread, number)) => (thread, Some(parse(&given.from, number)?)),
        None => (given.from.as_str(), None),
    };
    let fork = threads::Fork {
        from: name(thread)?,
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

fn parse(given: &str, number: &str) -> Result<u64, Failure> {
    number.parse().map_err(|_| {
        let message = format!("`{given}` is not THREAD@CHECKPOINT");
        Failure::new(Code::Usage, message)
            .hint("a checkpoint is a number, as `rag threads history` shows it")
    })
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
