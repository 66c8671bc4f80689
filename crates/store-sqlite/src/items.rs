//! The application store, in a database file of its own.
//!
//! Reading order: this file (what is asked), `rows` (tables, and items as rows),
//! `write`, `read`; below them `connections` and `database`, which know nothing
//! of items.

mod read;
mod rows;
mod write;

use std::{fmt, path::PathBuf, sync::Arc};

use futures::FutureExt;
use rusqlite::Connection;
use rustagents_core::{
    BoxFuture,
    clock::Clock,
    store::{
        Address, Item, ItemPage, NamespacePage, NamespaceQuery, Reading, SearchQuery, Store,
        StoreError, StoreLimits, Version, Write,
    },
};

use crate::connections::Connections;

/// A store in an SQLite database, which any number of processes may share.
/// Clones share it as well.
///
/// Nothing is made before the first write. Network file systems are not
/// supported: their locks are not reliable.
#[derive(Clone)]
pub struct SqliteStore {
    connections: Connections,
    clock: Arc<dyn Clock>,
    limits: StoreLimits,
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("path", &self.connections.path())
            .finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// The store in the file `path`, on this clock. Looks at nothing yet.
    pub fn new(path: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> Self {
        Self {
            connections: Connections::new(&rows::KIND, path.into()),
            clock,
            limits: StoreLimits::default(),
        }
    }

    /// The same store with other limits.
    #[must_use]
    pub fn with_limits(self, limits: StoreLimits) -> Self {
        Self { limits, ..self }
    }

    async fn item(&self, address: Address, now_ms: u64) -> Result<Option<Item>, StoreError> {
        let read = self
            .connections
            .read(move |c| read::item(c, &address, now_ms));
        Ok(read.await?.flatten())
    }
}

impl Store for SqliteStore {
    fn write(&self, writes: Vec<Write>) -> BoxFuture<'_, Result<Vec<Option<Version>>, StoreError>> {
        let (limits, now_ms) = (self.limits, self.clock.now_ms());
        self.connections
            .write(move |c| write::all(c, writes, limits, now_ms))
            .boxed()
    }

    fn get<'a>(
        &'a self,
        address: &'a Address,
        reading: Reading,
    ) -> BoxFuture<'a, Result<Option<Item>, StoreError>> {
        let now_ms = self.clock.now_ms();
        async move {
            let item = self.item(address.clone(), now_ms).await?;
            let ends = item.as_ref().is_some_and(|item| item.ttl_ms.is_some());
            if reading == Reading::Plain || !ends {
                return Ok(item);
            }
            let address = address.clone();
            let refresh = move |c: &Connection| write::refresh(c, &address, now_ms);
            self.connections.write(refresh).await
        }
        .boxed()
    }

    fn search(&self, query: SearchQuery) -> BoxFuture<'_, Result<ItemPage, StoreError>> {
        let now_ms = self.clock.now_ms();
        async move {
            query.check()?;
            let read = move |c: &Connection| read::search(c, query, now_ms);
            Ok(self.connections.read(read).await?.unwrap_or_default())
        }
        .boxed()
    }

    fn namespaces(
        &self,
        query: NamespaceQuery,
    ) -> BoxFuture<'_, Result<NamespacePage, StoreError>> {
        let now_ms = self.clock.now_ms();
        async move {
            query.check()?;
            let read = move |c: &Connection| read::namespaces(c, &query, now_ms);
            Ok(self.connections.read(read).await?.unwrap_or_default())
        }
        .boxed()
    }

    fn sweep(&self, limit: usize) -> BoxFuture<'_, Result<usize, StoreError>> {
        let now_ms = self.clock.now_ms();
        async move {
            // A look first: mostly there is nothing to do.
            let over = self.connections.read(move |c| read::is_any_over(c, now_ms));
            if over.await? != Some(true) {
                return Ok(0);
            }
            let sweep = move |c: &Connection| write::sweep(c, limit, now_ms);
            self.connections.write(sweep).await
        }
        .boxed()
    }
}
