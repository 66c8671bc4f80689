//! Whether the folder at the store's path is still the one that was opened.
//!
//! What was written beside a store that was removed or moved would be found by nobody,
//! and its threads would look as if they had never been. So each use begins with a look
//! at the file that marks the folder as ours, which is made once.

use std::{
    fs::{self, File, Metadata},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
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

/// The mark of a store, as it was found first. It is kept open, so that its numbers
/// are given to no other file.
#[derive(Debug)]
struct Found {
    id: MarkId,
    _file: File,
}

/// The file that marks a folder as a store.
#[derive(Debug)]
pub(crate) struct Mark {
    root: PathBuf,
    path: PathBuf,
    found: OnceLock<Found>,
}

impl Mark {
    /// The file `name` in the folder `root`.
    pub(crate) fn new(root: PathBuf, name: &str) -> Self {
        Self {
            path: root.join(name),
            root,
            found: OnceLock::new(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a store was found already, and no other may be made.
    pub(crate) fn is_known(&self) -> bool {
        self.found.get().is_some()
    }

    /// Remembers the store that is there, or was just made.
    pub(crate) fn remember(&self) -> Result<(), JournalError> {
        let found = self.open().map_err(|error| self.lost(&error))?;
        let id = found.id;
        self.is(self.found.get_or_init(|| found).id, id)
    }

    /// As [`Mark::remember`], and fails if `file` is not the mark.
    pub(crate) fn remember_as(&self, file: &File) -> Result<(), JournalError> {
        self.remember()?;
        let opened = file.metadata().map_err(|e| refused(&self.path, &e))?;
        let known = self.found.get().map(|found| found.id);
        self.is(known.unwrap_or(MarkId::of(&opened)), MarkId::of(&opened))
    }

    /// Fails if the store that was found is not there any more. One that is still to be
    /// made need not be.
    pub(crate) fn check(&self) -> Result<(), JournalError> {
        if let Some(known) = self.found.get() {
            let found = fs::metadata(&self.path).map_err(|error| self.lost(&error))?;
            return self.is(known.id, MarkId::of(&found));
        }
        // Another process may have made it.
        if let Ok(found) = self.open() {
            self.found.get_or_init(|| found);
        }
        Ok(())
    }

    /// The error for a store that is not there any more.
    pub(crate) fn gone(&self) -> JournalError {
        unavailable(&self.root, &"it was removed or moved while it was in use")
    }

    /// The error for another store in the place of the one that was found.
    pub(crate) fn replaced(&self) -> JournalError {
        let reason = "another store took its place while it was in use";
        unavailable(&self.root, &reason)
    }

    fn is(&self, known: MarkId, found: MarkId) -> Result<(), JournalError> {
        if known == found {
            return Ok(());
        }
        Err(self.replaced())
    }

    fn open(&self) -> io::Result<Found> {
        let file = File::open(&self.path)?;
        let id = MarkId::of(&file.metadata()?);
        Ok(Found { id, _file: file })
    }

    fn lost(&self, error: &io::Error) -> JournalError {
        if error.kind() == ErrorKind::NotFound {
            return self.gone();
        }
        refused(&self.path, error)
    }
}
