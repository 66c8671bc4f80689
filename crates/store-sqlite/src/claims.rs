//! Who drives a thread: an operating-system lock on a file of the thread's own.
//!
//! The kernel frees the lock when its process ends, however it ends. The files
//! are never removed: a new file under the same name would be another lock.

use std::{
    fmt::Write as _,
    fs::{self, File, OpenOptions, TryLockError},
    io::{Read, Seek, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use rustagents_core::{
    ids::ThreadId,
    journal::{JournalError, Owner},
};

use crate::{schema::unavailable, threads::Lock};

/// How often a claim looks again at a lock that is held.
const RETRIES: u32 = 20;

/// How long it waits in between: a second in all.
const PAUSE: Duration = Duration::from_millis(50);

/// The longest part of a file name that is spelt out.
const MAX_NAME: usize = 200;

/// The folder of claims of one store.
#[derive(Clone, Debug)]
pub(crate) struct Claims(PathBuf);

impl Claims {
    pub(crate) fn of(store: &Path) -> Self {
        let mut name = store.as_os_str().to_owned();
        name.push(".claims");
        Self(name.into())
    }

    /// Takes the lock, waiting up to a second for a process that is just ending.
    pub(crate) async fn take(
        &self,
        thread: &ThreadId,
        lock: Lock,
        owner: &Owner,
    ) -> Result<File, JournalError> {
        fs::create_dir_all(&self.0).map_err(|e| unavailable(&self.0, &e))?;
        let path = self.file(thread, lock);
        for attempt in 0.. {
            match try_take(&path, owner)? {
                Ok(file) => return Ok(file),
                Err(holder) if attempt == RETRIES => {
                    return Err(JournalError::Busy {
                        thread: thread.clone(),
                        owner: holder,
                    });
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        Err(unavailable(&path, &"the lock was never decided"))
    }

    /// Who holds the lock now.
    pub(crate) fn holder(
        &self,
        thread: &ThreadId,
        lock: Lock,
    ) -> Result<Option<Owner>, JournalError> {
        let path = self.file(thread, lock);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unavailable(&path, &error)),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(read_owner(file))),
            Err(TryLockError::Error(error)) => Err(unavailable(&path, &error)),
        }
    }

    fn file(&self, thread: &ThreadId, lock: Lock) -> PathBuf {
        let mut name = file_name(thread);
        if lock > 0 {
            // No name has a dot of its own.
            let _ = write!(name, ".{lock}");
        }
        self.0.join(name)
    }
}

fn try_take(path: &Path, owner: &Owner) -> Result<Result<File, Owner>, JournalError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(path).map_err(|e| unavailable(path, &e))?;
    match file.try_lock() {
        Ok(()) => {
            let text = serde_json::to_string(owner).unwrap_or_default();
            file.set_len(0)
                .and_then(|()| file.write_all(text.as_bytes()))
                .map_err(|e| unavailable(path, &e))?;
            Ok(Ok(file))
        }
        Err(TryLockError::WouldBlock) => Ok(Err(read_owner(file))),
        Err(TryLockError::Error(error)) => Err(unavailable(path, &error)),
    }
}

/// What the holder wrote; the default if it is just writing.
fn read_owner(mut file: File) -> Owner {
    let mut text = String::new();
    let read = file
        .rewind()
        .and_then(|()| file.take(4_096).read_to_string(&mut text));
    read.ok()
        .and_then(|_| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}

/// An injective file name: plain characters stay, every other byte becomes `%XX`;
/// a name that would be too long keeps its head and gets the digest of the whole.
fn file_name(thread: &ThreadId) -> String {
    let mut name = String::from("t-");
    for byte in thread.as_str().bytes() {
        if byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_') {
            name.push(char::from(byte));
        } else {
            // Upper case is escaped too: some file systems fold it.
            let _ = write!(name, "%{byte:02x}");
        }
    }
    if name.len() > MAX_NAME {
        name.truncate(MAX_NAME);
        let digest = rustagents_core::digest::Digest::of(thread.as_str().as_bytes());
        let _ = write!(name, "~{}", digest.short());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_threads_have_different_files() {
        let long = "x".repeat(250);
        let names = [
            "a",
            "A",
            "a/b",
            "a%2fb",
            "..",
            "ä",
            long.as_str(),
            &format!("{long}y"),
        ];
        let files: std::collections::BTreeSet<_> = names
            .iter()
            .map(|name| file_name(&ThreadId::new(name).unwrap()))
            .collect();
        assert_eq!(files.len(), names.len());
        assert!(
            files
                .iter()
                .all(|file| file.len() <= 255 && !file.contains('/'))
        );
    }
}
