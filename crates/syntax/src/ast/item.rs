//! The items of a graph, but for nodes.

use rowan::TextRange;

use super::{Name, Node, Value, alternatives, children, nodes, targets, tokens};
use crate::kind::{SyntaxKind, SyntaxToken};

alternatives! {
    /// An item of a graph.
    Item {
        /// Where a run starts.
        Start,
        /// Settings.
        Defaults,
        /// A channel.
        Channel,
        /// A node.
        Node,
        /// An edge.
        Edge,
    }
}

nodes! {
    /// `start TARGETS`
    Start,
    /// `defaults { … }`
    Defaults,
    /// `NAME VALUE` in `defaults`.
    Setting,
    /// `channel NAME REDUCER`
    Channel,
    /// `NAME -> TARGETS`
    Edge,
}

impl Start {
    /// The nodes that start.
    pub fn targets(&self) -> impl Iterator<Item = Name> + use<> {
        targets(&self.0)
    }
}

impl Defaults {
    /// The settings, in order.
    pub fn settings(&self) -> impl Iterator<Item = Setting> + use<> {
        children(&self.0)
    }
}

impl Setting {
    /// What is set.
    pub fn key(&self) -> Option<Name> {
        children(&self.0).next()
    }

    /// What it is set to; `None` also for an integer that is malformed or too large.
    pub fn value(&self) -> Option<Value> {
        self.value_token().as_ref().and_then(Value::of)
    }

    /// Where the value stands.
    pub fn value_range(&self) -> Option<TextRange> {
        self.value_token().map(|token| token.text_range())
    }

    /// The value is a token of the setting itself; the key is inside of a name.
    fn value_token(&self) -> Option<SyntaxToken> {
        let is_value = |kind| {
            matches!(
                kind,
                SyntaxKind::Integer | SyntaxKind::Text | SyntaxKind::Word
            )
        };
        tokens(&self.0).find(|token| is_value(token.kind()))
    }
}

impl Channel {
    /// Its name.
    pub fn name(&self) -> Option<Name> {
        children(&self.0).next()
    }

    /// The name of its reducer.
    pub fn reducer(&self) -> Option<Name> {
        children(&self.0).nth(1)
    }
}

impl Edge {
    /// The node that it leads from.
    pub fn source(&self) -> Option<Name> {
        children(&self.0).next()
    }

    /// The nodes that it leads to.
    pub fn targets(&self) -> impl Iterator<Item = Name> + use<> {
        targets(&self.0)
    }
}
