//! The event journal in a folder: files of JSON lines, one line an event.
//!
//! Reading order: this file (what is asked, on a thread that may wait for the
//! disk), `folder` (the files, and where the journal begins and ends), `lines`.

mod folder;
mod lines;

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use futures::FutureExt;
use rustagents_core::{
    BoxFuture,
    event_journal::{self, EventJournal, EventPage, EventQuery, Offset, Retention, RunEvent},
    ids::ThreadId,
    store::StoreError,
};
use tokio::sync::{Mutex, Notify};

use self::folder::Folder;
use crate::{disk::Disk, items::unavailable};

/// How often a reader who waits looks for events of other processes.
const PAUSE: Duration = Duration::from_millis(100);

/// An event journal in a folder of its own, which any number of processes may
/// share. Clones share it as well. It keeps the last million events, if not told
/// otherwise, and more until a whole file of them can go.
///
/// Nothing is made before the first event. Network file systems are not
/// supported: their locks are not reliable.
#[derive(Clone)]
pub struct FileEvents {
    folder: Arc<Mutex<Folder>>,
    path: Arc<PathBuf>,
    written: Arc<Notify>,
    kept: u64,
}

impl fmt::Debug for FileEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileEvents")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl FileEvents {
    /// The journal in the folder `path`. Looks at nothing yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::on(path.into(), Disk::default())
    }

    /// The same, on a disk that fails when a test wants it.
    #[cfg(debug_assertions)]
    pub fn with_fault(path: impl Into<PathBuf>, fault: Arc<crate::fault::DiskFault>) -> Self {
        let fault = Some(fault);
        Self::on(path.into(), Disk { fault })
    }

    fn on(path: PathBuf, disk: Disk) -> Self {
        Self {
            folder: Arc::new(Mutex::new(Folder::at(path.clone(), disk))),
            path: Arc::new(path),
            written: Arc::default(),
            kept: 1_000_000,
        }
    }

    /// The same journal, keeping the last `kept` events.
    #[must_use]
    pub fn keeping(self, kept: u64) -> Self {
        Self { kept, ..self }
    }

    /// Does `work` where it may wait for the disk.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Folder) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let mut folder = self.folder.clone().lock_owned().await;
        let done = tokio::task::spawn_blocking(move || work(&mut folder)).await;
        done.map_err(|error| unavailable(&self.path, &error))?
    }
}

impl EventJournal for FileEvents {
    fn append(&self, events: Vec<RunEvent>) -> BoxFuture<'_, Result<Vec<Offset>, StoreError>> {
        async move {
            if events.is_empty() {
                return Ok(Vec::new());
            }
            let kept = self.kept;
            let append = move |folder: &mut Folder| {
                event_journal::texts(&events)?;
                folder.append(events, kept)
            };
            let offsets = self.run(append).await?;
            self.written.notify_waiters();
            Ok(offsets)
        }
        .boxed()
    }

    fn read(&self, query: EventQuery) -> BoxFuture<'_, Result<EventPage, StoreError>> {
        self.run(move |folder| folder.read(query)).boxed()
    }

    fn drop_events(&self, retention: Retention) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.run(move |folder| folder.drop_events(retention))
            .boxed()
    }

    fn remove_thread(&self, thread: ThreadId) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.run(move |folder| folder.remove_thread(&thread))
            .boxed()
    }

    fn changed(&self, after: Offset) -> BoxFuture<'_, Result<Offset, StoreError>> {
        async move {
            loop {
                let written = self.written.notified();
                let last = self.run(Folder::last).await?;
                if last > after {
                    return Ok(last);
                }
                // Another process tells nothing, so it is looked for after a while.
                let _ = tokio::time::timeout(PAUSE, written).await;
            }
        }
        .boxed()
    }
}
