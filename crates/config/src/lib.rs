//! Typed rustagents.toml with spans for errors.
//!
//! [`Config::load`] reads the file into plain data: models, data sources, tools
//! and limits, each with its place. Whoever opens a model or a database later
//! says with that place where a declaration went wrong.
//!
//! Reading order: `config` (the file), `declaration` (what it declares),
//! `error` (what can be wrong with it); inside, `source` (offsets to places),
//! `section` (a table, key by key), `quantity` (durations and sizes), `schema`
//! (TOML to JSON), then `tool`, `http`, `command` and `limits`.
//!
//! Invariant: a key that nobody reads is an error, on every level.
//!
//! Invariant: this crate opens the configuration file and nothing else. What a
//! model specification or a statement means is decided elsewhere.

mod command;
mod config;
mod declaration;
mod error;
mod events;
mod http;
mod limits;
mod quantity;
mod schema;
mod section;
mod source;
mod tool;

pub use config::{Config, FILE_NAME, MAX_BYTES};
pub use declaration::{
    CommandDeclaration, CommandInput, CommandOutput, CommandWord, DataSource, HeaderDeclaration,
    HeaderText, HttpDeclaration, ModelEntry, Position, SqlDeclaration, ToolDeclaration, ToolKind,
};
pub use error::{ConfigError, Place};
pub use events::EventsKept;
