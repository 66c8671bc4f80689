//! RAG0110: a node has an unknown kind.
//!
//! What: a node is an `agent` or an `interrupt`.
//! Why: the kind decides what a node needs and what it may do.
//! Example: `kind human`
//! Instead: `kind interrupt`

use rustagents_core::Code;

use super::Context;
use crate::{
    diagnostic::{Report, Wording},
    names::{shown, suggestion},
    outline::Node,
};

/// What a node can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Agent,
    Interrupt,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Agent, Self::Interrupt];

    /// The name, as plans write it.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Interrupt => "interrupt",
        }
    }

    /// The kind with this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The kind of `node`, if it has one that is known.
    pub(super) fn of(node: &Node) -> Option<Self> {
        Self::parse(node.kind()?.text())
    }
}

pub(super) fn check(context: &Context<'_>, report: &mut Report<'_>) {
    let kinds = context.outline.nodes.iter().filter_map(Node::kind);
    for kind in kinds.filter(|kind| Kind::parse(kind.text()).is_none()) {
        report.error(Code::UnknownKind, kind.range(), || {
            let known = Kind::ALL.into_iter().map(Kind::as_str);
            Wording::new(format!("unknown kind {}", shown(kind.text()))).help(suggestion(
                kind.text(),
                "kinds",
                known,
            ))
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, in_graph};

    #[test]
    fn a_kind_is_known() {
        for (written, help) in [
            ("Agent", "did you mean `agent`?"),
            ("human", "known kinds: `agent`, `interrupt`"),
        ] {
            check(
                &in_graph(&format!(
                    "a -> b  node b {{ kind {written}  tools []  next END }}"
                )),
                &[&format!("RAG0110 unknown kind `{written}` ({help})")],
            );
        }
    }
}
