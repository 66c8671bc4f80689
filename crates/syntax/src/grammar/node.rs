//! A node and its items.

use super::{
    block::block,
    name::{last_name, name, targets},
    recovery,
    scope::Scope,
    tools::tools,
};
use crate::{
    error::Expected,
    keyword::{self, Keyword},
    kind::SyntaxKind,
    parser::Parser,
};

/// Reads `node NAME { … }`; the next token is the keyword.
pub(super) fn node(parser: &mut Parser<'_>) {
    parser.open(SyntaxKind::Node);
    parser.bump();
    name(parser, Expected::NodeName);
    block(parser, Scope::Node, item);
    parser.close();
}

fn item(parser: &mut Parser<'_>) {
    let before_arrow = parser.at_arrow_after_word(0);
    let word = parser.word(0).filter(|_| !before_arrow);
    if let Some(keyword) = word.and_then(|word| keyword::exact(word, keyword::OF_NODE)) {
        return known_item(parser, keyword);
    }
    parser.expected(Scope::Node.expected());
    let meant = word.and_then(|word| keyword::nearest(word, keyword::OF_NODE));
    match meant.filter(|keyword| keyword.takes(parser.nth(1))) {
        Some(keyword) => known_item(parser, keyword),
        None => recovery::to_item(parser, Scope::Node),
    }
}

/// Reads an item; the next token is, or stands for, `keyword`.
fn known_item(parser: &mut Parser<'_>, keyword: Keyword) {
    let (kind, operand): (_, fn(&mut Parser<'_>)) = match keyword {
        Keyword::Kind => (SyntaxKind::Kind, kind),
        Keyword::Model => (SyntaxKind::Model, text),
        Keyword::Prompt => (SyntaxKind::Prompt, text),
        Keyword::Tools => (SyntaxKind::Tools, tools),
        Keyword::Output => (SyntaxKind::Output, output),
        Keyword::Next => (SyntaxKind::Next, next),
        Keyword::Routes => (SyntaxKind::Routes, routes),
        _ => return recovery::to_item(parser, Scope::Node),
    };
    parser.open(kind);
    parser.bump();
    operand(parser);
    parser.close();
}

fn kind(parser: &mut Parser<'_>) {
    last_name(parser, Scope::Node, Expected::Kind);
}

fn output(parser: &mut Parser<'_>) {
    last_name(parser, Scope::Node, Expected::ChannelName);
}

fn next(parser: &mut Parser<'_>) {
    targets(parser, Scope::Node);
}

fn routes(parser: &mut Parser<'_>) {
    block(parser, Scope::Routes, route);
}

fn text(parser: &mut Parser<'_>) {
    if !parser.eat(SyntaxKind::Text) {
        parser.expected(Expected::Text);
    }
}

fn route(parser: &mut Parser<'_>) {
    if !matches!(
        parser.nth(0),
        SyntaxKind::Word | SyntaxKind::Text | SyntaxKind::Integer
    ) {
        parser.expected(Scope::Routes.expected());
        return recovery::to_item(parser, Scope::Routes);
    }
    parser.open(SyntaxKind::Route);
    name(parser, Scope::Routes.expected());
    if parser.eat(SyntaxKind::Arrow) {
        targets(parser, Scope::Routes);
    } else {
        parser.expected(Expected::Symbol("->"));
        if parser.at(SyntaxKind::Word) && !parser.at_arrow_after_word(0) {
            targets(parser, Scope::Routes);
        }
    }
    parser.close();
}
