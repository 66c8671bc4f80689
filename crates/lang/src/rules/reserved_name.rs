//! RAG0116: a name is reserved.
//!
//! What: `START` and `END` name no node and no channel, and lead nowhere; the
//! name of a node has at most 64 characters.
//! Why: `next END` must mean the same in every plan, and names of nodes become
//! part of ids that people read.
//! Example: `START -> triage`
//! Instead: `start triage`

use rustagents_core::Code;
use rustagents_syntax::ast::Name;

use super::Context;
use crate::{
    blueprint::END,
    diagnostic::{Report, Wording},
    names::shown,
};

/// Where other graph languages let a run start.
const START: &str = "START";

/// The longest name of a node, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// Whether nothing can be declared under `name`.
pub(super) fn is_reserved(name: &str) -> bool {
    name == START || name == END
}

pub(super) fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for channel in &context.outline.channels {
        check_declaration(&channel.name, "channel", report);
    }
    for node in &context.outline.nodes {
        check_declaration(&node.name, "node", report);
        if node.name.text().len() > MAX_NAME_BYTES {
            report.error(Code::ReservedName, node.name.range(), || {
                let bytes = node.name.text().len();
                Wording::new(format!(
                    "the name of a node has at most {MAX_NAME_BYTES} characters, this one {bytes}"
                ))
            });
        }
    }
    for source in context
        .outline
        .edge_sources()
        .filter(|source| is_reserved(source.text()))
    {
        report.error(Code::ReservedName, source.range(), || {
            if source.text() == END {
                Wording::new("no edge leads from `END`")
            } else {
                Wording::new("no edge leads from `START`").help("write `start NODE`".to_owned())
            }
        });
    }
}

fn check_declaration(name: &Name, what: &str, report: &mut Report<'_>) {
    if is_reserved(name.text()) {
        report.error(Code::ReservedName, name.range(), || {
            Wording::new(format!("no {what} can be named {}", shown(name.text())))
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, in_graph};

    #[test]
    fn start_and_end_are_reserved() {
        check(
            &in_graph(
                "channel END append
                 channel START append
                 node START { kind interrupt  prompt \"x\"  next END }
                 START -> a
                 END -> a
                 a -> END",
            ),
            &[
                "RAG0116 no channel can be named `END`",
                "RAG0116 no channel can be named `START`",
                "RAG0116 no node can be named `START`",
                "RAG0116 no edge leads from `START` (write `start NODE`)",
                "RAG0116 no edge leads from `END`",
            ],
        );
    }

    #[test]
    fn a_long_name_is_refused() {
        let (fits, long) = ("n".repeat(64), "n".repeat(65));
        let source = |name: &str| {
            in_graph(&format!(
                "a -> {name}  node {name} {{ kind interrupt  prompt \"x\"  next END }}"
            ))
        };
        check(&source(&fits), &[]);
        check(
            &source(&long),
            &["RAG0116 the name of a node has at most 64 characters, this one 65"],
        );
    }
}
