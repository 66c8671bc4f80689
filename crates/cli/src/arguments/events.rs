//! The command line of `rag events`, and of keeping events.

use clap::{Args, ValueEnum};

use super::Common;

/// Whether the events of what is driven are kept.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Keeping {
    /// Keep the events of the run for `rag events`: yes, no, or with the text of models
    /// [default: as `[events]` in the configuration says]
    #[arg(
        long = "keep-events",
        value_name = "WHICH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "yes"
    )]
    pub(crate) which: Option<Which>,
}

/// Which events are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Which {
    No,
    Yes,
    // With the text of models, as it comes.
    Deltas,
}

#[derive(Debug, Args)]
pub(crate) struct Events {
    /// The thread
    pub(crate) thread: String,
    /// Only events behind this offset
    #[arg(long, value_name = "OFFSET", default_value_t = 0)]
    pub(crate) after: u64,
    /// Only events of this run
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Only events of this name, such as node.failed; may be given more than once
    #[arg(long = "kind", value_name = "KIND")]
    pub(crate) kinds: Vec<String>,
    /// Only events of this task, or of the graph inside it, such as refunds:2.0
    #[arg(long, value_name = "TASK")]
    pub(crate) namespace: Option<String>,
    /// The most events that are printed [default: 1000, and all with --follow]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// Go on printing what happens, until the run is over
    #[arg(long)]
    pub(crate) follow: bool,
    /// Print how the last run stands and how the nodes fare, put together from the events
    #[arg(long, conflicts_with_all = ["after", "run", "kinds", "namespace", "limit", "follow"])]
    pub(crate) status: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}
