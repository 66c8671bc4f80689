//! The log of a folder, under its lock.
//!
//! A line is durable before anybody hears of its change. What a crash leaves of
//! a line that nobody heard of can only stand at the end; it is not read, and
//! the next writer cuts it off.

use std::{
    fmt::Display,
    fs::{self, File, OpenOptions},
    io::{BufRead, BufReader, Read, Seek, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use rustagents_core::store::StoreError;

use super::line::{self, FORMAT, First, MAX_FIRST, MAX_LINE, STORE, length};
use crate::items::table::Change;

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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// The log, for as long as its lock is held.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    /// Whether it is there already, and open.
    file: Option<File>,
    _lock: Option<File>,
}

impl Log {
    /// Waits for the lock.
    pub(super) fn open(folder: &Path, access: Access) -> Result<Self, StoreError> {
        let path = folder.join("items.log");
        let fail = |error: std::io::Error| unavailable(&path, &error);
        let writes = access == Access::Write;
        if writes {
            fs::create_dir_all(folder).map_err(fail)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(writes);
        let lock = options
            .clone()
            .create(writes)
            .truncate(false)
            .open(folder.join("lock"));
        let lock = match lock {
            // Nobody wrote here yet, or only the log was brought here.
            Err(error) if !writes && is_absent(&error) => None,
            lock => Some(lock.map_err(fail)?),
        };
        if let Some(lock) = &lock {
            if writes {
                lock.lock()
            } else {
                lock.lock_shared()
            }
            .map_err(fail)?;
        }
        let file = match options.open(&path) {
            Err(error) if is_absent(&error) => None,
            file => Some(file.map_err(fail)?),
        };
        Ok(Self {
            path,
            file,
            _lock: lock,
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
        let length = file.metadata().map(|metadata| metadata.len());
        length
            .map(|length| length >= place.end)
            .map_err(|error| unavailable(&self.path, &error))
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
        let fail = |error: std::io::Error| unavailable(&self.path, &error);
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
                let digest = "its digest is another one";
                return if ends {
                    Ok(())
                } else {
                    Err(corrupt(&self.path, place, &digest))
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
        let draft = self.path.with_extension("log.new");
        let fail = |error: std::io::Error| unavailable(&self.path, &error);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        let mut file = options.open(&draft).map_err(fail)?;
        let text = First::line(generation).map_err(|error| unavailable(&self.path, &error))?;
        let mut end = length(&text);
        file.write_all(&text).map_err(fail)?;
        for change in changes {
            let line = self.line(&change)?;
            end += length(&line);
            file.write_all(&line).map_err(fail)?;
        }
        file.sync_all()
            .and_then(|()| fs::rename(&draft, &self.path))
            .and_then(|()| sync_folder(&self.path))
            .map_err(fail)?;
        self.file = Some(file);
        Ok(Place { generation, end })
    }

    /// Appends a change durably. After a failure it is cut off again, if the disk
    /// lets that happen.
    pub(super) fn append(&mut self, place: &mut Place, change: &Change) -> Result<(), StoreError> {
        let line = self.line(change)?;
        let missing = || unavailable(&self.path, &"there is no log");
        let file = self.file.as_mut().ok_or_else(missing)?;
        let written = file
            .set_len(place.end)
            .and_then(|()| file.seek(SeekFrom::Start(place.end)))
            .and_then(|_| file.write_all(&line))
            .and_then(|()| file.sync_data());
        if let Err(error) = written {
            let _ = file.set_len(place.end);
            return Err(unavailable(&self.path, &error));
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

fn corrupt(path: &Path, place: &Place, reason: &dyn Display) -> StoreError {
    StoreError::Corrupt {
        place: format!("`{}` at byte {}", path.display(), place.end),
        reason: reason.to_string(),
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::NotFound
}

/// Makes the new name durable.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

pub(super) fn unavailable(path: &Path, reason: &dyn Display) -> StoreError {
    StoreError::Unavailable {
        store: path.display().to_string(),
        reason: reason.to_string(),
    }
}
