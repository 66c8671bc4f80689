//! A new database: filled beside its place, then put there in one step.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

use rusqlite::Connection;
use tempfile::TempDir;

/// How many steps of SQLite's machine lie between two questions whether to stop.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

/// What the names of drafts' folders start with.
const PREFIX: &str = ".seed-";

/// The file in a draft's folder that its process holds locked. The kernel frees the
/// lock when the process ends, however it ends.
const LOCK: &str = "lock";

/// How many folders of killed processes one start removes at most.
const MOST_SWEPT: usize = 100;

/// How often another process may take a new folder for one that was left behind.
const TRIES: usize = 10;

/// A database that nobody sees yet. Dropping it leaves nothing behind; what a killed
/// process leaves is removed by the next one that makes a draft beside it.
#[derive(Debug)]
pub(super) struct Draft {
    /// A folder of its own holds the side files of SQLite, too.
    folder: TempDir,
    /// Says that the folder is in use; freed last.
    _lock: File,
}

impl Draft {
    /// An empty draft on the file system of `file`, whose folder exists.
    pub(super) fn new(file: &Path) -> io::Result<Self> {
        let beside = file.parent().unwrap_or(file);
        sweep(beside);
        for _ in 0..TRIES {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(beside)?;
            // A process that sweeps may have come first: its lock, or its removal.
            if let Some(lock) = hold(folder.path())? {
                return Ok(Self {
                    folder,
                    _lock: lock,
                });
            }
        }
        Err(io::Error::other("each new folder in it was removed"))
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
            // Who sweeps meanwhile may be removing the folder too, or looking into
            // it. What stays of it is swept later, and harms nobody.
            _ => {
                drop(self.folder);
                Ok(())
            }
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("draft.db")
    }
}

/// Takes the folder of a draft; `None` if it is another's, or gone.
fn hold(folder: &Path) -> io::Result<Option<File>> {
    let path = folder.join(LOCK);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    let lock = match options.open(&path) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match lock.try_lock() {
        Ok(()) => Ok(path.exists().then_some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Removes the drafts beside which no process works any more. One that cannot be
/// removed stays, and harms nobody.
fn sweep(beside: &Path) {
    let Ok(entries) = fs::read_dir(beside) else {
        return;
    };
    let drafts = entries.flatten().filter(|entry| {
        let named = entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(PREFIX.as_bytes());
        named && entry.file_type().is_ok_and(|kind| kind.is_dir())
    });
    for draft in drafts.take(MOST_SWEPT) {
        if let Ok(Some(_lock)) = hold(&draft.path()) {
            let _ = fs::remove_dir_all(draft.path());
        }
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

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn those_who_make_the_same_database_at_once_do_not_sweep_each_other_away() {
        const ROUNDS: usize = 40;
        let folder = tempfile::tempdir().unwrap();
        let make = |file: &Path| -> io::Result<()> {
            let draft = Draft::new(file)?.fill("CREATE TABLE t (id)", || false);
            draft.map_err(io::Error::other)?.publish(file)
        };
        let work = |worker: usize| {
            for round in 0..ROUNDS {
                let file = folder.path().join(format!("{round}.db"));
                let ended = make(&file);
                assert!(ended.is_ok(), "{worker} in {round}: {ended:?}");
                assert!(file.exists());
            }
        };
        thread::scope(|scope| {
            for worker in 0..4 {
                scope.spawn(move || work(worker));
            }
        });
    }
}
