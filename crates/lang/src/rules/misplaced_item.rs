//! RAG0111: something stands where it has no meaning.
//!
//! What: an interrupt has neither `model` nor `tools`; a node leads on by `next`,
//! by `routes` or by edges, not by two of them; there is one channel for the
//! conversation and no node's `output` is that channel; no run starts at `END`.
//! Why: what is ignored in silence misleads whoever reviews the plan.
//! Example: `node ask { kind interrupt  model "default" … }`
//! Instead: `node ask { kind interrupt … }`

use rustagents_core::Code;
use rustagents_syntax::{TextRange, ast::NodeItem};

use super::{Context, reserved_name::is_reserved, unknown_kind::Kind};
use crate::{
    blueprint::{END, Reducer},
    diagnostic::{Report, Wording},
    names::shown,
    outline::{Channel, Node, Outline, keyword, keyword_range},
};

pub(super) fn check(context: &Context<'_>, report: &mut Report<'_>) {
    let outline = context.outline;
    check_channels(outline, report);
    check_starts(outline, report);
    for node in &outline.nodes {
        check_items(node, report);
        check_ways(node, report);
        check_output(outline, node, report);
    }
    check_edges(outline, report);
}

fn misplaced(
    report: &mut Report<'_>,
    range: TextRange,
    message: impl FnOnce() -> String,
    help: &str,
) {
    report.error(Code::MisplacedItem, range, || {
        Wording::new(message()).help(help.to_owned())
    });
}

fn holds_conversation(channel: &Channel) -> bool {
    let reducer = channel.reducer.as_ref();
    reducer.is_some_and(|reducer| reducer.text() == Reducer::Messages.as_str())
}

/// The agents of a graph share one conversation.
fn check_channels(outline: &Outline, report: &mut Report<'_>) {
    let channels = outline.channels.iter();
    for channel in channels
        .filter(|channel| holds_conversation(channel))
        .skip(1)
    {
        let name = channel.name.text();
        misplaced(
            report,
            channel.name.range(),
            || format!("{} is a second `messages` channel", shown(name)),
            "a graph has one conversation; use `append` or `overwrite`",
        );
    }
}

fn check_starts(outline: &Outline, report: &mut Report<'_>) {
    for target in outline
        .start_targets()
        .filter(|target| target.text() == END)
    {
        misplaced(
            report,
            target.range(),
            || "a run cannot start at `END`".to_owned(),
            "name the node with which a run starts",
        );
    }
}

fn check_items(node: &Node, report: &mut Report<'_>) {
    if Kind::of(node) != Some(Kind::Interrupt) {
        return;
    }
    for item in &node.items {
        if matches!(item, NodeItem::Model(_) | NodeItem::Tools(_)) {
            misplaced(
                report,
                keyword_range(item.syntax()),
                || format!("an interrupt has no `{}`", keyword(item)),
                "a person answers an interrupt; only agents use models and tools",
            );
        }
    }
}

/// `next` and `routes` exclude each other.
fn check_ways(node: &Node, report: &mut Report<'_>) {
    let Some(first) = node.way() else { return };
    for item in &node.items {
        let is_way = matches!(item, NodeItem::Next(_) | NodeItem::Routes(_));
        if is_way && keyword(item) != keyword(first) {
            misplaced(
                report,
                keyword_range(item.syntax()),
                || format!("`{}` stands beside `{}`", keyword(item), keyword(first)),
                "keep `next` to go on always, or `routes` to go on by the answer",
            );
        }
    }
}

fn check_output(outline: &Outline, node: &Node, report: &mut Report<'_>) {
    let Some(output) = node.output() else { return };
    if outline
        .channel(output.text())
        .is_some_and(holds_conversation)
    {
        misplaced(
            report,
            output.range(),
            || {
                format!(
                    "`output` cannot be the `messages` channel {}",
                    shown(output.text())
                )
            },
            "an agent without `output` adds its messages there",
        );
    }
}

fn check_edges(outline: &Outline, report: &mut Report<'_>) {
    for source in outline
        .edge_sources()
        .filter(|source| !is_reserved(source.text()))
    {
        let Some(way) = outline.node(source.text()).and_then(Node::way) else {
            continue;
        };
        misplaced(
            report,
            source.range(),
            || {
                let name = shown(source.text());
                format!("the node {name} has an edge beside its `{}`", keyword(way))
            },
            "name all targets in one place",
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, in_graph, in_node};

    #[test]
    fn an_interrupt_uses_no_model_and_no_tools() {
        check(
            &in_graph(
                "a -> b  node b { kind interrupt  model \"default\"  tools []  prompt \"x\"  next a }",
            ),
            &[
                "RAG0111 an interrupt has no `model` \
                 (a person answers an interrupt; only agents use models and tools)",
                "RAG0111 an interrupt has no `tools` \
                 (a person answers an interrupt; only agents use models and tools)",
            ],
        );
    }

    #[test]
    fn a_node_leads_on_in_one_way() {
        check(
            &in_node("routes { yes -> a }"),
            &["RAG0111 `next` stands beside `routes` \
                 (keep `next` to go on always, or `routes` to go on by the answer)"],
        );
        check(
            &in_graph(
                "a -> b
                 node b { kind interrupt  prompt \"x\"  routes { yes -> a } }
                 b -> END",
            ),
            &["RAG0111 the node `b` has an edge beside its `routes` \
                 (name all targets in one place)"],
        );
    }

    #[test]
    fn a_graph_has_one_conversation() {
        check(
            &in_graph(
                "channel more messages
                 a -> b
                 node b { kind interrupt  prompt \"x\"  output more  next END }",
            ),
            &[
                "RAG0111 `more` is a second `messages` channel \
                 (a graph has one conversation; use `append` or `overwrite`)",
                "RAG0111 `output` cannot be the `messages` channel `more` \
                 (an agent without `output` adds its messages there)",
            ],
        );
    }

    #[test]
    fn a_run_starts_at_a_node() {
        check(
            "graph g { start END }",
            &["RAG0111 a run cannot start at `END` (name the node with which a run starts)"],
        );
    }
}
