//! The configuration file.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use rustagents_core::{budget::Limits, tool::ToolSpec};
use toml::de::DeTable;

use crate::{
    declaration::{DataSource, ModelEntry, ToolDeclaration},
    error::ConfigError,
    events::{self, EventsKept},
    limits,
    section::{Field, Section},
    source::Source,
    tool,
};

/// The name of the file.
pub const FILE_NAME: &str = "rustagents.toml";

/// The longest file that is read.
pub const MAX_BYTES: usize = 1 << 20;

/// A configuration, as its file declares it; all lists are in the file's order.
///
/// ```
/// use std::path::Path;
/// use rustagents_config::Config;
///
/// let config = Config::parse(
///     Path::new("/shop/rustagents.toml"),
///     r#"
///     [models]
///     default = "scripted:script.toml"
///
///     [data.orders]
///     seed = "orders.sql"
///
///     [limits]
///     driven = "5m"
///     "#,
/// )?;
/// assert_eq!(config.models[0].alias, "default");
/// assert_eq!(config.data[0].seed, Path::new("/shop/orders.sql"));
/// assert_eq!(config.limits.driven.as_secs(), 300);
/// # Ok::<(), rustagents_config::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The file, absolute.
    pub path: PathBuf,
    /// The file's folder, absolute: where relative paths in it start.
    pub folder: PathBuf,
    /// The models that plans may name.
    pub models: Vec<ModelEntry>,
    /// The databases that tools share.
    pub data: Vec<DataSource>,
    /// The tools that plans may name.
    pub tools: Vec<ToolDeclaration>,
    /// What a run may consume.
    pub limits: Limits,
    /// Which events of runs are kept.
    pub events: EventsKept,
}

impl Config {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`ConfigError`]: the file cannot be read, or says something that cannot be.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let bytes = read_limited(path).map_err(|source| ConfigError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        if bytes.len() > MAX_BYTES {
            return Err(ConfigError::TooLarge {
                path: path.to_owned(),
                limit: MAX_BYTES,
            });
        }
        match std::str::from_utf8(&bytes) {
            Ok(text) => Self::parse(path, text),
            Err(error) => Err(not_utf8(path, &bytes, error.valid_up_to())),
        }
    }

    /// Reads `source` as the text of the file at `path`, which is not opened.
    ///
    /// # Errors
    /// [`ConfigError`]: the text says something that cannot be.
    pub fn parse(path: &Path, source: &str) -> Result<Self, ConfigError> {
        let source = Source::new(path, source);
        let table = DeTable::parse(source.text()).map_err(|error| syntax(&source, &error))?;
        let top = Section::top(&source, table.get_ref());
        top.only(&["models", "data", "tools", "limits", "events"])?;

        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let folder = path.parent().unwrap_or(&path).to_owned();
        let models = list(&top, "models", |_, field| model(field))?;
        let data = list(&top, "data", |section, field| {
            data_source(section, field, &folder)
        })?;
        let tools = list(&top, "tools", |section, field| {
            let (data, folder) = (&*data, &*folder);
            tool::read(section, field, tool::Around { data, folder })
        })?;
        let limits = match top.field("limits") {
            Some(field) => limits::read(&top.child(field)?)?,
            None => Limits::default(),
        };
        let events = match top.field("events") {
            Some(field) => events::read(&top.child(field)?)?,
            None => EventsKept::default(),
        };
        Ok(Self {
            path,
            folder,
            models,
            data,
            tools,
            limits,
            events,
        })
    }

    /// The nearest configuration file: in the folder `from`, or one above it.
    pub fn find(from: &Path) -> Option<PathBuf> {
        let from = std::path::absolute(from).ok()?;
        from.ancestors()
            .map(|folder| folder.join(FILE_NAME))
            .find(|path| path.is_file())
    }
}

/// The file's bytes, at most one more than the limit.
fn read_limited(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_BYTES + 1).unwrap_or(u64::MAX);
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn not_utf8(path: &Path, bytes: &[u8], valid: usize) -> ConfigError {
    let text = bytes
        .get(..valid)
        .and_then(|bytes| std::str::from_utf8(bytes).ok());
    let place = Source::new(path, text.unwrap_or_default()).place(valid);
    ConfigError::NotUtf8 { place }
}

/// The parser's message as one line that starts in lower case.
fn syntax(source: &Source<'_>, error: &toml::de::Error) -> ConfigError {
    let message = error.message().lines().collect::<Vec<_>>().join(", ");
    let mut characters = message.chars();
    let first = characters
        .next()
        .map(|first| first.to_lowercase().to_string());
    ConfigError::Syntax {
        place: source.place(error.span().map_or(0, |span| span.start)),
        reason: first.unwrap_or_default() + characters.as_str(),
    }
}

/// What each field of the table `key` declares; nothing where it is missing.
fn list<'a, T>(
    top: &Section<'a>,
    key: &str,
    read: impl Fn(&Section<'a>, Field<'a>) -> Result<T, ConfigError>,
) -> Result<Vec<T>, ConfigError> {
    let Some(field) = top.field(key) else {
        return Ok(Vec::new());
    };
    let section = top.child(field)?;
    section
        .fields()
        .into_iter()
        .map(|field| read(&section, field))
        .collect()
}

fn model(field: Field<'_>) -> Result<ModelEntry, ConfigError> {
    let spec = field.words()?.to_owned();
    Ok(ModelEntry {
        alias: field.key.to_owned(),
        spec,
        at: field.at(),
    })
}

/// A data source names a file, so its name follows the rule of tools' names.
fn data_source<'a>(
    data: &Section<'a>,
    field: Field<'a>,
    folder: &Path,
) -> Result<DataSource, ConfigError> {
    let name = field.key.to_owned();
    if !ToolSpec::is_valid_name(&name) {
        let place = field.source.place(field.key_start);
        return Err(ConfigError::DataName { place, name });
    }
    let section = data.child(field)?;
    section.only(&["seed"])?;
    let seed = section.require("seed")?;
    Ok(DataSource {
        name,
        seed: folder.join(seed.words()?),
        at: seed.at(),
    })
}
