//! `rag run`: opens a run on a plan and drives it.

use std::{io::Read, process::ExitCode, sync::Arc};

use rustagents_core::Code;
use rustagents_runtime::{Program, Start, threads::Rewind};

use crate::{
    arguments::Run,
    command::{
        driven,
        inbox::{self, Work},
        keeping::keeping,
        must_record, named_json, runtime,
        threads::at,
        watch,
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
    let (thread, checkpoint) = match arguments.thread.as_deref().map(at).transpose()? {
        Some((thread, checkpoint)) => (Some(thread), checkpoint),
        None => (None, None),
    };
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
    let back = thread.clone().zip(checkpoint);
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
    if let Some((thread, checkpoint)) = back {
        let back = Rewind {
            thread,
            checkpoint,
            target: None,
            repeats: arguments.yes,
        };
        return run_at(arguments, work, &ready.program, start, back).await;
    }
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

/// Runs on the state of an earlier checkpoint of the thread.
async fn run_at(
    arguments: &Run,
    work: Work<'_>,
    program: &Program,
    start: Start,
    back: Rewind,
) -> Result<ExitCode, Failure> {
    if inbox::policy(arguments.on_busy).is_some() {
        let message = "`--on-busy` is for an input that goes on where the thread stands";
        return Err(Failure::new(Code::Usage, message).hint("leave it or `@CHECKPOINT` out"));
    }
    must_record(work.common, "the thread goes back in what is recorded")?;
    let target = Some(start.target.clone());
    let back = Rewind { target, ..back };
    let watch = watch(work.output, work.signals, work.common, true);
    let runtime = work.runtime;
    let (_, report) = runtime.start_at(program, start, back, watch).await?;
    driven(&report, work.output, work.signals)
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
