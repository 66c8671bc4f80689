//! The shape of a graph, for drawings and tools.
//!
//! Reading order: this page (what a shape is made of), `document` (as JSON, and
//! what a document may not be), `policies` (how nodes are run), `draw` (as a drawing), `text` (as lines beside a
//! test), `analysis` over `flow` (what cannot work), and `diff` (what changed).

mod analysis;
mod diff;
mod document;
mod draw;
mod flow;
mod policies;
mod text;

use std::{
    collections::BTreeMap,
    fmt::{self, Write},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::state::Reducer;

pub use analysis::{Analysis, Finding, FindingKind, Severity};
pub use diff::{TopologyChange, TopologyDiff};
pub use document::{MAX_BYTES, MAX_DEPTH, MAX_EDGES, MAX_NODES, SCHEMA, TopologyError};
pub use policies::TopologyPolicies;

/// What a graph is made of, in the order of its declaration.
///
/// The ends of the edges are the names of nodes, [`START`](crate::START) and
/// [`END`](crate::END); no node has one of those names. A route to several targets is
/// one edge for each, and so is a join of several sources. An edge between names that
/// are no nodes is left out of drawings and of the analysis.
///
/// ```
/// use rustagents_graph::{END, GraphBuilder, NodeOutput, node_fn};
///
/// let graph = GraphBuilder::new("hello")
///     .node("greet", node_fn(|_, _| async { Ok(NodeOutput::new()) }))
///     .start(["greet"])
///     .edge("greet", END)
///     .compile()?;
/// let drawing = r#"flowchart TD
///     start(["START"])
///     n0["greet"]
///     stop(["END"])
///     start --> n0
///     n0 --> stop
/// "#;
/// assert_eq!(graph.topology().to_mermaid(), drawing);
/// # Ok::<(), rustagents_graph::GraphFaults>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GraphTopology {
    /// The graph's name.
    pub name: String,
    /// The channels.
    pub channels: Vec<TopologyChannel>,
    /// The nodes, without `START` and `END`.
    pub nodes: Vec<TopologyNode>,
    /// The edges: from the start first, then those of each node.
    pub edges: Vec<TopologyEdge>,
}

/// A channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TopologyChannel {
    /// Its name.
    pub name: String,
    /// How it takes writes.
    pub reducer: Reducer,
    /// The names for which a barrier waits, sorted; of another channel, none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awaited: Vec<String>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TopologyNode {
    /// Its name.
    pub name: String,
    /// What does its work, such as `agent`, `function`, `subgraph` or `interrupt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Whether it runs only when nothing else is to be run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deferred: bool,
    /// Whether the state of the graph that it runs is kept from call to call.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keeps_state: bool,
    /// How it is run.
    #[serde(skip_serializing_if = "TopologyPolicies::is_empty")]
    pub policies: TopologyPolicies,
    /// What its author says of it. It means nothing to the graph.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Value>,
    /// The graph that it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subgraph: Option<Box<GraphTopology>>,
}

/// How an edge is taken.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TopologyEdgeKind {
    /// Always.
    #[default]
    Direct,
    /// When its source takes the route of its label.
    Route,
    /// When all sources of its group ran.
    Join,
    /// When its source names the target in its output.
    Command,
    /// When its source failed for good.
    Error,
}

/// A way from one node to another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopologyEdge {
    /// Where it starts.
    pub from: String,
    /// Where it leads.
    pub to: String,
    /// The route that takes it; `None` where none does.
    pub label: Option<String>,
    /// How it is taken.
    pub kind: TopologyEdgeKind,
    /// The name of the group to which a join's edge belongs. Edges of one name and
    /// target are one group.
    pub join: Option<String>,
}

impl GraphTopology {
    /// A graph without anything.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            channels: Vec::new(),
            nodes: Vec::new(),
            edges: Vec::new(),
        }
    }
}

impl TopologyChannel {
    /// A channel.
    pub fn new(name: impl Into<String>, reducer: Reducer) -> Self {
        Self {
            name: name.into(),
            reducer,
            awaited: Vec::new(),
        }
    }
}

impl TopologyNode {
    /// A node of which nothing but its name is known.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind: None,
            deferred: false,
            keeps_state: false,
            policies: TopologyPolicies::default(),
            metadata: BTreeMap::new(),
            subgraph: None,
        }
    }
}

impl TopologyEdge {
    /// An edge that is always taken.
    pub fn direct(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self {
            from: from.into(),
            to: to.into(),
            label: None,
            kind: TopologyEdgeKind::Direct,
            join: None,
        }
    }

    /// An edge of the route `label`.
    pub fn route(from: impl Into<String>, label: impl Into<String>, to: impl Into<String>) -> Self {
        Self {
            label: Some(label.into()),
            kind: TopologyEdgeKind::Route,
            ..Self::direct(from, to)
        }
    }

    /// The edge from one source of the join `group`.
    pub fn join(from: impl Into<String>, group: impl Into<String>, to: impl Into<String>) -> Self {
        Self {
            kind: TopologyEdgeKind::Join,
            join: Some(group.into()),
            ..Self::direct(from, to)
        }
    }

    /// An edge to what its source may name in its output.
    pub fn command(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self {
            kind: TopologyEdgeKind::Command,
            ..Self::direct(from, to)
        }
    }

    /// The edge to what handles the failure of its source.
    pub fn error(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self {
            kind: TopologyEdgeKind::Error,
            ..Self::direct(from, to)
        }
    }

    /// What tells the group of a join's edge from the others.
    fn group(&self) -> (&str, Option<&str>) {
        (&self.to, self.join.as_deref())
    }

    /// Everything of it, in an order.
    fn key(&self) -> (&str, &str, TopologyEdgeKind, Option<&str>, Option<&str>) {
        let (label, join) = (self.label.as_deref(), self.join.as_deref());
        (&self.from, &self.to, self.kind, label, join)
    }
}

/// The word of a reducer.
fn reducer(reducer: Reducer) -> String {
    match serde_json::to_value(reducer) {
        Ok(Value::String(word)) => word,
        other => other.unwrap_or_default().to_string(),
    }
}

/// Text from outside in a message of one line.
struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('`')?;
        for c in self.0.chars() {
            if c.is_control() {
                write!(f, "{}", c.escape_unicode())?;
            } else {
                f.write_char(c)?;
            }
        }
        f.write_char('`')
    }
}
