//! What a configuration declares, as plain data.

use std::path::PathBuf;

use rustagents_core::tool::ToolSpec;

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

/// `[tools.NAME]`: a tool that plans may name.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDeclaration {
    /// What it declares of itself, with the defaults of its kind.
    pub spec: ToolSpec,
    /// The template of the question to a person.
    pub ask: Option<String>,
    /// What a call does.
    pub kind: ToolKind,
    /// Where the tool's name stands.
    pub at: Position,
    /// Where what a call does stands: the statement of a `sql` tool, the URL of
    /// an `http` tool, the words of a `command` tool.
    pub does_at: Position,
}

/// What a call of a declared tool does.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolKind {
    /// `kind = "sql"`: runs one statement.
    Sql(SqlDeclaration),
    /// `kind = "http"`: sends one request.
    Http(HttpDeclaration),
    /// `kind = "command"`: starts one program.
    Command(CommandDeclaration),
}

/// One statement as a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlDeclaration {
    /// The name of a declared [`DataSource`].
    pub data: String,
    /// The statement, with named parameters.
    pub sql: String,
    /// How many rows it must return or change.
    pub rows: Option<u64>,
}

/// One HTTP request as a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpDeclaration {
    /// `GET`, `HEAD`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: &'static str,
    /// The URL, with `{{ name }}` in the places of arguments.
    pub url: String,
    /// Where redirects may lead beside the URL's own host.
    pub hosts: Vec<String>,
    /// What is always sent, in the order of the file.
    pub headers: Vec<HeaderDeclaration>,
    /// Whether addresses of private networks and of this machine may be reached.
    pub private: bool,
    /// The most redirects, 0 to 10.
    pub redirects: Option<u8>,
}

/// A header of an `http` tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderDeclaration {
    /// Its name.
    pub name: String,
    /// Its value.
    pub text: HeaderText,
    /// Where the value stands.
    pub at: Position,
}

/// The value of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderText {
    /// `"text"`.
    Plain(String),
    /// `{ env = "VARIABLE", prefix = "Bearer " }`: a secret.
    Environment {
        /// The variable of the environment.
        variable: String,
        /// What stands before its value.
        prefix: String,
    },
}

/// One program as a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandDeclaration {
    /// The program and its arguments, with placeholders.
    pub command: Vec<CommandWord>,
    /// What the program reads.
    pub stdin: CommandInput,
    /// The working folder, absolute; the file's folder where none is declared.
    pub folder: PathBuf,
    /// The variables of the environment: `NAME` or `NAME=VALUE`. `None` leaves
    /// the choice to the tool.
    pub env: Option<Vec<String>>,
    /// What the program writes.
    pub output: CommandOutput,
}

/// A part of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandWord {
    /// A text: one argument of the program.
    Always(String),
    /// A list of texts: arguments that may be left out together.
    Optional(Vec<String>),
}

/// What a program reads on standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandInput {
    /// `"nothing"`.
    #[default]
    Nothing,
    /// `"arguments"`: those of the call, as JSON.
    Arguments,
}

/// What a program writes on standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandOutput {
    /// `"text"`.
    #[default]
    Text,
    /// `"json"`.
    Json,
}
