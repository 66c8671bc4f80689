//! Names and lists of targets.

use super::scope::Scope;
use crate::{
    error::{Expected, SyntaxErrorKind},
    kind::SyntaxKind,
    parser::Parser,
};

/// Reads a name that is followed by more of its item.
pub(super) fn name(parser: &mut Parser<'_>, expected: Expected) {
    if parser.at(SyntaxKind::Word) {
        parser.bump_as(SyntaxKind::Name);
        return;
    }
    parser.expected(expected);
    skip_literal(parser);
}

/// Reads a name that ends an item of `scope`.
pub(super) fn last_name(parser: &mut Parser<'_>, scope: Scope, expected: Expected) {
    if scope.starts_next_item(parser) {
        parser.expected_before_item(expected);
    } else {
        name(parser, expected);
    }
}

/// Reads one or more targets, which end an item of `scope`.
pub(super) fn targets(parser: &mut Parser<'_>, scope: Scope) {
    if at_target(parser, scope) || parser.at(SyntaxKind::Comma) {
        parser.open(SyntaxKind::Targets);
        list(parser, scope);
        parser.close();
    } else {
        last_name(parser, scope, Expected::Target);
    }
    if parser.at(SyntaxKind::Arrow) {
        parser.error(SyntaxErrorKind::ChainedArrow);
        parser.open(SyntaxKind::Skipped);
        while parser.eat(SyntaxKind::Arrow) {
            list(parser, scope);
        }
        parser.close();
    }
}

fn list(parser: &mut Parser<'_>, scope: Scope) {
    loop {
        let is_missing = parser.at(SyntaxKind::Comma);
        last_name(parser, scope, Expected::Target);
        if !parser.eat(SyntaxKind::Comma) {
            return;
        }
        // A comma without a name before it is reported; it asks for none after it.
        if is_missing && !at_target(parser, scope) {
            return;
        }
    }
}

fn at_target(parser: &Parser<'_>, scope: Scope) -> bool {
    parser.at(SyntaxKind::Word) && !scope.starts_next_item(parser)
}

/// Puts aside a literal that stands in place of a name.
fn skip_literal(parser: &mut Parser<'_>) {
    if matches!(parser.nth(0), SyntaxKind::Text | SyntaxKind::Integer) {
        parser.bump_as(SyntaxKind::Skipped);
    }
}
