//! Who drives a thread: an operating-system lock on a file.
//!
//! The kernel frees the lock when its process ends, however it ends. The files
//! are never removed: a new file under the same name would be another lock.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Read, Seek, Write},
    path::Path,
};

use rustagents_core::journal::Owner;

/// The most bytes that say who an owner is.
const MAX_OWNER_BYTES: u64 = 4_096;

/// What came of trying to take a lock.
#[derive(Debug)]
pub enum Taken {
    /// It is held as long as this file is open.
    Held(File),
    /// Another holds it: this one, if the file says so.
    Busy(Option<Owner>),
}

/// Who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// It is free.
    Nobody,
    /// It is held: by this one, if the file says so.
    Somebody(Option<Owner>),
}

/// Takes the lock if it is free, and writes down whose it is.
///
/// # Errors
/// What the file system says.
pub fn try_take(path: &Path, owner: &Owner) -> io::Result<Taken> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(path)?;
    match file.try_lock() {
        Ok(()) => {
            let text = serde_json::to_string(owner)?;
            file.set_len(0)?;
            file.write_all(text.as_bytes())?;
            Ok(Taken::Held(file))
        }
        Err(TryLockError::WouldBlock) => Ok(Taken::Busy(read_owner(file))),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Who holds the lock now.
///
/// # Errors
/// What the file system says.
pub fn holder(path: &Path) -> io::Result<Holder> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Holder::Nobody),
        Err(error) => return Err(error),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(Holder::Nobody),
        Err(TryLockError::WouldBlock) => Ok(Holder::Somebody(read_owner(file))),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// What the holder wrote; `None` if it is just writing.
fn read_owner(mut file: File) -> Option<Owner> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(MAX_OWNER_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}
