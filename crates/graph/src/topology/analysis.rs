//! What cannot work in a graph, as far as its shape tells.

use std::{collections::BTreeMap, fmt};

use serde::Serialize;

use super::{
    GraphTopology, Shown, TopologyEdge,
    flow::{Components, Dominators, FIRST, Flow, Vertex},
};
use crate::builder::{END, START};

/// How many names a message tells.
const NAMES: usize = 6;

/// What was found in a graph, and in its subgraphs after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Analysis {
    /// The findings, those of each graph by kind.
    pub findings: Vec<Finding>,
}

/// Something that was found. Displayed, it is one line without its hint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// How bad it is.
    pub severity: Severity,
    /// The nodes whose subgraphs lead to the graph, from outside; empty for the
    /// outermost graph.
    pub graph: Vec<String>,
    /// The nodes that it is about.
    pub nodes: Vec<String>,
    /// What was found, in one line.
    pub message: String,
    /// What to do about it, in one line.
    pub hint: &'static str,
}

/// What can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FindingKind {
    /// A node can never run.
    UnreachableNode,
    /// A node has no way to the end but failures, and lies in no endless loop.
    NoWayToEnd,
    /// Nothing but failures leads out of a loop.
    EndlessLoop,
    /// A join waits for a node that can never run. The target is its last node.
    DeadJoin,
    /// A join waits for two nodes of which each run may reach only one. The node
    /// that chooses is its first node, the target its last.
    UncertainJoin,
    /// A deferred node lies in a loop.
    DeferredInLoop,
    /// An edge is there more than once.
    DuplicateEdge,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Severity {
    /// It may be what is meant.
    Warning,
    /// It cannot work.
    Error,
}

impl Severity {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl FindingKind {
    /// Its stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnreachableNode => "unreachable_node",
            Self::NoWayToEnd => "no_way_to_end",
            Self::EndlessLoop => "endless_loop",
            Self::DeadJoin => "dead_join",
            Self::UncertainJoin => "uncertain_join",
            Self::DeferredInLoop => "deferred_in_loop",
            Self::DuplicateEdge => "duplicate_edge",
        }
    }

    /// How bad it is.
    pub const fn severity(self) -> Severity {
        match self {
            Self::NoWayToEnd | Self::EndlessLoop | Self::DeadJoin => Severity::Error,
            _ => Severity::Warning,
        }
    }

    const fn hint(self) -> &'static str {
        match self {
            Self::UnreachableNode => "lead an edge, a route or a command to it, or remove it",
            Self::NoWayToEnd => "lead an edge or a route from it towards END",
            Self::EndlessLoop => "give one of its nodes a way out, such as a route to END",
            Self::DeadJoin => "lead a way to what never runs, or take it out of the join",
            Self::UncertainJoin => "use edges instead of the join, or let both routes lead to both",
            Self::DeferredInLoop => "take it out of the loop, or do not defer it",
            Self::DuplicateEdge => "leave one of them",
        }
    }
}

impl Analysis {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: ", self.severity.as_str(), self.kind.as_str())?;
        for node in &self.graph {
            write!(f, "in {}: ", Shown(node))?;
        }
        f.write_str(&self.message)
    }
}

impl GraphTopology {
    /// Looks for what cannot work, or hardly. What nodes do is not known: a route is
    /// taken to be possible, and so is each command. In a subgraph, a node without
    /// edges is taken to go on in the graph around it.
    ///
    /// ```
    /// use rustagents_graph::{GraphTopology, TopologyEdge, TopologyNode};
    ///
    /// let mut graph = GraphTopology::new("retry");
    /// graph.nodes.push(TopologyNode::new("again"));
    /// graph.edges.push(TopologyEdge::direct("START", "again"));
    /// graph.edges.push(TopologyEdge::direct("again", "again"));
    /// let found = &graph.analyse().findings[0];
    /// assert_eq!(found.to_string(), "error[endless_loop]: nothing leads out of the loop of `again`");
    /// ```
    pub fn analyse(&self) -> Analysis {
        let mut analysis = Analysis::default();
        self.look(&mut Vec::new(), &mut analysis.findings);
        analysis
    }

    fn look(&self, path: &mut Vec<String>, findings: &mut Vec<Finding>) {
        let mut found = Look::at(self, !path.is_empty()).findings();
        found.sort_by_key(|finding| finding.kind);
        for finding in &mut found {
            finding.graph.clone_from(path);
        }
        findings.append(&mut found);
        for node in &self.nodes {
            if let Some(inner) = &node.subgraph {
                path.push(node.name.clone());
                inner.look(path, findings);
                path.pop();
            }
        }
    }
}

/// What is known of one graph.
struct Look<'a> {
    topology: &'a GraphTopology,
    flow: Flow,
    runs: Vec<bool>,
    components: Components,
}

impl<'a> Look<'a> {
    fn at(topology: &'a GraphTopology, is_inner: bool) -> Self {
        let flow = Flow::of(topology, is_inner);
        Self {
            topology,
            runs: flow.runs(),
            components: flow.components(),
            flow,
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let endless = self.loops(&mut findings);
        self.nodes(&endless, &mut findings);
        self.joins(&mut findings);
        findings.extend(self.topology.edges_twice());
        findings
    }

    /// Looks at the loops; says which vertices lie in one without an exit.
    fn loops(&self, findings: &mut Vec<Finding>) -> Vec<bool> {
        let mut endless = vec![false; self.flow.vertices.len()];
        for (index, vertices) in self.components.all.iter().enumerate() {
            let mut ways = vertices.iter().flat_map(|vertex| &self.flow.ways[*vertex]);
            let is_loop = vertices.len() > 1 || ways.clone().any(|way| vertices.contains(way));
            if !is_loop || !vertices.iter().any(|vertex| self.runs[*vertex]) {
                continue;
            }
            let members = vertices.iter().filter_map(|vertex| self.node(*vertex));
            let mut members: Vec<_> = members.collect();
            members.sort_unstable();
            let nodes = || members.iter().map(|node| &self.topology.nodes[*node]);
            for node in nodes().filter(|node| node.deferred) {
                let message = format!("{} is deferred, and lies in a loop", Shown(&node.name));
                findings.push(finding(FindingKind::DeferredInLoop, [&*node.name], message));
            }
            if ways.all(|way| self.components.of[*way] == index || self.flow.is_error(*way)) {
                let names: Vec<_> = nodes().map(|node| &*node.name).collect();
                let message = format!("nothing leads out of the loop of {}", list(&names));
                findings.push(finding(FindingKind::EndlessLoop, names, message));
                for &vertex in vertices {
                    endless[vertex] = true;
                }
            }
        }
        endless
    }

    fn nodes(&self, endless: &[bool], findings: &mut Vec<Finding>) {
        let ends = self.flow.ends();
        for vertex in 0..self.flow.vertices.len() {
            let Some(index) = self.node(vertex) else {
                continue;
            };
            let name = &*self.topology.nodes[index].name;
            if !self.runs[vertex] {
                let message = format!("{} can never run", Shown(name));
                findings.push(finding(FindingKind::UnreachableNode, [name], message));
            } else if !ends[vertex] && !endless[vertex] {
                let message = format!("{} has no way to the end", Shown(name));
                findings.push(finding(FindingKind::NoWayToEnd, [name], message));
            }
        }
    }

    fn joins(&self, findings: &mut Vec<Finding>) {
        let tree = Dominators::of(&self.flow, &self.components, &self.runs);
        for (vertex, meaning) in self.flow.vertices.iter().enumerate() {
            let Vertex::Join(target) = *meaning else {
                continue;
            };
            let target = self.name(target);
            let sources = &self.flow.back[vertex];
            let dead = sources.iter().filter(|source| !self.runs[**source]);
            let mut dead: Vec<_> = dead.map(|source| self.name(*source)).collect();
            if !dead.is_empty() {
                let names = list(&dead);
                let message = format!(
                    "the join before {} never fires: {names} can never run",
                    Shown(target)
                );
                dead.push(target);
                findings.push(finding(FindingKind::DeadJoin, dead, message));
            } else if let Some(three) = tree.alternatives(sources) {
                let [router, one, other] = three.map(|vertex| self.name(vertex));
                let message = format!(
                    "the join before {} may never fire: {} and {} lie on alternative routes of {}",
                    Shown(target),
                    Shown(one),
                    Shown(other),
                    Shown(router)
                );
                let nodes = [router, one, other, target];
                findings.push(finding(FindingKind::UncertainJoin, nodes, message));
            }
        }
    }

    fn node(&self, vertex: usize) -> Option<usize> {
        match self.flow.vertices[vertex] {
            Vertex::Node(index) => Some(index),
            _ => None,
        }
    }

    /// The name of a node, of the start or of the end; of what has a route.
    fn name(&self, vertex: usize) -> &'a str {
        match self.flow.vertices[vertex] {
            Vertex::Node(index) => &self.topology.nodes[index].name,
            Vertex::Route(router) => self.name(router),
            Vertex::Join(target) | Vertex::Error(target) => self.name(target),
            Vertex::Virtual if vertex == FIRST => START,
            Vertex::Virtual => END,
        }
    }
}

impl GraphTopology {
    /// Edges that are there more than once.
    fn edges_twice(&self) -> Vec<Finding> {
        let mut counts: BTreeMap<_, (usize, usize)> = BTreeMap::new();
        for (index, edge) in self.edges.iter().enumerate() {
            counts.entry(edge.key()).or_insert((index, 0)).1 += 1;
        }
        let mut twice: Vec<_> = counts.values().filter(|(_, count)| *count > 1).collect();
        twice.sort_unstable();
        let twice = twice.into_iter().map(|(index, count)| {
            let TopologyEdge { from, to, .. } = &self.edges[*index];
            let (shown, end) = (Shown(from), Shown(to));
            let message = format!("the edge from {shown} to {end} is there {count} times");
            finding(FindingKind::DuplicateEdge, [&**from, &**to], message)
        });
        twice.collect()
    }
}

fn finding<'a>(
    kind: FindingKind,
    nodes: impl IntoIterator<Item = &'a str>,
    message: String,
) -> Finding {
    Finding {
        kind,
        severity: kind.severity(),
        graph: Vec::new(),
        nodes: nodes.into_iter().map(str::to_owned).collect(),
        message,
        hint: kind.hint(),
    }
}

/// Names in a message: all, or the first ones and how many more there are.
fn list(names: &[&str]) -> String {
    let shown = names.iter().take(NAMES).map(|name| Shown(name).to_string());
    let shown = shown.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
