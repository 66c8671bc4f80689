//! `rag threads retry`, `rewind` and `update`: a thread goes on otherwise.

use std::{process::ExitCode, sync::Arc};

use rustagents_core::journal::Journal;
use rustagents_runtime::{
    Retry as Request, StateEdit, ThreadView, UpdateState,
    threads::{Rewind as Back, opened_at},
    view::Phase,
};

use super::{at, known, not_at, store_of};
use crate::{
    arguments::{Retry, Rewind, Update},
    command::{
        driven, keeping::keeping, must_record, named_json, resume::recorded_plan, runtime, watch,
    },
    failure::Failure,
    output::Output,
    signals::Signals,
    store::Address,
};

pub(super) async fn retry(
    address: &Address,
    journal: Option<Arc<dyn Journal>>,
    given: &Retry,
    output: &Output,
) -> Result<ExitCode, Failure> {
    must_record(&given.common, "a retry goes on from the record")?;
    let (journal, view) = known(journal, &given.thread).await?;
    let signals = Signals::listen()?;
    let config = given.common.config.as_deref();
    let ready = recorded_plan(&given.plan, config, &view.opened.target)?;
    let request = Request {
        thread: view.thread,
        limits: ready.limits,
    };
    let watch = watch(output, &signals, &given.common, true);
    let runtime = runtime(journal).taking_over(given.plan.takeover);
    let report = keeping(runtime, address, ready.events, given.keeping)
        .retry(&ready.program, request, watch)
        .await?;
    driven(&report, output, &signals)
}

pub(super) async fn rewind(
    journal: Option<Arc<dyn Journal>>,
    given: &Rewind,
    output: &Output,
) -> Result<(), Failure> {
    let (thread, checkpoint) = at(&given.at)?;
    let checkpoint = checkpoint.ok_or_else(|| not_at(&given.at))?;
    let (journal, view) = known(Some(store_of(journal, &thread)?), thread.as_str()).await?;
    let opened = opened_at(&*journal, &thread, checkpoint).await?;
    let recorded = opened.map_or(view.opened.target, |opened| opened.target);
    let config = given.common.config.as_deref();
    let ready = recorded_plan(&given.plan, config, &recorded)?;
    let is_other = given.plan.target.is_some() || !given.plan.models.is_empty() || config.is_some();
    let back = Back {
        thread,
        checkpoint,
        target: is_other.then_some(ready.target),
        repeats: given.yes,
    };
    let rewound = runtime(journal)
        .taking_over(given.plan.takeover)
        .rewind(&ready.program, back)
        .await?;
    output.rewound(&rewound)
}

pub(super) async fn update(
    journal: Option<Arc<dyn Journal>>,
    given: &Update,
    output: &Output,
) -> Result<(), Failure> {
    let set = given.set.iter().map(|given| named_json(given, "--set"));
    let edit = StateEdit {
        set: set.collect::<Result<_, _>>()?,
        as_node: given.node.clone(),
        route: given.route.clone(),
    };
    let (journal, view) = known(journal, &given.thread).await?;
    let config = given.common.config.as_deref();
    let ready = recorded_plan(&given.plan, config, &view.opened.target)?;
    let update = UpdateState {
        thread: view.thread,
        edits: vec![edit],
    };
    let updated = runtime(Arc::clone(&journal))
        .taking_over(given.plan.takeover)
        .update_state(&ready.program, update)
        .await?;
    let view = ThreadView::load(&*journal, &updated.thread).await?;
    let open = view.filter(|view| !matches!(view.phase, Phase::Closed(_)));
    output.updated(&updated, open.map(|view| view.report()).as_ref())
}
