//! Names, strings and values.

use rowan::TextRange;

use super::{AstNode, tokens};
use crate::{
    kind::{SyntaxKind, SyntaxNode, SyntaxToken},
    literal::{integer, text::Literal},
};

/// A word that names something.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name(SyntaxToken);

impl AstNode for Name {
    fn cast(syntax: SyntaxNode) -> Option<Self> {
        if syntax.kind() != SyntaxKind::Name {
            return None;
        }
        tokens(&syntax)
            .find(|token| token.kind() == SyntaxKind::Word)
            .map(Self)
    }
}

impl Name {
    /// The name.
    pub fn text(&self) -> &str {
        self.0.text()
    }

    /// Where it stands.
    pub fn range(&self) -> TextRange {
        self.0.text_range()
    }
}

/// A string literal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Text(SyntaxToken);

impl Text {
    /// The strings that are children of `node`.
    pub(super) fn children(node: &SyntaxNode) -> impl Iterator<Item = Self> + use<> {
        tokens(node)
            .filter(|token| token.kind() == SyntaxKind::Text)
            .map(Self)
    }

    /// What the literal means: without quotes and indentation, escapes replaced.
    ///
    /// A bad escape stays as it is written.
    pub fn value(&self) -> String {
        text_value(&self.0)
    }

    /// Where it stands, quotes included.
    pub fn range(&self) -> TextRange {
        self.0.text_range()
    }
}

/// What a setting is set to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// An integer.
    Integer(i64),
    /// What a string literal means.
    Text(String),
    /// A word.
    Word(String),
}

impl Value {
    /// Reads `token`; `None` if it is an integer that has no value.
    pub(super) fn of(token: &SyntaxToken) -> Option<Self> {
        match token.kind() {
            SyntaxKind::Integer => integer::parse(token.text()).ok().map(Self::Integer),
            SyntaxKind::Text => Some(Self::Text(text_value(token))),
            SyntaxKind::Word => Some(Self::Word(token.text().to_owned())),
            _ => None,
        }
    }
}

fn text_value(token: &SyntaxToken) -> String {
    Literal::scan(token.text())
        .map(|literal| literal.value())
        .unwrap_or_default()
}
