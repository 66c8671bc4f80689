//! A node and its items.

use super::{Name, Text, alternatives, children, nodes, targets};

nodes! {
    /// `node NAME { … }`
    Node,
    /// `kind NAME`
    Kind,
    /// `model TEXT`
    Model,
    /// `prompt TEXT`
    Prompt,
    /// `tools [ … ]`
    Tools,
    /// `output CHANNEL`
    Output,
    /// `next TARGETS`
    Next,
    /// `routes { … }`
    Routes,
    /// `LABEL -> TARGETS` in `routes`.
    Route,
}

alternatives! {
    /// An item of a node.
    NodeItem {
        /// What the node is.
        Kind,
        /// Its model.
        Model,
        /// Its prompt.
        Prompt,
        /// Its tools.
        Tools,
        /// The channel that it writes.
        Output,
        /// Where it leads.
        Next,
        /// Where its answers lead.
        Routes,
    }
}

impl Node {
    /// Its name.
    pub fn name(&self) -> Option<Name> {
        children(&self.0).next()
    }

    /// The items, in order.
    pub fn items(&self) -> impl Iterator<Item = NodeItem> + use<> {
        children(&self.0)
    }
}

impl Kind {
    /// The kind.
    pub fn name(&self) -> Option<Name> {
        children(&self.0).next()
    }
}

impl Model {
    /// The model.
    pub fn text(&self) -> Option<Text> {
        Text::children(&self.0).next()
    }
}

impl Prompt {
    /// The prompt.
    pub fn text(&self) -> Option<Text> {
        Text::children(&self.0).next()
    }
}

impl Tools {
    /// The names of the tools.
    pub fn names(&self) -> impl Iterator<Item = Text> + use<> {
        Text::children(&self.0)
    }
}

impl Output {
    /// The channel.
    pub fn channel(&self) -> Option<Name> {
        children(&self.0).next()
    }
}

impl Next {
    /// The nodes that it leads to.
    pub fn targets(&self) -> impl Iterator<Item = Name> + use<> {
        targets(&self.0)
    }
}

impl Routes {
    /// The routes, in order.
    pub fn routes(&self) -> impl Iterator<Item = Route> + use<> {
        children(&self.0)
    }
}

impl Route {
    /// The answer that takes it.
    pub fn label(&self) -> Option<Name> {
        children(&self.0).next()
    }

    /// The nodes that it leads to.
    pub fn targets(&self) -> impl Iterator<Item = Name> + use<> {
        targets(&self.0)
    }
}
