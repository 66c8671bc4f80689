//! What opens, continues, suspends and closes a run.

use std::{collections::BTreeMap, fmt};

use rustagents_agent::error::RecordedError;
use rustagents_core::{
    budget::Limits,
    digest::Digest,
    ids::{AskId, CallId, MessageId, TaskId},
    journal::Seq,
    message::Usage,
};
use serde::{Deserialize, Serialize};

use crate::report::Status;

/// The body of the record that opens a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOpened {
    /// Where the plan comes from.
    pub target: Target,
    /// The digest of the definition, which is a content of the journal.
    pub definition: Digest,
    /// What it may consume.
    pub limits: Limits,
    /// The message that is its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<MessageId>,
    /// The name of the input, where it had waited in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<String>,
    /// The place up to which no input waited when the run was opened, so that whoever
    /// looks for those that wait begins behind it. Absent where nothing stands before.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub queue_after: Seq,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(place: &Seq) -> bool {
    *place == 0
}

/// Where a plan comes from, so that a resume needs only the thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The plan's file.
    pub plan: String,
    /// The configuration's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Models that were given beside the configuration's: alias and specification.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, String>,
}

/// What a plan's place starts with where there is no plan, but a program that builds
/// the graph of that name.
const BUILT: &str = "graph:";

impl Target {
    /// Where a graph comes from that a program builds.
    pub(crate) fn built(graph: &str) -> Self {
        Self {
            plan: format!("{BUILT}{graph}"),
            ..Self::default()
        }
    }

    /// Whether a file holds the plan. A graph that a program builds is in none.
    pub fn has_plan(&self) -> bool {
        !self.plan.starts_with(BUILT)
    }
}

/// The body of the record that begins another try at a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAttempt {
    /// Which try, from 2.
    pub attempt: u32,
    /// The digest of the definition, where it is another than before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Digest>,
    /// Whether it reopens a run that had ended without success.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retries: bool,
    /// What the run may consume, where that is something else than before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// What it goes on without, as a person forced it to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forced: Vec<Forced>,
}

/// Something that was pending and no longer fitted the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forced {
    /// What it is.
    #[serde(flatten)]
    pub what: GoneWithout,
    /// What did not fit.
    pub why: String,
}

/// What a forced attempt goes on without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GoneWithout {
    /// A task, which was dropped.
    Task(TaskId),
    /// A join, which was dropped.
    Join(String),
    /// A call, which has a result without being made.
    Call(CallId),
}

impl fmt::Display for GoneWithout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(task) => write!(f, "task {task}"),
            Self::Join(join) => write!(f, "join {join}"),
            Self::Call(call) => write!(f, "call {call}"),
        }
    }
}

/// The body of the record that suspends a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSuspended {
    /// The questions that it waits for.
    pub asks: Vec<AskId>,
}

/// The body of the record that closes a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunClosed {
    /// How it ended.
    pub status: Status,
    /// The text of the last answer in the conversation.
    pub output: Option<String>,
    /// What went wrong.
    pub error: Option<RecordedError>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// How many supersteps it took, with those of graphs inside.
    pub steps: u64,
    /// What its model calls consumed.
    pub usage: Usage,
    /// How many model calls it made.
    pub model_calls: u64,
    /// How many tool calls it made.
    pub tool_calls: u64,
}
