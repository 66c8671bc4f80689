//! What should stand at a place, and what stands there.

use std::fmt;

use crate::keyword::{self, Keyword};

/// What should stand at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// A graph; nothing else stands outside of graphs.
    Graph,
    /// An item of a graph.
    GraphItem,
    /// An item of a node.
    NodeItem,
    /// A setting of `defaults`.
    Setting,
    /// A route of `routes`.
    Route,
    /// The name of a graph.
    GraphName,
    /// The name of a node that is declared.
    NodeName,
    /// The name of a channel.
    ChannelName,
    /// The name of a reducer.
    Reducer,
    /// The name of a kind.
    Kind,
    /// The name of a node that is led to.
    Target,
    /// The value of a setting.
    Value,
    /// The text of a model or a prompt.
    Text,
    /// A tool in a list.
    Tool,
    /// Something between two tools of a list.
    ToolSeparator,
    /// Exactly this.
    Symbol(&'static str),
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Graph => "`graph`",
            Self::GraphItem => "`start`, `defaults`, `channel`, `node` or an edge",
            Self::NodeItem => "`kind`, `model`, `prompt`, `tools`, `output`, `next` or `routes`",
            Self::Setting => "a setting or `}`",
            Self::Route => "a route or `}`",
            Self::GraphName => "a name for the graph",
            Self::NodeName => "a name for the node",
            Self::ChannelName => "the name of a channel",
            Self::Reducer => "the name of a reducer",
            Self::Kind => "a kind",
            Self::Target => "the name of a node",
            Self::Value => "an integer, a string or a word",
            Self::Text => "a string",
            Self::Tool => "a string or `]`",
            Self::ToolSeparator => "`,` or `]`",
            Self::Symbol(symbol) => return write!(f, "`{symbol}`"),
        })
    }
}

impl Expected {
    /// What to do when `found` stands there.
    pub(super) fn hint(self, found: &Found) -> Option<String> {
        let Found::Word(word) = found else {
            return None;
        };
        match self {
            Self::Text | Self::Tool => Some(format!("strings are quoted: `\"{word}\"`")),
            Self::Graph => item_hint(word, keyword::OF_PROGRAM),
            Self::GraphItem => item_hint(word, keyword::OF_GRAPH),
            Self::NodeItem => item_hint(word, keyword::OF_NODE),
            _ => None,
        }
    }
}

fn item_hint(word: &str, candidates: &[Keyword]) -> Option<String> {
    let place = if keyword::exact(word, keyword::OF_NODE).is_some() {
        "inside of a `node`"
    } else if keyword::exact(word, keyword::OF_GRAPH).is_some() {
        "inside of a `graph`, outside of its nodes"
    } else if keyword::exact(word, keyword::OF_PROGRAM).is_some() {
        "outside of other graphs"
    } else {
        let nearest = keyword::nearest(word, candidates)?;
        return Some(format!("did you mean `{}`?", nearest.as_str()));
    };
    Some(format!("`{word}` belongs {place}"))
}

/// What stands at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Found {
    /// Nothing more.
    EndOfFile,
    /// A word, cut at 40 characters.
    Word(String),
    /// A word that starts the next item, cut at 40 characters.
    NextItem(String),
    /// An integer.
    Integer,
    /// A string.
    Text,
    /// A bracket, a comma or an arrow.
    Symbol(&'static str),
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndOfFile => f.write_str("the end of the file"),
            Self::Word(word) => write!(f, "`{word}`"),
            Self::NextItem(word) => write!(f, "the next item, `{word}`"),
            Self::Integer => f.write_str("an integer"),
            Self::Text => f.write_str("a string"),
            Self::Symbol(symbol) => write!(f, "`{symbol}`"),
        }
    }
}
