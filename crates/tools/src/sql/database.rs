//! A database that a seed file fills at its first use.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use rustagents_core::{
    code::{Class, Code, Coded},
    tool::{MAX_NAME_BYTES, ToolSpec},
};

use super::{
    rehearsal::{self, Rehearsal},
    seed,
};

/// A SQLite database in `<folder>/.rustagents/data/<name>.db`.
///
/// It is made from its seed by the first call that needs it, whole or not at
/// all, also when several processes do so at once.
///
/// ```
/// use rustagents_tools::sql::Database;
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let seed = folder.join("orders.sql");
/// std::fs::write(&seed, "CREATE TABLE orders (id TEXT PRIMARY KEY)")?;
///
/// let database = Database::new(folder, "orders", &seed)?;
/// database.check_seed()?;
/// assert!(!database.file().exists(), "nothing is written yet");
/// database.ensure()?;
/// assert!(database.file().ends_with(".rustagents/data/orders.db"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    name: String,
    folder: PathBuf,
    file: PathBuf,
    seed: PathBuf,
}

impl Database {
    /// The database `name` under `folder`, filled from the file `seed`.
    ///
    /// Nothing is read or written yet.
    ///
    /// # Errors
    /// [`DataError::Name`]: the name cannot name a file.
    pub fn new(folder: &Path, name: &str, seed: &Path) -> Result<Self, DataError> {
        if !ToolSpec::is_valid_name(name) {
            return Err(DataError::Name {
                name: name.to_owned(),
            });
        }
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let file = folder
            .join(".rustagents")
            .join("data")
            .join(format!("{name}.db"));
        Ok(Self {
            name: name.to_owned(),
            folder,
            file,
            seed: seed.to_owned(),
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The database's file, which may not exist yet.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The file that fills it.
    pub fn seed(&self) -> &Path {
        &self.seed
    }

    /// Reads the seed, and writes nothing.
    ///
    /// # Errors
    /// [`DataError::SeedUnreadable`] and [`DataError::SeedNotUtf8`].
    pub fn check_seed(&self) -> Result<(), DataError> {
        self.read_seed().map(drop)
    }

    /// Runs the seed in memory, and writes nothing. Blocks, for at most 10 s.
    ///
    /// The [`Rehearsal`] tells whether statements fit what the seed makes. What
    /// is in the database's file by now does not matter.
    ///
    /// # Errors
    /// [`DataError`]: reading the seed, or running it, fails as it would for
    /// [`Database::ensure`]; [`DataError::Interrupted`] after 10 s.
    pub fn rehearse(&self) -> Result<Rehearsal, DataError> {
        self.rehearse_within(rehearsal::LONGEST)
    }

    fn rehearse_within(&self, limit: Duration) -> Result<Rehearsal, DataError> {
        let text = self.read_seed()?;
        Rehearsal::of(&text, limit).map_err(|failure| self.unseeded(&text, &failure))
    }

    /// Makes the database if it does not exist. Blocks.
    ///
    /// # Errors
    /// [`DataError`]; nothing half made is left behind.
    pub fn ensure(&self) -> Result<(), DataError> {
        self.ensure_unless(|| false)
    }

    /// As [`Database::ensure`], until `stop` says so.
    pub(super) fn ensure_unless(
        &self,
        stop: impl Fn() -> bool + Send + 'static,
    ) -> Result<(), DataError> {
        if self.file.exists() {
            return Ok(());
        }
        if let Some(path) = self.leftover() {
            // The order matters: a writer's file is younger than its database.
            return if self.file.exists() {
                Ok(())
            } else {
                Err(DataError::Leftover { path })
            };
        }
        let text = self.read_seed()?;
        let mut parents = self.file.ancestors().skip(1).take(3);
        fs::create_dir_all(self.file.parent().unwrap_or(&self.folder))
            .and_then(|()| seed::Draft::new(&self.file))
            .map_err(|source| self.unmade(source))?
            .fill(&text, stop)
            .map_err(|failure| self.unseeded(&text, &failure))?
            .publish(&self.file)
            .and_then(|()| parents.try_for_each(seed::sync_folder))
            .map_err(|source| self.unmade(source))
    }

    /// What a killed process left of a database that somebody removed since.
    ///
    /// SQLite would replay it into the new database.
    fn leftover(&self) -> Option<PathBuf> {
        ["-wal", "-journal"]
            .map(|ending| {
                self.file
                    .with_file_name(format!("{}.db{ending}", self.name))
            })
            .into_iter()
            .find(|path| fs::metadata(path).is_ok_and(|found| found.len() > 0))
    }

    fn read_seed(&self) -> Result<String, DataError> {
        let path = self.seed.clone();
        match fs::read(&self.seed) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| DataError::SeedNotUtf8 { path }),
            Err(source) => Err(DataError::SeedUnreadable { path, source }),
        }
    }

    fn unmade(&self, source: io::Error) -> DataError {
        DataError::Unmade {
            path: self.file.clone(),
            source,
        }
    }

    fn unseeded(&self, text: &str, failure: &rusqlite::Error) -> DataError {
        if failure.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) {
            return DataError::Interrupted;
        }
        DataError::Seed {
            path: self.seed.clone(),
            line: seed::line(text, failure),
            reason: super::failure::reason(failure),
        }
    }
}

/// Why there is no database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The name cannot name a file.
    #[error("`{name}` cannot name a data source")]
    Name {
        /// The name.
        name: String,
    },
    /// The seed is not there, or the system does not let us read it.
    #[error("the seed `{}` cannot be read", path.display())]
    SeedUnreadable {
        /// The seed.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The seed is not text.
    #[error("the seed `{}` is not UTF-8", path.display())]
    SeedNotUtf8 {
        /// The seed.
        path: PathBuf,
    },
    /// A statement of the seed fails.
    #[error("the seed `{}` fails{}: {reason}", path.display(), on_line(*line))]
    Seed {
        /// The seed.
        path: PathBuf,
        /// The line, where SQLite says it.
        line: Option<usize>,
        /// What SQLite says.
        reason: String,
    },
    /// A file of a database that is gone would spoil the new one.
    #[error("`{}` belongs to a database that is gone", path.display())]
    Leftover {
        /// The file.
        path: PathBuf,
    },
    /// The system does not let us make the file.
    #[error("the database `{}` cannot be made", path.display())]
    Unmade {
        /// The database.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// It was stopped.
    #[error("the database was not made in time")]
    Interrupted,
}

impl Coded for DataError {
    fn code(&self) -> Code {
        Code::DataSource
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Name { .. } => Some(format!(
                "use 1 to {MAX_NAME_BYTES} ASCII letters, digits, `_` and `-`"
            )),
            Self::SeedUnreadable { source, .. } | Self::Unmade { source, .. } => {
                Some(source.to_string())
            }
            Self::Leftover { .. } => Some("remove it to start from the seed again".into()),
            _ => None,
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Interrupted => Class::Retryable,
            _ => Class::Caller,
        }
    }
}

fn on_line(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(" on line {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rehearsal_ends_at_its_deadline() {
        let folder = tempfile::tempdir().unwrap();
        let seed = folder.path().join("endless.sql");
        let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c)
            SELECT count(*) FROM c;";
        fs::write(&seed, endless).unwrap();
        let database = Database::new(folder.path(), "endless", &seed).unwrap();
        let error = database
            .rehearse_within(Duration::from_millis(10))
            .unwrap_err();
        assert!(matches!(error, DataError::Interrupted), "{error:?}");
    }
}
