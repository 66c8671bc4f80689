//! What strings mean.

use rustagents_syntax::{ast::NodeItem, parse};

use crate::rendered;

fn source(literal: &str) -> String {
    format!("graph g {{ node n {{ prompt {literal} }} }}")
}

/// The value of `literal`, whatever its errors.
fn value(literal: &str) -> String {
    let graph = parse(&source(literal)).program().graphs().next().unwrap();
    let Some(NodeItem::Prompt(prompt)) = graph.nodes().next().unwrap().items().next() else {
        panic!("a prompt")
    };
    prompt.text().unwrap().value()
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (literal, expected) in cases {
        assert_eq!(rendered(&source(literal)), [""; 0], "{literal:?}");
        assert_eq!(value(literal), *expected, "{literal:?}");
    }
}

#[test]
fn escapes_are_replaced() {
    check(&[
        (r#""""#, ""),
        (r#""a // {b} é""#, "a // {b} é"),
        (r#""\"\\\n\t\r""#, "\"\\\n\t\r"),
        (r#""\u{41}\u{1F600}\u{0020ac}""#, "A😀€"),
        (r#""ends with \\""#, r"ends with \"),
        (r#""\\n""#, r"\n"),
    ]);
}

#[test]
fn a_multi_line_string_loses_the_indentation_that_its_lines_share() {
    check(&[
        ("\"\"\"\"\"\"", ""),
        ("\"\"\"one\"\"\"", "one"),
        ("\"\"\"\n  one\n    two\n  \"\"\"", "one\n  two"),
        ("\"\"\"\n  one\n    two\n\"\"\"", "  one\n    two"),
        ("\"\"\"\n    one\n  \"\"\"", "  one"),
        ("\"\"\"\n  one\n  two\"\"\"", "one\ntwo"),
        ("\"\"\"\n  one\n\n   \n  two\n  \"\"\"", "one\n\n \ntwo"),
        ("\"\"\"\n  one\n\n  \"\"\"", "one\n"),
        ("\"\"\"one\n  two\n  \"\"\"", "one\n  two"),
        ("\"\"\"\n\tone\n\t two\n\t\"\"\"", "one\n two"),
        ("\"\"\"\n\tone\n  two\n\"\"\"", "\tone\n  two"),
        ("\"\"\"\n\"\"\"", ""),
        ("\"\"\"\n\n\"\"\"", ""),
    ]);
}

#[test]
fn a_multi_line_string_has_line_feeds_only() {
    check(&[
        ("\"\"\"\r\n  one\r\n  two\r\n  \"\"\"", "one\ntwo"),
        ("\"\"\"one\r\ntwo\"\"\"", "one\ntwo"),
    ]);
}

#[test]
fn escapes_are_no_indentation_and_no_lines() {
    check(&[
        ("\"\"\"\n  \\tone\\n  two\n  \"\"\"", "\tone\n  two"),
        ("\"\"\"\n  \\u{20}one\n  \"\"\"", " one"),
        ("\"\"\"a \\\"\"\\\" b\"\"\"", "a \"\"\" b"),
        ("\"\"\"a \"\" b\"\"\"", "a \"\" b"),
    ]);
}

#[test]
fn a_bad_escape_stays_as_it_is_written() {
    for literal in [r#""a\qb""#, r#""a\u{}b""#, r#""a\u{d800}b""#, r#""a\u41b""#] {
        assert_eq!(rendered(&source(literal)).len(), 1, "{literal}");
        assert_eq!(value(literal), literal.trim_matches('"'));
    }
}

#[test]
fn an_unterminated_string_keeps_its_text() {
    let parse = parse("graph g { node n {\n prompt \"a \\\" b\n kind agent } }");
    assert_eq!(parse.errors().len(), 1);
    let graph = parse.program().graphs().next().unwrap();
    let items: Vec<_> = graph.nodes().next().unwrap().items().collect();
    let [NodeItem::Prompt(prompt), NodeItem::Kind(_)] = &items[..] else {
        panic!("two items")
    };
    assert_eq!(prompt.text().unwrap().value(), "a \" b");
}
