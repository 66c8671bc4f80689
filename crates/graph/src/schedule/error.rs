//! Why writes or ways of a step cannot be taken.

use rustagents_core::{
    budget::Bounds,
    code::{Code, Coded},
    ids::{NodeName, TaskId},
};

use crate::state::UpdateError;

/// Why writes or routes of a step cannot be taken. Nothing of them is recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// A write does not fit its channel.
    #[error("node `{node}`: {source}")]
    Update {
        /// The node.
        node: NodeName,
        /// Why.
        #[source]
        source: UpdateError,
    },
    /// A reducer did not take a write.
    #[error("node `{node}` wrote channel `{channel}`: {reason}")]
    Refused {
        /// The node.
        node: NodeName,
        /// The channel.
        channel: String,
        /// Why.
        reason: String,
    },
    /// There is no such node any more.
    #[error("there is no node `{node}`")]
    NoNode {
        /// The name.
        node: NodeName,
    },
    /// A node with routes took none, or one that it does not have.
    #[error("node `{node}` took {}, and has {}", taken.as_ref().map_or("no route".into(), |label| format!("route `{label}`")), known.join(", "))]
    Route {
        /// The node.
        node: NodeName,
        /// The label that it took.
        taken: Option<String>,
        /// The labels that it has.
        known: Vec<String>,
    },
    /// A node went where it may not go, or nowhere though it should.
    #[error("node `{node}` went {}, and {}", target.as_ref().map_or("nowhere".into(), |target| format!("to `{target}`")), if known.is_empty() { "has edges that say where it goes".into() } else { format!("may go to {}", known.join(", ")) })]
    Goto {
        /// The node.
        node: NodeName,
        /// Where it went.
        target: Option<String>,
        /// Where it may go.
        known: Vec<String>,
    },
    /// A node sent the graph around it on, where there is none.
    #[error("node `{node}` goes on in the graph around its own, and there is none")]
    NoParent {
        /// The node.
        node: NodeName,
    },
    /// A node sent a graph further out on than there is one.
    #[error(
        "node `{node}` goes on {levels} graphs further out, and there are {depth} around its own"
    )]
    TooFarOut {
        /// The node.
        node: NodeName,
        /// How many levels it goes out.
        levels: usize,
        /// How many there are.
        depth: usize,
    },
    /// Two tasks wrote one overwrite channel.
    #[error("tasks {} and {} both wrote channel `{channel}` in one step", tasks.0, tasks.1)]
    ConcurrentUpdate {
        /// The channel.
        channel: String,
        /// The tasks.
        tasks: (TaskId, TaskId),
    },
    /// Two tasks of one step would begin where the last call of their node ended.
    #[error(
        "tasks {} and {} of one step both go on from the last call of node `{node}`",
        tasks.0, tasks.1
    )]
    KeptTwice {
        /// The node.
        node: NodeName,
        /// The tasks.
        tasks: (TaskId, TaskId),
    },
    /// A step would have more tasks than it may, those of deferred nodes among them.
    #[error("the next step would have {tasks} tasks, more than {limit}")]
    FanOut {
        /// How many.
        tasks: usize,
        /// How many it may have.
        limit: usize,
    },
}

impl Coded for ScheduleError {
    fn code(&self) -> Code {
        match self {
            Self::Update { .. } | Self::Refused { .. } => Code::ValueForChannel,
            Self::NoNode { .. } => Code::Incompatible,
            Self::Route { .. } => Code::UnknownRoute,
            Self::Goto { .. } | Self::NoParent { .. } | Self::TooFarOut { .. } => Code::Goto,
            Self::ConcurrentUpdate { .. } => Code::ConcurrentUpdate,
            Self::KeptTwice { .. } => Code::KeptTwice,
            Self::FanOut { .. } => Code::FanOut,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::ConcurrentUpdate { channel, .. } => Some(format!(
                "make `{channel}` an append channel, or let one of the nodes write it"
            )),
            Self::KeptTwice { node, .. } => Some(format!(
                "let the tasks of `{node}` run one after the other, or let it begin empty each \
                 time"
            )),
            Self::Goto { node, .. } => Some(format!(
                "declare with the builder where `{node}` may go, and go there"
            )),
            Self::FanOut { limit, .. } => Some(way_beyond(
                "divide the work over several steps",
                "Bounds::max_tasks",
                *limit < Bounds::MOST.tasks(),
            )),
            _ => None,
        }
    }
}

/// What to do about a bound: `instead`, or set `option`, if it is not at its most.
pub(crate) fn way_beyond(instead: &str, option: &str, may_be_raised: bool) -> String {
    if may_be_raised {
        format!("{instead}, or raise `{option}` of the runner")
    } else {
        format!("{instead}; `{option}` is at its most")
    }
}
