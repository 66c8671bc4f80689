//! Locks of the operating system that are waited for. Their files are never
//! removed, and say nothing by being there.

use std::{
    fs::{File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use rustagents_core::journal::JournalError;
use rustagents_store::locks::Patience;

use crate::{
    disk::{Disk, present, refused},
    mark::Mark,
};

/// Waits for the lock `path` and holds it alone, making its file if it is not
/// there. It is held as long as the file is open.
pub(crate) fn make(path: &Path, patience: Patience) -> Result<File, JournalError> {
    let file = open(path).and_then(|file| patience.lock(path, &file).map(|()| file));
    file.map_err(|e| refused(path, &e))
}

/// As [`make`], held together with others of this kind.
pub(crate) fn make_shared(path: &Path, patience: Patience) -> Result<File, JournalError> {
    let file = open(path).and_then(|file| patience.lock_shared(path, &file).map(|()| file));
    file.map_err(|e| refused(path, &e))
}

/// As [`make_shared`], but `None` if the file is not there. Nothing is written.
pub(crate) fn shared(path: &Path, patience: Patience) -> Result<Option<File>, JournalError> {
    let Some(file) = present(path, File::open(path))? else {
        return Ok(None);
    };
    let locked = patience.lock_shared(path, &file);
    locked.map_err(|e| refused(path, &e))?;
    Ok(Some(file))
}

/// As [`make`], but `None` if the file is not there. Nothing is written.
pub(crate) fn alone(path: &Path, patience: Patience) -> Result<Option<File>, JournalError> {
    let opened = File::options().read(true).write(true).open(path);
    let Some(file) = present(path, opened)? else {
        return Ok(None);
    };
    let locked = patience.lock(path, &file);
    locked.map_err(|e| refused(path, &e))?;
    Ok(Some(file))
}

/// The lock of a whole folder, which is its mark as well.
#[derive(Debug)]
pub(crate) struct FolderLock {
    folder: PathBuf,
    mark: Mark,
}

impl FolderLock {
    pub(crate) fn of(folder: PathBuf) -> Self {
        Self {
            mark: Mark::new(folder.clone(), "lock"),
            folder,
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What it is the mark of.
    pub(crate) fn mark(&self) -> &Mark {
        &self.mark
    }

    /// Waits for the lock that readers share. Nothing is made: without a lock nobody
    /// wrote here yet.
    pub(crate) fn share(&self) -> Result<Option<File>, JournalError> {
        self.mark.check()?;
        let held = shared(self.mark.path(), Patience::default())?;
        match &held {
            Some(file) => self.mark.remember_as(file)?,
            None if self.mark.is_known() => return Err(self.mark.gone()),
            None => {}
        }
        Ok(held)
    }

    /// Waits for the lock that a writer holds alone. Folder and lock are made if they
    /// were never there.
    pub(crate) fn take(&self, disk: &Disk) -> Result<File, JournalError> {
        self.mark.check()?;
        let (path, patience) = (self.mark.path(), Patience::default());
        let held = if self.mark.is_known() {
            alone(path, patience)?.ok_or_else(|| self.mark.gone())?
        } else {
            disk.make_folder(&self.folder)?;
            make(path, patience)?
        };
        self.mark.remember_as(&held)?;
        Ok(held)
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path)
}
