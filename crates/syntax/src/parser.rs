//! The machinery under the grammar: looks ahead, builds the tree, reports errors.
//!
//! The grammar sees tokens without trivia. Trivia goes into the tree just before
//! the token that follows it, outside of a node that starts with that token: the
//! range of a node starts and ends with something that means something.

use rowan::{GreenNode, GreenNodeBuilder, Language, TextRange};

use crate::{
    error::{Errors, Expected, Found, SyntaxError, SyntaxErrorKind},
    kind::{Rag, SyntaxKind},
    lexer::{Lexed, Token},
    parse::range,
};

/// The most characters of a word that an error keeps.
const SHOWN: usize = 40;

/// A parser at a place between two tokens.
pub(crate) struct Parser<'s> {
    source: &'s str,
    tokens: Vec<Token>,
    /// The places in `tokens` of those that are no trivia.
    visible: Vec<usize>,
    /// The place in `visible` of the next token.
    position: usize,
    /// How many of `tokens` are in the tree.
    written: usize,
    builder: GreenNodeBuilder<'static>,
    lexer_errors: Errors,
    errors: Errors,
    /// The position of the last error: there is one error at a position.
    reported_at: Option<usize>,
    /// Opening minus closing braces of the source, less those made up for.
    /// It tells a missing brace from an item in the wrong place.
    balance: isize,
    swallowed_rest: bool,
}

impl<'s> Parser<'s> {
    pub(crate) fn new(source: &'s str, lexed: Lexed) -> Self {
        let Lexed {
            tokens,
            errors,
            swallowed_rest,
        } = lexed;
        let visible = tokens
            .iter()
            .enumerate()
            .filter(|(_, token)| !token.kind.is_trivia())
            .map(|(place, _)| place)
            .collect();
        // What a string swallowed may have held any number of braces.
        let balance = if swallowed_rest { 0 } else { balance(&tokens) };
        Self {
            source,
            tokens,
            visible,
            position: 0,
            written: 0,
            builder: GreenNodeBuilder::new(),
            lexer_errors: errors,
            errors: Errors::default(),
            reported_at: None,
            balance,
            swallowed_rest,
        }
    }

    /// The tree and the errors. All nodes but the root must be closed.
    pub(crate) fn finish(mut self) -> (GreenNode, Vec<SyntaxError>) {
        self.write_until(self.tokens.len());
        self.builder.finish_node();
        self.errors.merge(self.lexer_errors);
        (self.builder.finish(), self.errors.finish())
    }

    // Looking ahead.

    fn token(&self, ahead: usize) -> Option<Token> {
        let place = self.visible.get(self.position + ahead)?;
        self.tokens.get(*place).copied()
    }

    /// The kind of the token `ahead` of the next one.
    pub(crate) fn nth(&self, ahead: usize) -> SyntaxKind {
        self.token(ahead)
            .map_or(SyntaxKind::EndOfFile, |token| token.kind)
    }

    /// Whether the next token is of `kind`.
    pub(crate) fn at(&self, kind: SyntaxKind) -> bool {
        self.nth(0) == kind
    }

    /// The word `ahead` of the next token, if it is one.
    pub(crate) fn word(&self, ahead: usize) -> Option<&'s str> {
        let token = self
            .token(ahead)
            .filter(|token| token.kind == SyntaxKind::Word)?;
        self.text(token)
    }

    /// Whether the word `ahead` starts an edge or a route.
    pub(crate) fn at_arrow_after_word(&self, ahead: usize) -> bool {
        self.nth(ahead) == SyntaxKind::Word && self.nth(ahead + 1) == SyntaxKind::Arrow
    }

    /// Whether the next token is the first of its line.
    pub(crate) fn starts_line(&self) -> bool {
        self.trivia().iter().any(|&token| {
            token.kind == SyntaxKind::Space && self.text(token).is_some_and(|t| t.contains('\n'))
        })
    }

    /// The trivia before the next token.
    fn trivia(&self) -> &[Token] {
        let previous = self
            .position
            .checked_sub(1)
            .and_then(|place| self.visible.get(place));
        let start = previous.map_or(0, |place| place + 1);
        self.tokens.get(start..self.place()).unwrap_or_default()
    }

    /// The place in `tokens` of the next token, or of their end.
    fn place(&self) -> usize {
        self.visible
            .get(self.position)
            .copied()
            .unwrap_or(self.tokens.len())
    }

    fn text(&self, token: Token) -> Option<&'s str> {
        self.source.get(std::ops::Range::<usize>::from(token.range))
    }

    // Building.

    /// Opens the root, which holds all trivia.
    pub(crate) fn open_root(&mut self) {
        self.builder
            .start_node(Rag::kind_to_raw(SyntaxKind::Program));
    }

    /// Opens a node that starts with the next token.
    pub(crate) fn open(&mut self, kind: SyntaxKind) {
        self.write_until(self.place());
        self.builder.start_node(Rag::kind_to_raw(kind));
    }

    /// Closes the node that was opened last.
    pub(crate) fn close(&mut self) {
        self.builder.finish_node();
    }

    /// Puts the next token into the tree.
    pub(crate) fn bump(&mut self) {
        if let Some(&place) = self.visible.get(self.position) {
            self.write_until(place + 1);
            self.position += 1;
        }
    }

    /// Puts the next token into the tree if it is of `kind`.
    pub(crate) fn eat(&mut self, kind: SyntaxKind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    /// Puts the next token into the tree, as a node of its own.
    pub(crate) fn bump_as(&mut self, kind: SyntaxKind) {
        self.open(kind);
        self.bump();
        self.close();
    }

    fn write_until(&mut self, end: usize) {
        for &token in self.tokens.get(self.written..end).unwrap_or_default() {
            let text = self.source.get(std::ops::Range::<usize>::from(token.range));
            self.builder
                .token(Rag::kind_to_raw(token.kind), text.unwrap_or_default());
        }
        self.written = end;
    }

    // Braces.

    /// Whether the source lacks closing braces.
    pub(crate) fn lacks_closing(&self) -> bool {
        self.balance > 0
    }

    /// Whether the source lacks opening braces.
    pub(crate) fn lacks_opening(&self) -> bool {
        self.balance < 0
    }

    /// Takes note that a missing opening brace was made up for.
    pub(crate) fn assume_opening(&mut self) {
        self.balance += 1;
    }

    /// Takes note that a missing closing brace was made up for.
    pub(crate) fn assume_closing(&mut self) {
        self.balance -= 1;
    }

    // Reporting.

    /// Reports that `expected` should stand in place of the next token.
    pub(crate) fn expected(&mut self, expected: Expected) {
        let found = self.found();
        self.error(SyntaxErrorKind::Expected { expected, found });
    }

    /// Reports that `expected` is missing before the next item.
    pub(crate) fn expected_before_item(&mut self, expected: Expected) {
        let found = match self.found() {
            Found::Word(word) => Found::NextItem(word),
            other => other,
        };
        self.error(SyntaxErrorKind::Expected { expected, found });
    }

    /// Reports that `symbol` at `opening` should be closed before the next token.
    pub(crate) fn unclosed(&mut self, opening: TextRange, symbol: &'static str) {
        let found = self.found();
        self.error_at(opening, SyntaxErrorKind::Unclosed { symbol, found });
    }

    /// Reports an error at the next token.
    pub(crate) fn error(&mut self, kind: SyntaxErrorKind) {
        self.error_at(self.range(), kind);
    }

    /// The range of the next token.
    pub(crate) fn range(&self) -> TextRange {
        let end = self.source.len();
        self.token(0)
            .map_or_else(|| range(end, end), |token| token.range)
    }

    fn error_at(&mut self, range: TextRange, kind: SyntaxErrorKind) {
        if self.is_explained() {
            return;
        }
        self.reported_at = Some(self.position);
        self.errors.push(range, kind);
    }

    /// Whether an earlier error is the cause of whatever is wrong here.
    fn is_explained(&self) -> bool {
        self.reported_at == Some(self.position)
            || (self.swallowed_rest && self.at(SyntaxKind::EndOfFile))
            || self
                .trivia()
                .iter()
                .any(|token| token.kind == SyntaxKind::Garbage)
    }

    fn found(&self) -> Found {
        let kind = self.nth(0);
        match kind {
            SyntaxKind::Word => {
                let word = self.word(0).unwrap_or_default();
                Found::Word(word.chars().take(SHOWN).collect())
            }
            SyntaxKind::Integer => Found::Integer,
            SyntaxKind::Text => Found::Text,
            _ => kind.symbol().map_or(Found::EndOfFile, Found::Symbol),
        }
    }
}

fn balance(tokens: &[Token]) -> isize {
    tokens
        .iter()
        .map(|token| match token.kind {
            SyntaxKind::LeftBrace => 1,
            SyntaxKind::RightBrace => -1,
            _ => 0,
        })
        .sum()
}
