//! Building and compiling a graph: every structural fault in one report.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use rustagents_core::{
    code::{Code, Coded},
    ids::NodeName,
};

use crate::{
    graph::{Compiled, Graph, Target, Way},
    node::Node,
    state::Reducer,
    topology::{GraphTopology, TopologyChannel, TopologyEdge, TopologyNode},
};

/// The virtual node after which nothing runs.
pub const END: &str = "END";

/// The virtual node before the first.
pub const START: &str = "START";

/// The most supersteps of a run, unless the graph says otherwise.
const RECURSION_LIMIT: u64 = 25;

/// Collects channels, nodes and edges.
///
/// ```
/// use rustagents_graph::{END, GraphBuilder, NodeOutput, Reducer, Update, node_fn};
///
/// let graph = GraphBuilder::new("hello")
///     .channel("greeting", Reducer::Overwrite)
///     .node("greet", node_fn(|_, _| async {
///         Ok(NodeOutput::new().write("greeting", Update::Value("hello".into())))
///     }))
///     .start(["greet"])
///     .edge("greet", END)
///     .compile()?;
/// assert_eq!(graph.name(), "hello");
/// # Ok::<(), rustagents_graph::GraphFaults>(())
/// ```
pub struct GraphBuilder {
    name: String,
    channels: Vec<(String, Reducer)>,
    nodes: Vec<(String, Arc<dyn Node>)>,
    start: Vec<String>,
    edges: Vec<(String, String)>,
    routes: Vec<(String, String, Vec<String>)>,
    recursion_limit: u64,
}

impl fmt::Debug for GraphBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphBuilder")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl GraphBuilder {
    /// A graph without anything.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            channels: Vec::new(),
            nodes: Vec::new(),
            start: Vec::new(),
            edges: Vec::new(),
            routes: Vec::new(),
            recursion_limit: RECURSION_LIMIT,
        }
    }

    /// Declares a channel.
    #[must_use]
    pub fn channel(mut self, name: impl Into<String>, reducer: Reducer) -> Self {
        self.channels.push((name.into(), reducer));
        self
    }

    /// Adds a node.
    #[must_use]
    pub fn node(self, name: impl Into<String>, node: impl Node + 'static) -> Self {
        self.shared_node(name, Arc::new(node))
    }

    /// Adds a node that is shared already.
    #[must_use]
    pub fn shared_node(mut self, name: impl Into<String>, node: Arc<dyn Node>) -> Self {
        self.nodes.push((name.into(), node));
        self
    }

    /// Adds nodes that run first, together.
    #[must_use]
    pub fn start<T: Into<String>>(mut self, nodes: impl IntoIterator<Item = T>) -> Self {
        self.start.extend(nodes.into_iter().map(Into::into));
        self
    }

    /// Runs `to` after `from`. Several edges from one node run their targets together.
    #[must_use]
    pub fn edge(mut self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.edges.push((from.into(), to.into()));
        self
    }

    /// Runs `targets`, together, after `from` took the route `label`.
    #[must_use]
    pub fn route<T: Into<String>>(
        mut self,
        from: impl Into<String>,
        label: impl Into<String>,
        targets: impl IntoIterator<Item = T>,
    ) -> Self {
        let targets = targets.into_iter().map(Into::into).collect();
        self.routes.push((from.into(), label.into(), targets));
        self
    }

    /// The most supersteps of one run; 25 unless set.
    #[must_use]
    pub fn recursion_limit(mut self, steps: u64) -> Self {
        self.recursion_limit = steps;
        self
    }

    /// Checks everything and makes the graph immutable.
    ///
    /// # Errors
    /// [`GraphFaults`] lists every fault.
    pub fn compile(self) -> Result<Graph, GraphFaults> {
        let faults = self.faults();
        if !faults.is_empty() {
            return Err(GraphFaults(faults));
        }
        let target = |name: &str| {
            if name == END {
                Target::End
            } else {
                Target::Node(NodeName::from(name))
            }
        };
        let mut ways: BTreeMap<&str, Way> = BTreeMap::new();
        for (from, to) in &self.edges {
            if let Way::Next(targets) = ways.entry(from).or_insert_with(|| Way::Next(Vec::new())) {
                targets.push(target(to));
            }
        }
        for (from, label, targets) in &self.routes {
            let way = ways
                .entry(from)
                .or_insert_with(|| Way::Routes(BTreeMap::new()));
            if let Way::Routes(routes) = way {
                routes.insert(label.clone(), targets.iter().map(|to| target(to)).collect());
            }
        }
        let nodes = self.nodes.iter().filter_map(|(name, node)| {
            let way = ways.get(name.as_str())?.clone();
            Some((NodeName::from(name.as_str()), (Arc::clone(node), way)))
        });
        Ok(Graph::new(Compiled {
            name: self.name.clone(),
            start: self.start.iter().map(|name| target(name)).collect(),
            nodes: nodes.collect(),
            channels: self.channels.clone(),
            recursion_limit: self.recursion_limit,
            topology: self.topology(),
        }))
    }

    fn topology(&self) -> GraphTopology {
        let edge = |from: &str, to: &str, label: Option<&str>| TopologyEdge {
            from: from.to_owned(),
            to: to.to_owned(),
            label: label.map(str::to_owned),
        };
        let mut edges: Vec<_> = self.start.iter().map(|to| edge(START, to, None)).collect();
        for (name, _) in &self.nodes {
            let own = self.edges.iter().filter(|(from, _)| from == name);
            edges.extend(own.map(|(_, to)| edge(name, to, None)));
            for (_, label, targets) in self.routes.iter().filter(|(from, _, _)| from == name) {
                edges.extend(targets.iter().map(|to| edge(name, to, Some(label))));
            }
        }
        let channels = self.channels.iter().cloned();
        let nodes = self.nodes.iter().map(|(name, _)| name.clone());
        GraphTopology {
            name: self.name.clone(),
            channels: channels
                .map(|(name, reducer)| TopologyChannel { name, reducer })
                .collect(),
            nodes: nodes.map(|name| TopologyNode { name }).collect(),
            edges,
        }
    }

    fn faults(&self) -> Vec<GraphFault> {
        let mut faults = Vec::new();
        self.check_names(&mut faults);
        self.check_targets(&mut faults);
        self.check_ways(&mut faults);
        faults
    }

    fn check_names(&self, faults: &mut Vec<GraphFault>) {
        let mut seen = BTreeSet::new();
        for (name, _) in &self.nodes {
            if name == START || name == END || name.is_empty() {
                faults.push(GraphFault::ReservedName { name: name.clone() });
            }
            if !seen.insert(name) {
                faults.push(GraphFault::DuplicateNode { node: name.clone() });
            }
        }
        let mut seen = BTreeSet::new();
        for (name, _) in self
            .channels
            .iter()
            .filter(|(name, _)| !seen.insert(name.clone()))
        {
            faults.push(GraphFault::DuplicateChannel {
                channel: name.clone(),
            });
        }
        if self.start.is_empty() {
            faults.push(GraphFault::NoStart);
        }
        if self.recursion_limit == 0 {
            faults.push(GraphFault::RecursionLimit);
        }
    }

    fn knows(&self, name: &str) -> bool {
        self.nodes.iter().any(|(node, _)| node == name)
    }

    fn check_targets(&self, faults: &mut Vec<GraphFault>) {
        let start = self.start.iter().map(|to| (START, to));
        let edges = self.edges.iter().map(|(from, to)| (from.as_str(), to));
        let routes = self.routes.iter();
        let routes = routes.flat_map(|(from, _, to)| to.iter().map(move |to| (from.as_str(), to)));
        for (from, to) in start.chain(edges).chain(routes) {
            if to != END && !self.knows(to) {
                faults.push(GraphFault::UnknownTarget {
                    from: from.to_owned(),
                    target: to.clone(),
                });
            }
            if from != START && !self.knows(from) {
                faults.push(GraphFault::UnknownSource {
                    from: from.to_owned(),
                });
            }
        }
    }

    fn check_ways(&self, faults: &mut Vec<GraphFault>) {
        let mut labels = BTreeSet::new();
        for (from, label, targets) in &self.routes {
            if !labels.insert((from, label)) || targets.is_empty() {
                let (node, label) = (from.clone(), label.clone());
                faults.push(GraphFault::Route { node, label });
            }
        }
        for (name, _) in &self.nodes {
            let edges = self.edges.iter().any(|(from, _)| from == name);
            let routes = self.routes.iter().any(|(from, _, _)| from == name);
            match (edges, routes) {
                (false, false) => faults.push(GraphFault::NoWayOn { node: name.clone() }),
                (true, true) => faults.push(GraphFault::EdgesAndRoutes { node: name.clone() }),
                _ => {}
            }
        }
    }
}

/// One structural fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphFault {
    /// Two nodes have one name.
    #[error("there are two nodes `{node}`")]
    DuplicateNode {
        /// The name.
        node: String,
    },
    /// Two channels have one name.
    #[error("there are two channels `{channel}`")]
    DuplicateChannel {
        /// The name.
        channel: String,
    },
    /// The name belongs to a virtual node, or is empty.
    #[error("`{name}` cannot name a node")]
    ReservedName {
        /// The name.
        name: String,
    },
    /// Nothing runs first.
    #[error("the graph has no start")]
    NoStart,
    /// No step may be taken.
    #[error("the recursion limit is 0")]
    RecursionLimit,
    /// An edge or route leads nowhere.
    #[error("`{from}` leads to `{target}`, which does not exist")]
    UnknownTarget {
        /// Where it starts.
        from: String,
        /// Where it leads.
        target: String,
    },
    /// An edge or route starts nowhere.
    #[error("an edge starts at `{from}`, which does not exist")]
    UnknownSource {
        /// Where it starts.
        from: String,
    },
    /// A route is named twice, or has no target.
    #[error("route `{label}` of `{node}` is named twice or leads nowhere")]
    Route {
        /// The node.
        node: String,
        /// The label.
        label: String,
    },
    /// A node has neither edges nor routes.
    #[error("`{node}` has no way on")]
    NoWayOn {
        /// The node.
        node: String,
    },
    /// A node has both edges and routes.
    #[error("`{node}` has both edges and routes")]
    EdgesAndRoutes {
        /// The node.
        node: String,
    },
}

/// All faults of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphFaults(pub Vec<GraphFault>);

impl fmt::Display for GraphFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "; " };
            write!(f, "{comma}{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for GraphFaults {}

impl Coded for GraphFaults {
    fn code(&self) -> Code {
        Code::GraphInvalid
    }
}
