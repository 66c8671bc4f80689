//! What a SQL tool declares, and what can be wrong with it.

use std::{sync::Arc, time::Duration};

use rustagents_core::{
    code::{Code, Coded},
    tool::{Approval, EffectClass, MAX_NAME_BYTES},
};
use serde_json::Value;

use super::database::Database;

/// One statement as a tool.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// What the model calls: `[a-zA-Z0-9_-]`, 1 to 64 bytes.
    pub name: String,
    /// What the model is told about it.
    pub description: String,
    /// The JSON Schema of the arguments; its root type is an object.
    pub input_schema: Value,
    /// One statement; each `:name` in it is a property of the schema.
    pub sql: String,
    /// What it does to the world; a `Repeatable` statement cannot write.
    pub effect: EffectClass,
    /// The approval rule; `None` asks for `Once` only.
    pub approval: Option<Approval>,
    /// The minijinja template of the question to a person.
    pub ask: Option<String>,
    /// How many rows it must return, or change where it returns none.
    pub rows: Option<u64>,
    /// How long one call may take.
    pub timeout: Duration,
    /// The most bytes of one result.
    pub max_output_bytes: usize,
    /// Where it runs.
    pub database: Arc<Database>,
}

/// Why a declaration makes no tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeclarationError {
    /// No tool may have this name.
    #[error("`{name}` cannot name a tool")]
    Name {
        /// The name.
        name: String,
    },
    /// The arguments are no object.
    #[error("the arguments are not an object")]
    SchemaRoot,
    /// There is no statement.
    #[error("there is no statement")]
    Empty,
    /// There is more than one statement.
    #[error("there is more than one statement")]
    SeveralStatements,
    /// A statement that is not data.
    #[error("a statement cannot start with `{found}`")]
    Keyword {
        /// Its first word.
        found: String,
    },
    /// A parameter without a name, or with another mark than `:`.
    #[error("the parameter `{found}` is not a name after `:`")]
    Parameter {
        /// The parameter as it is written.
        found: String,
    },
    /// A parameter that no argument can fill.
    #[error("the parameter `:{name}` is not an argument")]
    UnknownParameter {
        /// The parameter's name.
        name: String,
        /// The declared arguments.
        known: Vec<String>,
    },
    /// A string or a quoted name without its end.
    #[error("a `{quote}` has no end")]
    OpenQuote {
        /// What opens it.
        quote: char,
    },
    /// SQLite would not see what follows.
    #[error("the statement holds a zero byte")]
    ZeroByte,
    /// SQLite refuses the statement on the database that the seed makes.
    #[error("the statement does not fit the database: {reason}")]
    Sql {
        /// What SQLite says, on one line.
        reason: String,
    },
    /// A statement that writes, in a tool that only reads.
    #[error("the statement writes, but the tool is declared to read only")]
    Writes,
    /// Two values of a row would have one key.
    #[error("two columns of the result are named `{name}`")]
    DuplicateColumn {
        /// The name.
        name: String,
    },
    /// The question's template is not one.
    #[error("the question is not a template: {reason}")]
    Question {
        /// What the template engine says.
        reason: String,
        /// The line of the template.
        line: Option<usize>,
    },
    /// The question uses something that no argument fills.
    #[error("the question uses `{name}`, which is not an argument")]
    UnknownVariable {
        /// The variable's name.
        name: String,
        /// The declared arguments.
        known: Vec<String>,
    },
}

impl Coded for DeclarationError {
    fn code(&self) -> Code {
        Code::ToolDeclaration
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Name { .. } => Some(format!(
                "use 1 to {MAX_NAME_BYTES} ASCII letters, digits, `_` and `-`"
            )),
            Self::SchemaRoot => Some("the schema needs `\"type\": \"object\"`".into()),
            Self::SeveralStatements => Some("make a tool of each".into()),
            Self::Keyword { .. } => Some(format!(
                "start with {}",
                listed(&super::statement::KEYWORDS)
            )),
            Self::DuplicateColumn { .. } => Some("name each column with `AS`".into()),
            Self::Parameter { .. } => Some("name it after an argument, such as `:order`".into()),
            Self::UnknownParameter { known, .. } | Self::UnknownVariable { known, .. }
                if known.is_empty() =>
            {
                Some("the schema has no `properties`".into())
            }
            Self::UnknownParameter { known, .. } | Self::UnknownVariable { known, .. } => {
                Some(format!("the arguments are {}", listed(known)))
            }
            _ => None,
        }
    }
}

fn listed(names: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = names
        .iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect();
    quoted.join(", ")
}
