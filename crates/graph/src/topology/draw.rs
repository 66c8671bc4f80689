//! Mermaid and DOT. Both write the same picture, each in its own words.

use std::{
    collections::BTreeMap,
    fmt::{self, Write},
};

use super::{GraphTopology, TopologyEdge, TopologyEdgeKind, TopologyNode};
use crate::builder::{END, START};

/// What is drawn of a graph. Each id is a plain word in every format: names may be
/// keywords there.
struct Picture<'a> {
    shapes: Vec<Shape<'a>>,
    arrows: Vec<Arrow<'a>>,
}

/// Something with an outline.
struct Shape<'a> {
    id: String,
    name: &'a str,
    outline: Outline<'a>,
    is_deferred: bool,
}

enum Outline<'a> {
    Node,
    Virtual,
    /// Where the sources of a join meet.
    Join,
    /// A graph of its own.
    Graph(Picture<'a>),
}

struct Arrow<'a> {
    from: String,
    to: String,
    label: Option<&'a str>,
    is_dashed: bool,
}

/// The ids of a node for what leads to it, and for what leads on from it.
struct Ends {
    entry: String,
    exit: String,
}

impl GraphTopology {
    /// A Mermaid flowchart. No name can break its syntax.
    ///
    /// A deferred node has a dashed outline, the edges of a command and of an error are
    /// dashed arrows, the sources of a join meet in a circle, and a subgraph is drawn in
    /// its place.
    pub fn to_mermaid(&self) -> String {
        let mut out = "flowchart TD\n".to_owned();
        mermaid(&mut out, &self.picture("", false), 1);
        out
    }

    /// A graph in Graphviz' DOT, drawn as [`GraphTopology::to_mermaid`] does. No name
    /// can break its syntax.
    pub fn to_dot(&self) -> String {
        let mut out = format!("digraph \"{}\" {{\n", Dot(&self.name));
        dot(&mut out, &self.picture("", false), 1);
        out.push_str("}\n");
        out
    }

    /// What is drawn, under ids that start with `prefix`. What leads on from a graph
    /// in a graph starts at its end, which is drawn whether something leads there or not.
    fn picture(&self, prefix: &str, is_inner: bool) -> Picture<'_> {
        let start = format!("{prefix}start");
        let mut ends = BTreeMap::from([(START, Ends::of(&start))]);
        let mut shapes = vec![Shape::new(start, START, Outline::Virtual)];
        for (index, node) in self.nodes.iter().enumerate() {
            let shape = node.shape(format!("{prefix}n{index}"));
            ends.insert(&node.name, shape.ends());
            shapes.push(shape);
        }
        if is_inner || self.edges.iter().any(|edge| edge.to == END) {
            let stop = format!("{prefix}stop");
            ends.insert(END, Ends::of(&stop));
            shapes.push(Shape::new(stop, END, Outline::Virtual));
        }
        let mut picture = Picture {
            shapes,
            arrows: Vec::new(),
        };
        picture.connect(&self.edges, &ends, prefix);
        picture
    }
}

impl TopologyNode {
    fn shape(&self, id: String) -> Shape<'_> {
        let outline = match &self.subgraph {
            Some(graph) => Outline::Graph(graph.picture(&format!("{id}_"), true)),
            None => Outline::Node,
        };
        Shape {
            is_deferred: self.deferred,
            ..Shape::new(id, &self.name, outline)
        }
    }
}

impl<'a> Shape<'a> {
    fn new(id: String, name: &'a str, outline: Outline<'a>) -> Self {
        Self {
            id,
            name,
            outline,
            is_deferred: false,
        }
    }

    fn ends(&self) -> Ends {
        let id = &self.id;
        match self.outline {
            Outline::Graph(_) => Ends {
                entry: format!("{id}_start"),
                exit: format!("{id}_stop"),
            },
            _ => Ends::of(id),
        }
    }
}

impl Ends {
    fn of(id: &str) -> Self {
        Self {
            entry: id.to_owned(),
            exit: id.to_owned(),
        }
    }
}

impl<'a> Picture<'a> {
    /// Draws the edges, and what leads on from the joins after them.
    fn connect(&mut self, edges: &'a [TopologyEdge], ends: &BTreeMap<&str, Ends>, prefix: &str) {
        let mut joins: BTreeMap<(&str, Option<&str>), String> = BTreeMap::new();
        let mut onward = Vec::new();
        for edge in edges {
            let (Some(from), Some(to)) = (ends.get(&*edge.from), ends.get(&*edge.to)) else {
                continue;
            };
            let to = match edge.kind {
                TopologyEdgeKind::Join => {
                    let next = format!("{prefix}j{}", joins.len());
                    let meeting = joins.entry(edge.group()).or_insert_with(|| {
                        let shape = Shape::new(next.clone(), "all", Outline::Join);
                        self.shapes.push(shape);
                        onward.push(Arrow::new(next.clone(), to.entry.clone(), None));
                        next
                    });
                    meeting.clone()
                }
                _ => to.entry.clone(),
            };
            let from = from.exit.clone();
            let is_error = edge.kind == TopologyEdgeKind::Error;
            let label = edge.label.as_deref().or(is_error.then_some("error"));
            self.arrows.push(Arrow {
                is_dashed: is_error || edge.kind == TopologyEdgeKind::Command,
                ..Arrow::new(from, to, label)
            });
        }
        self.arrows.append(&mut onward);
    }
}

impl<'a> Arrow<'a> {
    fn new(from: String, to: String, label: Option<&'a str>) -> Self {
        Self {
            from,
            to,
            label,
            is_dashed: false,
        }
    }
}

fn mermaid(out: &mut String, picture: &Picture<'_>, depth: usize) {
    let indent = "    ".repeat(depth);
    for shape in &picture.shapes {
        let (id, name) = (&shape.id, Mermaid(shape.name));
        match &shape.outline {
            Outline::Node => line(out, format_args!("{indent}{id}[\"{name}\"]")),
            Outline::Virtual => line(out, format_args!("{indent}{id}([\"{name}\"])")),
            Outline::Join => line(out, format_args!("{indent}{id}((\"{name}\"))")),
            Outline::Graph(inner) => {
                line(out, format_args!("{indent}subgraph {id}[\"{name}\"]"));
                mermaid(out, inner, depth + 1);
                line(out, format_args!("{indent}end"));
            }
        }
        if shape.is_deferred {
            line(
                out,
                format_args!("{indent}style {id} stroke-dasharray: 5 5"),
            );
        }
    }
    for Arrow {
        from,
        to,
        label,
        is_dashed,
    } in &picture.arrows
    {
        let arrow = if *is_dashed { "-.->" } else { "-->" };
        match label {
            Some(label) => {
                let label = Mermaid(label);
                line(
                    out,
                    format_args!("{indent}{from} {arrow}|\"{label}\"| {to}"),
                );
            }
            None => line(out, format_args!("{indent}{from} {arrow} {to}")),
        }
    }
}

fn dot(out: &mut String, picture: &Picture<'_>, depth: usize) {
    let indent = "    ".repeat(depth);
    for shape in &picture.shapes {
        let (id, name) = (&shape.id, Dot(shape.name));
        let style = if shape.is_deferred {
            ", style=dashed"
        } else {
            ""
        };
        let outline = match &shape.outline {
            Outline::Node => "box",
            Outline::Virtual => "oval",
            Outline::Join => "circle",
            Outline::Graph(inner) => {
                line(out, format_args!("{indent}subgraph cluster_{id} {{"));
                line(
                    out,
                    format_args!("{indent}    graph [label=\"{name}\"{style}];"),
                );
                dot(out, inner, depth + 1);
                line(out, format_args!("{indent}}}"));
                continue;
            }
        };
        let label = format_args!("label=\"{name}\", shape={outline}{style}");
        line(out, format_args!("{indent}{id} [{label}];"));
    }
    for Arrow {
        from,
        to,
        label,
        is_dashed,
    } in &picture.arrows
    {
        let attributes = match (label.map(Dot), is_dashed) {
            (Some(label), true) => format!(" [label=\"{label}\", style=dashed]"),
            (Some(label), false) => format!(" [label=\"{label}\"]"),
            (None, true) => " [style=dashed]".to_owned(),
            (None, false) => String::new(),
        };
        line(out, format_args!("{indent}{from} -> {to}{attributes};"));
    }
}

fn line(out: &mut String, text: fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{text}");
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
