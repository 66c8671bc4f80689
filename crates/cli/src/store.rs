//! From a store's address to a journal.

use std::{path::PathBuf, sync::Arc};

use rustagents_core::{Code, journal::Journal};
use rustagents_store::MemoryJournal;
use rustagents_store_file::FileJournal;
use rustagents_store_sqlite::{SqliteJournal, Synchronous};

use crate::failure::Failure;

const DEFAULT: &str = ".rustagents/journal.db";

/// Where threads are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Sqlite(PathBuf, Synchronous),
    File(PathBuf),
    Memory,
}

impl Address {
    pub(crate) fn parse(url: Option<&str>) -> Result<Self, Failure> {
        match url {
            None => Ok(Self::Sqlite(DEFAULT.into(), Synchronous::Full)),
            Some(url) => Self::named(url).ok_or_else(|| {
                Failure::new(Code::StoreUrl, format!("`{url}` is not a store's address"))
                    .hint("use `sqlite:PATH`, `file:DIR` or `memory:`")
            }),
        }
    }

    fn named(url: &str) -> Option<Self> {
        let (kind, place) = url.split_once(':')?;
        match (kind, place) {
            ("memory", "") => Some(Self::Memory),
            (_, "") => None,
            ("file", folder) => Some(Self::File(folder.into())),
            ("sqlite", path) => match path.split_once("?synchronous=") {
                None => Some(Self::Sqlite(path.into(), Synchronous::Full)),
                Some(("", _)) => None,
                Some((path, "full")) => Some(Self::Sqlite(path.into(), Synchronous::Full)),
                Some((path, "normal")) => Some(Self::Sqlite(path.into(), Synchronous::Normal)),
                Some(_) => None,
            },
            _ => None,
        }
    }

    /// Whether there is something to read. A store that cannot be used is an error.
    pub(crate) fn exists(&self) -> Result<bool, Failure> {
        match self {
            Self::Sqlite(path, _) => Ok(SqliteJournal::exists(path)?),
            Self::File(folder) => Ok(FileJournal::exists(folder)?),
            Self::Memory => Ok(false),
        }
    }

    /// Opens the store; nothing is made before the first write.
    pub(crate) fn open(&self) -> Result<Arc<dyn Journal>, Failure> {
        let journal: Arc<dyn Journal> = match self {
            Self::Sqlite(path, synchronous) => {
                Arc::new(SqliteJournal::open_with(path, *synchronous)?)
            }
            Self::File(folder) => Arc::new(FileJournal::open(folder)?),
            Self::Memory => Arc::new(MemoryJournal::new()),
        };
        Ok(with_fault(journal))
    }
}

/// Ends the process at a chosen write, for crash tests: `RAG_FAULT=before:N` or
/// `after:N`. Builds without debug assertions do not know it.
#[cfg(debug_assertions)]
fn with_fault(journal: Arc<dyn Journal>) -> Arc<dyn Journal> {
    use rustagents_store::fault::{FaultJournal, FaultPoint};

    let point = std::env::var("RAG_FAULT")
        .ok()
        .and_then(|text| FaultPoint::parse(&text));
    match point {
        Some(point) => Arc::new(FaultJournal::new(journal, point, kill)),
        None => journal,
    }
}

#[cfg(not(debug_assertions))]
fn with_fault(journal: Arc<dyn Journal>) -> Arc<dyn Journal> {
    journal
}

#[cfg(debug_assertions)]
fn kill() {
    use rustix::process::{Signal, getpid, kill_process};

    let _ = kill_process(getpid(), Signal::KILL);
    // The signal is delivered before another write could begin.
    loop {
        std::thread::park();
    }
}
