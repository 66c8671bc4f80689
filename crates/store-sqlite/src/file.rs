//! Where the store stands, and whether the file there is still the one that was
//! opened.
//!
//! A connection goes on writing to a file that was removed or moved, and nobody
//! would ever read that. So each use begins with a look at the path.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use rusqlite::config::DbConfig;
use rustagents_core::{journal::JournalError, store::StoreError};
use rustagents_store::told::told;

use crate::opened::{FileId, Opened};

/// Why the file is not used: what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Lost {
    store: String,
    reason: String,
}

impl Lost {
    fn new(path: &Path, reason: impl Into<String>) -> Self {
        Self {
            store: path.display().to_string(),
            reason: reason.into(),
        }
    }
}

impl From<Lost> for JournalError {
    fn from(lost: Lost) -> Self {
        Self::Unavailable {
            store: lost.store,
            reason: lost.reason,
        }
    }
}

impl From<Lost> for StoreError {
    fn from(lost: Lost) -> Self {
        Self::Unavailable {
            store: lost.store,
            reason: lost.reason,
        }
    }
}

/// The store's path, and the file that this journal or store found or made there
/// first. It never uses another one.
#[derive(Debug)]
pub(crate) struct StoreFile {
    path: PathBuf,
    opened: OnceLock<FileId>,
}

impl StoreFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            opened: OnceLock::new(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file was opened already, and no other may be made.
    pub(crate) fn is_known(&self) -> bool {
        self.opened.get().is_some()
    }

    /// As [`StoreFile::look`], for a journal.
    pub(crate) fn check(&self) -> Result<(), JournalError> {
        Ok(self.look()?)
    }

    /// Fails if the path does not lead to the file that was opened.
    pub(crate) fn look(&self) -> Result<(), Lost> {
        match self.opened.get() {
            Some(known) => self.is(*known),
            None => Ok(()),
        }
    }

    /// Opens the file that is there, which has to be the one that was opened
    /// before.
    pub(crate) fn open<T, E: From<Lost>>(
        &self,
        open: impl FnOnce(&Path) -> Result<T, E>,
    ) -> Result<T, E> {
        let found = self.found()?;
        let opened = open(&self.path)?;
        // It may have been replaced between the two looks.
        self.is(found)?;
        self.is(*self.opened.get_or_init(|| found))?;
        Ok(opened)
    }

    /// Closes a connection that may be to a file that is gone.
    pub(crate) fn close(&self, connection: Opened) {
        if self.look().is_err() && self.path.exists() {
            // Closed as usual, it would remove the log that stands beside the path,
            // which may be that of the other file.
            let keeps = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
            let _ = connection.set_db_config(keeps, true);
        }
        drop(connection);
    }

    fn is(&self, known: FileId) -> Result<(), Lost> {
        if self.found()? == known {
            return Ok(());
        }
        let reason = "another file took its place while it was in use";
        Err(Lost::new(&self.path, reason))
    }

    fn found(&self) -> Result<FileId, Lost> {
        match fs::metadata(&self.path) {
            Ok(metadata) => Ok(FileId::of(&metadata)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let reason = "it was removed or moved while it was in use";
                Err(Lost::new(&self.path, reason))
            }
            Err(error) => Err(Lost::new(&self.path, told(&error))),
        }
    }
}

/// Refuses the log of a store that is gone. If another one were made beside it, SQLite
/// would take the log for the new one's, and write what it holds over it.
pub(crate) fn refuse_orphan(path: &Path) -> Result<(), Lost> {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    let log = Path::new(&name);
    let has_bytes = fs::metadata(log).is_ok_and(|found| found.len() > 0);
    // Another process may have made the store meanwhile, and written to its log.
    if !has_bytes || path.exists() {
        return Ok(());
    }
    let reason = format!(
        "it is gone, but its log `{}` is there: bring the store back, or remove the log",
        log.display()
    );
    Err(Lost::new(path, reason))
}
