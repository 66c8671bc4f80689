//! Locks of the operating system that are waited for. Their files are never
//! removed, and say nothing by being there.

use std::{
    fs::{File, OpenOptions},
    io,
    path::Path,
};

use rustagents_core::journal::JournalError;
use rustagents_store::locks::Patience;

use crate::disk::{present, refused};

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

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path)
}
