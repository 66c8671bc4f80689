//! What can be wrong with a configuration.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustagents_core::{
    code::{Code, Coded},
    tool::MAX_NAME_BYTES,
};
use rustagents_registry::nearest;

use crate::declaration::Position;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as the caller named it.
    pub path: Arc<Path>,
    /// Where in it.
    pub at: Position,
}

/// Why a configuration cannot be used.
///
/// The message is one line without the place; [`ConfigError::place`] has that.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file is not there, or the system does not let us read it.
    #[error("the configuration `{}` cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The file is longer than a configuration ever is.
    #[error("the configuration has more than {limit} bytes")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// How long it may be.
        limit: usize,
    },
    /// The file is not text.
    #[error("the configuration is not UTF-8")]
    NotUtf8 {
        /// The first byte that is not.
        place: Place,
    },
    /// The file is not TOML.
    #[error("{reason}")]
    Syntax {
        /// Where it stops to be.
        place: Place,
        /// What the parser says.
        reason: String,
    },
    /// A key that means nothing here.
    #[error("unknown key `{key}` in {}", table(table_name))]
    UnknownKey {
        /// The key.
        place: Place,
        /// The key as it is written.
        key: String,
        /// The dotted name of its table; empty for the top level.
        table_name: String,
        /// The keys that mean something here.
        known: Vec<&'static str>,
    },
    /// A key that must be there.
    #[error("{} has no `{key}`", table(table_name))]
    MissingKey {
        /// The table's name.
        place: Place,
        /// The key.
        key: &'static str,
        /// The dotted name of the table.
        table_name: String,
    },
    /// A value of another type.
    #[error("`{key}` is {found}, not {expected}")]
    WrongType {
        /// The value.
        place: Place,
        /// Its key.
        key: String,
        /// The type that it has.
        found: &'static str,
        /// The type that it needs.
        expected: &'static str,
    },
    /// A text without any characters that show.
    #[error("`{key}` is empty")]
    Blank {
        /// The value.
        place: Place,
        /// Its key.
        key: String,
    },
    /// A word that is none of the known ones.
    #[error("`{key}` cannot be `{found}`")]
    UnknownWord {
        /// The value.
        place: Place,
        /// Its key.
        key: String,
        /// The word.
        found: String,
        /// The words that it may be.
        known: &'static [&'static str],
    },
    /// A duration or size that is no whole number with a unit.
    #[error("`{key}` cannot be `{found}`")]
    Quantity {
        /// The value.
        place: Place,
        /// Its key.
        key: String,
        /// The text.
        found: String,
        /// The units that it may have.
        units: &'static [&'static str],
    },
    /// A number outside its range.
    #[error("`{key}` is {found}, not {expected}")]
    OutOfRange {
        /// The value.
        place: Place,
        /// Its key.
        key: String,
        /// The number as it is written.
        found: String,
        /// The range.
        expected: &'static str,
    },
    /// A value in a schema that JSON cannot say.
    #[error("`{key}` is {found}, which JSON does not have")]
    NotJson {
        /// The value.
        place: Place,
        /// The nearest key.
        key: String,
        /// What it is.
        found: String,
    },
    /// Arguments that are no object.
    #[error("the arguments of `{tool}` are not an object")]
    SchemaRoot {
        /// The schema's `type`, or the schema.
        place: Place,
        /// The tool.
        tool: String,
    },
    /// A name that no tool may have.
    #[error("`{name}` cannot name a tool")]
    ToolName {
        /// The name.
        place: Place,
        /// The name as it is written.
        name: String,
    },
    /// A name that no data source may have.
    #[error("`{name}` cannot name a data source")]
    DataName {
        /// The name.
        place: Place,
        /// The name as it is written.
        name: String,
    },
    /// A tool on data that is not declared.
    #[error("the tool `{tool}` uses the unknown data source `{name}`")]
    UnknownData {
        /// The name.
        place: Place,
        /// The tool.
        tool: String,
        /// The data source that it names.
        name: String,
        /// The declared data sources.
        known: Vec<String>,
    },
}

impl ConfigError {
    /// The file and the place in it: path, line and column, from 1 and in characters.
    ///
    /// `None` where the trouble is the file itself.
    pub fn place(&self) -> Option<(&Path, usize, usize)> {
        match self {
            Self::Unreadable { .. } | Self::TooLarge { .. } => None,
            Self::NotUtf8 { place }
            | Self::Syntax { place, .. }
            | Self::UnknownKey { place, .. }
            | Self::MissingKey { place, .. }
            | Self::WrongType { place, .. }
            | Self::Blank { place, .. }
            | Self::UnknownWord { place, .. }
            | Self::Quantity { place, .. }
            | Self::OutOfRange { place, .. }
            | Self::NotJson { place, .. }
            | Self::SchemaRoot { place, .. }
            | Self::ToolName { place, .. }
            | Self::DataName { place, .. }
            | Self::UnknownData { place, .. } => {
                Some((&place.path, place.at.line, place.at.column))
            }
        }
    }

    /// The file.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Unreadable { path, .. } | Self::TooLarge { path, .. } => Some(path),
            placed => placed.place().map(|(path, _, _)| path),
        }
    }
}

impl Coded for ConfigError {
    fn code(&self) -> Code {
        match self {
            Self::Unreadable { .. } | Self::TooLarge { .. } => Code::FileUnreadable,
            Self::NotUtf8 { .. } => Code::NotUtf8,
            Self::Syntax { .. } => Code::ConfigSyntax,
            Self::NotJson { .. }
            | Self::SchemaRoot { .. }
            | Self::ToolName { .. }
            | Self::UnknownData { .. } => Code::ToolDeclaration,
            _ => Code::ConfigValue,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Unreadable { source, .. } => Some(source.to_string()),
            Self::UnknownKey { key, known, .. } => Some(meant(key, known)),
            Self::UnknownWord { found, known, .. } => Some(meant(found, known)),
            Self::MissingKey {
                key, table_name, ..
            } => Some(format!("add `{key}` to `[{table_name}]`")),
            Self::Quantity { units, .. } => {
                Some(format!("write a whole number and one of {}", listed(units)))
            }
            Self::SchemaRoot { .. } => Some("the schema needs `type = \"object\"`".into()),
            Self::ToolName { .. } | Self::DataName { .. } => Some(format!(
                "use 1 to {MAX_NAME_BYTES} ASCII letters, digits, `_` and `-`"
            )),
            Self::UnknownData { name, known, .. } if known.is_empty() => {
                Some(format!("declare it as `[data.{name}]`"))
            }
            Self::UnknownData { name, known, .. } => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                Some(meant(name, &known))
            }
            _ => None,
        }
    }
}

/// A table as a message names it.
fn table(name: &str) -> String {
    if name.is_empty() {
        "the top level".into()
    } else {
        format!("`[{name}]`")
    }
}

/// The known name that was probably meant, or all of them.
fn meant(found: &str, known: &[&str]) -> String {
    match nearest(found, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("it may be {}", listed(known)),
    }
}

fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
