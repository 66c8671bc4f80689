//! Putting aside what belongs nowhere, up to where the grammar can go on.

use super::scope::{self, Scope};
use crate::{kind::SyntaxKind, parser::Parser};

/// Puts aside the next token and what follows it, up to an item of `scope`, its
/// end or the end of the source. Braces in between are put aside with their content.
///
/// The next token must not be the end of the source.
pub(super) fn to_item(parser: &mut Parser<'_>, scope: Scope) {
    let mut depth = 0_usize;
    let mut previous = None;
    parser.open(SyntaxKind::Skipped);
    loop {
        let kind = parser.nth(0);
        match kind {
            SyntaxKind::EndOfFile => break,
            SyntaxKind::RightBrace if depth == 0 => break,
            SyntaxKind::RightBrace => depth -= 1,
            SyntaxKind::LeftBrace => depth += 1,
            _ => {}
        }
        parser.bump();
        // A word after an arrow, or after a comma in a list, is a target.
        let before_target = kind == SyntaxKind::Arrow
            || (kind == SyntaxKind::Comma && previous == Some(SyntaxKind::Word));
        if is_end(parser, scope, depth, before_target) {
            break;
        }
        previous = Some(kind);
    }
    parser.close();
}

/// Whether the tokens that are put aside end here, `depth` braces deep.
fn is_end(parser: &Parser<'_>, scope: Scope, depth: usize, before_target: bool) -> bool {
    if depth > 0 {
        return parser.lacks_closing()
            && (scope::at_block_of_graph(parser) || scope::at_graph(parser));
    }
    scope.is_left(parser) || (!before_target && scope.at_item(parser))
}

/// Puts aside the next token and what follows it, up to a graph.
pub(super) fn to_graph(parser: &mut Parser<'_>) {
    parser.open(SyntaxKind::Skipped);
    loop {
        parser.bump();
        if parser.at(SyntaxKind::EndOfFile) || scope::at_graph(parser) {
            break;
        }
    }
    parser.close();
}

/// Puts closing braces aside.
pub(super) fn braces(parser: &mut Parser<'_>) {
    parser.open(SyntaxKind::Skipped);
    while parser.eat(SyntaxKind::RightBrace) {
        parser.assume_opening();
    }
    parser.close();
}
