//! From a store's address to a journal.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustagents_core::{Code, journal::Journal};
use rustagents_store::MemoryJournal;
use rustagents_store_sqlite::SqliteJournal;

use crate::failure::Failure;

const DEFAULT: &str = ".rustagents/journal.db";

/// Where threads are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Sqlite(PathBuf),
    Memory,
}

impl Address {
    pub(crate) fn parse(url: Option<&str>) -> Result<Self, Failure> {
        match url {
            None => Ok(Self::Sqlite(DEFAULT.into())),
            Some("memory:") => Ok(Self::Memory),
            Some(url) => match url.strip_prefix("sqlite:") {
                Some(path) if !path.is_empty() => Ok(Self::Sqlite(path.into())),
                _ => Err(
                    Failure::new(Code::StoreUrl, format!("`{url}` is not a store's address"))
                        .hint("use `sqlite:PATH` or `memory:`"),
                ),
            },
        }
    }

    /// Whether there is something to read. A store that cannot be used is an error.
    pub(crate) fn exists(&self) -> Result<bool, Failure> {
        match self {
            Self::Sqlite(path) => Ok(SqliteJournal::exists(path)?),
            Self::Memory => Ok(false),
        }
    }

    /// Opens the store; nothing is made before the first write.
    pub(crate) fn open(&self) -> Result<Arc<dyn Journal>, Failure> {
        let journal: Arc<dyn Journal> = match self {
            Self::Sqlite(path) => Arc::new(SqliteJournal::open(Path::new(path))?),
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
