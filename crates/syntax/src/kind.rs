//! What a tree is made of: kinds of tokens and nodes.

/// A node of the lossless tree.
pub type SyntaxNode = rowan::SyntaxNode<Rag>;

/// A token of the lossless tree.
pub type SyntaxToken = rowan::SyntaxToken<Rag>;

/// A node or a token of the lossless tree.
pub type SyntaxElement = rowan::SyntaxElement<Rag>;

/// The language, as the tree library wants to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rag {}

impl rowan::Language for Rag {
    type Kind = SyntaxKind;

    fn kind_from_raw(raw: rowan::SyntaxKind) -> SyntaxKind {
        SyntaxKind::ALL
            .get(usize::from(raw.0))
            .copied()
            .unwrap_or(SyntaxKind::Skipped)
    }

    fn kind_to_raw(kind: SyntaxKind) -> rowan::SyntaxKind {
        rowan::SyntaxKind(kind as u16)
    }
}

macro_rules! kinds {
    ($($kind:ident: $doc:literal,)*) => {
        /// The kind of a token or a node.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[repr(u16)]
        pub enum SyntaxKind {
            $(#[doc = $doc] $kind,)*
        }

        impl SyntaxKind {
            /// All kinds; each stands at the place of its number.
            const ALL: &'static [Self] = &[$(Self::$kind,)*];
        }
    };
}

kinds! {
    ByteOrderMark: "The byte order mark at the start of a source.",
    Space: "White space and line ends.",
    Comment: "A comment, without its line end.",
    Garbage: "A run of characters that start no token.",
    Word: "An identifier or a keyword.",
    Integer: "An integer literal, perhaps malformed.",
    Text: "A string literal with its quotes, perhaps unterminated.",
    LeftBrace: "`{`",
    RightBrace: "`}`",
    LeftBracket: "`[`",
    RightBracket: "`]`",
    Comma: "`,`",
    Arrow: "`->`",
    EndOfFile: "What the parser sees after the last token; never in a tree.",
    Program: "The root.",
    Graph: "`graph NAME { … }`",
    Start: "`start TARGETS`",
    Defaults: "`defaults { … }`",
    Setting: "A name and a value in `defaults`.",
    Channel: "`channel NAME REDUCER`",
    Node: "`node NAME { … }`",
    Edge: "`NAME -> TARGETS`",
    Kind: "`kind NAME`",
    Model: "`model TEXT`",
    Prompt: "`prompt TEXT`",
    Tools: "`tools [ … ]`",
    Output: "`output NAME`",
    Next: "`next TARGETS`",
    Routes: "`routes { … }`",
    Route: "`LABEL -> TARGETS` in `routes`.",
    Targets: "Names with commas between them.",
    Name: "A word that names something.",
    Skipped: "What the parser could not use.",
}

impl SyntaxKind {
    /// Whether the parser looks past tokens of this kind.
    pub(crate) fn is_trivia(self) -> bool {
        matches!(
            self,
            Self::ByteOrderMark | Self::Space | Self::Comment | Self::Garbage
        )
    }

    /// The token as it is written, for kinds that are always written the same.
    pub(crate) fn symbol(self) -> Option<&'static str> {
        Some(match self {
            Self::LeftBrace => "{",
            Self::RightBrace => "}",
            Self::LeftBracket => "[",
            Self::RightBracket => "]",
            Self::Comma => ",",
            Self::Arrow => "->",
            _ => return None,
        })
    }
}
