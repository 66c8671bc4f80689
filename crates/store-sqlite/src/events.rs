//! The event journal, in a database file of its own.
//!
//! Reading order: this file (what is asked), `table` (what is done in a
//! transaction).

mod table;

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use futures::FutureExt;
use rusqlite::Connection;
use rustagents_core::{
    BoxFuture,
    event_journal::{
        self, EventJournal, EventPage, EventQuery, EventScan, Offset, Retention, RunEvent,
    },
    ids::ThreadId,
    store::StoreError,
};
use tokio::sync::Notify;

use crate::connections::Connections;

/// How often a reader who waits looks for events of other processes.
const PAUSE: Duration = Duration::from_millis(100);

/// An event journal in an SQLite database, which any number of processes may
/// share. Clones share it as well. It keeps the last million events, if not told
/// otherwise.
///
/// Nothing is made before the first event. Network file systems are not
/// supported: their locks are not reliable.
#[derive(Clone)]
pub struct SqliteEvents {
    connections: Connections,
    written: Arc<Notify>,
    kept: u64,
}

impl fmt::Debug for SqliteEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteEvents")
            .field("path", &self.connections.path())
            .finish_non_exhaustive()
    }
}

impl SqliteEvents {
    /// The journal in the file `path`. Looks at nothing yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            connections: Connections::new(&table::KIND, path.into()),
            written: Arc::default(),
            kept: 1_000_000,
        }
    }

    /// The same journal, keeping the last `kept` events.
    #[must_use]
    pub fn keeping(self, kept: u64) -> Self {
        Self { kept, ..self }
    }

    async fn append_now(&self, events: Vec<RunEvent>) -> Result<Vec<Offset>, StoreError> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let kept = self.kept;
        let append = move |c: &Connection| {
            let texts = event_journal::texts(&events)?;
            let offsets = table::append(c, &events, &texts)?;
            table::drop_events(c, Retention::KeepLast(kept))?;
            Ok(offsets)
        };
        let offsets = self.connections.write(append).await?;
        self.written.notify_waiters();
        Ok(offsets)
    }

    async fn last(&self) -> Result<Offset, StoreError> {
        let ends = self.connections.read(table::ends).await?;
        Ok(ends.map_or(0, |ends| ends.next - 1))
    }
}

impl EventJournal for SqliteEvents {
    fn append(&self, events: Vec<RunEvent>) -> BoxFuture<'_, Result<Vec<Offset>, StoreError>> {
        self.append_now(events).boxed()
    }

    fn read(&self, query: EventQuery) -> BoxFuture<'_, Result<EventPage, StoreError>> {
        async move {
            let empty = EventScan::new(query.clone())?;
            let read = move |c: &Connection| table::read(c, &query);
            let page = self.connections.read(read).await?;
            Ok(page.unwrap_or_else(|| empty.finish(1, 0)))
        }
        .boxed()
    }

    fn drop_events(&self, retention: Retention) -> BoxFuture<'_, Result<u64, StoreError>> {
        async move {
            if self.last().await? == 0 {
                return Ok(0);
            }
            let drop = move |c: &Connection| table::drop_events(c, retention);
            self.connections.write(drop).await
        }
        .boxed()
    }

    fn remove_thread(&self, thread: ThreadId) -> BoxFuture<'_, Result<u64, StoreError>> {
        async move {
            if self.last().await? == 0 {
                return Ok(0);
            }
            let remove = move |c: &Connection| table::remove_thread(c, &thread);
            self.connections.write(remove).await
        }
        .boxed()
    }

    fn changed(&self, after: Offset) -> BoxFuture<'_, Result<Offset, StoreError>> {
        async move {
            loop {
                let written = self.written.notified();
                let last = self.last().await?;
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
