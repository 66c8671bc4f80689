//! Who drives a thread: an operating-system lock on a file of the thread's own.

use std::{
    fmt::Write as _,
    fs::{self, File},
    path::{Path, PathBuf},
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

use crate::{schema::unavailable, threads::Lock};

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
            match locks::try_take(&path, owner).map_err(|e| unavailable(&path, &e))? {
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
    pub(crate) fn holder(
        &self,
        thread: &ThreadId,
        lock: Lock,
    ) -> Result<Option<Owner>, JournalError> {
        let path = self.file(thread, lock);
        let holder = locks::holder(&path).map_err(|e| unavailable(&path, &e))?;
        Ok(match holder {
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
