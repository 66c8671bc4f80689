//! `rag resume`: answers what a thread waits for, or goes on after a crash.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use rustagents_core::{
    Code,
    ids::ThreadId,
    journal::{Journal, JournalError},
    scope::Halt,
};
use rustagents_runtime::{
    Answered, Decision, Resume as Request, RunError, ThreadView, answers::AnswerError,
    record::Target, view::Phase,
};

use crate::{
    arguments::{Recorded, Resume},
    command::{
        driven, finish, inbox::Work, keeping::keeping, must_record, named_json, runtime, watch,
    },
    failure::{BUILT, Failure},
    output::Output,
    plan::{Plan, Ready, pinned},
    signals::Signals,
    store::Address,
    tools::Care,
};

/// What can be done where the plan no longer fits.
const CHANGED: &str = "bring the tool or node back, then resume; or resume with the recorded plan \
                       (`--pin`), or without what does not fit (`--force`)";

pub(crate) async fn resume(arguments: &Resume, output: &Output) -> Result<ExitCode, Failure> {
    let address = Address::parse(arguments.common.store.as_deref())?;
    let thread = ThreadId::new(&arguments.thread).map_err(|error| Failure::of(&error))?;
    let decisions = decisions(arguments)?;
    must_record(&arguments.common, "answers are recorded before they count")?;
    if !address.exists()? {
        return Err(Failure::unknown_thread(&thread));
    }
    let journal = address.open()?;
    let view = ThreadView::known(&*journal, &thread).await;
    let signals = Signals::listen()?;
    let runtime = runtime(Arc::clone(&journal)).taking_over(arguments.plan.takeover);
    let work = Work {
        runtime: &runtime,
        journal: &*journal,
        output,
        signals: &signals,
        common: &arguments.common,
    };
    let view = match view {
        Err(RunError::UnknownThread { is_empty: true, .. }) => {
            return begin(&work, &thread).await;
        }
        view => view?,
    };
    let waits = view.waits() && !arguments.force;
    let idle = matches!(view.phase, Phase::Closed(_)) || waits;
    if decisions.is_empty() && idle && !view.is_cancel_requested()? {
        let (report, worked) = work.rest(&thread, view.report()).await?;
        return if worked {
            driven(&report, output, &signals)
        } else {
            finish(&report, output, &signals)
        };
    }
    let ready = ready(arguments, &*journal, &view).await?;
    let runtime = keeping(runtime.clone(), &address, ready.events, arguments.keeping);
    let work = Work {
        runtime: &runtime,
        ..work
    };
    let resume = |decisions: &[Decision]| {
        let (thread, decisions) = (thread.clone(), decisions.to_vec());
        let watch = watch(output, &signals, &arguments.common, true);
        let request = Request { thread, decisions };
        let (runtime, program) = (&runtime, &ready.program);
        async move {
            if arguments.force {
                return runtime.resume_forced(program, request, watch).await;
            }
            runtime.resume(program, request, watch).await
        }
    };
    let may_answer = !decisions.is_empty() && !arguments.force;
    let report = match resume(&decisions).await {
        Err(error @ RunError::Halt(Halt::Incompatible { .. })) if !arguments.force => {
            return Err(Failure::from(error).hint(CHANGED));
        }
        Err(RunError::Journal(busy @ JournalError::Busy { .. })) if may_answer => {
            match runtime.answer(&thread, &decisions).await {
                Ok(Answered::Heard(owner)) => {
                    output.answered(&thread, &decisions, &owner)?;
                    return Ok(ExitCode::SUCCESS);
                }
                // It may come to be asked, once its driver is so far.
                Err(RunError::Answer(AnswerError::Unknown { .. })) => Err(busy.into()),
                Ok(_) => resume(&[]).await,
                Err(error) => Err(error),
            }
        }
        resumed => resumed,
    };
    let (report, _) = work.rest(&thread, report?).await?;
    driven(&report, output, &signals)
}

/// Begins with what waits for a thread that has no run.
async fn begin(work: &Work<'_>, thread: &ThreadId) -> Result<ExitCode, Failure> {
    if let Some(report) = work.first(thread).await? {
        let (report, _) = work.rest(thread, report).await?;
        return driven(&report, work.output, work.signals);
    }
    let (owner, thread) = (work.journal.owner(thread).await?, thread.clone());
    Err(match owner {
        Some(owner) => RunError::Journal(JournalError::Busy { thread, owner }).into(),
        None => RunError::UnknownThread {
            thread,
            is_empty: true,
        }
        .into(),
    })
}

/// What the run goes on with.
async fn ready(
    arguments: &Resume,
    journal: &dyn Journal,
    view: &ThreadView,
) -> Result<Ready, Failure> {
    let (given, recorded) = (arguments.common.config.as_deref(), &view.opened.target);
    if !arguments.pin {
        return recorded_plan(&arguments.plan, given, recorded);
    }
    let config = given.or_else(|| recorded.config.as_deref().map(Path::new));
    pinned(journal, view, config, &models(&arguments.plan, recorded)).await
}

/// The plan that the run's record names, unless the command line says otherwise.
pub(super) fn recorded_plan(
    arguments: &Recorded,
    given: Option<&Path>,
    recorded: &Target,
) -> Result<Ready, Failure> {
    let plan = arguments
        .target
        .clone()
        .unwrap_or_else(|| PathBuf::from(&recorded.plan));
    let config = match (given, &arguments.target) {
        (None, None) => recorded.config.as_deref().map(Path::new),
        _ => given,
    };
    if arguments.target.is_none() && !recorded.has_plan() {
        let name = &recorded.plan;
        let message = format!("no file holds the plan of the thread: it is `{name}`");
        return Err(Failure::new(Code::FileUnreadable, message).hint(BUILT));
    }
    if !plan.exists() {
        let message = format!("the plan `{}` is not there any more", plan.display());
        let hint = "name its new place with `--target`";
        return Err(Failure::new(Code::FileUnreadable, message).hint(hint));
    }
    Plan::load(&plan, config, &models(arguments, recorded), Care::Run)?.ready()
}

/// The models that were given beside the configuration's, then and now.
fn models(arguments: &Recorded, recorded: &Target) -> Vec<String> {
    let then = recorded.models.iter();
    let then = then.map(|(alias, spec)| format!("{alias}={spec}"));
    then.chain(arguments.models.iter().cloned()).collect()
}

fn decisions(arguments: &Resume) -> Result<Vec<Decision>, Failure> {
    let mut decisions = Vec::new();
    for given in &arguments.approve {
        let (call, hash) = split(given, '@');
        decisions.push(Decision::Approve { call, hash });
    }
    for given in &arguments.deny {
        let (call, reason) = split(given, '=');
        decisions.push(Decision::Deny { call, reason });
    }
    for given in &arguments.answer {
        let (ask, value) = named_json(given, "--answer")?;
        decisions.push(Decision::Answer { ask, value });
    }
    for given in &arguments.done {
        let (call, result) = named_json(given, "--done")?;
        decisions.push(Decision::Done { call, result });
    }
    let not_done = arguments.not_done.iter().cloned();
    decisions.extend(not_done.map(|call| Decision::NotDone { call }));
    let repeat = arguments.repeat.iter().cloned();
    decisions.extend(repeat.map(|call| Decision::Repeat { call }));
    Ok(decisions)
}

fn split(given: &str, mark: char) -> (String, Option<String>) {
    match given.split_once(mark) {
        Some((call, rest)) => (call.to_owned(), Some(rest.to_owned())),
        None => (given.to_owned(), None),
    }
}
