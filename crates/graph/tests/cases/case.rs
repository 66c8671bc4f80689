//! The format of a case, as `spec/graph/README.md` describes it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// One file, or the graph of a node, which has a part of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    #[serde(default)]
    pub(super) title: String,
    #[serde(default)]
    pub(super) channels: BTreeMap<String, Channel>,
    #[serde(default)]
    pub(super) start: Vec<String>,
    pub(super) start_branch: Option<Branch>,
    pub(super) nodes: BTreeMap<String, NodeCase>,
    #[serde(default)]
    pub(super) edges: Vec<String>,
    #[serde(default)]
    pub(super) joins: Vec<String>,
    #[serde(default)]
    pub(super) groups: BTreeMap<String, usize>,
    pub(super) concurrency: Option<usize>,
    pub(super) recursion_limit: Option<u64>,
    #[serde(default)]
    pub(super) input: BTreeMap<String, Value>,
    /// What is wrong with the graph; such a case has no attempts.
    #[serde(default)]
    pub(super) faults: Vec<String>,
    #[serde(default)]
    pub(super) attempts: Vec<Attempt>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Channel {
    Reducer(ReducerName),
    Barrier(Barrier),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ReducerName {
    Overwrite,
    Append,
    Union,
    Min,
    Max,
    Counter,
    Topic,
    Ephemeral,
    /// A reducer of one's own, which puts text together.
    Text,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Barrier {
    pub(super) barrier: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Branch {
    pub(super) on: String,
    pub(super) routes: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NodeCase {
    #[serde(default)]
    pub(super) does: Vec<Does>,
    #[serde(default)]
    pub(super) routes: BTreeMap<String, Vec<String>>,
    pub(super) branch: Option<Branch>,
    #[serde(default)]
    pub(super) commands: Vec<String>,
    #[serde(default)]
    pub(super) deferred: bool,
    #[serde(default)]
    pub(super) optional: bool,
    pub(super) tries: Option<u32>,
    pub(super) timeout_ms: Option<u64>,
    pub(super) on_error: Option<String>,
    pub(super) group: Option<String>,
    #[serde(default)]
    pub(super) asks: Vec<When>,
    /// The graph that it is, instead of doing something.
    pub(super) graph: Option<Box<Case>>,
    /// From where to where an adapter carries what the graph begins with, and what it
    /// ends with. Without them, it is on the state of the one around it.
    #[serde(default)]
    pub(super) into: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) back: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) keeps_state: bool,
}

/// When a person is asked about each task of a node.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum When {
    Before,
    After,
}

/// What a task does.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Does {
    pub(super) takes_ms: Option<u64>,
    #[serde(default)]
    pub(super) asks: Vec<String>,
    #[serde(default)]
    pub(super) fails: Fails,
    #[serde(default)]
    pub(super) clears: Vec<String>,
    #[serde(default)]
    pub(super) replaces: BTreeMap<String, Value>,
    #[serde(default)]
    pub(super) items: BTreeMap<String, Vec<Value>>,
    #[serde(default)]
    pub(super) writes: BTreeMap<String, Value>,
    /// Where to, and from which channel as the task sees it.
    #[serde(default)]
    pub(super) copies: BTreeMap<String, String>,
    pub(super) writes_argument: Option<String>,
    pub(super) writes_answers: Option<String>,
    pub(super) route: Option<String>,
    pub(super) goto: Option<Vec<String>>,
    pub(super) goto_parent: Option<Vec<String>>,
    #[serde(default)]
    pub(super) sends: Vec<Send>,
}

/// How often a task fails before it does what it does.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Fails {
    Times(u32),
    Always(Always),
}

impl Default for Fails {
    fn default() -> Self {
        Self::Times(0)
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Always {
    Always,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Send {
    pub(super) to: String,
    pub(super) argument: Value,
}

/// What is done before an attempt, and what is expected of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Attempt {
    #[serde(default)]
    pub(super) updates: BTreeMap<String, Value>,
    #[serde(default)]
    pub(super) answers: BTreeMap<String, Value>,
    pub(super) steps: Vec<Vec<String>>,
    #[serde(default)]
    pub(super) asks: Vec<String>,
    pub(super) fails: Option<String>,
    pub(super) recursion_limit: Option<u64>,
    pub(super) state: BTreeMap<String, Value>,
}
