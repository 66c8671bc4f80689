//! A seed run in memory: what it makes is known, and nothing is written.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use rusqlite::{
    Connection, ErrorCode, ffi,
    hooks::{AuthAction, AuthContext, Authorization},
};
use rustagents_core::CancellationToken;

use super::{
    connection::{self, Access},
    seed,
    watch::Watch,
};

/// How long a seed, and then each statement, may take.
pub(super) const LONGEST: Duration = Duration::from_secs(10);

/// The database that a seed makes, in memory, until it is dropped.
///
/// A seed that attaches a file, or needs more memory than there is or than
/// SQLite's 1 GiB, cannot be rehearsed to its end. Its rehearsal does not fail,
/// and refuses no statement.
#[derive(Debug)]
pub struct Rehearsal {
    /// `None` where it is not known what the seed makes.
    database: Option<Memory>,
}

/// A database in memory, which every connection to its name shares.
#[derive(Debug)]
struct Memory {
    name: String,
    /// The database is gone with its last connection. The lock is for `Sync`;
    /// nobody takes it.
    _keeper: Mutex<Connection>,
}

impl Rehearsal {
    /// Runs the seed `sql` for at most `limit`.
    pub(super) fn of(sql: &str, limit: Duration) -> rusqlite::Result<Self> {
        let watch = Watch::start(limit, CancellationToken::new());
        let memory = Memory::new()?;
        let beyond = Arc::new(AtomicBool::new(false));
        match memory.fill(sql, &watch, &beyond) {
            Err(failure) if beyond.load(Ordering::Relaxed) || is_too_large(&failure) => {
                Ok(Self { database: None })
            }
            filled => filled.map(|()| Self {
                database: Some(memory),
            }),
        }
    }

    /// A connection as a call has it; `None` where nothing is known.
    pub(super) fn connect(&self, access: Access) -> rusqlite::Result<Option<Connection>> {
        let watch = Watch::start(LONGEST, CancellationToken::new());
        self.database
            .as_ref()
            .map(|memory| connection::open_in_memory(&memory.name, access, &watch))
            .transpose()
    }
}

impl Memory {
    fn new() -> rusqlite::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("/rustagents-rehearsal-{number}");
        let keeper = connection::create_in_memory(&name)?;
        Ok(Self {
            name,
            _keeper: Mutex::new(keeper),
        })
    }

    /// The seed's connection is closed again: its temporary tables, attached
    /// databases and pragmas are not there in a call either.
    fn fill(
        &self,
        sql: &str,
        watch: &Arc<Watch>,
        beyond: &Arc<AtomicBool>,
    ) -> rusqlite::Result<()> {
        let mut connection = connection::create_in_memory(&self.name)?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        let beyond = Arc::clone(beyond);
        connection.authorizer(Some(move |context: AuthContext<'_>| {
            if !reaches_a_file(&context.action) {
                return Authorization::Allow;
            }
            beyond.store(true, Ordering::Relaxed);
            Authorization::Deny
        }))?;
        let watch = Arc::clone(watch);
        seed::run(&mut connection, sql, move || watch.stop().is_some())?;
        // Connections cannot share a log of changes in memory.
        connection.pragma_update(None, "journal_mode", "MEMORY")?;
        connection.close().map_err(|(_, error)| error)
    }
}

/// `VACUUM INTO` attaches its file, too; an attached expression may name one.
fn reaches_a_file(action: &AuthAction<'_>) -> bool {
    match action {
        AuthAction::Attach { filename } => !matches!(*filename, "" | ":memory:"),
        AuthAction::Unknown { code, .. } => *code == ffi::SQLITE_ATTACH,
        _ => false,
    }
}

fn is_too_large(failure: &rusqlite::Error) -> bool {
    matches!(
        failure.sqlite_error_code(),
        Some(ErrorCode::DiskFull | ErrorCode::OutOfMemory)
    )
}
