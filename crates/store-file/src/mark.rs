//! Whether the folder at the store's path is still the one that was opened.
//!
//! What was written beside a store that was removed or moved would be found by nobody,
//! and its threads would look as if they had never been. So each use begins with a look
//! at the file that marks the folder as ours, which is written once.

use std::{
    fs::{self, Metadata},
    io::ErrorKind,
    path::PathBuf,
    sync::OnceLock,
};

use rustagents_core::journal::JournalError;

use crate::disk::{refused, unavailable};

/// What tells the mark from that of another store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MarkId(u64, u64);

impl MarkId {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;

        Self(metadata.dev(), metadata.ino())
    }

    /// Elsewhere files have no such numbers.
    #[cfg(not(unix))]
    fn of(_: &Metadata) -> Self {
        Self(0, 0)
    }
}

/// The mark of a store, as it was found first.
#[derive(Debug)]
pub(crate) struct Mark {
    root: PathBuf,
    path: PathBuf,
    found: OnceLock<MarkId>,
}

impl Mark {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self {
            path: root.join(crate::format::MARK),
            root,
            found: OnceLock::new(),
        }
    }

    /// Remembers the store that is there, or was just made.
    pub(crate) fn remember(&self) -> Result<(), JournalError> {
        let found = self.look()?;
        self.is(*self.found.get_or_init(|| found), found)
    }

    /// Fails if the store that was found is not there any more. One that is still to be
    /// made need not be.
    pub(crate) fn check(&self) -> Result<(), JournalError> {
        if let Some(known) = self.found.get() {
            return self.is(*known, self.look()?);
        }
        // Another process may have made it.
        if let Ok(metadata) = fs::metadata(&self.path) {
            self.found.get_or_init(|| MarkId::of(&metadata));
        }
        Ok(())
    }

    fn is(&self, known: MarkId, found: MarkId) -> Result<(), JournalError> {
        if known == found {
            return Ok(());
        }
        let reason = "another store took its place while it was in use";
        Err(unavailable(&self.root, &reason))
    }

    fn look(&self) -> Result<MarkId, JournalError> {
        match fs::metadata(&self.path) {
            Ok(metadata) => Ok(MarkId::of(&metadata)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let reason = "it was removed or moved while it was in use";
                Err(unavailable(&self.root, &reason))
            }
            Err(error) => Err(refused(&self.path, &error)),
        }
    }
}
