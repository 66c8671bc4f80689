//! The application store in a folder: a log of changes, which is read into memory.
//!
//! Reading order: this file (what is asked, on a thread that may wait for the
//! disk), `replica` (the table and how far of the log it is), `log` (locks
//! and torn ends), `line`.

mod line;
mod log;
mod replica;

use std::{fmt, path::PathBuf, sync::Arc};

use futures::FutureExt;
use rustagents_core::{
    BoxFuture,
    clock::Clock,
    store::{
        Address, Item, ItemPage, NamespacePage, NamespaceQuery, Reading, SearchQuery, Store,
        StoreError, StoreLimits, Version, Write,
    },
};
use tokio::sync::Mutex;

pub(crate) use self::log::{refused, store_error, unavailable};
use self::replica::Replica;
use crate::disk::Disk;

/// A store in a folder of its own, which any number of processes may share.
/// Clones share it as well.
///
/// All items are held in memory, up to [`StoreLimits::held_bytes`]; for more, and
/// for many writes, there is the SQLite store. Nothing is made before the first
/// write. Network file systems are not supported: their locks are not reliable.
#[derive(Clone)]
pub struct FileStore {
    replica: Arc<Mutex<Replica>>,
    folder: Arc<PathBuf>,
    clock: Arc<dyn Clock>,
    limits: StoreLimits,
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStore")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl FileStore {
    /// The store in `folder`, on this clock. Looks at nothing yet.
    pub fn new(folder: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> Self {
        Self::on(folder.into(), clock, Disk::default())
    }

    /// The same, on a disk that fails when a test wants it.
    #[cfg(debug_assertions)]
    pub fn with_fault(
        folder: impl Into<PathBuf>,
        clock: Arc<dyn Clock>,
        fault: Arc<crate::fault::DiskFault>,
    ) -> Self {
        let fault = Some(fault);
        Self::on(folder.into(), clock, Disk { fault })
    }

    fn on(folder: PathBuf, clock: Arc<dyn Clock>, disk: Disk) -> Self {
        Self {
            replica: Arc::new(Mutex::new(Replica::of(folder.clone(), disk))),
            folder: Arc::new(folder),
            clock,
            limits: StoreLimits::default(),
        }
    }

    /// The same store with other limits.
    #[must_use]
    pub fn with_limits(self, limits: StoreLimits) -> Self {
        Self { limits, ..self }
    }

    /// Does `work` where it may wait for the disk.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Replica, u64) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let now_ms = self.clock.now_ms();
        let mut replica = self.replica.clone().lock_owned().await;
        let done = tokio::task::spawn_blocking(move || work(&mut replica, now_ms)).await;
        done.map_err(|error| unavailable(&self.folder, &error))?
    }
}

impl Store for FileStore {
    fn write(&self, writes: Vec<Write>) -> BoxFuture<'_, Result<Vec<Option<Version>>, StoreError>> {
        let limits = self.limits;
        self.run(move |replica, now| {
            replica.change(now, |table| table.plan_writes(writes, limits, now))
        })
        .boxed()
    }

    fn get<'a>(
        &'a self,
        address: &'a Address,
        reading: Reading,
    ) -> BoxFuture<'a, Result<Option<Item>, StoreError>> {
        let address = address.clone();
        self.run(move |replica, now| match reading {
            Reading::Plain => Ok(replica.read()?.get(&address, now).cloned()),
            Reading::Refresh => replica.change(now, |table| Ok(table.plan_refresh(&address, now))),
        })
        .boxed()
    }

    fn search(&self, query: SearchQuery) -> BoxFuture<'_, Result<ItemPage, StoreError>> {
        self.run(move |replica, now| replica.read()?.search(query, now))
            .boxed()
    }

    fn namespaces(
        &self,
        query: NamespaceQuery,
    ) -> BoxFuture<'_, Result<NamespacePage, StoreError>> {
        self.run(move |replica, now| replica.read()?.namespaces(&query, now))
            .boxed()
    }

    fn sweep(&self, limit: usize) -> BoxFuture<'_, Result<usize, StoreError>> {
        self.run(move |replica, now| replica.change(now, |table| Ok(table.plan_sweep(limit, now))))
            .boxed()
    }
}
