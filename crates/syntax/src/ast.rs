//! The tree, by meaning.
//!
//! Each type wraps a node of the tree. Accessors answer `None`, or leave out,
//! what is missing in the source; the error for that is already reported. What
//! is said twice is there twice: whether that means something is for others to say.

mod graph;
mod item;
mod leaf;
mod node;

use crate::kind::{SyntaxElement, SyntaxKind, SyntaxNode, SyntaxToken};

pub use graph::Graph;
pub use item::{Channel, Defaults, Edge, Item, Setting, Start};
pub use leaf::{Name, Text, Value};
pub use node::{Kind, Model, Next, Node, NodeItem, Output, Prompt, Route, Routes, Tools};

/// What a node of the tree can be read as.
trait AstNode: Sized {
    /// Reads `syntax`; `None` if it is of another kind.
    fn cast(syntax: SyntaxNode) -> Option<Self>;
}

/// Defines types that wrap nodes of the kind of the same name.
macro_rules! nodes {
    ($($(#[$doc:meta])* $name:ident,)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub struct $name($crate::kind::SyntaxNode);

        impl $crate::ast::AstNode for $name {
            fn cast(syntax: $crate::kind::SyntaxNode) -> Option<Self> {
                (syntax.kind() == $crate::kind::SyntaxKind::$name).then_some(Self(syntax))
            }
        }

        impl $name {
            /// The node of the tree.
            pub fn syntax(&self) -> &$crate::kind::SyntaxNode {
                &self.0
            }

            /// Where it stands, from its first to its last token.
            pub fn range(&self) -> rowan::TextRange {
                self.0.text_range()
            }
        }
    )*};
}

/// Defines an enum over node types.
macro_rules! alternatives {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant($variant),)*
        }

        impl $crate::ast::AstNode for $name {
            fn cast(syntax: $crate::kind::SyntaxNode) -> Option<Self> {
                match syntax.kind() {
                    $($crate::kind::SyntaxKind::$variant => {
                        <$variant as $crate::ast::AstNode>::cast(syntax).map(Self::$variant)
                    })*
                    _ => None,
                }
            }
        }

        impl $name {
            /// The node of the tree.
            pub fn syntax(&self) -> &$crate::kind::SyntaxNode {
                match self { $(Self::$variant(item) => item.syntax(),)* }
            }

            /// Where it stands, from its first to its last token.
            pub fn range(&self) -> rowan::TextRange {
                self.syntax().text_range()
            }
        }
    };
}

use {alternatives, nodes};

nodes! {
    /// A source: graphs.
    Program,
}

impl Program {
    /// Wraps the root of a tree.
    pub(crate) fn of_root(root: SyntaxNode) -> Self {
        Self(root)
    }

    /// The graphs, in order.
    pub fn graphs(&self) -> impl Iterator<Item = Graph> + use<> {
        children(&self.0)
    }
}

/// The children of `node` that are an `N`.
fn children<N: AstNode>(node: &SyntaxNode) -> impl Iterator<Item = N> + use<N> {
    node.children().filter_map(N::cast)
}

/// The tokens that are children of `node`.
fn tokens(node: &SyntaxNode) -> impl Iterator<Item = SyntaxToken> + use<> {
    node.children_with_tokens()
        .filter_map(SyntaxElement::into_token)
}

/// The names that `node` leads to.
fn targets(node: &SyntaxNode) -> impl Iterator<Item = Name> + use<> {
    node.children()
        .filter(|child| child.kind() == SyntaxKind::Targets)
        .flat_map(|targets| children(&targets))
}
