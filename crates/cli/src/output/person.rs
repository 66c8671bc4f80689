//! What a person reads.

use anstyle::{AnsiColor, Style};
use rustagents_core::{
    ask::{Ask, Subject},
    budget::Spent,
    ids::ThreadId,
};
use rustagents_runtime::{
    Report, Status, ThreadView,
    inbox::QueuedInput,
    inspect::{Moment, Source, Standing, ThreadSummary},
};

use crate::{
    failure::{BUILT, Failure},
    output::{Resume, option},
};

pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(super) const WAIT: Style = AnsiColor::Yellow.on_default();
pub(super) const DIM: Style = Style::new().dimmed();

/// What goes to standard output.
pub(super) fn answer(report: &Report) -> Option<String> {
    (report.status == Status::Completed)
        .then(|| report.output.clone())
        .flatten()
}

/// What stands on standard error at the end.
pub(super) fn report(report: &Report, resume: &Resume) -> String {
    let thread = report.thread.as_str();
    let mut lines = Vec::new();
    if let Some(error) = &report.error {
        lines.push(format!(
            "{BAD}error[{}]{BAD:#}: {}",
            error.code,
            line(&error.message)
        ));
    }
    match report.status {
        Status::Suspended if report.asks.is_empty() => {
            lines.push(format!("thread {thread} can go on"));
        }
        Status::Suspended => lines.extend(suspended(report)),
        Status::Cancelled if report.is_closed => {
            lines.push(format!("{WAIT}thread {thread} was cancelled{WAIT:#}"));
        }
        Status::Cancelled => lines.push(format!("{WAIT}stopped{WAIT:#}")),
        _ => {}
    }
    if !report.is_closed {
        let options: Vec<_> = report.asks.iter().map(option).collect();
        match resume.with_plan(report.has_plan).line(thread, &options) {
            Some(line) => lines.extend(["go on with:".to_owned(), format!("  {line}")]),
            None if !report.has_plan => lines.push(BUILT.to_owned()),
            None if !resume.is_recorded => {
                lines.push("nothing of it is recorded, so it ends here".to_owned());
            }
            None => lines.push("its store is in memory, so it ends here".to_owned()),
        }
    }
    if let Some(hint) = resume.advice(report).filter(|_| report.error.is_some()) {
        lines.push(format!("hint: {}", line(&hint)));
    }
    if let Some(lost) = &report.events_lost {
        let (count, reason) = (lost.count, line(&lost.reason));
        lines.push(format!(
            "{WAIT}warning{WAIT:#}: {count} events of this attempt are not kept: {reason}"
        ));
    }
    lines.join("\n")
}

/// What became of a run that was to be given up.
pub(super) fn cancelled(report: &Report) -> String {
    let thread = line(report.thread.as_str());
    match report.status {
        Status::Cancelled => format!("thread {thread} is cancelled"),
        status => format!(
            "thread {thread} had ended before: {}",
            status.as_str().replace('_', " ")
        ),
    }
}

/// What a run consumed.
pub(super) fn spent(spent: &Spent) -> String {
    let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let tokens = spent.usage.input_tokens + spent.usage.output_tokens;
    format!(
        "{DIM}{}, {}, {}{DIM:#}",
        plural(count(spent.model_calls), "model call"),
        plural(count(spent.tool_calls), "tool call"),
        plural(count(tokens), "token")
    )
}

/// A question, with the arguments of the call behind it.
pub(super) fn question(ask: &Ask) -> String {
    let mut lines = vec![format!("{WAIT}?{WAIT:#} {}", line(&ask.prompt))];
    if let Some(subject) = ask.call() {
        let arguments = line(&subject.arguments.to_string());
        let (call, tool) = (&subject.call, &subject.tool);
        lines.push(format!("  {DIM}{call} {tool} {arguments}{DIM:#}"));
    }
    lines.join("\n")
}

fn suspended(report: &Report) -> Vec<String> {
    let thread = report.thread.as_str();
    let count = plural(report.asks.len(), "answer");
    let mut lines = vec![format!("{WAIT}thread {thread} waits for {count}{WAIT:#}")];
    for ask in &report.asks {
        lines.push(format!("  {}  {}", ask.id, line(&ask.prompt)));
        if let Some(subject) = ask.call() {
            lines.push(format!(
                "    {DIM}{} {}{DIM:#}",
                subject.tool,
                line(&subject.arguments.to_string())
            ));
        }
        match &ask.subject {
            Subject::InDoubt(subject) => lines.extend(settling(subject.call.as_str(), "call")),
            Subject::StepInDoubt(subject) => {
                let (step, key) = (line(&subject.step), subject.idempotency_key);
                lines.push(format!("    {DIM}{step} idempotency key {key}{DIM:#}"));
                lines.extend(settling(&line(ask.id.as_str()), "step"));
            }
            _ => {}
        }
    }
    lines
}

/// The options that settle what is in doubt.
fn settling(name: &str, what: &str) -> [String; 3] {
    [
        format!("    it happened:           --done {name}=RESULT (its JSON)"),
        format!("    it did not happen:     --not-done {name}"),
        format!("    make the {what} again:   --repeat {name}"),
    ]
}

/// What a mistake looks like.
pub(super) fn failure(failure: &Failure) -> String {
    if !failure.details.is_empty() {
        return failure.details.join("\n");
    }
    let mut lines = vec![format!(
        "{BAD}error[{}]{BAD:#}: {}",
        failure.code,
        line(&failure.message)
    )];
    if let Some(place) = &failure.place {
        lines.push(format!("  --> {place}"));
    }
    if let Some(hint) = &failure.hint {
        lines.push(format!("hint: {}", line(hint)));
    }
    lines.join("\n")
}

/// A thread a line.
pub(super) fn threads(threads: &[ThreadSummary]) -> String {
    if threads.is_empty() {
        return "no threads".to_owned();
    }
    let width = threads
        .iter()
        .map(|row| row.thread.as_str().chars().count())
        .max()
        .unwrap_or(0);
    let rows = threads.iter().map(|row| {
        let (name, status) = (line(row.thread.as_str()), row.standing.as_str());
        let waits = if row.pending == 0 {
            String::new()
        } else {
            format!("  waits for {}", plural(row.pending, "answer"))
        };
        let row = format!("{name:width$}  {status:15}  {}{waits}", line(&row.target));
        row.trim_end().to_owned()
    });
    rows.collect::<Vec<_>>().join("\n")
}

/// How a thread stands.
pub(super) fn thread(
    view: &ThreadView,
    standing: Standing,
    told: &Report,
    resume: &Resume,
) -> String {
    let mut lines = vec![
        format!("thread    {}", line(view.thread.as_str())),
        format!("status    {}", standing.as_str()),
        format!("plan      {}", line(&view.opened.target.plan)),
        format!("run       {}, attempt {}", view.run, view.attempts),
        format!(
            "consumed  {}, {}, {} tokens in, {} out",
            plural(
                usize::try_from(told.spent.model_calls).unwrap_or(usize::MAX),
                "model call"
            ),
            plural(
                usize::try_from(told.spent.tool_calls).unwrap_or(usize::MAX),
                "tool call"
            ),
            told.spent.usage.input_tokens,
            told.spent.usage.output_tokens
        ),
    ];
    if let Some(output) = &told.output {
        lines.push(format!("answer    {}", shown(output)));
    }
    let rest = match standing {
        Standing::Unfinished if !told.has_plan => Some(BUILT.to_owned()),
        Standing::Unfinished => resume
            .line(view.thread.as_str(), &[])
            .map(|line| format!("go on with:\n  {line}")),
        Standing::Running => None,
        Standing::Told(_) | Standing::Empty | Standing::Damaged | Standing::Unavailable => {
            Some(report(told, resume))
        }
    };
    lines.extend(rest.filter(|text| !text.is_empty()));
    lines.join("\n")
}

/// How a thread stands that has no run.
pub(super) fn thread_without_run(thread: &ThreadId, standing: Standing, start: &str) -> String {
    let (name, status) = (line(thread.as_str()), standing.as_str());
    let mut lines = vec![
        format!("thread    {name}"),
        format!("status    {status}"),
        "run       none".to_owned(),
    ];
    if standing == Standing::Empty {
        lines.extend(["start one with:".to_owned(), format!("  {start}")]);
    }
    lines.join("\n")
}

/// The inputs that wait for a thread, as lines behind the others.
pub(super) fn waiting(items: &[QueuedInput]) -> String {
    let lines = items.iter().map(|item| {
        let input = item.body.input.as_deref().unwrap_or_default();
        format!("\nqueued    {}  {}", item.id, shown(input))
    });
    lines.collect()
}

/// A superstep a line.
pub(super) fn history(moments: &[Moment]) -> String {
    if moments.is_empty() {
        return "no checkpoints".to_owned();
    }
    let names = |nodes: &[rustagents_core::ids::NodeName]| {
        nodes
            .iter()
            .map(rustagents_core::ids::NodeName::as_str)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let rows = moments.iter().map(|moment| {
        let did = match (moment.source, moment.from) {
            (Source::Input, _) => "input".to_owned(),
            (_, Some(from)) => format!("back to @{from}"),
            (Source::Migration, _) => "migration".to_owned(),
            (Source::Update, _) if moment.done.is_empty() => "update".to_owned(),
            (Source::Update, _) => format!("update as {}", names(&moment.done)),
            _ => names(&moment.done),
        };
        let next = if moment.next.is_empty() {
            "the end".to_owned()
        } else {
            names(&moment.next)
        };
        let changed = moment.changed.join(", ");
        format!(
            "@{:<4} {did:24} wrote {changed:20} then {next}",
            moment.checkpoint
        )
    });
    line_each(rows)
}

fn line_each(rows: impl Iterator<Item = String>) -> String {
    rows.map(|row| line(&row)).collect::<Vec<_>>().join("\n")
}

/// Text from outside as a terminal may show it: what could move the cursor, or
/// change the order in which it is read, becomes its escape.
pub(crate) fn shown(text: &str) -> String {
    escaped(text, |c| c == '\n' || c == '\t')
}

/// Text from outside that must stay on its line.
pub(super) fn line(text: &str) -> String {
    escaped(text, |_| false)
}

fn escaped(text: &str, harmless: impl Fn(char) -> bool) -> String {
    let reorders = |c| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if (c.is_control() && !harmless(c)) || reorders(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// `1 plan`, `2 plans`.
pub(crate) fn plural<N>(count: N, noun: &str) -> String
where
    N: Copy + std::fmt::Display + PartialEq + From<u8>,
{
    let ending = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_fake_a_screen_is_escaped() {
        assert_eq!(shown("a\u{1b}[2Jb\nc\u{9b}d"), "a\\u{1b}[2Jb\nc\\u{9b}d");
        assert_eq!(line("go on with:\n  rag\r"), "go on with:\\u{a}  rag\\u{d}");
        assert_eq!(line("1\u{202e}00"), "1\\u{202e}00");
        assert_eq!(line("129,00 € für Ü"), "129,00 € für Ü");
    }
}
