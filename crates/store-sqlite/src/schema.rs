//! Tables, versions, and the checks that keep a foreign file from harm.

use std::{
    fs::{self, File, OpenOptions},
    io::Read,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, config::DbConfig};
use rustagents_core::journal::JournalError;
use rustagents_store::locks::Patience;

use crate::{
    database,
    file::refuse_orphan,
    opened::{self, Look, Opened},
};

/// Marks the file as ours: "RAGJ".
const APPLICATION_ID: u32 = 0x5241_474A;

/// How many kilobytes of pages the writer keeps; negative, as SQLite wants it. What is
/// written stands at the end, so that few are needed again.
const WRITER_CACHE: i32 = -384;

/// How long SQLite itself waits for another connection's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The version of the tables. That of the records is [`FORMAT`].
///
/// [`FORMAT`]: rustagents_core::journal::FORMAT
const VERSION: u32 = 5;

/// What brings the tables of version N to N + 1, at place N - 1.
const MIGRATIONS: [&str; VERSION as usize - 1] = [
    include_str!("migrate/2.sql"),
    include_str!("migrate/3.sql"),
    include_str!("migrate/4.sql"),
    include_str!("migrate/5.sql"),
];

const TABLES: &str = include_str!("tables.sql");

/// When a commit counts as durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// After an `fsync`: it survives a loss of power.
    #[default]
    Full,
    /// When the operating system has it: it survives the end of the process, and
    /// a loss of power takes the last commits, never half of one.
    Normal,
}

impl Synchronous {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Normal => "normal",
        }
    }
}

/// What the first bytes of the file say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// There is no file, or an empty one.
    Absent,
    /// It is a store of a format that this build reads and writes.
    Ours,
}

/// Looks at the file without opening it as a database.
pub(crate) fn inspect(path: &Path) -> Result<Header, JournalError> {
    let mut header = [0_u8; 100];
    let read = match opened::look(path, |mut file| read_up_to(&mut file, &mut header)) {
        Ok(Look::Read(read)) => read,
        // It was looked at before it was opened. How old its tables are is asked again.
        Ok(Look::Open(application)) => {
            check_version(path, application, 0)?;
            return Ok(Header::Ours);
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
        Err(error) => return Err(refused(path, &error)),
    };
    if read == 0 {
        refuse_orphan(path)?;
        return Ok(Header::Absent);
    }
    if read < header.len() || !header.starts_with(b"SQLite format 3\0") {
        return Err(foreign(path, "it is not an SQLite database"));
    }
    check_version(path, be_u32(&header, 68), be_u32(&header, 60))?;
    Ok(Header::Ours)
}

fn read_up_to(file: &mut File, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

fn be_u32(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .and_then(|four| four.try_into().ok())
        .map_or(0, u32::from_be_bytes)
}

fn check_version(path: &Path, application: u32, version: u32) -> Result<(), JournalError> {
    if application != APPLICATION_ID {
        return Err(foreign(path, "it belongs to another program"));
    }
    if version > VERSION {
        return Err(JournalError::Newer {
            what: format!("store `{}`", path.display()),
            found: version,
            supported: VERSION,
        });
    }
    Ok(())
}

/// Opens an existing store for reading.
pub(crate) fn open_reader(path: &Path) -> Result<Opened, JournalError> {
    let connection = Opened::open(path, APPLICATION_ID).map_err(|e| failed(path, &e))?;
    prepare(path, &connection)?;
    if verify(path, &connection)? < VERSION {
        // Whoever comes first brings an older store up to date.
        let _lock = writer_lock(path, Patience::default())?;
        migrate(path, &connection)?;
    }
    connection
        .pragma_update(None, "query_only", true)
        .map_err(|e| failed(path, &e))?;
    Ok(connection)
}

/// Makes the store if there is none.
///
/// The caller holds the writer's lock, so two processes never make it at once.
pub(crate) fn make(path: &Path) -> Result<(), JournalError> {
    match inspect(path)? {
        Header::Absent => create(path),
        Header::Ours => Ok(()),
    }
}

/// Opens an existing store for writing. The caller holds the writer's lock.
pub(crate) fn open_writer(path: &Path) -> Result<Opened, JournalError> {
    let connection = Opened::open(path, APPLICATION_ID).map_err(|e| failed(path, &e))?;
    prepare(path, &connection)?;
    migrate(path, &connection)?;
    connection
        .pragma_update(None, "cache_size", WRITER_CACHE)
        .map_err(|e| failed(path, &e))?;
    Ok(connection)
}

/// Makes the store under another name and moves it into place: whoever looks
/// sees no store, or a whole one.
fn create(path: &Path) -> Result<(), JournalError> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(".new");
    let draft = Path::new(&draft);
    for companion in ["", "-journal", "-wal", "-shm"] {
        let mut name = draft.as_os_str().to_owned();
        name.push(companion);
        match fs::remove_file(&name) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(refused(path, &error));
            }
            _ => {}
        }
    }
    fill(draft).map_err(|error| failed(path, &error))?;
    File::open(draft)
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::rename(draft, path))
        .map_err(|error| refused(path, &error))?;
    sync_folder(path)
}

/// Writes tables and versions; closing the connection leaves one whole file.
fn fill(draft: &Path) -> rusqlite::Result<()> {
    let connection = Connection::open(draft)?;
    connection.execute_batch(&format!(
        "BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION_ID}; \
         PRAGMA user_version = {VERSION}; {TABLES} COMMIT;"
    ))?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.close().map_err(|(_, error)| error)
}

fn prepare(path: &Path, connection: &Connection) -> Result<(), JournalError> {
    connection.set_prepared_statement_cache_capacity(48);
    // References are kept by construction; checking each would cost a look-up a
    // row, and a scan for each row that goes. `health` looks for broken ones.
    connection
        .busy_timeout(BUSY_TIMEOUT)
        .and_then(|()| connection.pragma_update(None, "foreign_keys", false))
        .and_then(|()| {
            // A plan that holds for any values: else a statement is parsed again
            // whenever it gets others.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        })
        .map(drop)
        .map_err(|e| failed(path, &e))
}

/// The version of the store's tables, if they are ours.
fn verify(path: &Path, connection: &Connection) -> Result<u32, JournalError> {
    let pragma = |name: &str| {
        connection
            .query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, u32>(0))
            .map_err(|e| failed(path, &e))
    };
    let version = pragma("user_version")?;
    check_version(path, pragma("application_id")?, version)?;
    Ok(version)
}

/// Brings the tables up to date, in one transaction. The caller holds the
/// writer's lock.
fn migrate(path: &Path, connection: &Connection) -> Result<(), JournalError> {
    let fail = |error: rusqlite::Error| failed(path, &error);
    for (step, sql) in (1..).zip(MIGRATIONS) {
        if verify(path, connection)? == step {
            let next = step + 1;
            let sql = format!("BEGIN IMMEDIATE; {sql} PRAGMA user_version = {next}; COMMIT;");
            connection.execute_batch(&sql).map_err(|error| {
                let _ = connection.execute_batch("ROLLBACK");
                fail(error)
            })?;
        }
    }
    verify(path, connection).map(drop)
}

/// The file whose lock says which process writes.
pub(crate) fn writer_lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".writer");
    name.into()
}

/// Waits for the lock under which one process writes.
pub(crate) fn writer_lock(path: &Path, patience: Patience) -> Result<File, JournalError> {
    let name = writer_lock_path(path);
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&name)
        .and_then(|file| patience.lock(&name, &file).map(|()| file))
        .map_err(|e| refused(path, &e))
}

fn sync_folder(path: &Path) -> Result<(), JournalError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|e| refused(path, &e))
}

/// The journal's error for one of SQLite's.
pub(crate) fn failed(path: &Path, error: &rusqlite::Error) -> JournalError {
    if database::is_damage(error) {
        return JournalError::Corrupt {
            place: format!("store `{}`", path.display()),
            reason: error.to_string(),
        };
    }
    unavailable(path, &database::told(path, error))
}

/// The journal's error for what the system says of a file.
pub(crate) fn refused(path: &Path, error: &std::io::Error) -> JournalError {
    unavailable(path, &rustagents_store::told::told(error))
}

/// The journal's error for a store that does not work.
pub(crate) fn unavailable(path: &Path, reason: &dyn std::fmt::Display) -> JournalError {
    JournalError::Unavailable {
        store: path.display().to_string(),
        reason: reason.to_string(),
    }
}

fn foreign(path: &Path, reason: &str) -> JournalError {
    JournalError::Foreign {
        path: path.display().to_string(),
        reason: reason.to_owned(),
    }
}
