//! The folder, and how a thread in it is looked at.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use rustagents_core::{ids::ThreadId, journal::JournalError};
use rustagents_store::{locks::Patience, names};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::{
    cache::Cache,
    disk::{Disk, corrupt, present, unavailable},
    format, lock,
    log::State,
    mark::Mark,
};

/// The most bytes of the file that says how often a removed thread was claimed.
const MAX_REMOVED_BYTES: u64 = 4_096;

/// A store, as the threads for blocking work share it.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) root: PathBuf,
    pub(crate) disk: Disk,
    /// How long other processes are waited for.
    pub(crate) limit: Duration,
    pub(crate) cache: Cache,
    /// Tells of what this process wrote.
    pub(crate) written: Notify,
    is_made: AtomicBool,
    /// What is used, and nothing else that comes to stand at the same path.
    pub(crate) mark: Mark,
}

/// The files of one thread.
#[derive(Debug)]
pub(crate) struct Place {
    /// The name of its folder.
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) log: PathBuf,
    pub(crate) lock: PathBuf,
    pub(crate) removed: PathBuf,
}

/// What stays of a removed thread, so that nothing of it is used again.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Removed {
    pub(crate) epoch: u64,
    pub(crate) generation: u64,
    /// How often a thread of this name was removed.
    pub(crate) times: u64,
}

impl Store {
    pub(crate) fn new(root: PathBuf, disk: Disk) -> Self {
        Self {
            mark: Mark::new(root.clone(), format::MARK),
            root,
            disk,
            limit: Patience::USUAL,
            cache: Cache::default(),
            written: Notify::new(),
            is_made: AtomicBool::new(false),
        }
    }

    /// Makes the folder a store, before the first write.
    pub(crate) fn make(&self) -> Result<(), JournalError> {
        if !self.is_made.load(Ordering::Acquire) {
            format::make(&self.disk, &self.root, self.patience())?;
            self.mark.remember()?;
            self.is_made.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// A wait for other processes, which begins now. What waits for another call of
    /// this process that waits counts as well.
    pub(crate) fn patience(&self) -> Patience {
        Patience::new(self.limit)
    }

    /// Where the threads' folders stand.
    pub(crate) fn threads(&self) -> PathBuf {
        self.root.join("threads")
    }

    pub(crate) fn place(&self, thread: &ThreadId) -> Place {
        self.place_named(names::file_name(thread))
    }

    pub(crate) fn place_named(&self, name: String) -> Place {
        let folder = self.threads().join(&name);
        Place {
            log: folder.join("log.jsonl"),
            lock: folder.join("lock"),
            removed: folder.join("removed"),
            folder,
            name,
        }
    }

    /// What `work` sees in the thread; `None` if there is no such thread.
    pub(crate) fn look<T>(
        &self,
        thread: &ThreadId,
        work: impl FnOnce(&State) -> T,
    ) -> Result<Option<T>, JournalError> {
        let (place, patience) = (self.place(thread), self.patience());
        let slot = self.cache.slot(&place.name);
        let mut state = slot.state();
        let seen = refresh(thread, &place, &mut state, patience);
        let seen = seen.map(|()| state.as_ref().map(work));
        self.cache.settle(&slot, state.as_ref());
        seen
    }
}

/// Reads what the thread's log gained. A writer is waited for, so that nothing is
/// seen that is not durable.
pub(crate) fn refresh(
    thread: &ThreadId,
    place: &Place,
    state: &mut Option<State>,
    patience: Patience,
) -> Result<(), JournalError> {
    loop {
        let known = state.take();
        let held = lock::shared(&place.lock, patience)?;
        let Some(mut file) = present(&place.log, File::open(&place.log))? else {
            return Ok(());
        };
        let mut current = known.unwrap_or_else(|| State::new(thread.clone()));
        match current.catch_up(&mut file, &place.log) {
            // Its lock was lost, and a writer that made it anew may have replaced the
            // log, and collected what this one needs.
            Err(_) if held.is_none() && place.lock.exists() => {}
            Err(error) => return Err(error),
            Ok(_) => {
                *state = Some(current);
                return Ok(());
            }
        }
    }
}

/// What stays of a removed thread of this place.
pub(crate) fn removed(place: &Place) -> Result<Removed, JournalError> {
    let path = &place.removed;
    let Some(bytes) = read_bounded(path, MAX_REMOVED_BYTES)? else {
        return Ok(Removed::default());
    };
    serde_json::from_slice(&bytes).map_err(|error| corrupt(path, error.to_string()))
}

/// The bytes of a file of `limit` bytes at the most; `None` if it is not there.
pub(crate) fn read_bounded(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, JournalError> {
    let Some(found) = present(path, fs::metadata(path))? else {
        return Ok(None);
    };
    if found.len() > limit {
        return Err(corrupt(path, format!("it has more than {limit} bytes")));
    }
    let bytes = present(path, fs::read(path))?;
    bytes.map_or_else(
        || Err(unavailable(path, &"it vanished while it was read")),
        |bytes| Ok(Some(bytes)),
    )
}
