//! What holds for diagnostics as a whole; each rule tests itself.

use rustagents_lang::{MAX_DIAGNOSTICS, Severity, compile};

use crate::{SUPPORT, capabilities};

/// The diagnostics of a source as a person reads them.
pub(crate) fn rendered(source: &str) -> String {
    let compiled = compile(source, &capabilities());
    let rendered = compiled
        .diagnostics
        .iter()
        .map(|one| one.render("plan.rag", source));
    rendered.collect::<Vec<_>>().join("\n\n")
}

#[test]
fn all_errors_of_a_plan_are_reported_together_in_its_order() {
    let source = SUPPORT
        .replacen("topic overwrite", "topic last", 1)
        .replacen("output topic", "output topik", 1)
        .replacen("\"lookup_order\"", "\"lokup_order\"", 1)
        .replacen("next END", "next FIN", 1);
    let compiled = compile(&source, &capabilities());
    assert_eq!(compiled.blueprint, None);
    let shown: Vec<_> = compiled
        .diagnostics
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        shown,
        [
            "5:17: error[RAG0108]: unknown reducer `last`",
            "11:12: error[RAG0107]: unknown channel `topik`",
            "21:12: error[RAG0102]: unknown tool `lokup_order`",
            "31:101: error[RAG0104]: unknown node `FIN`",
        ]
    );
}

#[test]
fn places_count_characters_from_one() {
    let source = "graph g {\r\n  // é\r\n  channel é日 überschreiben\r\n}";
    let compiled = compile(source, &capabilities());
    let one = compiled
        .diagnostics
        .iter()
        .find(|one| one.message.contains("unknown reducer"))
        .unwrap();
    assert_eq!((one.line, one.column), (3, 14));
    assert_eq!((one.end_line, one.end_column), (3, 27));
    assert_eq!(
        &source[std::ops::Range::<usize>::from(one.range)],
        "überschreiben"
    );
}

#[test]
fn a_place_over_several_lines_is_underlined_in_its_first() {
    let source = "graph g { start a channel m messages\n\
        node a { kind agent prompt \"x\" next END model \"\"\"\n  two\n  lines\"\"\"  } }";
    assert_eq!(
        rendered(source),
        "plan.rag:2:47: error[RAG0103]: unknown model `two\\nlines`
  |
2 | node a { kind agent prompt \"x\" next END model \"\"\"
  |                                               ^^^
  = help: known models: `default`"
    );
}

#[test]
fn a_name_cannot_write_to_the_terminal() {
    let source = SUPPORT.replacen("lookup_order", "\u{1b}[2J\u{202e}", 1);
    let shown = rendered(&source);
    assert!(
        shown.contains(r"unknown tool `\u{1b}[2J\u{202e}`"),
        "{shown}"
    );
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
}

#[test]
fn there_are_never_more_diagnostics_than_the_limit() {
    let nodes = "node n { kind k  next x, y }\n".repeat(500);
    let source = format!("graph g {{ start n\n{nodes}}}");
    let diagnostics = compile(&source, &capabilities()).diagnostics;
    assert_eq!(diagnostics.len(), MAX_DIAGNOSTICS + 1);
    let marker = diagnostics.last().unwrap();
    assert_eq!(
        marker.message,
        "more than 100 diagnostics; the others are not shown"
    );
    assert_eq!(marker.severity, Severity::Error);
}

/// Neither comparing each wrong name with all names nor showing a long line adds up.
#[test]
fn a_hostile_source_is_checked_in_bounded_time() {
    let nodes: Vec<_> = (0..5_000)
        .map(|number| format!("node n{number} {{ kind agnt next m{number} }}"))
        .collect();
    let nodes = nodes.join("\n");
    let source = format!("graph g {{ start n0\n{nodes}}}");
    let diagnostics = compile(&source, &capabilities()).diagnostics;
    assert_eq!(diagnostics.len(), MAX_DIAGNOSTICS + 1);

    let long = format!("graph g {{ start {} }}", "n, ".repeat(30_000));
    for diagnostic in compile(&long, &capabilities()).diagnostics {
        assert!(diagnostic.render("plan.rag", &long).len() < 1_000);
    }
}

#[test]
fn a_source_that_is_too_large_is_an_error() {
    let source = " ".repeat((1 << 20) + 1);
    assert_eq!(
        rendered(&source),
        "plan.rag:1:1: error[RAG0101]: the source has 1048577 bytes, the limit is 1048576"
    );
}
