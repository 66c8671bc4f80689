//! RAG0101: the plan has a syntax error.
//!
//! What: the source is not written as the grammar says.
//! Why: what is not understood cannot be run, and is never guessed.
//! Example: `promt "Triage."`
//! Instead: `prompt "Triage."`

use rustagents_core::Code;
use rustagents_syntax::Parse;

use crate::diagnostic::{Report, Wording};

/// Reports each error of `parse`.
pub(crate) fn check(parse: &Parse, report: &mut Report<'_>) {
    for error in parse.errors() {
        report.error(Code::Syntax, error.range, || {
            Wording::new(error.to_string()).help(error.hint())
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, in_graph, in_node};

    #[test]
    fn a_syntax_error_has_its_hint() {
        check(
            &in_node("promt \"prompt\""),
            &[
                "RAG0101 expected `kind`, `model`, `prompt`, `tools`, `output`, `next` or \
                 `routes`, found `promt` (did you mean `prompt`?)",
            ],
        );
    }

    #[test]
    fn a_syntax_error_in_a_node_does_not_hide_errors_elsewhere() {
        let source = in_graph(
            "a -> b, z
             node b { kind agent  model default  prompt \"x\"  next a }
             node c { kind interrupt  next b }",
        );
        check(
            &source,
            &[
                "RAG0104 unknown node `z` (known nodes: `a`, `b`, `c`, `END`)",
                "RAG0101 expected a string, found `default` (strings are quoted: `\"default\"`)",
                "RAG0109 the interrupt `c` has no `prompt` (add `prompt \"…\"`)",
            ],
        );
    }

    #[test]
    fn a_syntax_error_causes_no_second_diagnostic() {
        for source in [
            "graph g { start b  node a { kind agent",
            "graph g { channel c  start a  node a { kind agent  prompt \"\"\" ",
            "graph { start }",
            "graph g { start b  node { kind interrupt  prompt \"x\"  next END } }",
            "graph g { start b  node a { kind interrupt  prompt \"x\"  next END }  ?? b { } }",
            "flow",
        ] {
            let codes = crate::testing::codes(source);
            assert!(!codes.is_empty());
            assert!(
                codes.iter().all(|code| code == "RAG0101"),
                "{source}: {codes:?}"
            );
        }
    }
}
