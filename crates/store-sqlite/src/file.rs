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
use rustagents_core::journal::JournalError;

use crate::{
    opened::{FileId, Opened},
    schema::{refused, unavailable},
};

/// The store's path, and the file that this journal found or made there first. It
/// never uses another one.
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

    /// Whether this journal opened the file already, and must not make another.
    pub(crate) fn is_known(&self) -> bool {
        self.opened.get().is_some()
    }

    /// Fails if the path does not lead to the file that was opened.
    pub(crate) fn check(&self) -> Result<(), JournalError> {
        match self.opened.get() {
            Some(known) => self.is(*known),
            None => Ok(()),
        }
    }

    /// Opens the file that is there, which has to be the one that was opened
    /// before.
    pub(crate) fn open<T>(
        &self,
        open: impl FnOnce(&Path) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let found = self.found()?;
        let opened = open(&self.path)?;
        // It may have been replaced between the two looks.
        self.is(found)?;
        self.is(*self.opened.get_or_init(|| found))?;
        Ok(opened)
    }

    /// Closes a connection that may be to a file that is gone.
    pub(crate) fn close(&self, connection: Opened) {
        if self.check().is_err() && self.path.exists() {
            // Closed as usual, it would remove the log that stands beside the path,
            // which may be that of the other file.
            let keeps = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
            let _ = connection.set_db_config(keeps, true);
        }
        drop(connection);
    }

    fn is(&self, known: FileId) -> Result<(), JournalError> {
        if self.found()? == known {
            return Ok(());
        }
        let reason = "another file took its place while it was in use";
        Err(unavailable(&self.path, &reason))
    }

    fn found(&self) -> Result<FileId, JournalError> {
        match fs::metadata(&self.path) {
            Ok(metadata) => Ok(FileId::of(&metadata)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let reason = "it was removed or moved while it was in use";
                Err(unavailable(&self.path, &reason))
            }
            Err(error) => Err(refused(&self.path, &error)),
        }
    }
}
