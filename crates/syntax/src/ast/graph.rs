//! A graph.

use super::{Channel, Defaults, Edge, Item, Name, Node, Start, children, nodes};

nodes! {
    /// `graph NAME { … }`
    Graph,
}

impl Graph {
    /// Its name.
    pub fn name(&self) -> Option<Name> {
        children(&self.0).next()
    }

    /// All items, in order.
    pub fn items(&self) -> impl Iterator<Item = Item> + use<> {
        children(&self.0)
    }

    /// The `start` items.
    pub fn starts(&self) -> impl Iterator<Item = Start> + use<> {
        children(&self.0)
    }

    /// The `defaults` blocks.
    pub fn defaults(&self) -> impl Iterator<Item = Defaults> + use<> {
        children(&self.0)
    }

    /// The channels.
    pub fn channels(&self) -> impl Iterator<Item = Channel> + use<> {
        children(&self.0)
    }

    /// The nodes.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        children(&self.0)
    }

    /// The edges that are items of the graph; `next` and `routes` are their node's.
    pub fn edges(&self) -> impl Iterator<Item = Edge> + use<> {
        children(&self.0)
    }
}
