//! The rules of the language, and how each recovers.
//!
//! Every rule takes at least one token or returns to a rule that does. Blocks are
//! read by [`block`], whatever stands in them; what belongs nowhere is put aside
//! by [`recovery`].

mod block;
mod graph;
mod name;
mod node;
mod recovery;
mod scope;
mod tools;

use crate::{
    error::{Expected, SyntaxErrorKind},
    keyword::{self, Keyword},
    kind::SyntaxKind,
    parser::Parser,
};

/// Reads a whole source.
pub(crate) fn program(parser: &mut Parser<'_>) {
    parser.open_root();
    while !parser.at(SyntaxKind::EndOfFile) {
        if parser.word(0) == Some(Keyword::Graph.as_str()) {
            graph::graph(parser);
        } else if parser.at(SyntaxKind::RightBrace) {
            parser.error(SyntaxErrorKind::Unopened);
            recovery::braces(parser);
        } else {
            parser.expected(Expected::Graph);
            if is_like_graph(parser) {
                graph::graph(parser);
            } else {
                recovery::to_graph(parser);
            }
        }
    }
}

/// Whether the next tokens are a graph whose keyword is another word.
fn is_like_graph(parser: &Parser<'_>) -> bool {
    let known =
        |word| keyword::exact(word, keyword::OF_GRAPH).or(keyword::exact(word, keyword::OF_NODE));
    scope::at_named_block(parser) && parser.word(0).is_some_and(|word| known(word).is_none())
}
