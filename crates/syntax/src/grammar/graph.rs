//! A graph and its items, but for nodes.

use super::{
    block::block,
    name::{last_name, name, targets},
    node, recovery,
    scope::Scope,
};
use crate::{
    error::Expected,
    keyword::{self, Keyword},
    kind::SyntaxKind,
    parser::Parser,
};

/// Reads `graph NAME { … }`; the next token is the keyword.
pub(super) fn graph(parser: &mut Parser<'_>) {
    parser.open(SyntaxKind::Graph);
    parser.bump();
    name(parser, Expected::GraphName);
    block(parser, Scope::Graph, item);
    parser.close();
}

fn item(parser: &mut Parser<'_>) {
    if parser.at_arrow_after_word(0) {
        return edge(parser);
    }
    match parser
        .word(0)
        .and_then(|word| keyword::exact(word, keyword::OF_GRAPH))
    {
        Some(keyword) => known_item(parser, keyword),
        None => unknown_item(parser),
    }
}

/// Reads an item; the next token is, or stands for, `keyword`.
fn known_item(parser: &mut Parser<'_>, keyword: Keyword) {
    match keyword {
        Keyword::Start => start(parser),
        Keyword::Defaults => defaults(parser),
        Keyword::Channel => channel(parser),
        Keyword::Node => node::node(parser),
        _ => recovery::to_item(parser, Scope::Graph),
    }
}

fn unknown_item(parser: &mut Parser<'_>) {
    parser.expected(Scope::Graph.expected());
    let meant = parser
        .word(0)
        .and_then(|word| keyword::nearest(word, keyword::OF_GRAPH));
    match meant.filter(|keyword| keyword.takes(parser.nth(1))) {
        Some(keyword) => known_item(parser, keyword),
        None => recovery::to_item(parser, Scope::Graph),
    }
}

fn edge(parser: &mut Parser<'_>) {
    parser.open(SyntaxKind::Edge);
    parser.bump_as(SyntaxKind::Name);
    parser.bump();
    targets(parser, Scope::Graph);
    parser.close();
}

fn start(parser: &mut Parser<'_>) {
    parser.open(SyntaxKind::Start);
    parser.bump();
    targets(parser, Scope::Graph);
    parser.close();
}

fn channel(parser: &mut Parser<'_>) {
    parser.open(SyntaxKind::Channel);
    parser.bump();
    if parser.at_arrow_after_word(0) || super::scope::at_block_of_graph(parser) {
        parser.expected_before_item(Expected::ChannelName);
    } else {
        name(parser, Expected::ChannelName);
        last_name(parser, Scope::Graph, Expected::Reducer);
    }
    parser.close();
}

fn defaults(parser: &mut Parser<'_>) {
    parser.open(SyntaxKind::Defaults);
    parser.bump();
    block(parser, Scope::Defaults, setting);
    parser.close();
}

fn setting(parser: &mut Parser<'_>) {
    if !parser.at(SyntaxKind::Word) {
        parser.expected(Scope::Defaults.expected());
        return recovery::to_item(parser, Scope::Defaults);
    }
    parser.open(SyntaxKind::Setting);
    parser.bump_as(SyntaxKind::Name);
    if at_value(parser) {
        parser.bump();
    } else {
        parser.expected(Expected::Value);
    }
    parser.close();
}

/// A word with a value of its own is the next setting, not the value of this one.
fn at_value(parser: &Parser<'_>) -> bool {
    let is_literal = |kind| matches!(kind, SyntaxKind::Integer | SyntaxKind::Text);
    match parser.nth(0) {
        SyntaxKind::Word => {
            let next = parser.nth(1);
            !is_literal(next) && next != SyntaxKind::Arrow
        }
        kind => is_literal(kind),
    }
}
