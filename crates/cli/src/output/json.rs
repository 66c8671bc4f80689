//! The JSON that scripts read: `rag.run/1` and `rag.check/1`.

use rustagents_core::{
    ask::{Ask, Subject},
    budget::Spent,
    ids::ThreadId,
};
use rustagents_lang::Severity;
use rustagents_runtime::{
    Report, Status, ThreadView,
    inbox::QueuedInput,
    inspect::{Moment, Standing, ThreadSummary},
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    failure::{Failure, Pending},
    output::{Checked, Resume, option},
};

#[derive(Serialize)]
struct Outcome {
    schema: &'static str,
    status: &'static str,
    thread: Option<String>,
    run: Option<String>,
    output: Option<String>,
    interrupts: Vec<Interrupt>,
    usage: Usage,
    cost: Option<()>,
    steps: u64,
    error: Option<Error>,
    #[serde(skip_serializing_if = "Option::is_none")]
    events_lost: Option<Lost>,
    /// The input that waits behind the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    queued: Option<String>,
}

/// Events that were to be kept and are not.
#[derive(Serialize)]
struct Lost {
    count: u64,
    reason: String,
}

#[derive(Serialize)]
pub(super) struct Interrupt {
    id: String,
    kind: &'static str,
    node: String,
    call: Option<String>,
    tool: Option<String>,
    arguments: Option<Value>,
    hash: Option<String>,
    prompt: String,
    resume: Option<String>,
}

#[derive(Serialize)]
struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    cached_tokens: u64,
    reasoning_tokens: u64,
    model_calls: u64,
    tool_calls: u64,
}

#[derive(Serialize)]
struct Error {
    code: String,
    message: String,
    hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
}

/// How a run stands, and the input that waits behind it.
pub(super) fn report(report: &Report, resume: &Resume, queued: Option<&str>) -> String {
    let error = report.error.as_ref().map(|error| Error {
        code: error.code.clone(),
        message: error.message.clone(),
        hint: resume.advice(report),
        place: None,
    });
    line(&Outcome {
        queued: queued.map(str::to_owned),
        ..outcome(report, resume, error)
    })
}

pub(super) fn failure(failure: &Failure, resume: &Resume) -> String {
    let error = Error {
        code: failure.code.to_string(),
        message: failure.message.clone(),
        hint: failure.hint.clone(),
        place: failure.place.clone(),
    };
    line(&match failure.pending.as_deref() {
        Some(Pending::Run(report)) => outcome(report, resume, Some(error)),
        Some(Pending::Input(id)) => Outcome {
            queued: Some(id.clone()),
            ..nothing(error)
        },
        None => nothing(error),
    })
}

/// The outcome where no run can be told of.
fn nothing(error: Error) -> Outcome {
    Outcome {
        schema: "rag.run/1",
        status: Status::Failed.as_str(),
        thread: None,
        run: None,
        output: None,
        interrupts: Vec::new(),
        usage: Usage::of(&Spent::default()),
        cost: None,
        steps: 0,
        error: Some(error),
        events_lost: None,
        queued: None,
    }
}

fn outcome(report: &Report, resume: &Resume, error: Option<Error>) -> Outcome {
    let thread = report.thread.to_string();
    let resume = &resume.with_plan(report.has_plan);
    Outcome {
        schema: "rag.run/1",
        status: standing(report),
        interrupts: report
            .asks
            .iter()
            .map(|ask| interrupt(&thread, ask, resume))
            .collect(),
        thread: Some(thread),
        run: Some(report.run.to_string()),
        output: report.output.clone(),
        usage: Usage::of(&report.spent),
        cost: None,
        steps: report.steps,
        error,
        events_lost: report.events_lost.as_ref().map(|lost| Lost {
            count: lost.count,
            reason: lost.reason.clone(),
        }),
        queued: None,
    }
}

/// How a run stands, in the words of `rag threads`: one that was stopped goes on with a
/// resume, and is not one that was given up.
fn standing(report: &Report) -> &'static str {
    match report.status {
        Status::Cancelled if !report.is_closed => Standing::Unfinished.as_str(),
        status => status.as_str(),
    }
}

pub(super) fn interrupt(thread: &str, ask: &Ask, resume: &Resume) -> Interrupt {
    let call = ask.call();
    Interrupt {
        id: ask.id.to_string(),
        kind: match ask.subject {
            Subject::Approval(_) => "approval",
            Subject::InDoubt(_) => "in_doubt",
            Subject::StepInDoubt(_) => "step_in_doubt",
            _ => "interrupt",
        },
        node: ask.node.to_string(),
        call: call.map(|subject| subject.call.to_string()),
        tool: call.map(|subject| subject.tool.clone()),
        arguments: call.map(|subject| subject.arguments.clone()),
        hash: call.map(|subject| subject.hash.short()),
        prompt: ask.prompt.clone(),
        resume: resume.line(thread, &[option(ask)]),
    }
}

impl Usage {
    fn of(spent: &Spent) -> Self {
        Self {
            input_tokens: spent.usage.input_tokens,
            output_tokens: spent.usage.output_tokens,
            cached_tokens: spent.usage.cached_tokens,
            reasoning_tokens: spent.usage.reasoning_tokens,
            model_calls: spent.model_calls,
            tool_calls: spent.tool_calls,
        }
    }
}

#[derive(Serialize)]
struct Check<'a> {
    schema: &'static str,
    files: Vec<File<'a>>,
}

#[derive(Serialize)]
struct File<'a> {
    path: &'a str,
    diagnostics: Vec<Finding<'a>>,
}

#[derive(Serialize)]
struct Finding<'a> {
    code: &'static str,
    severity: &'static str,
    message: &'a str,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
    help: Option<&'a str>,
}

pub(super) fn checked(checked: &[Checked]) -> String {
    let files = checked.iter().map(|plan| File {
        path: &plan.path,
        diagnostics: plan
            .diagnostics
            .iter()
            .map(|found| Finding {
                code: found.code.as_str(),
                severity: match found.severity {
                    Severity::Error => "error",
                    Severity::Warning => "warning",
                },
                message: &found.message,
                line: found.line,
                column: found.column,
                end_line: found.end_line,
                end_column: found.end_column,
                help: found.help.as_deref(),
            })
            .collect(),
    });
    line(&Check {
        schema: "rag.check/1",
        files: files.collect(),
    })
}

fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

pub(super) fn threads(threads: &[ThreadSummary]) -> String {
    let rows = threads.iter().map(|row| {
        let mut object = json!({
            "thread": row.thread,
            "status": row.standing.as_str(),
            "target": row.target,
            "updated_at": row.updated_at_ms,
            "pending": row.pending,
        });
        if let (Some(problem), Some(fields)) = (&row.problem, object.as_object_mut()) {
            fields.insert("problem".into(), problem.as_str().into());
        }
        object
    });
    json!({ "schema": "rag.threads/1", "threads": rows.collect::<Vec<_>>() }).to_string()
}

pub(super) fn thread(
    view: &ThreadView,
    standing: Standing,
    report: &Report,
    waiting: &[QueuedInput],
    resume: &Resume,
) -> String {
    let told = outcome(report, resume, None);
    json!({
        "schema": "rag.thread/1",
        "thread": view.thread,
        "status": standing.as_str(),
        "run": view.run,
        "attempts": view.attempts,
        "target": view.opened.target.plan,
        "definition": view.definition,
        "output": told.output,
        "interrupts": told.interrupts,
        "usage": told.usage,
        "steps": told.steps,
        "error": report.error,
        "queue": queue(waiting),
    })
    .to_string()
}

/// The same of a thread that has no run, as one on which nothing was done.
pub(super) fn thread_without_run(
    thread: &ThreadId,
    standing: Standing,
    waiting: &[QueuedInput],
) -> String {
    json!({
        "schema": "rag.thread/1",
        "thread": thread,
        "status": standing.as_str(),
        "run": null,
        "attempts": 0,
        "target": "",
        "definition": null,
        "output": null,
        "interrupts": [],
        "usage": Usage::of(&Spent::default()),
        "steps": 0,
        "error": null,
        "queue": queue(waiting),
    })
    .to_string()
}

fn queue(waiting: &[QueuedInput]) -> Vec<Value> {
    let waiting = waiting.iter();
    let waiting =
        waiting.map(|item| json!({ "id": item.id, "at": item.at_ms, "input": item.body.input }));
    waiting.collect()
}

pub(super) fn history(thread: &str, moments: &[Moment]) -> String {
    let rows = moments.iter().map(|moment| {
        json!({
            "checkpoint": format!("{thread}@{}", moment.checkpoint),
            "run": moment.run,
            "step": moment.step,
            "source": moment.source,
            "from": moment.from.map(|from| format!("{thread}@{from}")),
            "done": moment.done,
            "changed": moment.changed,
            "next": moment.next,
            "at": moment.at_ms,
        })
    });
    let rows: Vec<_> = rows.collect();
    json!({ "schema": "rag.history/1", "thread": thread, "checkpoints": rows }).to_string()
}
