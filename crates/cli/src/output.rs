//! What people and scripts are told: answers on standard output, the rest on
//! standard error. A reader that goes away is no error.

mod checks;
mod inbox;
mod json;
mod kept;
pub(crate) mod live;
pub(crate) mod person;
pub(crate) mod progress;
pub(crate) mod threads;

use std::{
    io::{IsTerminal, Write},
    sync::{Mutex, PoisonError},
};

use anstream::{AutoStream, ColorChoice};
use rustagents_core::{Code, event::Events, ids::ThreadId};
use rustagents_lang::Diagnostic;
use rustagents_runtime::{
    Report, ThreadView,
    inbox::QueuedInput,
    inspect::{Moment, Standing, ThreadSummary},
    public_event,
};

use crate::{
    arguments::{Color, Common, Durable, program, quote},
    failure::{Failure, Pending},
    output::{live::Live, progress::Progress},
};

pub(crate) use person::plural;

/// For whom a command talks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Person,
    Json,
    /// Each event a line, then the object.
    Events,
}

/// How a command talks.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    form: Form,
    quiet: bool,
    verbose: bool,
    color: ColorChoice,
    resume: Resume,
}

/// How a resume line starts.
#[derive(Clone, Debug)]
struct Resume {
    program: String,
    store: Option<String>,
    /// Whether there is anything to go on from.
    is_recorded: bool,
    /// Whether the person is in a conversation, which has a command of its own.
    in_chat: bool,
}

/// A plan and what was found in it.
pub(crate) struct Checked {
    pub(crate) path: String,
    pub(crate) source: String,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// The terminal knows no colours, even where a build service (`CI`) does.
fn is_dumb() -> bool {
    let forced = std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    !forced && std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

impl Output {
    pub(crate) fn new(common: &Common) -> Self {
        Self {
            form: match (common.json, common.events) {
                (_, true) => Form::Events,
                (true, false) => Form::Json,
                (false, false) => Form::Person,
            },
            quiet: common.quiet || common.json || common.events,
            verbose: common.verbose,
            color: match common.color {
                Color::Auto if is_dumb() => ColorChoice::Never,
                Color::Auto => ColorChoice::Auto,
                Color::Always => ColorChoice::Always,
                Color::Never => ColorChoice::Never,
            },
            resume: Resume {
                program: program(),
                store: common.store.clone(),
                is_recorded: common.durability != Durable::None,
                in_chat: false,
            },
        }
    }

    /// The same for a conversation.
    pub(crate) fn in_chat(&self) -> Self {
        let mut output = self.clone();
        output.resume.in_chat = true;
        output
    }

    /// A listener that shows progress, if somebody wants to see it.
    pub(crate) fn progress(&self, named: bool) -> Events {
        if self.form == Form::Events {
            return Events::listen(|event| {
                // A reader that went away misses the rest; the run goes on.
                let _ = say(&public_event::line(event).1.to_string());
            });
        }
        if self.quiet {
            return Events::default();
        }
        let shown = Mutex::new((Progress::new(self.verbose, named), self.live()));
        Events::listen(move |event| {
            let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            let (progress, live) = &mut *shown;
            if let Some(line) = progress.hear(event) {
                live.say(&line);
            }
            live.show(&progress.at_work());
        })
    }

    /// Where a person sees progress.
    pub(crate) fn live(&self) -> Live {
        Live::new(self.color)
    }

    /// Whether progress is shown.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether more than usual is shown.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// What a run came to, and the name of the input that waits behind it.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn report(&self, report: &Report, queued: Option<&str>) -> Result<(), Failure> {
        self.result(report, queued).map_err(|failure| {
            if self.resume.is_found(report.has_plan) {
                failure.of_result()
            } else {
                failure
            }
        })
    }

    fn result(&self, report: &Report, queued: Option<&str>) -> Result<(), Failure> {
        if self.is_json() {
            return say(&json::report(report, &self.resume, queued));
        }
        if let Some(answer) = person::answer(report) {
            // A pipe gets the bytes as they are, a screen what is safe to show.
            let screen = std::io::stdout().is_terminal();
            say(&if screen {
                person::shown(&answer)
            } else {
                answer
            })?;
        }
        self.told_of(report);
        Ok(())
    }

    /// What is said of a run beside its answer.
    pub(crate) fn told_of(&self, report: &Report) {
        self.stderr(&person::report(report, &self.resume));
    }

    /// What a run consumed that was driven to its end.
    pub(crate) fn spent(&self, report: &Report) {
        if report.is_closed && !self.quiet && report.spent.model_calls > 0 {
            self.stderr(&person::spent(&report.spent));
        }
    }

    /// What became of a run that was to be given up.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn cancelled(&self, report: &Report) -> Result<(), Failure> {
        if self.is_json() {
            return say(&json::report(report, &self.resume, None));
        }
        if !self.quiet {
            self.stderr(&person::cancelled(report));
        }
        Ok(())
    }

    /// Why nothing came of a command.
    pub(crate) fn failure(&self, failure: &Failure) {
        let mut failure = failure.clone();
        if let Some(thread) = &failure.thread {
            failure.hint = if failure.code == Code::NoRun {
                Some(format!("start one with `{}`", self.resume.start(thread)))
            } else {
                let line = self.resume.of_another().line(thread, &[]);
                line.map(|line| format!("go on with `{line}`"))
            };
        }
        self.told(&failure);
    }

    /// What is wrong with a command line, with its usage.
    pub(crate) fn usage(&self, text: &str) {
        self.stderr(&format!("error[{}]: {}", Code::Usage, text.trim_end()));
    }

    fn told(&self, failure: &Failure) {
        let resume = self.resume.of_another();
        // What cannot be said to a script is said to a person.
        if self.is_json() && say(&json::failure(failure, &resume)).is_ok() {
            return;
        }
        self.stderr(&person::failure(failure));
        if let Some(Pending::Run(report)) = failure.pending.as_deref() {
            self.stderr(&person::report(report, &resume));
        }
    }

    /// The threads of a store.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn threads(&self, threads: &[ThreadSummary]) -> Result<(), Failure> {
        if self.is_json() {
            return say(&json::threads(threads));
        }
        say(&person::threads(threads))?;
        for row in threads {
            if let Some(problem) = &row.problem {
                let thread = person::line(row.thread.as_str());
                self.note(&format!("thread {thread}: {}", person::line(problem)));
            }
        }
        Ok(())
    }

    /// How a thread stands.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn thread(
        &self,
        view: &ThreadView,
        standing: Standing,
        waiting: &[QueuedInput],
    ) -> Result<(), Failure> {
        let report = view.report();
        if self.is_json() {
            let object = json::thread(view, standing, &report, waiting, &self.resume);
            return say(&object);
        }
        let mut text = person::thread(view, standing, &report, &self.resume);
        text.push_str(&person::waiting(waiting));
        wrote(writeln(
            AutoStream::new(std::io::stdout(), self.color),
            &text,
        ))
    }

    /// How a thread stands that has no run.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn thread_without_run(
        &self,
        thread: &ThreadId,
        standing: Standing,
        waiting: &[QueuedInput],
    ) -> Result<(), Failure> {
        if self.is_json() {
            return say(&json::thread_without_run(thread, standing, waiting));
        }
        let start = self.resume.start(thread.as_str());
        let mut text = person::thread_without_run(thread, standing, &start);
        text.push_str(&person::waiting(waiting));
        say(&text)
    }

    /// The supersteps of a thread.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn history(&self, thread: &str, moments: &[Moment]) -> Result<(), Failure> {
        say(&if self.is_json() {
            json::history(thread, moments)
        } else {
            person::history(moments)
        })
    }

    /// What was found in plans; says whether there was anything.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn checked(&self, checked: &[Checked]) -> Result<bool, Failure> {
        let found = checked.iter().any(|plan| !plan.diagnostics.is_empty());
        if self.is_json() {
            say(&json::checked(checked))?;
        } else {
            for plan in checked {
                for diagnostic in &plan.diagnostics {
                    say(&diagnostic.render(&plan.path, &plan.source))?;
                }
            }
            if !found && !self.quiet {
                self.stderr(&format!(
                    "{} checked, nothing found",
                    plural(checked.len(), "plan")
                ));
            }
        }
        Ok(found)
    }

    /// Tells a person something that is no answer.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.stderr(&person::shown(text));
        }
    }

    /// Tells a person what they asked for and what is no answer of the plan.
    pub(crate) fn tell(&self, text: &str) {
        self.stderr(&person::shown(text));
    }

    /// Whether standard output is for one JSON object.
    pub(crate) fn is_json(&self) -> bool {
        self.form != Form::Person
    }

    /// What a person is asked, with the arguments of the call behind it.
    pub(crate) fn question(&self, ask: &rustagents_core::ask::Ask) {
        self.stderr(&person::question(ask));
    }

    fn stderr(&self, text: &str) {
        if !text.is_empty() {
            put(AutoStream::new(std::io::stderr(), self.color), text);
        }
    }
}

/// Writes a text that was asked for to standard output: a pipe gets it as it is,
/// a screen what is safe to show.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    let text = text.trim_end();
    if std::io::stdout().is_terminal() {
        return say(&person::shown(text));
    }
    say(text)
}

/// Writes one JSON object to standard output.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn object(value: &impl serde::Serialize) -> Result<(), Failure> {
    let line = serde_json::to_string(value).map_err(|error| Failure::internal(&error))?;
    say(&line)
}

/// Writes a line to standard output. A reader that went away is no error.
fn say(text: &str) -> Result<(), Failure> {
    wrote(writeln(std::io::stdout().lock(), text))
}

fn writeln(mut stream: impl Write, text: &str) -> std::io::Result<()> {
    writeln!(stream, "{text}")?;
    stream.flush()
}

fn wrote(written: std::io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::output(&error))
        }
        _ => Ok(()),
    }
}

/// Writes a line. Nobody may be listening any more; the work goes on.
fn put(stream: impl Write, text: &str) {
    let _ = writeln(stream, text);
}

impl Resume {
    /// The same for a run that was there before, and so is recorded.
    fn of_another(&self) -> Self {
        Self {
            is_recorded: true,
            ..self.clone()
        }
    }

    /// The same for a thread whose plan a file holds, or none does.
    fn with_plan(&self, has_plan: bool) -> Self {
        Self {
            is_recorded: self.is_recorded && has_plan,
            ..self.clone()
        }
    }

    /// What to do about a run that ended without success: what its error says, and
    /// the command that tries again, where that can help.
    fn advice(&self, report: &Report) -> Option<String> {
        let hint = report.hint.clone();
        let can = report.can_be_retried() && self.is_found(report.has_plan);
        match (hint, can.then(|| self.retry(report.thread.as_str()))) {
            (Some(hint), Some(retry)) => Some(format!("{hint}; then `{retry}` goes on")),
            (None, Some(retry)) => Some(format!("`{retry}` tries again")),
            (hint, None) => hint,
        }
    }

    /// Whether another process finds a thread, and its plan.
    fn is_found(&self, has_plan: bool) -> bool {
        self.is_recorded && has_plan && self.store.as_deref() != Some("memory:")
    }

    /// The command that opens a run on `thread`.
    fn start(&self, thread: &str) -> String {
        let (program, thread) = (&self.program, quote(thread));
        let line = format!("{program} run TARGET --thread {thread}");
        self.on_store(line)
    }

    /// The same command on the store that this one is about.
    fn on_store(&self, line: String) -> String {
        match &self.store {
            Some(store) => format!("{line} --store {}", quote(store)),
            None => line,
        }
    }

    fn retry(&self, thread: &str) -> String {
        if self.in_chat {
            return "/retry".to_owned();
        }
        let (program, thread) = (&self.program, quote(thread));
        self.on_store(format!("{program} threads retry {thread}"))
    }

    /// The command that says `options` to `thread`. A store in memory is gone
    /// with its process, so there is none for it.
    fn line(&self, thread: &str, options: &[String]) -> Option<String> {
        if !self.is_found(true) {
            return None;
        }
        let mut words = vec![self.program.clone(), "resume".into(), quote(thread)];
        if let Some(store) = &self.store {
            words.push("--store".into());
            words.push(quote(store));
        }
        words.extend(options.iter().cloned());
        Some(words.join(" "))
    }
}

/// The option that answers a question. Where only a person knows the answer, a
/// word stands in its place that is refused as it is.
fn option(ask: &rustagents_core::ask::Ask) -> String {
    use rustagents_core::ask::Subject;
    match &ask.subject {
        Subject::Approval(call) => format!("--approve {}@{}", call.call, call.hash.short()),
        Subject::InDoubt(call) => format!("--done {}=RESULT", call.call),
        Subject::StepInDoubt(_) => format!("--done {}", quote(&format!("{}=RESULT", ask.id))),
        _ => format!("--answer {}", quote(&format!("{}=ANSWER", ask.id))),
    }
}
