//! `rag.graph/1`: a shape as a JSON document.

use std::collections::{BTreeMap, BTreeSet};

use rustagents_core::code::{Code, Coded};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use super::{
    GraphTopology, Shown, TopologyChannel, TopologyEdge, TopologyEdgeKind, TopologyNode,
    TopologyPolicies,
};
use crate::builder::{END, START};

/// The name of the form that is written and read.
pub const SCHEMA: &str = "rag.graph/1";

/// The most nodes of a document, with those of its subgraphs.
pub const MAX_NODES: usize = 10_000;

/// The most edges of a document, with those of its subgraphs.
pub const MAX_EDGES: usize = 100_000;

/// How deep graphs may lie in each other, below the outermost.
pub const MAX_DEPTH: usize = 16;

/// The largest document that is read, in bytes.
pub const MAX_BYTES: usize = 16 << 20;

/// Why a document is no graph. Places are as in `nodes[3].subgraph.edges[0].to`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// It is no JSON, or something in it has another type than it must have.
    #[error("the graph cannot be read: {reason}")]
    Form {
        /// What is wrong, with line and column where they are known.
        reason: String,
    },
    /// It has another form than the one that is read.
    #[error("`schema` is {found}, not \"{SCHEMA}\"")]
    Schema {
        /// What stands there, as JSON; `null` where nothing does.
        found: String,
    },
    /// The name belongs to a virtual node, or is empty.
    #[error("{place}: {} cannot name a node", Shown(name))]
    ReservedName {
        /// Where it stands.
        place: String,
        /// The name.
        name: String,
    },
    /// Two nodes of one graph have one name.
    #[error("{place}: there are two nodes {}", Shown(node))]
    DuplicateNode {
        /// Where the second stands.
        place: String,
        /// The name.
        node: String,
    },
    /// Two channels of one graph have one name.
    #[error("{place}: there are two channels {}", Shown(channel))]
    DuplicateChannel {
        /// Where the second stands.
        place: String,
        /// The name.
        channel: String,
    },
    /// An edge starts or ends where no edge can.
    #[error("{place}: no edge can have an end at {}", Shown(node))]
    UnknownEnd {
        /// Where it stands.
        place: String,
        /// The name.
        node: String,
    },
    /// There is more of something than may be.
    #[error("{place}: there are more than {limit} {what}")]
    TooMany {
        /// Where the first one too many stands.
        place: String,
        /// Of what.
        what: &'static str,
        /// How much there may be.
        limit: usize,
    },
}

impl Coded for TopologyError {
    fn code(&self) -> Code {
        match self {
            Self::TooMany { .. } => Code::TooLarge,
            _ => Code::GraphDocument,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Schema { .. } => "write it anew with `rag graph TARGET --format json`",
            Self::UnknownEnd { .. } => {
                "name a node of the same graph, `START` as a source or `END` as a target"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// A document, as it is written.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    topology: &'a GraphTopology,
}

/// What a document says of its form.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    schema: Value,
}

impl GraphTopology {
    /// The document [`SCHEMA`], for a serializer.
    pub fn document(&self) -> impl Serialize {
        Document {
            schema: SCHEMA,
            topology: self,
        }
    }

    /// The document [`SCHEMA`], in one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.document()).unwrap_or_default()
    }

    /// Reads a document. Fields that are unknown are passed over.
    ///
    /// # Errors
    /// [`TopologyError`]: it is none, has another schema, names a node or a channel
    /// twice, has an edge to an unknown node, or is over a limit.
    pub fn from_json(document: &[u8]) -> Result<Self, TopologyError> {
        if document.len() > MAX_BYTES {
            return Err(TopologyError::TooMany {
                place: format!("byte {MAX_BYTES}"),
                what: "bytes",
                limit: MAX_BYTES,
            });
        }
        let form = |error: serde_json::Error| TopologyError::Form {
            reason: error.to_string(),
        };
        // Serde would take a list for an object.
        if !document.trim_ascii_start().starts_with(b"{") {
            let reason = "it is no JSON object".to_owned();
            return Err(TopologyError::Form { reason });
        }
        let head: Head = serde_json::from_slice(document).map_err(form)?;
        if head.schema != SCHEMA {
            let found = head.schema.to_string();
            return Err(TopologyError::Schema { found });
        }
        let raw: RawGraph = serde_json::from_slice(document).map_err(form)?;
        raw.checked()
    }
}

/// Checks as [`GraphTopology::from_json`] does, apart from the schema.
impl<'de> Deserialize<'de> for GraphTopology {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawGraph::deserialize(deserializer)?;
        raw.checked().map_err(de::Error::custom)
    }
}

/// An edge as it is written: its kind only where the label does not say it.
#[derive(Serialize)]
struct WrittenEdge<'a> {
    from: &'a str,
    to: &'a str,
    label: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<TopologyEdgeKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    join: Option<&'a str>,
}

impl Serialize for TopologyEdge {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let edge = WrittenEdge {
            from: &self.from,
            to: &self.to,
            label: self.label.as_deref(),
            kind: (self.kind != implied(self.label.as_deref())).then_some(self.kind),
            join: self.join.as_deref(),
        };
        edge.serialize(serializer)
    }
}

/// The kind of an edge that names none.
fn implied(label: Option<&str>) -> TopologyEdgeKind {
    match label {
        Some(_) => TopologyEdgeKind::Route,
        None => TopologyEdgeKind::Direct,
    }
}

/// A graph as it is read, before it is checked.
#[derive(Deserialize)]
struct RawGraph {
    name: String,
    #[serde(default)]
    channels: Vec<TopologyChannel>,
    #[serde(default)]
    nodes: Vec<RawNode>,
    #[serde(default)]
    edges: Vec<RawEdge>,
}

#[derive(Deserialize)]
struct RawNode {
    name: String,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    deferred: bool,
    #[serde(default)]
    keeps_state: bool,
    #[serde(default)]
    policies: TopologyPolicies,
    #[serde(default)]
    metadata: BTreeMap<String, Value>,
    #[serde(default)]
    subgraph: Option<Box<RawGraph>>,
}

#[derive(Deserialize)]
struct RawEdge {
    from: String,
    to: String,
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    kind: Option<TopologyEdgeKind>,
    #[serde(default)]
    join: Option<String>,
}

impl RawGraph {
    fn checked(self) -> Result<GraphTopology, TopologyError> {
        Reader::default().graph(self, "", 0)
    }
}

impl From<RawEdge> for TopologyEdge {
    fn from(raw: RawEdge) -> Self {
        Self {
            kind: raw.kind.unwrap_or(implied(raw.label.as_deref())),
            from: raw.from,
            to: raw.to,
            label: raw.label,
            join: raw.join,
        }
    }
}

/// What was read so far, in all graphs of a document.
#[derive(Default)]
struct Reader {
    nodes: usize,
    edges: usize,
}

impl Reader {
    /// Checks the graph under `place`, which has `depth` graphs around it.
    fn graph(
        &mut self,
        mut raw: RawGraph,
        place: &str,
        depth: usize,
    ) -> Result<GraphTopology, TopologyError> {
        count(depth, MAX_DEPTH, "graphs around one", || {
            place.trim_end_matches('.').to_owned()
        })?;
        check_channels(&raw.channels, place)?;
        for channel in &mut raw.channels {
            channel.awaited.sort_unstable();
            channel.awaited.dedup();
        }
        let mut names = BTreeSet::new();
        let mut nodes = Vec::with_capacity(raw.nodes.len());
        for (index, node) in raw.nodes.into_iter().enumerate() {
            let place = format!("{place}nodes[{index}]");
            let node = self.node(node, &place, depth)?;
            if !names.insert(node.name.clone()) {
                let node = node.name;
                return Err(TopologyError::DuplicateNode { place, node });
            }
            nodes.push(node);
        }
        self.check_edges(&raw.edges, &names, place)?;
        Ok(GraphTopology {
            name: raw.name,
            channels: raw.channels,
            nodes,
            edges: raw.edges.into_iter().map(TopologyEdge::from).collect(),
        })
    }

    fn node(
        &mut self,
        raw: RawNode,
        place: &str,
        depth: usize,
    ) -> Result<TopologyNode, TopologyError> {
        self.nodes += 1;
        count(self.nodes, MAX_NODES, "nodes", || place.to_owned())?;
        if raw.name == START || raw.name == END || raw.name.is_empty() {
            return Err(TopologyError::ReservedName {
                place: format!("{place}.name"),
                name: raw.name,
            });
        }
        let subgraph = match raw.subgraph {
            Some(inner) => {
                let place = format!("{place}.subgraph.");
                Some(Box::new(self.graph(*inner, &place, depth + 1)?))
            }
            None => None,
        };
        Ok(TopologyNode {
            name: raw.name,
            kind: raw.kind,
            deferred: raw.deferred,
            keeps_state: raw.keeps_state,
            policies: raw.policies,
            metadata: raw.metadata,
            subgraph,
        })
    }

    fn check_edges(
        &mut self,
        edges: &[RawEdge],
        names: &BTreeSet<String>,
        place: &str,
    ) -> Result<(), TopologyError> {
        for (index, edge) in edges.iter().enumerate() {
            let place = || format!("{place}edges[{index}]");
            self.edges += 1;
            count(self.edges, MAX_EDGES, "edges", place)?;
            for (end, name, virtual_node) in [("from", &edge.from, START), ("to", &edge.to, END)] {
                if name != virtual_node && !names.contains(name) {
                    return Err(TopologyError::UnknownEnd {
                        place: format!("{}.{end}", place()),
                        node: name.clone(),
                    });
                }
            }
        }
        Ok(())
    }
}

fn check_channels(channels: &[TopologyChannel], place: &str) -> Result<(), TopologyError> {
    let mut names = BTreeSet::new();
    for (index, channel) in channels.iter().enumerate() {
        if !names.insert(&channel.name) {
            return Err(TopologyError::DuplicateChannel {
                place: format!("{place}channels[{index}]"),
                channel: channel.name.clone(),
            });
        }
    }
    Ok(())
}

fn count(
    found: usize,
    limit: usize,
    what: &'static str,
    place: impl FnOnce() -> String,
) -> Result<(), TopologyError> {
    if found <= limit {
        return Ok(());
    }
    let place = place();
    Err(TopologyError::TooMany { place, what, limit })
}
