//! RAG0106: the graph has no start.
//!
//! What: a graph says with which nodes a run starts.
//! Why: the order of the nodes means nothing, so the first is not the start.
//! Example: `graph g { node a { … } }`
//! Instead: `graph g { start a  node a { … } }`

use rustagents_core::Code;

use super::Context;
use crate::{
    diagnostic::{Report, Wording},
    names::shown,
};

pub(super) fn check(context: &Context<'_>, report: &mut Report<'_>) {
    let outline = context.outline;
    let Some(name) = &outline.name else { return };
    if !outline.is_whole || !outline.starts.is_empty() {
        return;
    }
    report.error(Code::MissingStart, name.range(), || {
        let first = outline.node_names().next().unwrap_or("NODE");
        Wording::new(format!("the graph {} has no `start`", shown(name.text())))
            .help(format!("add {}", shown(&format!("start {first}"))))
    });
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn a_graph_says_where_it_starts() {
        check(
            "graph g { }",
            &["RAG0106 the graph `g` has no `start` (add `start NODE`)"],
        );
        check(
            "graph g { node a { kind interrupt  prompt \"x\"  next END } }",
            &["RAG0106 the graph `g` has no `start` (add `start a`)"],
        );
    }
}
