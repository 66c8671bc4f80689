//! The contextual keywords, and which one a misspelt word was meant to be.

use crate::kind::SyntaxKind;

/// A word that starts an item where it stands first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyword {
    Graph,
    Start,
    Defaults,
    Channel,
    Node,
    Kind,
    Model,
    Prompt,
    Tools,
    Output,
    Next,
    Routes,
}

/// What starts a program's items.
pub(crate) const OF_PROGRAM: &[Keyword] = &[Keyword::Graph];

/// What starts a graph's items, besides edges.
pub(crate) const OF_GRAPH: &[Keyword] = &[
    Keyword::Start,
    Keyword::Defaults,
    Keyword::Channel,
    Keyword::Node,
];

/// What starts a node's items.
pub(crate) const OF_NODE: &[Keyword] = &[
    Keyword::Kind,
    Keyword::Model,
    Keyword::Prompt,
    Keyword::Tools,
    Keyword::Output,
    Keyword::Next,
    Keyword::Routes,
];

impl Keyword {
    /// The keyword as it is written.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::Start => "start",
            Self::Defaults => "defaults",
            Self::Channel => "channel",
            Self::Node => "node",
            Self::Kind => "kind",
            Self::Model => "model",
            Self::Prompt => "prompt",
            Self::Tools => "tools",
            Self::Output => "output",
            Self::Next => "next",
            Self::Routes => "routes",
        }
    }

    /// Whether the keyword's operand can start with a token of `kind`.
    pub(crate) fn takes(self, kind: SyntaxKind) -> bool {
        let wanted = match self {
            Self::Model | Self::Prompt => SyntaxKind::Text,
            Self::Tools => SyntaxKind::LeftBracket,
            Self::Defaults | Self::Routes => SyntaxKind::LeftBrace,
            _ => SyntaxKind::Word,
        };
        kind == wanted
    }
}

/// The keyword among `candidates` that is written exactly like `word`.
pub(crate) fn exact(word: &str, candidates: &[Keyword]) -> Option<Keyword> {
    candidates
        .iter()
        .copied()
        .find(|keyword| keyword.as_str() == word)
}

/// The keyword among `candidates` that `word` was most likely meant to be.
pub(crate) fn nearest(word: &str, candidates: &[Keyword]) -> Option<Keyword> {
    // No keyword is as long as this: the bound keeps the comparison cheap.
    if word.len() > 16 {
        return None;
    }
    let word = word.to_lowercase();
    let allowed = (word.chars().count() / 3).max(1);
    candidates
        .iter()
        .map(|&keyword| (strsim::osa_distance(&word, keyword.as_str()), keyword))
        .filter(|&(distance, _)| distance <= allowed)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, keyword)| keyword)
}
