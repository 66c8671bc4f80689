//! Locks of the operating system that are waited for. Their files are never
//! removed, and say nothing by being there.

use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind},
    path::Path,
};

use rustagents_core::journal::JournalError;

use crate::disk::{present, unavailable};

/// Waits for the lock `path` and holds it alone, making its file if it is not
/// there. It is held as long as the file is open.
pub(crate) fn make(path: &Path) -> Result<File, JournalError> {
    let file = open(path).map_err(|e| unavailable(path, &e))?;
    wait(path, || file.lock())?;
    Ok(file)
}

/// As [`make`], held together with others of this kind.
pub(crate) fn make_shared(path: &Path) -> Result<File, JournalError> {
    let file = open(path).map_err(|e| unavailable(path, &e))?;
    wait(path, || file.lock_shared())?;
    Ok(file)
}

/// As [`make_shared`], but `None` if the file is not there. Nothing is written.
pub(crate) fn shared(path: &Path) -> Result<Option<File>, JournalError> {
    let Some(file) = present(path, File::open(path))? else {
        return Ok(None);
    };
    wait(path, || file.lock_shared())?;
    Ok(Some(file))
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path)
}

fn wait(path: &Path, lock: impl Fn() -> io::Result<()>) -> Result<(), JournalError> {
    loop {
        match lock() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            locked => return locked.map_err(|e| unavailable(path, &e)),
        }
    }
}
