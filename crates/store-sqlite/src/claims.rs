//! Who drives a thread: an operating-system lock on a file of the thread's own.

use std::{
    fmt::Write as _,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rustagents_core::{
    ids::ThreadId,
    journal::{JournalError, Owner},
};
use rustagents_store::{
    locks::{self, Holder, Taken},
    names,
};

use crate::{
    file::StoreFile,
    schema::{refused, unavailable},
    threads::Lock,
};

/// How often a claim looks again at a lock that is held.
const RETRIES: u32 = 20;

/// How long it waits in between: a second in all.
const PAUSE: Duration = Duration::from_millis(50);

/// The folder of claims of one store.
#[derive(Clone, Debug)]
pub(crate) struct Claims(PathBuf);

impl Claims {
    pub(crate) fn of(store: &Path) -> Self {
        let mut name = store.as_os_str().to_owned();
        name.push(".claims");
        Self(name.into())
    }

    /// Takes the lock of a thread in `store`, waiting up to a second for a process that
    /// is just ending.
    pub(crate) async fn take(
        &self,
        store: &Arc<StoreFile>,
        thread: &ThreadId,
        lock: Lock,
        owner: &Owner,
    ) -> Result<File, JournalError> {
        let path = self.file(thread, lock);
        for attempt in 0.. {
            let (store, folder) = (Arc::clone(store), self.0.clone());
            let (file, claimant) = (path.clone(), owner.clone());
            let tried = off_the_worker(&path, move || {
                store.check()?;
                fs::create_dir_all(&folder).map_err(|e| refused(&folder, &e))?;
                locks::try_take(&file, &claimant).map_err(|e| refused(&file, &e))
            });
            match tried.await? {
                Taken::Held(file) => return Ok(file),
                Taken::Busy(holder) if attempt == RETRIES => {
                    return Err(JournalError::Busy {
                        thread: thread.clone(),
                        owner: holder.unwrap_or_default(),
                    });
                }
                Taken::Busy(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        Err(unavailable(&path, &"the lock was never decided"))
    }

    /// Who holds the lock now.
    pub(crate) async fn holder(
        &self,
        thread: &ThreadId,
        lock: Lock,
    ) -> Result<Option<Owner>, JournalError> {
        let path = self.file(thread, lock);
        let file = path.clone();
        let holder = off_the_worker(&path, move || {
            locks::holder(&file).map_err(|e| refused(&file, &e))
        });
        Ok(match holder.await? {
            Holder::Nobody => None,
            Holder::Somebody(owner) => Some(owner.unwrap_or_default()),
        })
    }

    fn file(&self, thread: &ThreadId, lock: Lock) -> PathBuf {
        let mut name = names::file_name(thread);
        if lock > 0 {
            // No name has a dot of its own.
            let _ = write!(name, ".{lock}");
        }
        self.0.join(name)
    }
}

/// Does what may wait for the disk on a thread that may.
async fn off_the_worker<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce() -> Result<T, JournalError> + Send + 'static,
) -> Result<T, JournalError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| unavailable(path, &error))?
}
