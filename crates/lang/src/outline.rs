//! What a graph declares, read once from its tree.
//!
//! The outline keeps what is written, also what is written twice; whether that
//! means something is for the rules to say. It also knows what a syntax error
//! may have hidden.

use std::collections::HashMap;

use rustagents_syntax::{
    MAX_ERRORS, SyntaxError, SyntaxKind, SyntaxNode, TextRange,
    ast::{self, Name, NodeItem, Text},
};

/// A graph as it is written.
#[derive(Debug)]
pub(crate) struct Outline {
    pub(crate) name: Option<Name>,
    pub(crate) starts: Vec<ast::Start>,
    pub(crate) settings: Vec<ast::Setting>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<ast::Edge>,
    /// Whether all that the graph declares is here: no syntax error can have
    /// hidden a node, a channel, a start or an edge.
    pub(crate) is_whole: bool,
    /// Where in `nodes` and `channels` each name is declared first.
    nodes_by_name: HashMap<String, usize>,
    channels_by_name: HashMap<String, usize>,
}

/// A channel with a name.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) name: Name,
    pub(crate) reducer: Option<Name>,
}

/// A node with a name.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: Name,
    pub(crate) items: Vec<NodeItem>,
    /// Whether there is no syntax error in it.
    pub(crate) is_intact: bool,
}

impl Outline {
    /// Reads `graph`, which was parsed with `errors`.
    pub(crate) fn new(graph: &ast::Graph, errors: &[SyntaxError]) -> Self {
        let mut damage = Damage::new(errors);
        let nodes: Vec<_> = graph
            .nodes()
            .filter_map(|node| Node::new(&node, &mut damage))
            .collect();
        let channels: Vec<_> = graph.channels().filter_map(|c| Channel::new(&c)).collect();
        Self {
            name: graph.name(),
            starts: graph.starts().collect(),
            settings: graph
                .defaults()
                .flat_map(|defaults| defaults.settings())
                .collect(),
            is_whole: damage.is_contained(),
            edges: graph.edges().collect(),
            nodes_by_name: first_places(nodes.iter().map(|node| &node.name)),
            channels_by_name: first_places(channels.iter().map(|channel| &channel.name)),
            channels,
            nodes,
        }
    }

    /// The first node with this name.
    pub(crate) fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.get(*self.nodes_by_name.get(name)?)
    }

    /// The first channel with this name.
    pub(crate) fn channel(&self, name: &str) -> Option<&Channel> {
        self.channels.get(*self.channels_by_name.get(name)?)
    }

    /// The nodes with which a run starts.
    pub(crate) fn start_targets(&self) -> impl Iterator<Item = Name> {
        self.starts.iter().flat_map(ast::Start::targets)
    }

    /// The nodes from which edges lead.
    pub(crate) fn edge_sources(&self) -> impl Iterator<Item = Name> {
        self.edges.iter().filter_map(ast::Edge::source)
    }

    /// The names of the nodes.
    pub(crate) fn node_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.nodes.iter().map(|node| node.name.text())
    }
}

impl Channel {
    fn new(channel: &ast::Channel) -> Option<Self> {
        Some(Self {
            name: channel.name()?,
            reducer: channel.reducer(),
        })
    }
}

impl Node {
    fn new(node: &ast::Node, damage: &mut Damage) -> Option<Self> {
        let name = node.name()?;
        let damaged = damage.within(node.range());
        if is_closed(node.syntax()) {
            damage.contained += damaged;
        }
        Some(Self {
            name,
            items: node.items().collect(),
            is_intact: damaged == 0 && !damage.is_cut,
        })
    }

    /// Its first kind.
    pub(crate) fn kind(&self) -> Option<Name> {
        self.items.iter().find_map(|item| match item {
            NodeItem::Kind(kind) => kind.name(),
            _ => None,
        })
    }

    /// Its first model.
    pub(crate) fn model(&self) -> Option<Text> {
        self.items.iter().find_map(|item| match item {
            NodeItem::Model(model) => model.text(),
            _ => None,
        })
    }

    /// Its first prompt.
    pub(crate) fn prompt(&self) -> Option<Text> {
        self.items.iter().find_map(|item| match item {
            NodeItem::Prompt(prompt) => prompt.text(),
            _ => None,
        })
    }

    /// The channel of its first output.
    pub(crate) fn output(&self) -> Option<Name> {
        self.items.iter().find_map(|item| match item {
            NodeItem::Output(output) => output.channel(),
            _ => None,
        })
    }

    /// Its first `next` or `routes`.
    pub(crate) fn way(&self) -> Option<&NodeItem> {
        self.items
            .iter()
            .find(|item| matches!(item, NodeItem::Next(_) | NodeItem::Routes(_)))
    }

    /// The names of its tools.
    pub(crate) fn tools(&self) -> impl Iterator<Item = Text> {
        self.items
            .iter()
            .filter_map(|item| match item {
                NodeItem::Tools(tools) => Some(tools.names()),
                _ => None,
            })
            .flatten()
    }
}

/// The keyword of an item of a node.
pub(crate) fn keyword(item: &NodeItem) -> &'static str {
    match item {
        NodeItem::Kind(_) => "kind",
        NodeItem::Model(_) => "model",
        NodeItem::Prompt(_) => "prompt",
        NodeItem::Tools(_) => "tools",
        NodeItem::Output(_) => "output",
        NodeItem::Next(_) => "next",
        NodeItem::Routes(_) => "routes",
    }
}

/// Where the first word of an item stands.
pub(crate) fn keyword_range(item: &SyntaxNode) -> TextRange {
    item.first_token()
        .map_or(item.text_range(), |token| token.text_range())
}

/// Whether the last token of `node` is the brace that closes it.
fn is_closed(node: &SyntaxNode) -> bool {
    node.last_token().is_some_and(|token| {
        token.kind() == SyntaxKind::RightBrace && token.parent().as_ref() == Some(node)
    })
}

fn first_places<'a>(names: impl Iterator<Item = &'a Name>) -> HashMap<String, usize> {
    let mut places = HashMap::new();
    for (index, name) in names.enumerate() {
        places.entry(name.text().to_owned()).or_insert(index);
    }
    places
}

/// What the syntax errors have touched.
#[derive(Debug)]
struct Damage {
    ranges: Vec<TextRange>,
    /// How many errors lie inside of named, closed nodes and hide nothing else.
    contained: usize,
    /// Whether there are errors that are not known.
    is_cut: bool,
}

impl Damage {
    fn new(errors: &[SyntaxError]) -> Self {
        Self {
            ranges: errors.iter().map(|error| error.range).collect(),
            contained: 0,
            is_cut: errors.len() > MAX_ERRORS,
        }
    }

    /// How many errors lie inside of `range`; their number is bounded.
    fn within(&self, range: TextRange) -> usize {
        self.ranges
            .iter()
            .filter(|error| range.contains_range(**error))
            .count()
    }

    fn is_contained(&self) -> bool {
        !self.is_cut && self.contained == self.ranges.len()
    }
}
