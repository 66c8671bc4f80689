//! RAG0105: a name is declared twice.
//!
//! What: nodes, channels and settings have one declaration each; a node has each
//! item once; labels, targets and tools are in their list once.
//! Why: if the last one won, a line far below would change what a reviewed line
//! means.
//! Example: `node a { prompt "x"  prompt "y" … }`
//! Instead: keep one of them.

use std::collections::HashMap;

use rustagents_core::Code;
use rustagents_syntax::{
    TextRange,
    ast::{Name, NodeItem, Setting, Text},
};

use super::Context;
use crate::{
    diagnostic::{Report, Wording},
    names::shown,
    outline::{Node, Outline, keyword, keyword_range},
};

/// A name and where it stands.
type Spot = (String, TextRange);

pub(super) fn check(context: &Context<'_>, report: &mut Report<'_>) {
    let outline = context.outline;
    let keys = outline.settings.iter().filter_map(Setting::key);
    check_list(report, keys.map(|key| spot(&key)), |name| {
        format!("the setting {name} is set twice")
    });
    let channels = outline.channels.iter().map(|channel| spot(&channel.name));
    check_list(report, channels, |name| {
        format!("the channel {name} is declared twice")
    });
    let nodes = outline.nodes.iter().map(|node| spot(&node.name));
    check_list(report, nodes, |name| {
        format!("the node {name} is declared twice")
    });
    check_starts(outline, report);
    for node in &outline.nodes {
        check_node(node, report);
    }
    check_edges(outline, report);
}

/// A second `start` is one too many, as `next` would be.
fn check_starts(outline: &Outline, report: &mut Report<'_>) {
    let starts = outline.starts.iter();
    let keywords = starts.map(|start| ("start".to_owned(), keyword_range(start.syntax())));
    check_list(report, keywords, |name| format!("{name} is given twice"));
    for start in &outline.starts {
        check_targets(report, start.targets());
    }
}

fn check_node(node: &Node, report: &mut Report<'_>) {
    let items = node
        .items
        .iter()
        .map(|item| (keyword(item).to_owned(), keyword_range(item.syntax())));
    check_list(report, items, |name| format!("{name} is given twice"));
    for item in &node.items {
        match item {
            NodeItem::Tools(tools) => {
                let names = tools.names().map(|name: Text| (name.value(), name.range()));
                check_list(report, names, |name| {
                    format!("the tool {name} is listed twice")
                });
            }
            NodeItem::Next(next) => check_targets(report, next.targets()),
            NodeItem::Routes(routes) => {
                let labels = routes.routes().filter_map(|route| route.label());
                let folded = labels.map(|label| (label.text().to_lowercase(), label.range()));
                check_list(report, folded, |name| {
                    format!("the label {name} is used twice; case does not count")
                });
                for route in routes.routes() {
                    check_targets(report, route.targets());
                }
            }
            _ => {}
        }
    }
}

/// Edges of one source add up, so together they have each target once.
fn check_edges(outline: &Outline, report: &mut Report<'_>) {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut by_source: Vec<Vec<Name>> = Vec::new();
    for edge in &outline.edges {
        let Some(source) = edge.source() else {
            continue;
        };
        let next = by_source.len();
        let place = *places.entry(source.text().to_owned()).or_insert(next);
        match by_source.get_mut(place) {
            Some(targets) => targets.extend(edge.targets()),
            None => by_source.push(edge.targets().collect()),
        }
    }
    for targets in by_source {
        check_targets(report, targets.into_iter());
    }
}

fn check_targets(report: &mut Report<'_>, targets: impl Iterator<Item = Name>) {
    check_list(report, targets.map(|target| spot(&target)), |name| {
        format!("the target {name} is listed twice")
    });
}

/// Reports each name that was there before, with `message` of the name as it is shown.
fn check_list(
    report: &mut Report<'_>,
    spots: impl Iterator<Item = Spot>,
    message: impl Fn(&str) -> String,
) {
    let mut lines: HashMap<String, u32> = HashMap::new();
    for (name, range) in spots {
        let line = report.line(range);
        if let Some(first) = lines.get(&name) {
            report.error(Code::DuplicateName, range, || {
                Wording::new(message(&shown(&name))).help(format!("the first is in line {first}"))
            });
        } else {
            lines.insert(name, line);
        }
    }
}

fn spot(name: &Name) -> Spot {
    (name.text().to_owned(), name.range())
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, in_graph, in_node};

    #[test]
    fn a_declaration_stands_once() {
        check(
            &in_graph(
                "channel c append
                 channel c append
                 node a { kind interrupt  prompt \"x\"  next END }
                 defaults { recursion_limit 1 }
                 defaults { recursion_limit 1 }
                 start a",
            ),
            &[
                "RAG0105 the channel `c` is declared twice (the first is in line 4)",
                "RAG0105 the node `a` is declared twice (the first is in line 3)",
                "RAG0105 the setting `recursion_limit` is set twice (the first is in line 7)",
                "RAG0105 `start` is given twice (the first is in line 1)",
            ],
        );
    }

    #[test]
    fn an_item_of_a_node_stands_once() {
        check(
            &in_node(
                "model \"default\"\nprompt \"x\"\nmodel \"default\"\nprompt \"x\"\nnext a next END",
            ),
            &[
                "RAG0105 `model` is given twice (the first is in line 2)",
                "RAG0105 `prompt` is given twice (the first is in line 3)",
                "RAG0105 `next` is given twice (the first is in line 6)",
            ],
        );
    }

    #[test]
    fn a_list_has_each_name_once() {
        check(
            &in_graph(
                "a -> b, b
                 a -> c, b
                 node b { kind interrupt  prompt \"x\"  routes { yes -> a, a  Yes -> c } }
                 node c {
                   kind agent  model \"default\"  prompt \"x\"  next a, END, a
                   tools [\"refund\", \"refund\"]
                 }",
            ),
            &[
                "RAG0105 the target `b` is listed twice (the first is in line 4)",
                "RAG0105 the target `b` is listed twice (the first is in line 4)",
                "RAG0105 the target `a` is listed twice (the first is in line 6)",
                "RAG0105 the label `yes` is used twice; case does not count (the first is in line 6)",
                "RAG0105 the target `a` is listed twice (the first is in line 8)",
                "RAG0105 the tool `refund` is listed twice (the first is in line 9)",
            ],
        );
    }

    #[test]
    fn a_node_and_a_channel_can_share_a_name() {
        check(
            &in_graph("channel a append  a -> b  node b { kind interrupt  prompt \"x\"  next a }"),
            &[],
        );
    }
}
