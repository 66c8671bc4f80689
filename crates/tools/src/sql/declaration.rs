//! What a SQL tool declares.

use std::sync::Arc;

use rustagents_core::tool::ToolSpec;

use super::database::Database;

/// One statement as a tool.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// What it declares of itself. The schema's root type is an object; a
    /// `Repeatable` statement cannot write.
    pub spec: ToolSpec,
    /// The minijinja template of the question to a person.
    pub ask: Option<String>,
    /// One statement; each `:name` in it is a property of the schema.
    pub sql: String,
    /// How many rows it must return, or change where it returns none.
    pub rows: Option<u64>,
    /// Where it runs.
    pub database: Arc<Database>,
}
