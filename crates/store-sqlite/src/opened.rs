//! Which files SQLite has open in this process.
//!
//! SQLite's locks are POSIX locks, and those of a process on a file go as soon as the
//! process closes any descriptor of it: another process that ends would then take
//! itself for the last one, and remove the log that is written to here. So nobody
//! opens a database file beside SQLite while a connection to it lives.

use std::{
    collections::BTreeMap,
    fs::{self, Metadata},
    io,
    ops::{Deref, DerefMut},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rusqlite::{Connection, OpenFlags};

/// What tells a file from others as long as somebody has it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    #[cfg(unix)]
    pub(crate) fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;

        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }

    /// Other systems do not let go of a file that is open.
    #[cfg(not(unix))]
    pub(crate) fn of(_: &Metadata) -> Self {
        Self {
            device: 0,
            inode: 0,
        }
    }
}

/// A file that connections are open to: how many, and whose it is.
#[derive(Debug)]
struct Use {
    connections: usize,
    application_id: u32,
}

static OPEN: Mutex<BTreeMap<FileId, Use>> = Mutex::new(BTreeMap::new());

fn open() -> MutexGuard<'static, BTreeMap<FileId, Use>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection, whose file is known to be open as long as it lives.
#[derive(Debug)]
pub(crate) struct Opened {
    connection: Connection,
    // Behind the connection, so that this is dropped last.
    _held: Held,
}

#[derive(Debug)]
struct Held(Option<FileId>);

impl Opened {
    /// Opens the file at `path`, which is of the kind that `application_id` names.
    pub(crate) fn open(path: &Path, application_id: u32) -> rusqlite::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        // Before it is open, so that nobody looks at the file in between.
        let held = Held::on(path, application_id);
        Ok(Self {
            connection: Connection::open_with_flags(path, flags)?,
            _held: held,
        })
    }
}

impl Held {
    fn on(path: &Path, application_id: u32) -> Self {
        let mut open = open();
        let id = fs::metadata(path).ok().map(|found| FileId::of(&found));
        if let Some(id) = id {
            let file = open.entry(id).or_insert(Use {
                connections: 0,
                application_id,
            });
            file.connections += 1;
        }
        Self(id)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(id) = self.0 else { return };
        let mut open = open();
        if let Some(file) = open.get_mut(&id) {
            file.connections -= 1;
            if file.connections == 0 {
                open.remove(&id);
            }
        }
    }
}

impl Deref for Opened {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for Opened {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

/// What there is at a path.
#[derive(Debug)]
pub(crate) enum Look<T> {
    /// What was read of it.
    Read(T),
    /// This process has it open, as a file of the kind with this application id.
    Open(u32),
}

/// Reads the file at `path`, unless this process has it open.
pub(crate) fn look<T>(
    path: &Path,
    read: impl FnOnce(fs::File) -> io::Result<T>,
) -> io::Result<Look<T>> {
    // Held until the file is closed again, so that nobody opens it meanwhile.
    let open = open();
    let id = FileId::of(&fs::metadata(path)?);
    match open.get(&id) {
        // Elsewhere files have no such numbers, nor such locks.
        Some(file) if cfg!(unix) => Ok(Look::Open(file.application_id)),
        _ => fs::File::open(path).and_then(read).map(Look::Read),
    }
}
