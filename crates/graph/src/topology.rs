//! The shape of a graph, for drawings and tools.

use std::{
    collections::BTreeMap,
    fmt::{self, Write},
    iter,
};

use serde::Serialize;

use crate::{
    builder::{END, START},
    state::Reducer,
};

/// What a graph is made of, in the order of its declaration.
///
/// The ends of the edges are the names of nodes, [`START`] and [`END`]; no node
/// has one of those names. A route to several targets is one edge for each.
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
    /// The nodes, without [`START`] and [`END`].
    pub nodes: Vec<TopologyNode>,
    /// The edges: from the start first, then those of each node.
    pub edges: Vec<TopologyEdge>,
}

/// A channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TopologyChannel {
    /// Its name.
    pub name: String,
    /// How it takes writes.
    pub reducer: Reducer,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TopologyNode {
    /// Its name.
    pub name: String,
}

/// A way from one node to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TopologyEdge {
    /// Where it starts.
    pub from: String,
    /// Where it leads.
    pub to: String,
    /// The route that takes it; `None` where it is always taken.
    pub label: Option<String>,
}

impl GraphTopology {
    /// A Mermaid flowchart. No name can break its syntax.
    pub fn to_mermaid(&self) -> String {
        let shapes = self.shapes().into_iter().map(|(id, shape)| {
            let name = Mermaid(shape.name());
            match shape {
                Shape::Node(_) => format!("    {id}[\"{name}\"]\n"),
                Shape::Virtual(_) => format!("    {id}([\"{name}\"])\n"),
            }
        });
        let arrows = self.arrows().into_iter();
        let arrows = arrows.map(|(from, to, label)| match label {
            Some(label) => format!("    {from} -->|\"{}\"| {to}\n", Mermaid(label)),
            None => format!("    {from} --> {to}\n"),
        });
        let title = "flowchart TD\n".to_owned();
        iter::once(title).chain(shapes).chain(arrows).collect()
    }

    /// A graph in Graphviz' DOT. No name can break its syntax.
    pub fn to_dot(&self) -> String {
        let shapes = self.shapes().into_iter().map(|(id, shape)| {
            let name = Dot(shape.name());
            let outline = match shape {
                Shape::Node(_) => "box",
                Shape::Virtual(_) => "oval",
            };
            format!("    {id} [label=\"{name}\", shape={outline}];\n")
        });
        let arrows = self.arrows().into_iter();
        let arrows = arrows.map(|(from, to, label)| match label {
            Some(label) => format!("    {from} -> {to} [label=\"{}\"];\n", Dot(label)),
            None => format!("    {from} -> {to};\n"),
        });
        let open = format!("digraph \"{}\" {{\n", Dot(&self.name));
        let close = "}\n".to_owned();
        let lines = iter::once(open).chain(shapes).chain(arrows);
        lines.chain(iter::once(close)).collect()
    }

    /// What is drawn, each under an id that is a plain word in every format:
    /// names may be keywords there.
    fn shapes(&self) -> Vec<(String, Shape<'_>)> {
        let nodes = self.nodes.iter().enumerate();
        let nodes = nodes.map(|(index, node)| (format!("n{index}"), Shape::Node(&node.name)));
        let mut shapes = vec![("start".to_owned(), Shape::Virtual(START))];
        shapes.extend(nodes);
        if self.edges.iter().any(|edge| edge.to == END) {
            shapes.push(("stop".to_owned(), Shape::Virtual(END)));
        }
        shapes
    }

    /// The edges, with the ids of their ends.
    fn arrows(&self) -> Vec<(String, String, Option<&str>)> {
        let shapes = self.shapes().into_iter();
        let ids: BTreeMap<_, _> = shapes.map(|(id, shape)| (shape.name(), id)).collect();
        let id = |name: &str| ids.get(name).cloned();
        let edges = self.edges.iter();
        edges
            .filter_map(|edge| Some((id(&edge.from)?, id(&edge.to)?, edge.label.as_deref())))
            .collect()
    }
}

/// Something with an outline.
#[derive(Clone, Copy)]
enum Shape<'a> {
    Node(&'a str),
    Virtual(&'static str),
}

impl<'a> Shape<'a> {
    fn name(self) -> &'a str {
        match self {
            Self::Node(name) | Self::Virtual(name) => name,
        }
    }
}

/// Text between Mermaid's double quotes. All but harmless characters become
/// their numbers: quotes, directives, HTML and Markdown have a meaning even there.
struct Mermaid<'a>(&'a str);

impl fmt::Display for Mermaid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            // The syntax has no empty text.
            return f.write_char(' ');
        }
        for c in self.0.chars() {
            if c.is_alphanumeric() || " _-.,".contains(c) {
                f.write_char(c)?;
            } else {
                write!(f, "#{};", u32::from(c))?;
            }
        }
        Ok(())
    }
}

/// Text between DOT's double quotes, where a backslash and `&` start escapes.
struct Dot<'a>(&'a str);

impl fmt::Display for Dot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '&' => f.write_str("&amp;")?,
                c if c.is_control() => write!(f, "\\\\{}", &c.escape_unicode().to_string()[1..])?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
