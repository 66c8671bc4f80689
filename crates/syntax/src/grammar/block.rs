//! A block: braces, and items until the closing one.

use super::{recovery, scope::Scope};
use crate::{
    error::{Expected, SyntaxErrorKind},
    keyword::Keyword,
    kind::SyntaxKind,
    parser::Parser,
};

/// Reads `{`, items of `scope` with `item`, and `}`.
///
/// `item` must take a token.
pub(super) fn block(parser: &mut Parser<'_>, scope: Scope, item: fn(&mut Parser<'_>)) {
    let opening = parser.range();
    if !parser.eat(SyntaxKind::LeftBrace) {
        parser.expected(Expected::Symbol("{"));
        if !parser.lacks_opening() {
            return;
        }
        parser.assume_opening();
    }
    loop {
        if parser.at(SyntaxKind::RightBrace) && !is_stray(parser, scope) {
            parser.bump();
            return;
        }
        if parser.at(SyntaxKind::EndOfFile) || scope.is_left(parser) {
            parser.unclosed(opening, "{");
            parser.assume_closing();
            return;
        }
        if parser.at(SyntaxKind::RightBrace) {
            parser.error(SyntaxErrorKind::Unopened);
            recovery::braces(parser);
        } else {
            item(parser);
        }
    }
}

/// Whether the closing brace is one too many: the graph goes on after it.
fn is_stray(parser: &Parser<'_>, scope: Scope) -> bool {
    scope == Scope::Graph
        && parser.lacks_opening()
        && parser.nth(1) == SyntaxKind::Word
        && parser.word(1) != Some(Keyword::Graph.as_str())
}
