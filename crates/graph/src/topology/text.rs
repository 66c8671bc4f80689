//! A shape as lines of text, to be kept beside a test.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{GraphTopology, TopologyEdge, TopologyEdgeKind, TopologyNode, reducer};

impl GraphTopology {
    /// One line for each fact, the same in whatever order things are declared:
    /// channels, nodes and edges are sorted, a join is told by its sources and not by
    /// its name, and a subgraph stands under its node, two columns further in.
    ///
    /// ```
    /// use rustagents_graph::{GraphTopology, TopologyEdge, TopologyNode};
    ///
    /// let mut graph = GraphTopology::new("desk");
    /// graph.nodes = ["triage", "clerk"].map(TopologyNode::new).into();
    /// graph.edges = vec![
    ///     TopologyEdge::direct("START", "triage"),
    ///     TopologyEdge::route("triage", "refund", "clerk"),
    ///     TopologyEdge::direct("clerk", "END"),
    /// ];
    /// let text = "\
    /// graph desk
    /// node clerk
    /// node triage
    /// edge START -> triage
    /// edge clerk -> END
    /// edge triage -> clerk route=refund
    /// ";
    /// assert_eq!(graph.to_text(), text);
    /// ```
    pub fn to_text(&self) -> String {
        let mut lines = Vec::new();
        self.tell("", &mut lines);
        lines.push(String::new());
        lines.join("\n")
    }

    fn tell(&self, indent: &str, lines: &mut Vec<String>) {
        lines.push(format!("{indent}graph {}", word(&self.name)));
        let channels = self.channels.iter().map(|channel| {
            let (name, reducer) = (word(&channel.name), reducer(channel.reducer));
            let awaited = channel.awaited.iter().map(|name| word(name));
            let awaited = sorted(awaited).join(" + ");
            let awaited = if awaited.is_empty() {
                awaited
            } else {
                format!(" {awaited}")
            };
            format!("{indent}channel {name} {reducer}{awaited}")
        });
        lines.extend(sorted(channels));
        let mut nodes: Vec<_> = self.nodes.iter().collect();
        nodes.sort_by_key(|node| &node.name);
        for node in nodes {
            node.tell(indent, lines);
        }
        let edges = self.edges.iter();
        let edges = edges.filter(|edge| edge.kind != TopologyEdgeKind::Join);
        let edges = edges.map(|edge| {
            let (source, target) = (word(&edge.from), word(&edge.to));
            let how = edge.how();
            format!("{indent}edge {source} -> {target}{how}")
        });
        lines.extend(sorted(edges));
        lines.extend(sorted(self.joins().map(|join| format!("{indent}{join}"))));
    }

    fn joins(&self) -> impl Iterator<Item = String> {
        let mut joins: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for edge in &self.edges {
            if edge.kind == TopologyEdgeKind::Join {
                let source = word(&edge.from) + &edge.how();
                joins.entry(edge.group()).or_default().push(source);
            }
        }
        joins.into_iter().map(|((target, _), sources)| {
            let sources = sorted(sources.into_iter()).join(" + ");
            format!("join {sources} -> {}", word(target))
        })
    }
}

impl TopologyNode {
    fn tell(&self, indent: &str, lines: &mut Vec<String>) {
        let name = word(&self.name);
        let kind = self.kind.as_deref();
        let kind = kind.map_or(String::new(), |kind| format!(" kind={}", word(kind)));
        let deferred = if self.deferred { " deferred" } else { "" };
        let keeps = if self.keeps_state { " keeps_state" } else { "" };
        let policies = self.policies.said();
        let policies = policies.iter().map(|(name, value)| match value {
            Value::Bool(_) => format!(" {name}"),
            Value::String(text) => format!(" {name}={}", word(text)),
            value => format!(" {name}={value}"),
        });
        let policies: String = policies.collect();
        lines.push(format!(
            "{indent}node {name}{kind}{deferred}{keeps}{policies}"
        ));
        for (key, value) in &self.metadata {
            lines.push(format!("{indent}  metadata {}={value}", word(key)));
        }
        if let Some(graph) = &self.subgraph {
            graph.tell(&format!("{indent}  "), lines);
        }
    }
}

impl TopologyEdge {
    /// What is said of an edge, or of a source, beside its ends.
    fn how(&self) -> String {
        let kind = match self.kind {
            TopologyEdgeKind::Command => " command",
            TopologyEdgeKind::Error => " error",
            _ => "",
        };
        let label = self.label.as_deref();
        let label = label.map_or(String::new(), |label| format!(" route={}", word(label)));
        format!("{kind}{label}")
    }
}

fn sorted(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<_> = lines.collect();
    lines.sort_unstable();
    lines
}

/// A name as it is, or as JSON where it could be taken for something else.
fn word(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_owned();
    }
    Value::from(name).to_string()
}
