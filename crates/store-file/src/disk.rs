//! Everything that is written goes through here, so that a test can make it fail.

use std::{
    fs::{self, File},
    io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write},
    path::Path,
};

use rustagents_core::journal::JournalError;
use rustagents_store::told::told;

/// The journal's error for a file that does not work.
pub(crate) fn unavailable(path: &Path, reason: &dyn std::fmt::Display) -> JournalError {
    JournalError::Unavailable {
        store: path.display().to_string(),
        reason: reason.to_string(),
    }
}

/// The journal's error for what the system says of a file.
pub(crate) fn refused(path: &Path, error: &io::Error) -> JournalError {
    unavailable(path, &told(error))
}

/// The journal's error for a file that cannot be read.
pub(crate) fn corrupt(path: &Path, reason: impl Into<String>) -> JournalError {
    JournalError::Corrupt {
        place: format!("`{}`", path.display()),
        reason: reason.into(),
    }
}

/// What `opened` gives; `None` for what is not there.
pub(crate) fn present<T>(path: &Path, opened: io::Result<T>) -> Result<Option<T>, JournalError> {
    match opened {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(refused(path, &error)),
    }
}

/// What is done to a disk, for who keeps account of it.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(debug_assertions),
    expect(dead_code, reason = "only tests keep account")
)]
pub(crate) enum Step<'a> {
    /// A file was made, or emptied.
    Make(&'a Path),
    /// Something about a file or folder that counts only once it is synced.
    Change,
    /// A file is durable.
    Sync(&'a Path),
    /// A file has another name.
    Rename(&'a Path, &'a Path),
    /// A file has no name any more.
    Remove(&'a Path),
    /// The names in a folder are durable.
    SyncFolder(&'a Path),
}

/// The disk, or one that fails when a test wants it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    #[cfg(debug_assertions)]
    pub(crate) fault: Option<std::sync::Arc<crate::fault::DiskFault>>,
}

impl Disk {
    #[cfg_attr(
        not(debug_assertions),
        expect(
            clippy::unused_self,
            unused_variables,
            reason = "only tests keep account"
        )
    )]
    fn step<T>(&self, step: Step<'_>, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        #[cfg(debug_assertions)]
        if let Some(fault) = &self.fault {
            if fault.next()? == crate::fault::Extent::Half {
                return Err(ErrorKind::StorageFull.into());
            }
            let done = act()?;
            fault.note(step);
            return Ok(done);
        }
        act()
    }

    #[cfg_attr(
        not(debug_assertions),
        expect(clippy::unused_self, reason = "only tests let it fail")
    )]
    fn write(&self, to: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
        #[cfg(debug_assertions)]
        if let Some(fault) = &self.fault
            && fault.next()? == crate::fault::Extent::Half
        {
            let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
            to.write_all(half).and_then(|()| to.flush())?;
            return Err(ErrorKind::StorageFull.into());
        }
        to.write_all(bytes)
    }

    /// Makes a folder and those above it, if they are not there.
    pub(crate) fn make_folder(&self, path: &Path) -> Result<(), JournalError> {
        if path.is_dir() {
            return Ok(());
        }
        let above = folder_of(path);
        if above != path {
            self.make_folder(above)?;
        }
        let made = || match fs::create_dir(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            made => made,
        };
        self.step(Step::Change, made)
            .map_err(|e| refused(path, &e))?;
        self.sync_folder(above)
    }

    /// Writes at `offset`, the end of the file, and waits until it is durable.
    pub(crate) fn append(
        &self,
        path: &Path,
        file: &mut File,
        offset: u64,
        bytes: &[u8],
    ) -> io::Result<()> {
        file.seek(SeekFrom::Start(offset))?;
        self.write(file, bytes)?;
        self.sync(path, file)
    }

    /// Waits until what was written is durable.
    pub(crate) fn sync(&self, path: &Path, file: &File) -> io::Result<()> {
        self.step(Step::Sync(path), || file.sync_data())
    }

    /// Cuts a file, durably.
    pub(crate) fn cut(&self, path: &Path, file: &File, length: u64) -> io::Result<()> {
        self.step(Step::Change, || file.set_len(length))?;
        self.step(Step::Sync(path), || file.sync_all())
    }

    /// Writes a file whole: under the name `draft` first, then moved to `path`.
    pub(crate) fn replace(
        &self,
        draft: &Path,
        path: &Path,
        fill: impl FnOnce(&mut Draft<'_>) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let written = self.fill(draft, fill).and_then(|()| {
            self.step(Step::Rename(draft, path), || fs::rename(draft, path))
                .map_err(|e| refused(path, &e))
        });
        if written.is_err() {
            // The disk may be full: nothing useless is left on it, if that works.
            let _ = self.step(Step::Remove(draft), || fs::remove_file(draft));
            return written;
        }
        self.sync_folder(folder_of(path))
    }

    fn fill(
        &self,
        path: &Path,
        fill: impl FnOnce(&mut Draft<'_>) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let opened = self.step(Step::Make(path), || File::create(path));
        let mut draft = Draft {
            disk: self,
            path,
            file: BufWriter::new(opened.map_err(|e| refused(path, &e))?),
        };
        fill(&mut draft)?;
        let whole = draft.file.into_inner();
        let whole = whole.map_err(|error| refused(path, error.error()))?;
        self.step(Step::Sync(path), || whole.sync_all())
            .map_err(|e| refused(path, &e))
    }

    /// Removes a file, if it is there. The folder is not synced.
    pub(crate) fn remove(&self, path: &Path) -> Result<(), JournalError> {
        let removed = self.step(Step::Remove(path), || fs::remove_file(path));
        present(path, removed).map(drop)
    }

    /// Removes an empty folder, if it is there.
    pub(crate) fn remove_folder(&self, path: &Path) -> Result<(), JournalError> {
        let removed = self.step(Step::Change, || fs::remove_dir(path));
        present(path, removed).map(drop)
    }

    /// Makes the names in a folder durable. Some systems do not let us, nor need it.
    pub(crate) fn sync_folder(&self, path: &Path) -> Result<(), JournalError> {
        let synced = || {
            if cfg!(unix) {
                File::open(path)?.sync_all()?;
            }
            Ok(())
        };
        self.step(Step::SyncFolder(path), synced)
            .map_err(|e| refused(path, &e))
    }
}

/// A file that is being written whole.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    disk: &'a Disk,
    path: &'a Path,
    file: BufWriter<File>,
}

impl Draft<'_> {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        let written = self.disk.write(&mut self.file, bytes);
        written.map_err(|e| refused(self.path, &e))
    }
}

/// The folder that a path stands in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) => Path::new("."),
        None => path,
    }
}
