//! What can be wrong with a source, and what to do about it.

mod collector;
mod expected;

use std::fmt;

use rowan::TextRange;

pub(crate) use collector::Errors;
pub use collector::MAX_ERRORS;
pub use expected::{Expected, Found};

/// An error and where it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct SyntaxError {
    /// What is wrong.
    pub kind: SyntaxErrorKind,
    /// The bytes of the source that are meant; empty at the end of the source.
    pub range: TextRange,
}

impl SyntaxError {
    /// What the reader can do about it, in one line.
    pub fn hint(&self) -> Option<String> {
        self.kind.hint()
    }
}

/// What is wrong with a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SyntaxErrorKind {
    /// Something else should stand here.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What should stand here.
        expected: Expected,
        /// What stands here.
        found: Found,
    },
    /// A bracket that is never closed; the range is the bracket's.
    #[error("`{symbol}` is not closed before {found}")]
    Unclosed {
        /// The bracket: `{` or `[`.
        symbol: &'static str,
        /// Where it should be closed at the latest.
        found: Found,
    },
    /// A closing brace that closes nothing.
    #[error("`}}` closes nothing")]
    Unopened,
    /// `->` after targets, as in `a -> b -> c`.
    #[error("targets cannot be followed by `->`")]
    ChainedArrow,
    /// Characters that mean nothing here.
    #[error("unexpected character {}", Shown(*character))]
    UnexpectedCharacter {
        /// The first of them.
        character: char,
    },
    /// A character that no name can have, inside of a name.
    #[error("a name cannot have the character {}", Shown(*character))]
    CharacterInName {
        /// The character.
        character: char,
    },
    /// A string without closing quotes.
    #[error("the string is not closed")]
    UnterminatedString,
    /// A `\` and a character that are no escape.
    #[error("unknown escape: `\\` and {}", Shown(*character))]
    UnknownEscape {
        /// The character after the `\`.
        character: char,
    },
    /// A `\u` that is not followed by hex digits in braces.
    #[error("`\\u` takes one to six hex digits in braces")]
    MalformedUnicodeEscape,
    /// A number that is no Unicode scalar value.
    #[error("there is no character `U+{value:04X}`")]
    NoSuchCharacter {
        /// The number.
        value: u32,
    },
    /// Something that starts like an integer and is none.
    #[error("the integer is malformed")]
    MalformedInteger,
    /// An integer of more than 64 bits.
    #[error("the integer does not fit into 64 bits")]
    IntegerOverflow,
    /// The source is not parsed at all.
    #[error("the source has {bytes} bytes, the limit is {limit}")]
    SourceTooLarge {
        /// The size of the source.
        bytes: usize,
        /// The largest size that is parsed.
        limit: usize,
    },
    /// There are more errors, which are not reported.
    #[error("more than {limit} errors; the others are not shown")]
    TooManyErrors {
        /// How many are reported.
        limit: usize,
    },
}

impl SyntaxErrorKind {
    /// What the reader can do about it, in one line.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Expected { expected, found } => return expected.hint(found),
            Self::ChainedArrow => "an edge has one `->`; write each edge as an item of its own",
            Self::UnexpectedCharacter { character } => return character_hint(*character),
            Self::CharacterInName { .. } => "names are ASCII letters, digits and `_`",
            Self::UnterminatedString => "a string over several lines has `\"\"\"` at both ends",
            Self::UnknownEscape { .. } => {
                r#"the escapes are `\"`, `\\`, `\n`, `\t`, `\r` and `\u{HEX}`"#
            }
            Self::MalformedUnicodeEscape => r"for example `\u{20AC}`",
            Self::MalformedInteger => "integers are digits with `_` between them, such as `1_000`",
            Self::IntegerOverflow => "the largest integer is 9223372036854775807",
            Self::Unclosed { .. }
            | Self::Unopened
            | Self::NoSuchCharacter { .. }
            | Self::SourceTooLarge { .. }
            | Self::TooManyErrors { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

fn character_hint(character: char) -> Option<String> {
    let hint = match character {
        '\'' | '`' | '\u{2018}'..='\u{201f}' | '«' | '»' => "strings have `\"` at both ends",
        ';' | '.' => "items are separated by white space",
        ':' | '=' | '→' | '-' => "an arrow is `->`; nothing stands between a name and its value",
        '#' | '/' | '*' => "comments start with `//`",
        '(' | ')' => "blocks have `{` and `}`",
        _ if character.is_whitespace() => "white space is spaces, tabs and line ends",
        _ => return None,
    };
    Some(hint.to_owned())
}

/// A character in a message: in backticks, by its number if it cannot be seen.
struct Shown(char);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let character = self.0;
        match character {
            '`' => f.write_str("U+0060 (a backtick)"),
            '\n' | '\r' => f.write_str("the line end"),
            '\'' | '"' | '\\' => write!(f, "`{character}`"),
            _ if character.escape_debug().len() == 1 && !character.is_whitespace() => {
                write!(f, "`{character}`")
            }
            _ => write!(f, "U+{:04X}", u32::from(character)),
        }
    }
}
