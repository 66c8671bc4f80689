//! The tools that a configuration declares.

use std::{collections::BTreeMap, sync::Arc};

use rustagents_config::{Config, DataSource, Position, SqlDeclaration, ToolDeclaration, ToolKind};
use rustagents_core::{code::Coded, tool::Tool};
use rustagents_runtime::Capabilities;
use rustagents_tools::{
    DeclarationError,
    sql::{DataError, Database, Declaration, Rehearsal, SqlTool},
};

use crate::failure::Failure;

/// How closely statements are looked at before they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// Every seed and statement is rehearsed in memory.
    Check,
    /// Only where the data is not there yet, since a call would make it first.
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
        let tool = tool(declared, &sources)
            .map_err(|error| Failure::of(&error).at(place(declared.does_at)))?;
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
        let made = tool(declared, &sources);
        tried.push(Tried {
            kind: "tool",
            name: declared.spec.name.as_str(),
            outcome: made
                .map(drop)
                .map_err(|error| untried(&error).at(place(declared.does_at))),
        });
    }
    tried
}

/// A data source that is declared and yet not there did not open.
fn untried(error: &DeclarationError) -> Failure {
    match error {
        DeclarationError::UnknownData { name } => {
            let message = format!("its data source `{name}` does not work");
            Failure::new(error.code(), message).hint(format!("see what is said about `{name}`"))
        }
        _ => Failure::of(error),
    }
}

fn tool(
    declared: &ToolDeclaration,
    sources: &BTreeMap<&str, Source>,
) -> Result<Arc<dyn Tool>, DeclarationError> {
    match &declared.kind {
        ToolKind::Sql(sql) => match sources.get(sql.data.as_str()) {
            Some(source) => Ok(Arc::new(source.tool(declared, sql)?)),
            None => Err(DeclarationError::UnknownData {
                name: sql.data.clone(),
            }),
        },
        _ => Err(DeclarationError::Kind),
    }
}

impl Source {
    fn open(config: &Config, declared: &DataSource, care: Care) -> Result<Self, DataError> {
        let database = Database::new(&config.folder, &declared.name, &declared.seed)?;
        database.check_seed()?;
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
