//! `kind = "command"`: what such a tool declares beside the common keys.

use std::path::Path;

use toml::de::DeValue;

use crate::{
    declaration::{CommandDeclaration, CommandInput, CommandOutput, CommandWord},
    error::ConfigError,
    section::{Field, Section},
};

/// The keys that only this kind has.
pub(crate) fn read(
    section: &Section<'_>,
    folder: &Path,
) -> Result<CommandDeclaration, ConfigError> {
    let working = section.field("folder").map(|field| field.words());
    Ok(CommandDeclaration {
        command: words(section.require("command")?)?,
        stdin: stdin(section)?,
        folder: match working.transpose()? {
            Some(working) => folder.join(working),
            None => folder.to_owned(),
        },
        env: section.field("env").map(|env| env.texts()).transpose()?,
        output: output(section)?,
    })
}

fn words(field: Field<'_>) -> Result<Vec<CommandWord>, ConfigError> {
    let items = field.items()?;
    if items.is_empty() {
        return Err(field.blank());
    }
    items.iter().map(word).collect()
}

fn word(item: &Field<'_>) -> Result<CommandWord, ConfigError> {
    match item.value {
        DeValue::Array(_) => item.texts().map(CommandWord::Optional),
        DeValue::String(text) => Ok(CommandWord::Always(text.to_string())),
        _ => Err(item.wrong_type("a string or an array of strings")),
    }
}

fn stdin(section: &Section<'_>) -> Result<CommandInput, ConfigError> {
    let Some(field) = section.field("stdin") else {
        return Ok(CommandInput::default());
    };
    let meanings = [CommandInput::Nothing, CommandInput::Arguments];
    field.word(&["nothing", "arguments"], meanings)
}

fn output(section: &Section<'_>) -> Result<CommandOutput, ConfigError> {
    let Some(field) = section.field("output") else {
        return Ok(CommandOutput::default());
    };
    field.word(
        &["text", "json"],
        [CommandOutput::Text, CommandOutput::Json],
    )
}
