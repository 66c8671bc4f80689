//! RAG0109: a node lacks something that it needs.
//!
//! What: a node has a `kind`; an agent has a `model` and a `prompt`, an interrupt
//! has a `prompt`; an agent without `output` needs a channel for the conversation.
//! Why: a plan says what it does; nothing that matters has a default.
//! Example: `node a { kind agent  prompt "Reply."  next END }`
//! Instead: `node a { kind agent  model "default"  prompt "Reply."  next END }`

use rustagents_core::Code;

use super::{Context, unknown_kind::Kind};
use crate::{
    blueprint::Reducer,
    diagnostic::{Report, Wording},
    names::shown,
    outline::{Node, Outline},
};

pub(super) fn check(context: &Context<'_>, report: &mut Report<'_>) {
    let lacks_conversation = lacks_conversation(context.outline);
    for node in context.outline.nodes.iter().filter(|node| node.is_intact) {
        if node.kind().is_none() {
            report.error(Code::MissingItem, node.name.range(), || {
                Wording::new(format!(
                    "the node {} has no `kind`",
                    shown(node.name.text())
                ))
                .help("add `kind agent` or `kind interrupt`".to_owned())
            });
        }
        let Some(kind) = Kind::of(node) else { continue };
        if kind == Kind::Agent && node.model().is_none() {
            missing(node, kind, "model", report);
        }
        if node.prompt().is_none() {
            missing(node, kind, "prompt", report);
        }
        if kind == Kind::Agent && lacks_conversation && node.output().is_none() {
            report.error(Code::MissingItem, node.name.range(), || {
                Wording::new(format!(
                    "the agent {} has no `output`, and there is no `messages` channel",
                    shown(node.name.text())
                ))
                .help("add `channel messages messages` to the graph".to_owned())
            });
        }
    }
}

fn missing(node: &Node, kind: Kind, item: &str, report: &mut Report<'_>) {
    report.error(Code::MissingItem, node.name.range(), || {
        Wording::new(format!(
            "the {} {} has no `{item}`",
            kind.as_str(),
            shown(node.name.text())
        ))
        .help(format!("add `{item} \"…\"`"))
    });
}

/// Whether there surely is no channel for the conversation: a reducer that is
/// unknown may have been meant for it.
fn lacks_conversation(outline: &Outline) -> bool {
    outline.is_whole
        && outline.channels.iter().all(|channel| {
            let reducer = channel.reducer.as_ref();
            reducer
                .and_then(|reducer| Reducer::parse(reducer.text()))
                .is_some_and(|reducer| reducer != Reducer::Messages)
        })
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, in_graph};

    #[test]
    fn a_node_has_what_it_needs() {
        check(
            &in_graph(
                "a -> b
                 node b { next c }
                 node c { kind agent  next d }
                 node d { kind interrupt  next END }",
            ),
            &[
                "RAG0109 the node `b` has no `kind` (add `kind agent` or `kind interrupt`)",
                "RAG0109 the agent `c` has no `model` (add `model \"…\"`)",
                "RAG0109 the agent `c` has no `prompt` (add `prompt \"…\"`)",
                "RAG0109 the interrupt `d` has no `prompt` (add `prompt \"…\"`)",
            ],
        );
    }

    #[test]
    fn an_agent_without_an_output_needs_a_conversation() {
        check(
            "graph g {
               channel topic overwrite
               start a
               node a { kind agent  model \"default\"  prompt \"x\"  output topic  next b }
               node b { kind agent  model \"default\"  prompt \"x\"  next c }
               node c { kind interrupt  prompt \"x\"  next END }
             }",
            &[
                "RAG0109 the agent `b` has no `output`, and there is no `messages` channel \
                 (add `channel messages messages` to the graph)",
            ],
        );
    }
}
