//! The command line.

mod events;
mod store;
mod threads;

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use rustagents_core::recorder::Durability;

pub(crate) use events::{Events, Keeping, Which};
pub(crate) use store::{ListItems, PutItem, Store, StoreAction};
pub(crate) use threads::{
    Action, Copy, Delete, Export, Fork, Import, List, Prune, Retry, Rewind, Stats, Threads, Update,
};

/// Runs LLM agents that survive crashes and wait for people.
#[derive(Debug, Parser)]
#[command(name = "rag", version, about, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a plan on an input
    Run(Run),
    /// Go on with a thread: answer what it waits for, or continue after a crash
    Resume(Resume),
    /// Talk with a plan, on one thread
    Chat(Chat),
    /// Give up what a thread works on or waits for
    Cancel(Cancel),
    /// Look at threads, go back in them, and fork, prune, delete, export or import them
    Threads(Threads),
    /// Print what was kept of what happened on a thread, or follow it
    Events(Events),
    /// Look at what agents remember across threads, and put it right
    Store(Store),
    /// Check plans without running them
    Check(Check),
    /// Draw a plan's graph
    Graph(Graph),
    /// Print the page of an error code
    Explain(Explain),
    /// Make a folder with a plan that runs at once
    New(New),
    /// Look for what is missing: configuration, models, tools, store
    Doctor(Doctor),
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// A .rag file, or a folder that holds one
    pub(crate) target: PathBuf,
    /// `-` reads the input from standard input
    #[arg(value_name = "-", value_parser = ["-"], conflicts_with_all = ["input", "input_file"])]
    pub(crate) stdin: Option<String>,
    /// The input: the first message of the user
    #[arg(long, value_name = "TEXT", conflicts_with = "input_file")]
    pub(crate) input: Option<String>,
    /// A file with the input
    #[arg(long, value_name = "PATH")]
    pub(crate) input_file: Option<PathBuf>,
    /// The thread to run on; a new one unless given. ID@CHECKPOINT goes back there first
    #[arg(long, value_name = "ID")]
    pub(crate) thread: Option<String>,
    /// Go back, though calls that change something may then be made once more
    #[arg(long)]
    pub(crate) yes: bool,
    /// A model under an alias, before the configuration's
    #[arg(long = "model", value_name = "ALIAS=SPEC")]
    pub(crate) models: Vec<String>,
    /// A value for a channel
    #[arg(long = "set", value_name = "CHANNEL=JSON")]
    pub(crate) set: Vec<String>,
    /// Where the thread has a run that is driven or waits: refuse the input, let it wait, or
    /// give the run up, without or with what it did to the state
    #[arg(long, value_enum, default_value_t = Busy::Reject)]
    pub(crate) on_busy: Busy,
    /// Take the thread over from the process that drives it
    #[arg(long)]
    pub(crate) takeover: bool,
    #[command(flatten)]
    pub(crate) keeping: Keeping,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// What a new input does to the run that it finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Busy {
    #[default]
    Reject,
    Enqueue,
    Interrupt,
    Rollback,
}

#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// The thread
    pub(crate) thread: String,
    /// Let a call run, if its arguments have this hash
    #[arg(long, value_name = "CALL[@HASH]")]
    pub(crate) approve: Vec<String>,
    /// Do not let a call run
    #[arg(long, value_name = "CALL[=REASON]")]
    pub(crate) deny: Vec<String>,
    /// Answer a question
    #[arg(long, value_name = "INTERRUPT=JSON")]
    pub(crate) answer: Vec<String>,
    /// A call in doubt happened, with this result
    #[arg(long, value_name = "CALL=JSON")]
    pub(crate) done: Vec<String>,
    /// A call in doubt did not happen; the model is told so
    #[arg(long, value_name = "CALL")]
    pub(crate) not_done: Vec<String>,
    /// Make a call in doubt again
    #[arg(long, value_name = "CALL")]
    pub(crate) repeat: Vec<String>,
    /// Go on without the pending tasks and calls that no longer fit the plan
    #[arg(long)]
    pub(crate) force: bool,
    /// Go on with the recorded plan, whatever its file says now
    #[arg(long, conflicts_with = "target")]
    pub(crate) pin: bool,
    #[command(flatten)]
    pub(crate) plan: Recorded,
    #[command(flatten)]
    pub(crate) keeping: Keeping,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// How the plan of a thread is found, and the thread claimed.
#[derive(Debug, Args)]
pub(crate) struct Recorded {
    /// Another place of the plan than the one that is recorded
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<PathBuf>,
    /// A model under an alias, before the recorded ones
    #[arg(long = "model", value_name = "ALIAS=SPEC")]
    pub(crate) models: Vec<String>,
    /// Take the thread over from the process that drives it
    #[arg(long)]
    pub(crate) takeover: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Chat {
    /// A .rag file, or a folder that holds one
    pub(crate) target: PathBuf,
    /// The thread to talk on; a new one unless given
    #[arg(long, value_name = "ID")]
    pub(crate) thread: Option<String>,
    /// A model under an alias, before the configuration's
    #[arg(long = "model", value_name = "ALIAS=SPEC")]
    pub(crate) models: Vec<String>,
    /// Take the thread over from the process that drives it
    #[arg(long)]
    pub(crate) takeover: bool,
    #[command(flatten)]
    pub(crate) keeping: Keeping,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// The thread
    pub(crate) thread: String,
    /// Take an input out of the queue instead, by its name
    #[arg(long, value_name = "INPUT", conflicts_with_all = ["reason", "takeover"])]
    pub(crate) queued: Option<String>,
    /// Why, for the record of a run that another process drives
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// How many seconds to wait for a process that drives the thread
    #[arg(long, value_name = "SECONDS", default_value_t = 10,
          value_parser = clap::value_parser!(u64).range(0..=86_400))]
    pub(crate) wait: u64,
    /// Take the thread over from the process that drives it
    #[arg(long)]
    pub(crate) takeover: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// .rag files, or folders that hold one
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// A .rag file, a folder that holds one, or a graph as JSON (.json)
    pub(crate) target: PathBuf,
    /// How the graph is written [default: mermaid, or json with --json]
    #[arg(long, value_enum, conflicts_with_all = ["check", "diff"])]
    pub(crate) format: Option<Format>,
    /// Look for what cannot work in the graph, and draw nothing
    #[arg(long, conflicts_with = "diff")]
    pub(crate) check: bool,
    /// Tell what changed since another graph, and draw nothing
    #[arg(long, value_name = "TARGET")]
    pub(crate) diff: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// How a graph is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Mermaid,
    Json,
    Dot,
    Text,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The code, such as RAG0102 or 102
    pub(crate) code: String,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// The folder; its name becomes the graph's
    #[arg(value_name = "NAME")]
    pub(crate) folder: PathBuf,
    /// What the plan shows: a tool that reads, one that a person approves, or talk alone
    #[arg(long, value_enum, default_value_t = Template::Agent)]
    pub(crate) template: Template,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Read every thread whole, however long that takes
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// What a new plan shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Template {
    Agent,
    Approval,
    Chat,
}

/// Options that every command takes.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own on the command line"
)]
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Common {
    /// The configuration; the nearest rustagents.toml upwards from the target unless given
    #[arg(long, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
    /// Where threads are kept: sqlite:PATH, file:DIR or memory: [default: sqlite:.rustagents/journal.db]
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// When what a run did is safe from a crash
    #[arg(long, value_enum, default_value_t = Durable::Sync)]
    pub(crate) durability: Durable,
    /// Print one JSON object on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Print each event as a line of JSON on standard output, and the object last
    #[arg(long)]
    pub(crate) events: bool,
    /// Print no progress
    #[arg(long)]
    pub(crate) quiet: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
    /// Print more: each tool call
    #[arg(short = 'v', long)]
    pub(crate) verbose: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Durable {
    None,
    Exit,
    Async,
    #[default]
    Sync,
}

impl From<Durable> for Durability {
    fn from(durable: Durable) -> Self {
        match durable {
            Durable::None => Self::None,
            Durable::Exit => Self::Exit,
            Durable::Async => Self::Async,
            Durable::Sync => Self::Sync,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

impl Arguments {
    pub(crate) fn common(&self) -> &Common {
        match &self.command {
            Command::Run(arguments) => &arguments.common,
            Command::Resume(arguments) => &arguments.common,
            Command::Chat(arguments) => &arguments.common,
            Command::Cancel(arguments) => &arguments.common,
            Command::Check(arguments) => &arguments.common,
            Command::Graph(arguments) => &arguments.common,
            Command::Explain(arguments) => &arguments.common,
            Command::New(arguments) => &arguments.common,
            Command::Doctor(arguments) => &arguments.common,
            Command::Events(arguments) => &arguments.common,
            Command::Store(arguments) => arguments.chosen(),
            Command::Threads(arguments) => arguments.chosen(),
        }
    }
}

impl Common {
    /// What is known of the options of a command line that cannot be read.
    pub(crate) fn json() -> Self {
        Self {
            json: true,
            ..Self::default()
        }
    }
}

/// The program as it was called.
pub(crate) fn program() -> String {
    let name = std::env::args_os()
        .next()
        .unwrap_or_else(|| OsString::from("rag"));
    quote(&name.to_string_lossy())
}

/// Quotes a word for a POSIX shell where it needs that.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@=,+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn words_are_quoted_only_where_they_must_be() {
        for (word, quoted) in [
            ("ticket-7", "ticket-7"),
            ("my thread", "'my thread'"),
            ("", "''"),
            ("it's", r"'it'\''s'"),
            ("$HOME", "'$HOME'"),
            ("c-3@9f2c", "c-3@9f2c"),
        ] {
            assert_eq!(quote(word), quoted);
        }
    }
}
