//! The tools that a configuration declares.

mod http;

use std::{collections::BTreeMap, sync::Arc};

use rustagents_config::{
    CommandDeclaration, CommandInput, CommandOutput, CommandWord, Config, DataSource, Position,
    SqlDeclaration, ToolDeclaration, ToolKind,
};
use rustagents_core::{code::Coded, tool::Tool};
use rustagents_runtime::Capabilities;
use rustagents_tools::{
    DeclarationError,
    command::{self, CommandTool, Environment, Word},
    sql::{DataError, Database, Declaration, Rehearsal, SqlTool},
};

use crate::failure::Failure;

/// How closely declarations are looked at before they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// Every seed and statement is rehearsed in memory; no secret is needed.
    Check,
    /// Statements only where the data is not there yet, since a call would make it
    /// first; secrets have to be there.
    Run,
}

/// A data source, and what its seed makes of it where that was rehearsed.
struct Source {
    database: Arc<Database>,
    rehearsal: Option<Rehearsal>,
}

/// Makes each declared tool, and adds it. Nothing runs yet.
pub(crate) fn add(
    capabilities: &mut Capabilities,
    config: &Config,
    care: Care,
) -> Result<(), Failure> {
    let place = |at: Position| format!("{}:{}:{}", config.path.display(), at.line, at.column);
    let mut sources = BTreeMap::new();
    for declared in &config.data {
        let source = Source::open(config, declared, care)
            .map_err(|error| Failure::of(&error).at(place(declared.at)))?;
        sources.insert(declared.name.as_str(), source);
    }
    for declared in &config.tools {
        let tool =
            tool(config, declared, &sources, care, place).map_err(|failure| {
                match failure.place {
                    Some(_) => failure,
                    None => failure.at(place(declared.does_at)),
                }
            })?;
        capabilities.tool(tool);
    }
    Ok(())
}

/// What became of a declared data source or tool.
pub(crate) struct Tried<'a> {
    /// Whether it is a data source or a tool.
    pub(crate) kind: &'static str,
    pub(crate) name: &'a str,
    pub(crate) outcome: Result<(), Failure>,
}

/// Makes and rehearses each declared data source and tool for itself. Nothing runs.
pub(crate) fn try_each(config: &Config) -> Vec<Tried<'_>> {
    let place = |at: Position| format!("{}:{}:{}", config.path.display(), at.line, at.column);
    let mut tried = Vec::new();
    let mut sources = BTreeMap::new();
    for declared in &config.data {
        let source = Source::open(config, declared, Care::Check)
            .map_err(|error| Failure::of(&error).at(place(declared.at)));
        tried.push(Tried {
            kind: "data",
            name: &declared.name,
            outcome: source.map(|source| {
                sources.insert(declared.name.as_str(), source);
            }),
        });
    }
    for declared in &config.tools {
        // The variables that it needs are looked for, as for a run.
        let made = tool(config, declared, &sources, Care::Run, place);
        tried.push(Tried {
            kind: "tool",
            name: declared.spec.name.as_str(),
            outcome: made
                .map(drop)
                .map_err(|failure| placed(failure, place(declared.does_at))),
        });
    }
    tried
}

/// The failure with its place, where it has none of its own.
fn placed(failure: Failure, place: String) -> Failure {
    match failure.place {
        Some(_) => failure,
        None => failure.at(place),
    }
}

/// What a tool is told whose data source is declared and yet not there.
fn no_source(name: &str) -> Failure {
    let error = DeclarationError::UnknownData { name: name.into() };
    let message = format!("its data source `{name}` does not work");
    Failure::new(error.code(), message).hint(format!("see what is said about `{name}`"))
}

fn tool(
    config: &Config,
    declared: &ToolDeclaration,
    sources: &BTreeMap<&str, Source>,
    care: Care,
    place: impl Fn(Position) -> String,
) -> Result<Arc<dyn Tool>, Failure> {
    match &declared.kind {
        ToolKind::Sql(sql) => match sources.get(sql.data.as_str()) {
            Some(source) => source
                .tool(declared, sql)
                .map(|tool| Arc::new(tool) as Arc<dyn Tool>)
                .map_err(|error| Failure::of(&error)),
            None => Err(no_source(&sql.data)),
        },
        ToolKind::Http(request) => Ok(Arc::new(http::tool(declared, request, care, place)?)),
        ToolKind::Command(command) => command_tool(config, declared, command)
            .map(|tool| Arc::new(tool) as Arc<dyn Tool>)
            .map_err(|error| Failure::of(&error)),
        _ => Err(Failure::of(&DeclarationError::Kind)),
    }
}

/// The variables are read here, so that a tool gets those that it declares and
/// knows of no others.
fn command_tool(
    config: &Config,
    declared: &ToolDeclaration,
    command: &CommandDeclaration,
) -> Result<CommandTool, DeclarationError> {
    let inherited = |name: &str| std::env::var_os(name);
    let words = command.command.iter().map(|word| match word {
        CommandWord::Always(word) => Word::Always(word.clone()),
        CommandWord::Optional(words) => Word::Optional(words.clone()),
    });
    CommandTool::new(command::Declaration {
        spec: declared.spec.clone(),
        ask: declared.ask.clone(),
        command: words.collect(),
        stdin: match command.stdin {
            CommandInput::Nothing => command::Stdin::Nothing,
            CommandInput::Arguments => command::Stdin::Arguments,
        },
        base: config.folder.clone(),
        folder: command.folder.clone(),
        environment: match &command.env {
            Some(entries) => Environment::select(entries, inherited)?,
            None => Environment::select(&Environment::USUAL, inherited)?,
        },
        output: match command.output {
            CommandOutput::Text => command::Output::Text,
            CommandOutput::Json => command::Output::Json,
        },
    })
}

impl Source {
    fn open(config: &Config, declared: &DataSource, care: Care) -> Result<Self, DataError> {
        let database = Database::new(&config.folder, &declared.name, &declared.seed)?;
        // Data that is there needs its seed no more.
        let rehearse = care == Care::Check || !database.file().exists();
        let rehearsal = rehearse.then(|| database.rehearse()).transpose()?;
        Ok(Self {
            database: Arc::new(database),
            rehearsal,
        })
    }

    fn tool(
        &self,
        declared: &ToolDeclaration,
        sql: &SqlDeclaration,
    ) -> Result<SqlTool, DeclarationError> {
        let tool = SqlTool::new(Declaration {
            spec: declared.spec.clone(),
            ask: declared.ask.clone(),
            sql: sql.sql.clone(),
            rows: sql.rows,
            database: Arc::clone(&self.database),
        })?;
        match &self.rehearsal {
            Some(rehearsal) => tool.rehearse(rehearsal).map(|()| tool),
            None => Ok(tool),
        }
    }
}
