//! The blocks of the language, and what can start an item in each.

use crate::{
    error::Expected,
    keyword::{self, Keyword},
    kind::SyntaxKind,
    parser::Parser,
};

/// A block whose items are being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Graph,
    Defaults,
    Node,
    Routes,
}

impl Scope {
    /// The keywords that start the block's items.
    pub(super) fn keywords(self) -> &'static [Keyword] {
        match self {
            Self::Graph => keyword::OF_GRAPH,
            Self::Node => keyword::OF_NODE,
            Self::Defaults | Self::Routes => &[],
        }
    }

    /// What an item of the block is called.
    pub(super) fn expected(self) -> Expected {
        match self {
            Self::Graph => Expected::GraphItem,
            Self::Defaults => Expected::Setting,
            Self::Node => Expected::NodeItem,
            Self::Routes => Expected::Route,
        }
    }

    /// Whether an item of the block starts at the next token.
    pub(super) fn at_item(self, parser: &Parser<'_>) -> bool {
        match self {
            Self::Graph | Self::Node => self.can_start_item(parser, 0),
            Self::Defaults | Self::Routes => parser.at(SyntaxKind::Word),
        }
    }

    /// Whether the block must have ended: a closing brace is missing somewhere,
    /// and here starts an item of a block around this one.
    pub(super) fn is_left(self, parser: &Parser<'_>) -> bool {
        if !parser.lacks_closing() {
            return false;
        }
        let of = |keywords| {
            parser
                .word(0)
                .and_then(|word| keyword::exact(word, keywords))
                .is_some()
        };
        let before_arrow = parser.at_arrow_after_word(0);
        match self {
            Self::Graph => at_graph(parser),
            Self::Node => before_arrow || of(keyword::OF_GRAPH) || at_graph(parser),
            Self::Routes => !before_arrow && (of(keyword::OF_NODE) || of(keyword::OF_GRAPH)),
            Self::Defaults => before_arrow || (of(keyword::OF_GRAPH) && opens_item(parser)),
        }
    }

    /// Whether the word `ahead` can start an item of this block.
    fn can_start_item(self, parser: &Parser<'_>, ahead: usize) -> bool {
        let Some(word) = parser.word(ahead) else {
            return false;
        };
        keyword::exact(word, self.keywords()).is_some() || parser.at_arrow_after_word(ahead)
    }

    /// Whether the next word cannot be the last name of an item, as the tokens
    /// after it only make sense if it starts the next item.
    ///
    /// Says so only if the source is wrong either way.
    pub(super) fn starts_next_item(self, parser: &Parser<'_>) -> bool {
        let Some(word) = parser.word(0) else {
            return false;
        };
        if parser.at_arrow_after_word(0) {
            return parser.starts_line();
        }
        if at_block_of_graph(parser) {
            return true;
        }
        keyword::exact(word, self.keywords()).is_some()
            && !matches!(
                parser.nth(1),
                SyntaxKind::RightBrace | SyntaxKind::EndOfFile | SyntaxKind::Comma
            )
            && !self.can_start_item(parser, 1)
    }
}

/// Whether the next tokens are `WORD NAME {`.
pub(super) fn at_named_block(parser: &Parser<'_>) -> bool {
    parser.nth(0) == SyntaxKind::Word
        && parser.nth(1) == SyntaxKind::Word
        && parser.nth(2) == SyntaxKind::LeftBrace
}

/// Whether the next tokens are `graph NAME {`.
pub(super) fn at_graph(parser: &Parser<'_>) -> bool {
    parser.word(0) == Some(Keyword::Graph.as_str()) && at_named_block(parser)
}

/// Whether the next tokens are `node NAME {` and cannot be a name and a block.
pub(super) fn at_block_of_graph(parser: &Parser<'_>) -> bool {
    let takes_brace = |word| [Keyword::Defaults.as_str(), Keyword::Routes.as_str()].contains(&word);
    parser.word(0) == Some(Keyword::Node.as_str())
        && at_named_block(parser)
        && !parser.word(1).is_some_and(takes_brace)
}

/// Whether the word at hand is followed as a keyword of a graph is.
fn opens_item(parser: &Parser<'_>) -> bool {
    matches!(parser.nth(1), SyntaxKind::Word | SyntaxKind::LeftBrace)
}
