//! The log of a folder, under its lock.
//!
//! A line is durable before anybody hears of its change. What a crash leaves of
//! a line that nobody heard of can only stand at the end; it is not read, and
//! the next writer cuts it off.

use std::{
    fmt::Display,
    fs::File,
    io::{BufRead, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use rustagents_core::{journal::JournalError, store::StoreError};
use rustagents_store::items::table::Change;

use super::line::{self, FORMAT, First, MAX_FIRST, MAX_LINE, STORE, length};
use crate::{
    disk::{self, Disk},
    lock::FolderLock,
};

/// The end of what was read of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    generation: u64,
    end: u64,
}

impl Place {
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Whether it is in the same log, which was not rewritten in between.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        self.generation == other.generation
    }

    /// Whether its log is older than that of the other.
    pub(super) fn is_before(&self, other: &Self) -> bool {
        self.generation < other.generation
    }
}

/// The log, for as long as its lock is held.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    disk: Disk,
    /// Whether it is there already, and open.
    file: Option<File>,
    _lock: Option<File>,
}

impl Log {
    /// Waits for the lock that readers share. Nothing is made.
    pub(super) fn to_read(folder: &FolderLock, disk: &Disk) -> Result<Self, StoreError> {
        // Without a lock nobody wrote here, or only the log was brought here.
        let lock = folder.share().map_err(store_error)?;
        let path = folder.folder().join("items.log");
        let file = disk::present(&path, File::open(&path)).map_err(store_error)?;
        Ok(Self {
            path,
            disk: disk.clone(),
            file,
            _lock: lock,
        })
    }

    /// Waits for the lock that a writer holds alone.
    pub(super) fn to_write(folder: &FolderLock, disk: &Disk) -> Result<Self, StoreError> {
        let lock = folder.take(disk).map_err(store_error)?;
        let path = folder.folder().join("items.log");
        let file = open(&path)?;
        Ok(Self {
            path,
            disk: disk.clone(),
            file,
            _lock: Some(lock),
        })
    }

    /// Where the first change stands; `None` if there is no log yet.
    pub(super) fn first_place(&mut self) -> Result<Option<Place>, StoreError> {
        let Some(file) = &mut self.file else {
            return Ok(None);
        };
        let mut line = Vec::new();
        file.seek(SeekFrom::Start(0))
            .and_then(|_| BufReader::new(file.take(MAX_FIRST)).read_until(b'\n', &mut line))
            .map_err(|error| unavailable(&self.path, &error))?;
        if line.is_empty() {
            return Ok(None);
        }
        let first: Option<First> = serde_json::from_slice(&line).ok();
        let Some(first) = first.filter(|first| first.store == STORE) else {
            return Err(StoreError::Foreign {
                path: self.path.display().to_string(),
                reason: "its first line is another one".into(),
            });
        };
        if first.format > FORMAT {
            return Err(StoreError::Newer {
                what: format!("store `{}`", self.path.display()),
                found: first.format,
                supported: FORMAT,
            });
        }
        Ok(Some(Place {
            generation: first.generation,
            end: length(&line),
        }))
    }

    /// Whether the log is as long as `place` says.
    pub(super) fn reaches(&self, place: &Place) -> Result<bool, StoreError> {
        let Some(file) = &self.file else {
            return Ok(false);
        };
        let metadata = file.metadata();
        let metadata = metadata.map_err(|error| unavailable(&self.path, &error))?;
        Ok(metadata.len() >= place.end)
    }

    /// Hands over each change after `place`, which goes on with it.
    pub(super) fn read_from(
        &mut self,
        place: &mut Place,
        mut take: impl FnMut(Change),
    ) -> Result<(), StoreError> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let fail = |error: std::io::Error| refused(&self.path, &error);
        file.seek(SeekFrom::Start(place.end)).map_err(fail)?;
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut limited = (&mut reader).take(MAX_LINE);
            limited.read_until(b'\n', &mut line).map_err(fail)?;
            if line.is_empty() {
                return Ok(());
            }
            let Some(text) = line::checked(&line) else {
                // At the end it is what a crash left; elsewhere nothing explains it.
                let ends = reader.fill_buf().map_err(fail)?.is_empty();
                let reason = "its digest is another one";
                return if ends {
                    Ok(())
                } else {
                    Err(corrupt(&self.path, place, &reason))
                };
            };
            let change = serde_json::from_slice(text);
            take(change.map_err(|error| corrupt(&self.path, place, &error))?);
            place.end += length(&line);
        }
    }

    /// Makes a new log of these changes, in the place of the one that is there.
    pub(super) fn start(
        &mut self,
        generation: u64,
        changes: impl Iterator<Item = Change>,
    ) -> Result<Place, StoreError> {
        let first = First::line(generation).map_err(|error| unavailable(&self.path, &error))?;
        let mut end = length(&first);
        let draft = self.path.with_extension("log.new");
        self.disk
            .replace(&draft, &self.path, |draft| {
                draft.write(&first)?;
                for change in changes {
                    let line = line::of(&change);
                    let line = line.map_err(|error| disk::unavailable(&self.path, &error))?;
                    end += length(&line);
                    draft.write(&line)?;
                }
                Ok(())
            })
            .map_err(store_error)?;
        if self.file.is_none() {
            // Who made the folder may not have lived to wait for its name.
            self.sync_above()?;
        }
        self.file = open(&self.path)?;
        Ok(Place { generation, end })
    }

    /// Makes durable what is there, and its name.
    pub(super) fn settle(&self) -> Result<(), StoreError> {
        if let Some(file) = &self.file {
            let synced = self.disk.sync(&self.path, file);
            synced.map_err(|error| unavailable(&self.path, &error))?;
        }
        let folder = disk::folder_of(&self.path);
        self.disk.sync_folder(folder).map_err(store_error)?;
        self.sync_above()
    }

    fn sync_above(&self) -> Result<(), StoreError> {
        let above = disk::folder_of(disk::folder_of(&self.path));
        self.disk.sync_folder(above).map_err(store_error)
    }

    /// Appends a change durably. After a failure it is cut off again, if the disk
    /// lets that happen.
    pub(super) fn append(&mut self, place: &mut Place, change: &Change) -> Result<(), StoreError> {
        let line = self.line(change)?;
        let missing = || unavailable(&self.path, &"there is no log");
        let file = self.file.as_mut().ok_or_else(missing)?;
        let fail = |error: std::io::Error| refused(&self.path, &error);
        if file.metadata().map_err(fail)?.len() > place.end {
            self.disk.cut(&self.path, file, place.end).map_err(fail)?;
        }
        if let Err(error) = self.disk.append(&self.path, file, place.end, &line) {
            let _ = self.disk.cut(&self.path, file, place.end);
            return Err(fail(error));
        }
        place.end += length(&line);
        Ok(())
    }

    fn line(&self, change: &Change) -> Result<Vec<u8>, StoreError> {
        let line = line::of(change).map_err(|error| unavailable(&self.path, &error))?;
        if length(&line) > MAX_LINE {
            return Err(StoreError::TooLarge {
                what: "line of the log",
                bytes: line.len(),
                limit: usize::try_from(MAX_LINE).unwrap_or(usize::MAX),
            });
        }
        Ok(line)
    }
}

fn open(path: &Path) -> Result<Option<File>, StoreError> {
    let opened = File::options().read(true).write(true).open(path);
    disk::present(path, opened).map_err(store_error)
}

fn corrupt(path: &Path, place: &Place, reason: &dyn Display) -> StoreError {
    StoreError::Corrupt {
        place: format!("`{}` at byte {}", path.display(), place.end),
        reason: reason.to_string(),
    }
}

/// What the disk says, as an error of this store.
pub(crate) fn store_error(error: JournalError) -> StoreError {
    match error {
        JournalError::Unavailable { store, reason } => StoreError::Unavailable { store, reason },
        other => StoreError::Unavailable {
            store: "items".into(),
            reason: other.to_string(),
        },
    }
}

pub(crate) fn refused(path: &Path, error: &std::io::Error) -> StoreError {
    store_error(disk::refused(path, error))
}

pub(crate) fn unavailable(path: &Path, reason: &dyn Display) -> StoreError {
    store_error(disk::unavailable(path, reason))
}
