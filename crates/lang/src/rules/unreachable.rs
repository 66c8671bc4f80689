//! RAG0115: a node cannot be reached.
//!
//! What: no way leads from `start` to the node. A warning.
//! Why: such a node never runs; perhaps a route to it was forgotten.
//! Example: `graph g { start a  node a { … next END }  node b { … } }`
//! Instead: lead to `b`, or remove it.
//!
//! A plan with errors gets no such warning: a wrong name may be the missing way.

use std::collections::{HashMap, HashSet};

use rustagents_core::Code;

use crate::{
    blueprint::{Blueprint, Target},
    diagnostic::{Report, Wording},
    names::shown,
    outline::Outline,
};

/// Reports each node of `blueprint` that no way leads to.
pub(crate) fn check(blueprint: &Blueprint, outline: &Outline, report: &mut Report<'_>) {
    let reached = reached(blueprint);
    for node in &outline.nodes {
        let name = node.name.text();
        if !reached.contains(name) {
            report.warning(Code::Unreachable, node.name.range(), || {
                Wording::new(format!(
                    "no way leads from `start` to the node {}",
                    shown(name)
                ))
                .help("lead to it, or remove it".to_owned())
            });
        }
    }
}

/// The names that a run can come to.
fn reached(blueprint: &Blueprint) -> HashSet<&str> {
    let ways: HashMap<_, _> = blueprint
        .nodes
        .iter()
        .map(|node| (node.name.as_str(), &node.way))
        .collect();
    let mut reached = HashSet::new();
    let mut open: Vec<_> = blueprint.start.iter().map(Target::as_str).collect();
    while let Some(name) = open.pop() {
        if reached.insert(name)
            && let Some(way) = ways.get(name)
        {
            open.extend(way.targets().map(Target::as_str));
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, in_graph};

    #[test]
    fn a_node_that_no_way_leads_to_is_a_warning() {
        check(
            &in_graph(
                "a -> b
                 node b { kind interrupt  prompt \"x\"  routes { yes -> a  no -> c } }
                 node c { kind interrupt  prompt \"x\"  next END }
                 node d { kind interrupt  prompt \"x\"  next e }
                 node e { kind interrupt  prompt \"x\"  next d }",
            ),
            &[
                "RAG0115 no way leads from `start` to the node `d` (lead to it, or remove it)",
                "RAG0115 no way leads from `start` to the node `e` (lead to it, or remove it)",
            ],
        );
    }

    #[test]
    fn a_plan_with_errors_has_no_such_warning() {
        check(
            &in_graph("a -> c  node b { kind interrupt  prompt \"x\"  next END }"),
            &["RAG0104 unknown node `c` (known nodes: `a`, `b`, `END`)"],
        );
    }
}
