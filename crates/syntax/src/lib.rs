//! Lexer, parser and lossless tree of the `.rag` language.
//!
//! [`parse`] turns any text into a tree and a list of errors. The tree holds
//! every byte of the text, white space and comments included; the accessors of
//! [`ast`] read it by meaning and answer `None` for what is missing.
//!
//! Reading order: [`kind`] (what a tree is made of), `lexer` and `literal`
//! (texts and integers), `keyword`, `parser` (the machinery), `grammar` (the
//! rules, one file per block), [`error`], [`ast`], [`line_index`].
//!
//! Invariant: this crate knows no other crate of the workspace. It knows how a
//! program is written, never what a name, a kind or a reducer means.
//!
//! Invariant: parsing never fails and never panics. The text of the tree is the
//! source, except for a source over [`MAX_SOURCE_BYTES`].
//!
//! Invariant: time is linear in the source and the depth of a tree is bounded by
//! the grammar; at most [`MAX_ERRORS`] errors and one marker are reported.
//!
//! Invariant: a tree without errors is complete: no accessor of it answers `None`.

pub mod ast;
pub mod error;
mod grammar;
mod keyword;
pub mod kind;
mod lexer;
pub mod line_index;
mod literal;
mod parse;
mod parser;

pub use error::{MAX_ERRORS, SyntaxError, SyntaxErrorKind};
pub use kind::{SyntaxElement, SyntaxKind, SyntaxNode, SyntaxToken};
pub use line_index::{LineColumn, LineIndex};
pub use parse::{MAX_SOURCE_BYTES, Parse, parse};
pub use rowan::{TextRange, TextSize};
