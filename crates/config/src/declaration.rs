//! What a configuration declares, as plain data.

use std::{path::PathBuf, time::Duration};

use rustagents_core::tool::{Approval, EffectClass};
use serde_json::Value;

/// A place in the file; both numbers start at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// `[models] alias = "spec"`: a model that plans may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelEntry {
    /// What plans write.
    pub alias: String,
    /// What a provider reads; relative paths in it start at the file's folder.
    pub spec: String,
    /// Where the specification stands.
    pub at: Position,
}

/// `[data.NAME]`: a database that tools share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSource {
    /// What tools write; `[a-zA-Z0-9_-]`, 1 to 64 bytes.
    pub name: String,
    /// The file of SQL that fills a new database.
    pub seed: PathBuf,
    /// Where the seed stands.
    pub at: Position,
}

/// `[tools.NAME] kind = "sql"`: one statement as a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct SqlDeclaration {
    /// What the model calls.
    pub name: String,
    /// The name of a declared [`DataSource`].
    pub data: String,
    /// What the model is told about it.
    pub description: String,
    /// The JSON Schema of the arguments; its root type is an object.
    pub arguments: Value,
    /// The statement, with named parameters.
    pub sql: String,
    /// What it does to the world; `Repeatable` where the file says nothing.
    pub effect: EffectClass,
    /// The approval rule, where the file has one.
    pub approval: Option<Approval>,
    /// The template of the question to a person.
    pub ask: Option<String>,
    /// How many rows it must return or change.
    pub rows: Option<u64>,
    /// How long one call may take.
    pub timeout: Duration,
    /// The most bytes of one result.
    pub max_output_bytes: usize,
    /// Where the tool's name stands.
    pub at: Position,
    /// Where the statement stands.
    pub sql_at: Position,
    /// Where the template stands.
    pub ask_at: Option<Position>,
}
