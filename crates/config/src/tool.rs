//! `[tools.NAME]`: one declared tool.

use rustagents_core::tool::{Approval, EffectClass, ToolSpec};
use serde_json::Value;

use crate::{
    declaration::{DataSource, SqlDeclaration},
    error::ConfigError,
    quantity,
    schema::object_schema,
    section::{Field, Section},
};

const KEYS: &[&str] = &[
    "kind",
    "data",
    "description",
    "arguments",
    "sql",
    "effect",
    "approval",
    "ask",
    "rows",
    "timeout",
    "max_output_bytes",
];

/// The tool that `field` of `tools` declares, on one of the `data` sources.
pub(crate) fn read<'a>(
    tools: &Section<'a>,
    field: Field<'a>,
    data: &[DataSource],
) -> Result<SqlDeclaration, ConfigError> {
    let name = field.key;
    if !ToolSpec::is_valid_name(name) {
        let place = field.source.place(field.key_start);
        return Err(ConfigError::ToolName {
            place,
            name: name.to_owned(),
        });
    }
    let section = tools.child(field)?;
    section.only(KEYS)?;
    section.require("kind")?.word(&["sql"], [()])?;
    let sql = section.require("sql")?;
    let ask = section.field("ask");
    let defaults = ToolSpec::new("", "", Value::Null);
    Ok(SqlDeclaration {
        name: name.to_owned(),
        data: known_data(section.require("data")?, name, data)?,
        description: section.require("description")?.words()?.to_owned(),
        arguments: object_schema(section.require("arguments")?, name)?,
        sql: sql.words()?.to_owned(),
        effect: effect(&section)?,
        approval: approval(&section)?,
        ask: ask.map(|ask| ask.words().map(str::to_owned)).transpose()?,
        rows: section
            .field("rows")
            .map(|rows| rows.whole(0))
            .transpose()?,
        timeout: section
            .field("timeout")
            .map_or(Ok(defaults.timeout), quantity::duration)?,
        max_output_bytes: section
            .field("max_output_bytes")
            .map_or(Ok(defaults.max_output_bytes), quantity::size)?,
        at: field.source.position(field.key_start),
        sql_at: sql.at(),
        ask_at: ask.map(|ask| ask.at()),
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

/// A statement that says nothing about its effect only reads.
fn effect(section: &Section<'_>) -> Result<EffectClass, ConfigError> {
    let Some(field) = section.field("effect") else {
        return Ok(EffectClass::Repeatable);
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
