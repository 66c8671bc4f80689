//! Database files of one kind: told apart by their first bytes, made whole or
//! not at all, and brought forward step by step.

use std::{
    fmt::Display,
    fs::{self, File, OpenOptions},
    io::Read,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, TransactionBehavior};
use rustagents_core::store::StoreError;
use rustagents_store::{
    locks::Patience,
    told::{self, FULL},
};

use crate::{
    file::refuse_orphan,
    opened::{self, Look, Opened},
    schema::writer_lock_path,
};

/// How long SQLite itself waits for another connection's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// A kind of database.
#[derive(Debug)]
pub(crate) struct Kind {
    /// What the file's header says; never used for another kind.
    pub(crate) application_id: u32,
    /// The statements that lead from each format to the next, from an empty file.
    pub(crate) steps: &'static [&'static str],
}

impl Kind {
    /// The format that this build reads and writes.
    fn format(&self) -> u32 {
        u32::try_from(self.steps.len()).unwrap_or(u32::MAX)
    }

    /// Opens the file that is there for reading.
    pub(crate) fn open_reader(&self, path: &Path) -> Result<Opened, StoreError> {
        let mut connection = self.connect(path)?;
        let fail = |error: rusqlite::Error| failed(path, &error);
        if version(&connection).map_err(fail)? < self.format() {
            // Whoever comes first brings an older file forward.
            let lock = WriterLock::of(path, false)?;
            let _turn = lock.take()?;
            self.bring_forward(&mut connection).map_err(fail)?;
        }
        connection
            .pragma_update(None, "query_only", true)
            .map_err(fail)?;
        Ok(connection)
    }

    /// Opens the file that is there for writing. The caller holds the writer's lock.
    pub(crate) fn open_writer(&self, path: &Path) -> Result<Opened, StoreError> {
        let mut connection = self.connect(path)?;
        connection
            .pragma_update(None, "synchronous", "full")
            .and_then(|()| self.bring_forward(&mut connection))
            .map_err(|error| failed(path, &error))?;
        Ok(connection)
    }

    /// Whether there is a file, which is of this kind then. Nothing is opened as a
    /// database.
    pub(crate) fn is_at(&self, path: &Path) -> Result<bool, StoreError> {
        let mut header = Vec::with_capacity(100);
        let read = opened::look(path, |file| file.take(100).read_to_end(&mut header));
        match read {
            Ok(Look::Read(0)) => return absent(path),
            Ok(Look::Read(_)) => {}
            Ok(Look::Open(application)) if application == self.application_id => {
                return Ok(true);
            }
            Ok(Look::Open(_)) => return Err(foreign(path, "it belongs to something else")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return absent(path),
            Err(error) => return Err(refused(path, &error)),
        }
        if header.len() < 100 || !header.starts_with(b"SQLite format 3\0") {
            return Err(foreign(path, "it is not an SQLite database"));
        }
        if number(&header, 68) != Some(self.application_id) {
            return Err(foreign(path, "it belongs to something else"));
        }
        let found = number(&header, 60).unwrap_or(0);
        if found > self.format() {
            return Err(StoreError::Newer {
                what: format!("store `{}`", path.display()),
                found,
                supported: self.format(),
            });
        }
        Ok(true)
    }

    /// Makes the file if there is none, under another name, and moves it into place:
    /// whoever looks sees nothing, or a whole file. The caller holds the writer's lock,
    /// so two processes never make it at once.
    pub(crate) fn make(&self, path: &Path) -> Result<(), StoreError> {
        if self.is_at(path)? {
            return Ok(());
        }
        let fail = |error: std::io::Error| refused(path, &error);
        let draft = beside(path, ".new");
        for companion in ["", "-journal", "-wal", "-shm"] {
            match fs::remove_file(beside(&draft, companion)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(fail(error));
                }
                _ => {}
            }
        }
        self.fill(&draft).map_err(|error| failed(path, &error))?;
        File::open(&draft)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(&draft, path))
            .and_then(|()| File::open(folder_of(path))?.sync_all())
            .map_err(fail)
    }

    /// Closing the connection leaves one whole file.
    fn fill(&self, draft: &Path) -> rusqlite::Result<()> {
        let mut connection = Connection::open(draft)?;
        connection.pragma_update(None, "application_id", self.application_id)?;
        self.bring_forward(&mut connection)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.close().map_err(|(_, error)| error)
    }

    /// Takes the steps that are missing, all or none.
    fn bring_forward(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        if version(connection)? >= self.format() {
            return Ok(());
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have been faster.
        let done = usize::try_from(version(&transaction)?).unwrap_or(usize::MAX);
        for step in self.steps.iter().skip(done) {
            transaction.execute_batch(step)?;
        }
        if done < self.steps.len() {
            transaction.pragma_update(None, "user_version", self.format())?;
        }
        transaction.commit()
    }

    fn connect(&self, path: &Path) -> Result<Opened, StoreError> {
        self.is_at(path)?;
        let connection = Opened::open(path, self.application_id);
        let connection = connection.map_err(|error| failed(path, &error))?;
        connection.set_prepared_statement_cache_capacity(32);
        connection
            .busy_timeout(BUSY_TIMEOUT)
            .map_err(|error| failed(path, &error))?;
        Ok(connection)
    }
}

/// There is no file, nor anything left of one.
fn absent(path: &Path) -> Result<bool, StoreError> {
    refuse_orphan(path)?;
    Ok(false)
}

/// The format of the file.
fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// The lock under which one process after the other writes to a file. SQLite's own
/// waiting passes over who waits longest.
#[derive(Debug)]
pub(crate) struct WriterLock {
    store: PathBuf,
    path: PathBuf,
    file: File,
}

impl WriterLock {
    /// That of the file at `path`, in a folder that is made where `makes_folder`.
    pub(crate) fn of(path: &Path, makes_folder: bool) -> Result<Self, StoreError> {
        let fail = |error: std::io::Error| refused(path, &error);
        if makes_folder {
            fs::create_dir_all(folder_of(path)).map_err(fail)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let name = writer_lock_path(path);
        Ok(Self {
            store: path.to_owned(),
            file: options.open(&name).map_err(fail)?,
            path: name,
        })
    }

    /// Waits for the lock, which is held until what this gives is dropped.
    pub(crate) fn take(&self) -> Result<Turn<'_>, StoreError> {
        let locked = Patience::default().lock(&self.path, &self.file);
        locked.map_err(|error| refused(&self.store, &error))?;
        Ok(Turn(&self.file))
    }
}

/// The time in which this process may write.
#[derive(Debug)]
pub(crate) struct Turn<'a>(&'a File);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_be_bytes(four))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The store's error for one of SQLite's.
pub(crate) fn failed(path: &Path, error: &rusqlite::Error) -> StoreError {
    if is_damage(error) {
        return corrupt(path, error);
    }
    unavailable(path, &told(path, error))
}

/// Whether the error says that what is stored is damaged: SQLite's own pages, or a value
/// that is no such value.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::{
        Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error},
        ErrorCode::{DatabaseCorrupt, NotADatabase},
    };
    matches!(
        error,
        FromSqlConversionFailure(..)
            | IntegralValueOutOfRange(..)
            | InvalidColumnType(..)
            | Utf8Error(..)
    ) || matches!(
        error.sqlite_error_code(),
        Some(DatabaseCorrupt | NotADatabase)
    )
}

/// What SQLite says, and what can be done about it, where that is known.
pub(crate) fn told(path: &Path, error: &rusqlite::Error) -> String {
    use rusqlite::ErrorCode::{CannotOpen, DiskFull, ReadOnly};
    match error.sqlite_error_code() {
        Some(ReadOnly | CannotOpen) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            format!(
                "{error}: SQLite makes `{name}-shm` beside the file even to read it; let this user \
                 write to the file and to its folder, or copy the file, and `{name}-wal` if it \
                 is there, to a folder where that is allowed"
            )
        }
        Some(DiskFull) => format!("{error}: {FULL}"),
        _ => error.to_string(),
    }
}

fn corrupt(path: &Path, reason: &dyn Display) -> StoreError {
    StoreError::Corrupt {
        place: format!("store `{}`", path.display()),
        reason: reason.to_string(),
    }
}

/// The store's error for what the system says of a file.
fn refused(path: &Path, error: &std::io::Error) -> StoreError {
    unavailable(path, &told::told(error))
}

/// The store's error for a file that does not work.
pub(crate) fn unavailable(path: &Path, reason: &dyn Display) -> StoreError {
    StoreError::Unavailable {
        store: path.display().to_string(),
        reason: reason.to_string(),
    }
}

fn foreign(path: &Path, reason: &str) -> StoreError {
    StoreError::Foreign {
        path: path.display().to_string(),
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Kind = Kind {
        application_id: 7,
        steps: &["CREATE TABLE a(n INTEGER) STRICT; INSERT INTO a VALUES(1);"],
    };
    const SECOND: Kind = Kind {
        application_id: 7,
        steps: &[
            FIRST.steps[0],
            "ALTER TABLE a ADD COLUMN m INTEGER NOT NULL DEFAULT 2;",
        ],
    };
    const BROKEN: Kind = Kind {
        application_id: 7,
        steps: &[FIRST.steps[0], "DELETE FROM a; CREATE TABLE a(n INTEGER);"],
    };

    fn sum(connection: &Connection, column: &str) -> rusqlite::Result<i64> {
        connection.query_row(&format!("SELECT sum({column}) FROM a"), [], |row| {
            row.get(0)
        })
    }

    #[test]
    fn an_earlier_format_is_brought_forward_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        assert!(!FIRST.is_at(&path).unwrap());
        FIRST.make(&path).unwrap();
        drop(FIRST.open_writer(&path).unwrap());
        BROKEN.open_writer(&path).unwrap_err();
        let reader = FIRST.open_reader(&path).unwrap();
        assert_eq!(
            sum(&reader, "n").unwrap(),
            1,
            "nothing of a failed step stays"
        );
        drop(reader);
        let reader = SECOND.open_reader(&path).unwrap();
        assert_eq!(
            (sum(&reader, "n").unwrap(), sum(&reader, "m").unwrap()),
            (1, 2)
        );
        reader.execute_batch("DELETE FROM a").unwrap_err();
        drop(reader);
        let error = FIRST.open_writer(&path).unwrap_err();
        let StoreError::Newer {
            found, supported, ..
        } = error
        else {
            panic!("{error:?}");
        };
        assert_eq!((found, supported), (2, 1), "and there is no way back");
        drop(SECOND.open_writer(&path).unwrap());
    }

    #[test]
    fn what_a_crash_left_of_a_new_file_is_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        fs::write(beside(&path, ".new"), "half a file").unwrap();
        fs::write(&path, "").unwrap();
        SECOND.make(&path).unwrap();
        let writer = SECOND.open_writer(&path).unwrap();
        assert_eq!(sum(&writer, "m").unwrap(), 2);
        assert!(!beside(&path, ".new").exists());
    }

    #[test]
    fn what_sqlite_refuses_says_what_to_do() {
        let refused = |code| {
            let error = rusqlite::ffi::Error::new(code);
            told(
                Path::new("some/a.db"),
                &rusqlite::Error::SqliteFailure(error, None),
            )
        };
        for code in [
            rusqlite::ffi::SQLITE_READONLY,
            rusqlite::ffi::SQLITE_READONLY_DIRECTORY,
            rusqlite::ffi::SQLITE_CANTOPEN,
        ] {
            let text = refused(code);
            assert!(text.contains("SQLite makes `a.db-shm` beside"), "{text}");
            assert!(text.contains("to a folder where"), "{text}");
        }
        let full = refused(rusqlite::ffi::SQLITE_FULL);
        assert!(full.ends_with("make room on the disk"), "{full}");
        let other = refused(rusqlite::ffi::SQLITE_MISUSE);
        assert!(!other.contains("folder"), "{other}");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_in_a_folder_that_may_not_be_written_to_says_what_to_do() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        FIRST.make(&path).unwrap();
        let permit = |mode| {
            let permissions = fs::Permissions::from_mode(mode);
            fs::set_permissions(folder.path(), permissions).unwrap();
        };
        permit(0o555);
        // Who may do everything is not kept out by permissions.
        let is_kept_out = fs::write(folder.path().join("probe"), "").is_err();
        let read = FIRST.open_reader(&path);
        let read = read.and_then(|reader| sum(&reader, "n").map_err(|error| failed(&path, &error)));
        permit(0o755);
        if is_kept_out {
            let error = read.unwrap_err().to_string();
            assert!(error.contains("SQLite makes `a.db-shm` beside"), "{error}");
        } else {
            read.unwrap();
        }
    }
}
