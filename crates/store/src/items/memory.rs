//! A store that lives as long as its process.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::FutureExt;
use rustagents_core::{
    BoxFuture,
    clock::Clock,
    store::{
        Address, Item, ItemPage, NamespacePage, NamespaceQuery, Reading, SearchQuery, Store,
        StoreError, StoreLimits, Version, Write,
    },
};

use super::table::{Change, Table};

/// The in-memory store. Clones share their items.
#[derive(Clone)]
pub struct MemoryStore {
    table: Arc<Mutex<Table>>,
    clock: Arc<dyn Clock>,
    limits: StoreLimits,
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl MemoryStore {
    /// An empty store on this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            table: Arc::default(),
            clock,
            limits: StoreLimits::default(),
        }
    }

    /// The same store with other limits.
    #[must_use]
    pub fn with_limits(self, limits: StoreLimits) -> Self {
        Self { limits, ..self }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(
        &self,
        plan: impl FnOnce(&Table, u64) -> Result<(Change, T), StoreError>,
    ) -> Result<T, StoreError> {
        let now_ms = self.clock.now_ms();
        let mut table = self.table();
        let (change, answer) = plan(&table, now_ms)?;
        table.apply(change);
        Ok(answer)
    }
}

impl Store for MemoryStore {
    fn write(&self, writes: Vec<Write>) -> BoxFuture<'_, Result<Vec<Option<Version>>, StoreError>> {
        async move { self.change(|table, now| table.plan_writes(writes, self.limits, now)) }.boxed()
    }

    fn get<'a>(
        &'a self,
        address: &'a Address,
        reading: Reading,
    ) -> BoxFuture<'a, Result<Option<Item>, StoreError>> {
        async move {
            match reading {
                Reading::Plain => {
                    let now_ms = self.clock.now_ms();
                    Ok(self.table().get(address, now_ms).cloned())
                }
                Reading::Refresh => self.change(|table, now| Ok(table.plan_refresh(address, now))),
            }
        }
        .boxed()
    }

    fn search(&self, query: SearchQuery) -> BoxFuture<'_, Result<ItemPage, StoreError>> {
        async move {
            let now_ms = self.clock.now_ms();
            self.table().search(query, now_ms)
        }
        .boxed()
    }

    fn namespaces(
        &self,
        query: NamespaceQuery,
    ) -> BoxFuture<'_, Result<NamespacePage, StoreError>> {
        async move {
            let now_ms = self.clock.now_ms();
            self.table().namespaces(&query, now_ms)
        }
        .boxed()
    }

    fn sweep(&self, limit: usize) -> BoxFuture<'_, Result<usize, StoreError>> {
        async move { self.change(|table, now| Ok(table.plan_sweep(limit, now))) }.boxed()
    }
}
