//! A connection that writes and one that reads, each used by one call at a time
//! on a thread that may wait for the disk.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::{Connection, TransactionBehavior};
use rustagents_core::store::StoreError;
use tokio::sync::Mutex;

use crate::{
    database::{Kind, failed, unavailable},
    opened::Opened,
};

type Slot = Arc<Mutex<Option<Opened>>>;

/// Why something in a transaction did not succeed.
pub(crate) enum Failure {
    Sqlite(rusqlite::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Failure {
    fn at(self, path: &Path) -> StoreError {
        match self {
            Self::Sqlite(error) => failed(path, &error),
            Self::Store(error) => error,
        }
    }
}

/// Both connections to a file. They are opened when they are first needed.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    kind: &'static Kind,
    path: Arc<PathBuf>,
    writer: Slot,
    reader: Slot,
}

impl Connections {
    pub(crate) fn new(kind: &'static Kind, path: PathBuf) -> Self {
        Self {
            kind,
            path: Arc::new(path),
            writer: Slot::default(),
            reader: Slot::default(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Does `work` in a transaction that writes. Once begun it runs to its end,
    /// whoever waits for it.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (kind, path) = (self.kind, self.path.clone());
        let mut slot = self.writer.clone().lock_owned().await;
        self.joined(tokio::task::spawn_blocking(move || {
            let connection = match slot.take() {
                Some(connection) => connection,
                None => kind.open_writer(&path)?,
            };
            let connection = slot.insert(connection);
            transact(connection, TransactionBehavior::Immediate, work)
                .map_err(|failure| failure.at(&path))
        }))
        .await
    }

    /// Does `work` on one state of the file; `None` if there is no file.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        let (kind, path) = (self.kind, self.path.clone());
        let mut slot = self.reader.clone().lock_owned().await;
        self.joined(tokio::task::spawn_blocking(move || {
            if slot.is_none() {
                *slot = kind.open_reader(&path)?;
            }
            let Some(connection) = slot.as_mut() else {
                return Ok(None);
            };
            transact(connection, TransactionBehavior::Deferred, work)
                .map(Some)
                .map_err(|failure| failure.at(&path))
        }))
        .await
    }

    async fn joined<T>(
        &self,
        work: tokio::task::JoinHandle<Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        work.await
            .map_err(|error| unavailable(&self.path, &error))?
    }
}

fn transact<T>(
    connection: &mut Connection,
    behavior: TransactionBehavior,
    work: impl FnOnce(&Connection) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let transaction = connection.transaction_with_behavior(behavior)?;
    let done = work(&transaction)?;
    transaction.commit()?;
    Ok(done)
}
