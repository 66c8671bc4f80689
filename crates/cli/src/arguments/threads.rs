//! The command line of `rag threads`.

use std::{num::NonZeroUsize, path::PathBuf};

use clap::{Args, Subcommand, builder::PossibleValuesParser};
use rustagents_runtime::inspect::Standing;

use super::{Common, Keeping, Recorded};
use crate::since::since;

#[derive(Debug, Args)]
pub(crate) struct Threads {
    #[command(subcommand)]
    pub(crate) action: Option<Action>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// All threads of the store, by name; what happens without a subcommand
    List(List),
    /// How a thread stands, and what it waits for
    Show(Show),
    /// The supersteps of a thread
    History(History),
    /// Go on with a run that failed or reached a limit
    Retry(Retry),
    /// Go back to an earlier checkpoint of a thread
    Rewind(Rewind),
    /// Change the state of a thread
    Update(Update),
    /// Count what a thread holds, or all of them together
    Stats(Stats),
    /// Make a thread of what led to a checkpoint of another one
    Fork(Fork),
    /// Make a thread that is the same as another one
    Copy(Copy),
    /// Take out of threads what nobody needs who goes on with them
    Prune(Prune),
    /// Remove a thread, or one run of it
    Delete(Delete),
    /// Write a thread as lines of JSON
    Export(Export),
    /// Make a thread of an export
    Import(Import),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// The most threads that are listed
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
    /// Start after this name
    #[arg(long, value_name = "THREAD")]
    pub(crate) after: Option<String>,
    /// Only names that begin so
    #[arg(long, value_name = "TEXT")]
    pub(crate) prefix: Option<String>,
    /// Only threads that were written to since then: 30d, 12h, 2026-01-31
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub(crate) since: Option<u64>,
    /// Only threads that stand so
    #[arg(long, value_parser = PossibleValuesParser::new(Standing::NAMES))]
    pub(crate) status: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct History {
    /// The thread
    pub(crate) thread: String,
    /// The most supersteps that are shown: the newest
    #[arg(long, value_name = "N", default_value = "1000")]
    pub(crate) limit: NonZeroUsize,
    /// Only supersteps before this checkpoint
    #[arg(long, value_name = "CHECKPOINT")]
    pub(crate) before: Option<u64>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The thread; with --state also as it was at a checkpoint
    #[arg(value_name = "THREAD[@CHECKPOINT]")]
    pub(crate) thread: String,
    /// Print its state as JSON
    #[arg(long)]
    pub(crate) state: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Retry {
    /// The thread
    pub(crate) thread: String,
    #[command(flatten)]
    pub(crate) plan: Recorded,
    #[command(flatten)]
    pub(crate) keeping: Keeping,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Rewind {
    /// The thread, and the checkpoint to go back to
    #[arg(value_name = "THREAD@CHECKPOINT")]
    pub(crate) at: String,
    /// Also where calls that change something could be made again
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) plan: Recorded,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("change").required(true).multiple(true).args(["set", "node"]))]
pub(crate) struct Update {
    /// The thread
    pub(crate) thread: String,
    /// A value for a channel; several become one checkpoint
    #[arg(long = "set", value_name = "CHANNEL=JSON")]
    pub(crate) set: Vec<String>,
    /// As if this node had written them: what follows it is next; END ends the run
    #[arg(long = "as", value_name = "NODE")]
    pub(crate) node: Option<String>,
    /// The route that the node takes
    #[arg(long, value_name = "LABEL", requires = "node")]
    pub(crate) route: Option<String>,
    #[command(flatten)]
    pub(crate) plan: Recorded,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// The thread; all threads of the store unless given
    pub(crate) thread: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Fork {
    /// The thread, and the last checkpoint that the new one has; all without one
    #[arg(value_name = "THREAD[@CHECKPOINT]")]
    pub(crate) from: String,
    /// The name of the new thread
    #[arg(long = "as", value_name = "NEW")]
    pub(crate) to: String,
    /// Also where calls that change something could be made again
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Copy {
    /// The thread
    pub(crate) thread: String,
    /// The name of the new thread
    #[arg(value_name = "NEW")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["threads", "all"]))]
#[command(group = clap::ArgGroup::new("keeps").required(true).args(["keep", "since"]))]
pub(crate) struct Prune {
    /// The threads
    #[arg(value_name = "THREAD")]
    pub(crate) threads: Vec<String>,
    /// All threads of the store; those that somebody drives are passed over
    #[arg(long)]
    pub(crate) all: bool,
    /// Keep the last so many checkpoints
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) keep: Option<u64>,
    /// Keep the checkpoints since then: 30d, 12h, 2026-01-31
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub(crate) since: Option<u64>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// The thread
    pub(crate) thread: String,
    /// Only this run of it, which has to be over
    #[arg(long, value_name = "RUN", conflicts_with = "yes")]
    pub(crate) run: Option<String>,
    /// Also if the last run waits, or did not end
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The thread
    pub(crate) thread: String,
    /// The file; standard output without one, or for `-`
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The file; standard input without one, or for `-`
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// Another name than the exported one
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

impl Threads {
    /// The options that stand closest to the action.
    pub(crate) fn chosen(&self) -> &Common {
        match &self.action {
            None => &self.common,
            Some(Action::List(list)) => &list.common,
            Some(Action::Show(of)) => &of.common,
            Some(Action::History(of)) => &of.common,
            Some(Action::Retry(retry)) => &retry.common,
            Some(Action::Rewind(rewind)) => &rewind.common,
            Some(Action::Update(update)) => &update.common,
            Some(Action::Stats(of)) => &of.common,
            Some(Action::Fork(fork)) => &fork.common,
            Some(Action::Copy(copy)) => &copy.common,
            Some(Action::Prune(prune)) => &prune.common,
            Some(Action::Delete(delete)) => &delete.common,
            Some(Action::Export(export)) => &export.common,
            Some(Action::Import(import)) => &import.common,
        }
    }
}
