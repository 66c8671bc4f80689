//! RAG0113: a node has no way on.
//!
//! What: each node has `next`, `routes` with at least one route, or an edge.
//! Why: the end of a run is said, as `END`, and never follows from an omission.
//! Example: `node reply { kind agent  model "default"  prompt "Reply." }`
//! Instead: `node reply { kind agent  model "default"  prompt "Reply."  next END }`

use std::collections::HashSet;

use rustagents_core::Code;
use rustagents_syntax::ast::NodeItem;

use super::Context;
use crate::{
    diagnostic::{Report, Wording},
    names::shown,
    outline::keyword_range,
};

pub(super) fn check(context: &Context<'_>, report: &mut Report<'_>) {
    let outline = context.outline;
    let sources: HashSet<String> = outline
        .edge_sources()
        .map(|source| source.text().to_owned())
        .collect();
    for node in outline.nodes.iter().filter(|node| node.is_intact) {
        match node.way() {
            Some(NodeItem::Routes(routes)) if routes.routes().next().is_none() => {
                report.error(Code::NoWayOn, keyword_range(routes.syntax()), || {
                    Wording::new("`routes` has no route")
                        .help("add `LABEL -> NODE` for each answer".to_owned())
                });
            }
            None if outline.is_whole && !sources.contains(node.name.text()) => {
                report.error(Code::NoWayOn, node.name.range(), || {
                    Wording::new(format!(
                        "the node {} has no way on",
                        shown(node.name.text())
                    ))
                    .help("add `next END`, or `next` and another node".to_owned())
                });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, in_graph};

    #[test]
    fn a_node_leads_on() {
        check(
            &in_graph(
                "a -> b
                 node b { kind interrupt  prompt \"x\"  routes { } }
                 node c { kind interrupt  prompt \"x\" }",
            ),
            &[
                "RAG0113 `routes` has no route (add `LABEL -> NODE` for each answer)",
                "RAG0113 the node `c` has no way on (add `next END`, or `next` and another node)",
            ],
        );
    }

    #[test]
    fn an_edge_is_a_way_on() {
        check(
            &in_graph("node b { kind interrupt  prompt \"x\" }  b -> END  a -> b"),
            &[],
        );
    }
}
