//! RAG0104: a route leads to an unknown node.
//!
//! What: `start`, `next`, routes and edges name nodes of the graph, or `END`.
//! Why: a run must not find out after an hour that it leads nowhere.
//! Example: `next replay`
//! Instead: `next reply`

use std::iter;

use rustagents_core::Code;
use rustagents_syntax::ast::{Name, NodeItem};

use super::{Context, reserved_name::is_reserved};
use crate::{
    blueprint::END,
    diagnostic::{Report, Wording},
    names::{shown, suggestion},
    outline::Outline,
};

pub(super) fn check(context: &Context<'_>, report: &mut Report<'_>) {
    let outline = context.outline;
    if !outline.is_whole {
        return;
    }
    for start in outline.start_targets() {
        check_target(outline, &start, report);
    }
    for item in outline.nodes.iter().flat_map(|node| &node.items) {
        match item {
            NodeItem::Next(next) => next
                .targets()
                .for_each(|target| check_target(outline, &target, report)),
            NodeItem::Routes(routes) => routes
                .routes()
                .flat_map(|route| route.targets())
                .for_each(|target| check_target(outline, &target, report)),
            _ => {}
        }
    }
    for edge in &outline.edges {
        if let Some(source) = edge.source().filter(|name| !is_reserved(name.text())) {
            check_target(outline, &source, report);
        }
        for target in edge.targets() {
            check_target(outline, &target, report);
        }
    }
}

fn check_target(outline: &Outline, target: &Name, report: &mut Report<'_>) {
    let name = target.text();
    if name == END || outline.node(name).is_some() {
        return;
    }
    report.error(Code::UnknownTarget, target.range(), || {
        let meant_end = name.eq_ignore_ascii_case(END);
        let known = outline.node_names().chain(iter::once(END));
        let help = if meant_end {
            "did you mean `END`?".to_owned()
        } else {
            suggestion(name, "nodes", known)
        };
        Wording::new(format!("unknown node {}", shown(name))).help(help)
    });
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, in_graph};

    #[test]
    fn a_target_is_a_node_or_the_end() {
        check(
            "graph g {
               start triag
               node triage { kind interrupt  prompt \"x\"  routes { yes -> reply, end  no -> END } }
               node reply { kind interrupt  prompt \"x\"  next replay }
             }",
            &[
                "RAG0104 unknown node `triag` (did you mean `triage`?)",
                "RAG0104 unknown node `end` (did you mean `END`?)",
                "RAG0104 unknown node `replay` (did you mean `reply`?)",
            ],
        );
    }

    #[test]
    fn both_ends_of_an_edge_are_known() {
        check(
            &in_graph("other -> a  a -> elsewhere"),
            &[
                "RAG0104 unknown node `other` (known nodes: `a`, `END`)",
                "RAG0104 unknown node `elsewhere` (known nodes: `a`, `END`)",
            ],
        );
    }
}
