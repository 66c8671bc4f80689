//! `[tools.NAME]`: one declared tool.

use std::path::Path;

use rustagents_core::tool::{Approval, EffectClass, ToolSpec};

use crate::{
    command,
    declaration::{DataSource, SqlDeclaration, ToolDeclaration, ToolKind},
    error::ConfigError,
    http, quantity,
    schema::object_schema,
    section::{Field, Section},
};

/// What a kind of tool is.
#[derive(Debug)]
struct Kind {
    /// The keys beside the [`COMMON`] ones.
    keys: &'static [&'static str],
    /// The key of what a call does.
    does: &'static str,
    /// What a tool does to the world that says nothing about it.
    effect: fn(&Section<'_>) -> Result<EffectClass, ConfigError>,
    /// What the kind's own keys declare.
    read: fn(&Section<'_>, &str, &Around<'_>) -> Result<ToolKind, ConfigError>,
}

/// What of the file tools are read with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around<'a> {
    pub(crate) data: &'a [DataSource],
    /// The file's folder.
    pub(crate) folder: &'a Path,
}

/// The keys that a tool of each kind may have.
const COMMON: &[&str] = &[
    "kind",
    "description",
    "arguments",
    "effect",
    "approval",
    "ask",
    "timeout",
    "max_output_bytes",
];

const KINDS: &[&str; 3] = &["sql", "http", "command"];

const SQL: Kind = Kind {
    keys: &["data", "sql", "rows"],
    does: "sql",
    // A statement that may write has to say so.
    effect: |_| Ok(EffectClass::Repeatable),
    read: |section, name, around| sql(section, name, around.data).map(ToolKind::Sql),
};

const HTTP: Kind = Kind {
    keys: &["method", "url", "hosts", "headers", "private", "redirects"],
    does: "url",
    effect: http::effect,
    read: |section, _, _| http::read(section).map(ToolKind::Http),
};

const COMMAND: Kind = Kind {
    keys: &["command", "stdin", "folder", "env", "output"],
    does: "command",
    // A program that changes nothing has to say so.
    effect: |_| Ok(EffectClass::Once),
    read: |section, _, around| command::read(section, around.folder).map(ToolKind::Command),
};

/// The tool that `field` of `tools` declares.
pub(crate) fn read<'a>(
    tools: &Section<'a>,
    field: Field<'a>,
    around: Around<'_>,
) -> Result<ToolDeclaration, ConfigError> {
    let name = field.key;
    if !ToolSpec::is_valid_name(name) {
        let place = field.source.place(field.key_start);
        return Err(ConfigError::ToolName {
            place,
            name: name.to_owned(),
        });
    }
    let section = tools.child(field)?;
    // Which other keys there may be depends on it.
    let kind = section
        .require("kind")?
        .word(KINDS, [&SQL, &HTTP, &COMMAND])?;
    section.only(&[COMMON, kind.keys].concat())?;
    let does = section.require(kind.does)?;
    let ask = section.field("ask");
    Ok(ToolDeclaration {
        spec: spec(&section, name, kind)?,
        ask: ask.map(|ask| ask.words().map(str::to_owned)).transpose()?,
        kind: (kind.read)(&section, name, &around)?,
        at: field.source.position(field.key_start),
        does_at: does.at(),
    })
}

/// What every kind of tool declares.
fn spec(section: &Section<'_>, name: &str, kind: &Kind) -> Result<ToolSpec, ConfigError> {
    let description = section.require("description")?.words()?;
    let arguments = object_schema(section.require("arguments")?, name)?;
    let defaults = ToolSpec::new(name, description, arguments);
    Ok(ToolSpec {
        effect: effect(section, kind)?,
        approval: approval(section)?,
        timeout: section
            .field("timeout")
            .map_or(Ok(defaults.timeout), quantity::duration)?,
        max_output_bytes: section
            .field("max_output_bytes")
            .map_or(Ok(defaults.max_output_bytes), quantity::output_size)?,
        ..defaults
    })
}

fn sql(
    section: &Section<'_>,
    tool: &str,
    data: &[DataSource],
) -> Result<SqlDeclaration, ConfigError> {
    Ok(SqlDeclaration {
        data: known_data(section.require("data")?, tool, data)?,
        sql: section.require("sql")?.words()?.to_owned(),
        rows: section
            .field("rows")
            .map(|rows| rows.whole(0))
            .transpose()?,
    })
}

/// The name of a declared data source.
fn known_data(field: Field<'_>, tool: &str, data: &[DataSource]) -> Result<String, ConfigError> {
    let name = field.text()?;
    if data.iter().any(|source| source.name == name) {
        return Ok(name.to_owned());
    }
    Err(ConfigError::UnknownData {
        place: field.source.place(field.start),
        tool: tool.to_owned(),
        name: name.to_owned(),
        known: data.iter().map(|source| source.name.clone()).collect(),
    })
}

fn effect(section: &Section<'_>, kind: &Kind) -> Result<EffectClass, ConfigError> {
    let Some(field) = section.field("effect") else {
        return (kind.effect)(section);
    };
    field.word(
        &["repeatable", "idempotent", "once"],
        [
            EffectClass::Repeatable,
            EffectClass::Idempotent,
            EffectClass::Once,
        ],
    )
}

fn approval(section: &Section<'_>) -> Result<Option<Approval>, ConfigError> {
    let Some(field) = section.field("approval") else {
        return Ok(None);
    };
    let meanings = [Approval::Allow, Approval::Ask, Approval::Deny];
    field.word(&["allow", "ask", "deny"], meanings).map(Some)
}
