//! Text to tokens. Every byte of the source is in exactly one token.

use crate::{
    error::{Errors, SyntaxErrorKind},
    kind::SyntaxKind,
    literal::{
        escape::{self, BadEscape, Piece},
        integer::{self, BadInteger},
        text::Literal,
    },
    parse::range,
};

use rowan::TextRange;

/// Arrows that other languages have; they are read as `->`, with an error.
const FOREIGN_ARROWS: &[&str] = &["=>", "-->", "→"];

/// A token and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: SyntaxKind,
    pub(crate) range: TextRange,
}

/// A source as tokens.
#[derive(Debug, Default)]
pub(crate) struct Lexed {
    pub(crate) tokens: Vec<Token>,
    pub(crate) errors: Errors,
    /// Whether the rest of the source is inside a `"""` that is never closed.
    pub(crate) swallowed_rest: bool,
}

/// Splits `source` into tokens.
pub(crate) fn lex(source: &str) -> Lexed {
    let mut lexer = Lexer {
        source,
        offset: 0,
        lexed: Lexed::default(),
    };
    while let Some(first) = lexer.rest().chars().next() {
        let (kind, length) = lexer.token(first);
        let range = range(lexer.offset, lexer.offset + length);
        lexer.lexed.tokens.push(Token { kind, range });
        lexer.offset += length;
    }
    lexer.lexed
}

struct Lexer<'s> {
    source: &'s str,
    offset: usize,
    lexed: Lexed,
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        self.source.get(self.offset..).unwrap_or_default()
    }

    /// Reports an error in `length` bytes that start `from` bytes into the token.
    fn error(&mut self, from: usize, length: usize, kind: SyntaxErrorKind) {
        let start = self.offset + from;
        self.lexed.errors.push(range(start, start + length), kind);
    }

    /// The kind and length of the token that starts with `first`; never empty.
    fn token(&mut self, first: char) -> (SyntaxKind, usize) {
        let rest = self.rest();
        if let Some(token) = symbol(rest) {
            return token;
        }
        match first {
            '\u{feff}' if self.offset == 0 => (SyntaxKind::ByteOrderMark, first.len_utf8()),
            _ if is_space(first) => (SyntaxKind::Space, span(rest, is_space)),
            '/' if rest.starts_with("//") => (SyntaxKind::Comment, comment_length(rest)),
            '"' => self.text(rest),
            _ if foreign_arrow(rest).is_some() => self.foreign_arrow(first, rest),
            _ if starts_integer(rest) => self.integer(rest),
            _ if starts_word(first) => self.word(rest),
            _ => self.garbage(first, rest),
        }
    }

    fn text(&mut self, rest: &'s str) -> (SyntaxKind, usize) {
        let Some(literal) = Literal::scan(rest) else {
            return (SyntaxKind::Text, rest.len());
        };
        if !literal.terminated {
            self.lexed.swallowed_rest |= literal.multiline;
            let shown = if literal.multiline {
                literal.quotes()
            } else {
                literal.length()
            };
            self.error(0, shown, SyntaxErrorKind::UnterminatedString);
        }
        for (at, piece) in escape::pieces(literal.content) {
            if let Piece::Bad(written, why) = piece {
                self.error(literal.quotes() + at, written.len(), bad_escape(why));
            }
        }
        (SyntaxKind::Text, literal.length())
    }

    fn foreign_arrow(&mut self, first: char, rest: &str) -> (SyntaxKind, usize) {
        let length = foreign_arrow(rest).map_or(first.len_utf8(), str::len);
        self.error(
            0,
            length,
            SyntaxErrorKind::UnexpectedCharacter { character: first },
        );
        (SyntaxKind::Arrow, length)
    }

    fn integer(&mut self, rest: &str) -> (SyntaxKind, usize) {
        let sign = usize::from(rest.starts_with('-'));
        let digits = rest.get(sign..).unwrap_or_default();
        let length = sign
            + span(digits, |character| {
                character.is_ascii_alphanumeric() || character == '_'
            });
        match integer::parse(rest.get(..length).unwrap_or_default()) {
            Ok(_) => {}
            Err(BadInteger::Malformed) => self.error(0, length, SyntaxErrorKind::MalformedInteger),
            Err(BadInteger::Overflow) => self.error(0, length, SyntaxErrorKind::IntegerOverflow),
        }
        (SyntaxKind::Integer, length)
    }

    /// A word with characters that it cannot have is one word with one error.
    fn word(&mut self, rest: &str) -> (SyntaxKind, usize) {
        let length = word_length(rest);
        let word = rest.get(..length).unwrap_or_default();
        let bad = word
            .char_indices()
            .find(|&(_, c)| !(c.is_ascii_alphanumeric() || c == '_'));
        if let Some((at, character)) = bad {
            self.error(
                at,
                character.len_utf8(),
                SyntaxErrorKind::CharacterInName { character },
            );
        }
        (SyntaxKind::Word, length)
    }

    fn garbage(&mut self, first: char, rest: &str) -> (SyntaxKind, usize) {
        let length = rest
            .char_indices()
            .skip(1)
            .map(|(at, _)| at)
            .find(|&at| rest.get(at..).is_some_and(starts_token))
            .unwrap_or(rest.len());
        self.error(
            0,
            length,
            SyntaxErrorKind::UnexpectedCharacter { character: first },
        );
        (SyntaxKind::Garbage, length)
    }
}

fn symbol(rest: &str) -> Option<(SyntaxKind, usize)> {
    const SYMBOLS: &[SyntaxKind] = &[
        SyntaxKind::LeftBrace,
        SyntaxKind::RightBrace,
        SyntaxKind::LeftBracket,
        SyntaxKind::RightBracket,
        SyntaxKind::Comma,
        SyntaxKind::Arrow,
    ];
    SYMBOLS.iter().find_map(|&kind| {
        let symbol = kind.symbol()?;
        rest.starts_with(symbol).then_some((kind, symbol.len()))
    })
}

fn foreign_arrow(rest: &str) -> Option<&'static str> {
    FOREIGN_ARROWS
        .iter()
        .copied()
        .find(|arrow| rest.starts_with(arrow))
}

fn starts_integer(rest: &str) -> bool {
    rest.strip_prefix('-')
        .unwrap_or(rest)
        .starts_with(|c: char| c.is_ascii_digit())
}

fn starts_word(first: char) -> bool {
    first == '_' || first.is_alphabetic()
}

/// Whether `rest` starts with something that is not garbage.
fn starts_token(rest: &str) -> bool {
    rest.starts_with(|c| is_space(c) || c == '"' || starts_word(c))
        || rest.starts_with("//")
        || symbol(rest).is_some()
        || foreign_arrow(rest).is_some()
        || starts_integer(rest)
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

fn span(rest: &str, belongs: impl Fn(char) -> bool) -> usize {
    rest.find(|character| !belongs(character))
        .unwrap_or(rest.len())
}

fn comment_length(rest: &str) -> usize {
    let line = rest.split('\n').next().unwrap_or(rest);
    line.strip_suffix('\r').unwrap_or(line).len()
}

/// The length of a word. `-` and `.` between letters belong to it, as an error.
fn word_length(rest: &str) -> usize {
    let mut characters = rest.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let next = characters.peek().map(|&(_, next)| next);
        let joins = matches!(character, '-' | '.') && next.is_some_and(starts_word);
        if !(character == '_' || character.is_alphanumeric() || joins) {
            return at;
        }
    }
    rest.len()
}

fn bad_escape(why: BadEscape) -> SyntaxErrorKind {
    match why {
        BadEscape::Unknown(character) => SyntaxErrorKind::UnknownEscape { character },
        BadEscape::MalformedUnicode => SyntaxErrorKind::MalformedUnicodeEscape,
        BadEscape::NoSuchCharacter(value) => SyntaxErrorKind::NoSuchCharacter { value },
    }
}
