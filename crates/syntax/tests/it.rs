//! Behaviour of the lexer, the parser and the accessors.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what is not there in a test is a failure of the test"
)]

mod accessors;
mod errors;
mod lines;
mod properties;
mod recovery;
mod texts;

use rustagents_syntax::parse;

/// A complete program.
const SUPPORT: &str = include_str!("support.rag");

/// The errors of `source` as `line:column message`.
fn rendered(source: &str) -> Vec<String> {
    let index = rustagents_syntax::LineIndex::new(source);
    parse(source)
        .errors()
        .iter()
        .map(|error| format!("{} {error}", index.line_column(error.range.start())))
        .collect()
}

/// Checks each source of a table against its errors.
#[track_caller]
fn check(cases: &[(&str, &[&str])]) {
    for (source, expected) in cases {
        let tree = parse(source).syntax();
        assert_eq!(tree.text(), *source);
        assert_eq!(rendered(source), *expected, "in {source:?}: {tree:#?}");
    }
}
