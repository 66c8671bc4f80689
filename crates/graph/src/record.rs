//! What a graph records: checkpoints, and the writes of finished tasks.

use rustagents_core::{
    ids::{FactKey, Namespace, NodeName, TaskId},
    journal::Seq,
};
use serde::{Deserialize, Serialize};

use crate::state::Delta;

/// The body of a checkpoint: what a superstep changed, and what runs next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Its number in the thread, from 1.
    pub checkpoint: u64,
    /// How many supersteps the run has done.
    pub step: u64,
    /// Where it comes from.
    pub source: Source,
    /// The changes, in order.
    pub deltas: Vec<(String, Delta)>,
    /// The tasks whose writes are in it.
    pub done: Vec<TaskId>,
    /// The tasks of the next superstep; none: the graph is done.
    pub next: Vec<Task>,
}

/// The body of a snapshot: the state at a checkpoint, as the changes that make it
/// of an empty one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The number of the checkpoint.
    pub checkpoint: u64,
    /// Where the checkpoint stands, if not right before the snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Seq>,
    /// The number of the last message that was minted by then.
    pub messages: u64,
    /// The number of the last call that was minted by then.
    pub calls: u64,
    /// The changes, in order.
    pub state: Vec<(String, Delta)>,
}

impl Snapshot {
    /// The bytes of its body.
    pub(crate) fn bytes(&self) -> usize {
        serde_json::to_vec(self).map_or(usize::MAX, |body| body.len())
    }
}

/// Where a checkpoint comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Source {
    /// The input of a run.
    Input,
    /// A superstep.
    Step,
}

/// One activation of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its id.
    pub task: TaskId,
    /// The node.
    pub node: NodeName,
}

/// The body of a finished task's write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskWrite {
    /// The changes, in order.
    pub deltas: Vec<(String, Delta)>,
    /// The route that it takes, where its node has routes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
}

impl TaskWrite {
    /// The key of the write of `task` inside `namespace`.
    pub fn key(namespace: &Namespace, task: &TaskId) -> FactKey {
        FactKey::from(format_args!("write/{}", namespace.child(task)))
    }
}
