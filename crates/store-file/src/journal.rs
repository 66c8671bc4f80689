//! The journal itself: blocking work, kept off the async workers.

use std::{
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use rustagents_core::{
    BoxFuture,
    digest::Digest,
    ids::ThreadId,
    journal::{
        Batch, Claim, Compaction, Epoch, Journal, JournalError, Owner, PlacedMessage, Record,
        Select, Seq, ThreadImage, ThreadQuery, ThreadRow,
    },
};
use tokio::{sync::Semaphore, task, time};

use crate::{
    claims::Tried,
    disk::{Disk, unavailable},
    format::{self, Folder},
    store::Store,
};

/// How often a claim looks again at a thread that is driven.
const RETRIES: u32 = 20;

/// How long it waits in between: a second in all.
const PAUSE: Duration = Duration::from_millis(50);

/// How often a watcher looks for what other processes wrote.
const WATCH: Duration = Duration::from_millis(75);

/// How much is done at once, at the most.
const WORKERS: usize = 64;

/// A journal in a folder of files.
///
/// ```
/// use rustagents_core::{ids::ThreadId, journal::{Journal, Owner}};
/// use rustagents_store_file::FileJournal;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let journal = FileJournal::open(folder.path().join("journal"))?;
/// let claim = journal.claim(&ThreadId::new("ticket-7")?, Owner::default()).await?;
/// assert_eq!(claim.epoch, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FileJournal {
    store: Arc<Store>,
    workers: Arc<Semaphore>,
}

impl FileJournal {
    /// Opens the store in the folder `root`; if there is none, the first write
    /// makes it.
    ///
    /// # Errors
    /// [`JournalError::Foreign`], [`JournalError::Newer`] or
    /// [`JournalError::Unavailable`]; the folder is untouched then.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, JournalError> {
        Self::on(root.into(), Disk::default())
    }

    /// As [`FileJournal::open`], on a disk that fails.
    ///
    /// # Errors
    /// As [`FileJournal::open`].
    #[cfg(debug_assertions)]
    pub fn with_fault(
        root: impl Into<PathBuf>,
        fault: Arc<crate::fault::DiskFault>,
    ) -> Result<Self, JournalError> {
        let fault = Some(fault);
        Self::on(root.into(), Disk { fault })
    }

    fn on(root: PathBuf, disk: Disk) -> Result<Self, JournalError> {
        let folder = format::inspect(&root)?;
        let store = Store::new(root, disk);
        if folder == Folder::Ours {
            store.mark.remember()?;
        }
        Ok(Self {
            store: Arc::new(store),
            workers: Arc::new(Semaphore::new(WORKERS)),
        })
    }

    /// The same journal, just opened, with another limit to how long a process is
    /// waited for that holds the lock of a thread: 30 seconds, if nobody says
    /// otherwise. Then the call fails with [`JournalError::Unavailable`], which names
    /// that process: it may be stopped.
    #[must_use]
    pub fn waiting_up_to(mut self, limit: Duration) -> Self {
        if let Some(store) = Arc::get_mut(&mut self.store) {
            store.limit = limit;
        }
        self
    }

    /// How many batches wait to be written to a thread by this journal.
    #[cfg(debug_assertions)]
    pub fn waiting(&self, thread: &ThreadId) -> usize {
        let name = rustagents_store::names::file_name(thread);
        let slot = self.store.cache.known(&name);
        slot.map_or(0, |slot| slot.waiting.len())
    }

    /// Whether there is a store in the folder `root`.
    ///
    /// # Errors
    /// As [`FileJournal::open`].
    pub fn exists(root: &Path) -> Result<bool, JournalError> {
        format::inspect(root).map(|folder| folder == Folder::Ours)
    }

    /// Does blocking work. Once begun, it runs to its end, whether somebody waits
    /// or not.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let failed = |reason: &dyn std::fmt::Display| unavailable(&self.store.root, reason);
        let permit = Arc::clone(&self.workers).acquire_owned().await;
        let permit = permit.map_err(|error| failed(&error))?;
        let store = Arc::clone(&self.store);
        let done = task::spawn_blocking(move || {
            let done = store.mark.check().and_then(|()| work(&store));
            drop(permit);
            if let Err(JournalError::UnknownThread { .. }) = done {
                // It may have gone with the whole store.
                store.mark.check()?;
            }
            done
        });
        done.await.map_err(|error| failed(&error))?
    }

    async fn claim_within(
        &self,
        thread: &ThreadId,
        owner: Owner,
        displaces: bool,
    ) -> Result<Claim, JournalError> {
        for attempt in 0.. {
            let (name, claimant) = (thread.clone(), owner.clone());
            let tried = self.run(move |store| store.try_claim(&name, &claimant, displaces));
            match tried.await? {
                Tried::Claimed(claim) => return Ok(claim),
                Tried::Busy(owner) if attempt == RETRIES => {
                    let thread = thread.clone();
                    return Err(JournalError::Busy { thread, owner });
                }
                Tried::Busy(_) => time::sleep(PAUSE).await,
            }
        }
        Err(unavailable(&self.store.root, &"the lock was never decided"))
    }
}

impl Journal for FileJournal {
    fn claim<'a>(
        &'a self,
        thread: &'a ThreadId,
        owner: Owner,
    ) -> BoxFuture<'a, Result<Claim, JournalError>> {
        Box::pin(self.claim_within(thread, owner, false))
    }

    fn take_over<'a>(
        &'a self,
        thread: &'a ThreadId,
        owner: Owner,
    ) -> BoxFuture<'a, Result<Claim, JournalError>> {
        Box::pin(self.claim_within(thread, owner, true))
    }

    fn owner<'a>(
        &'a self,
        thread: &'a ThreadId,
    ) -> BoxFuture<'a, Result<Option<Owner>, JournalError>> {
        let thread = thread.clone();
        Box::pin(self.run(move |store| store.owner(&thread)))
    }

    fn append(&self, batch: Batch) -> BoxFuture<'_, Result<Vec<Seq>, JournalError>> {
        Box::pin(self.run(move |store| store.append(batch)))
    }

    fn read<'a>(
        &'a self,
        thread: &'a ThreadId,
        select: Select,
    ) -> BoxFuture<'a, Result<Vec<Record>, JournalError>> {
        let thread = thread.clone();
        Box::pin(self.run(move |store| {
            let seen = store.look(&thread, |state| state.thread.select(&select))?;
            Ok(seen.unwrap_or_default())
        }))
    }

    fn changed<'a>(
        &'a self,
        thread: &'a ThreadId,
        after: Seq,
    ) -> BoxFuture<'a, Result<Seq, JournalError>> {
        Box::pin(async move {
            loop {
                let mut written = pin!(self.store.written.notified());
                // From here on no write of this process is missed.
                written.as_mut().enable();
                let name = thread.clone();
                let last = self.run(move |store| store.look(&name, |s| s.thread.last_seq()));
                let last = last.await?.unwrap_or(0);
                if last > after {
                    return Ok(last);
                }
                // Other processes tell nobody.
                let _ = time::timeout(WATCH, written).await;
            }
        })
    }

    fn messages<'a>(
        &'a self,
        thread: &'a ThreadId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<PlacedMessage>, JournalError>> {
        let thread = thread.clone();
        Box::pin(self.run(move |store| {
            let seen = store.look(&thread, |state| {
                state.thread.messages(after, limit).to_vec()
            })?;
            Ok(seen.unwrap_or_default())
        }))
    }

    fn threads(&self, query: ThreadQuery) -> BoxFuture<'_, Result<Vec<ThreadRow>, JournalError>> {
        Box::pin(self.run(move |store| store.list(&query)))
    }

    fn content<'a>(
        &'a self,
        thread: &'a ThreadId,
        digest: Digest,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, JournalError>> {
        let thread = thread.clone();
        Box::pin(self.run(move |store| store.content(&thread, digest)))
    }

    fn copy<'a>(
        &'a self,
        from: &'a ThreadId,
        to: &'a ThreadId,
        upto: Option<Seq>,
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        let (from, to) = (from.clone(), to.clone());
        Box::pin(self.run(move |store| store.copy(&from, &to, upto)))
    }

    fn install(&self, image: ThreadImage) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(self.run(move |store| store.install(image)))
    }

    fn compact(&self, compaction: Compaction) -> BoxFuture<'_, Result<Vec<Seq>, JournalError>> {
        Box::pin(self.run(move |store| store.compact(compaction)))
    }

    fn remove<'a>(
        &'a self,
        thread: &'a ThreadId,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        let thread = thread.clone();
        Box::pin(self.run(move |store| store.remove(&thread, epoch)))
    }

    fn discard<'a>(
        &'a self,
        thread: &'a ThreadId,
        owner: Owner,
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        Box::pin(async move {
            match self.claim(thread, owner.clone()).await {
                Ok(claim) => self.remove(thread, claim.epoch).await,
                Err(JournalError::Corrupt { .. }) => {
                    let thread = thread.clone();
                    self.run(move |store| store.discard(&thread, &owner)).await
                }
                Err(error) => Err(error),
            }
        })
    }
}
