//! A new database: filled beside its place, then put there in one step.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use rusqlite::Connection;
use tempfile::TempDir;

/// How many steps of SQLite's machine lie between two questions whether to stop.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

/// A database that nobody sees yet. Dropping it leaves nothing behind.
#[derive(Debug)]
pub(super) struct Draft {
    /// A folder of its own holds the side files of SQLite, too.
    folder: TempDir,
}

impl Draft {
    /// An empty draft on the file system of `file`, whose folder exists.
    pub(super) fn new(file: &Path) -> io::Result<Self> {
        let folder = file.parent().unwrap_or(file);
        Ok(Self {
            folder: tempfile::Builder::new()
                .prefix(".seed-")
                .tempdir_in(folder)?,
        })
    }

    /// Runs the seed, until `stop` says so.
    pub(super) fn fill(
        self,
        sql: &str,
        stop: impl Fn() -> bool + Send + 'static,
    ) -> rusqlite::Result<Self> {
        let mut connection = Connection::open(self.file())?;
        run(&mut connection, sql, stop)?;
        // Readers never wait in this mode, and what a killed process leaves is
        // finished by the next connection, also by one that only reads.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.close().map_err(|(_, error)| error)?;
        Ok(self)
    }

    /// Puts the database at `file`, durably; if there is one already, that stays.
    pub(super) fn publish(self, file: &Path) -> io::Result<()> {
        OpenOptions::new()
            .write(true)
            .open(self.file())?
            .sync_all()?;
        match fs::hard_link(self.file(), file) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => self.folder.close(),
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("draft.db")
    }
}

/// Runs the seed `sql` on a new database that nobody else sees, until `stop` says so.
pub(super) fn run(
    connection: &mut Connection,
    sql: &str,
    stop: impl Fn() -> bool + Send + 'static,
) -> rusqlite::Result<()> {
    // What has to last is made durable as a whole, by `publish`.
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(stop))?;
    connection.execute_batch(sql)?;
    if !connection.is_autocommit() {
        connection.execute_batch("COMMIT")?;
    }
    Ok(())
}

/// Makes the names in `folder` durable, where the system can.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()
    } else {
        Ok(())
    }
}

/// The line of the seed `text` that an error is about.
pub(super) fn line(text: &str, error: &rusqlite::Error) -> Option<usize> {
    let rusqlite::Error::SqlInputError { sql, offset, .. } = error else {
        return None;
    };
    // SQLite was given what was left of the seed.
    let start = text.len().checked_sub(sql.len())?;
    let before = text.get(..start + usize::try_from(*offset).ok()?)?;
    Some(1 + before.matches('\n').count())
}
