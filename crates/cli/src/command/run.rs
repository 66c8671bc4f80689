//! `rag run`: opens a run on a plan and drives it.

use std::{io::Read, process::ExitCode, sync::Arc};

use rustagents_core::ids::ThreadId;
use rustagents_runtime::Start;

use crate::{
    arguments::Run,
    command::{
        driven,
        inbox::{self, Work},
        keeping::keeping,
        named_json, runtime, watch,
    },
    failure::Failure,
    output::Output,
    plan::{Plan, read_text, text},
    signals::Signals,
    store::Address,
    tools::Care,
};

/// The largest input, in bytes.
const MAX_INPUT: u64 = 1 << 20;

pub(crate) async fn run(arguments: &Run, output: &Output) -> Result<ExitCode, Failure> {
    let common = &arguments.common;
    let address = Address::parse(common.store.as_deref())?;
    let thread = arguments.thread.as_deref().map(ThreadId::new).transpose();
    let thread = thread.map_err(|error| Failure::of(&error))?;
    let set = arguments.set.iter().map(|given| named_json(given, "--set"));
    let set = set.collect::<Result<Vec<_>, _>>()?;
    let plan = Plan::load(
        &arguments.target,
        common.config.as_deref(),
        &arguments.models,
        Care::Run,
    )?;
    let ready = plan.ready()?;
    let input = input(arguments)?;
    let signals = Signals::listen()?;
    let named = thread.is_some();
    let start = Start {
        thread,
        target: ready.target,
        input,
        set,
        limits: ready.limits,
    };
    let journal = address.open()?;
    let runtime = runtime(Arc::clone(&journal)).taking_over(arguments.takeover);
    let runtime = keeping(runtime, &address, ready.events, arguments.keeping);
    let work = Work {
        runtime: &runtime,
        journal: &*journal,
        output,
        signals: &signals,
        common,
    };
    if let Some(busy) = inbox::policy(arguments.on_busy) {
        return work.queued(&ready.program, start, busy).await;
    }
    let report = runtime
        .start(
            &ready.program,
            start,
            watch(output, &signals, common, named),
        )
        .await?;
    driven(&report, output, &signals)
}

fn input(arguments: &Run) -> Result<Option<String>, Failure> {
    if let Some(path) = &arguments.input_file {
        return read_text(path, MAX_INPUT).map(Some);
    }
    if arguments.stdin.is_some() {
        let mut bytes = Vec::new();
        let stdin = std::io::stdin()
            .lock()
            .take(MAX_INPUT + 1)
            .read_to_end(&mut bytes);
        stdin.map_err(|error| Failure::unreadable("standard input".as_ref(), &error))?;
        return text(bytes, MAX_INPUT, "standard input").map(Some);
    }
    let given = arguments.input.clone();
    given
        .map(|given| text(given.into_bytes(), MAX_INPUT, "--input"))
        .transpose()
}
