//! A connection that writes and one that reads, each used by one call at a time
//! on a thread that may wait for the disk and for other processes, which take turns to
//! write. They are to one file: if that is gone from
//! its path, nothing is written, and no other is made.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::{Connection, TransactionBehavior};
use rustagents_core::store::StoreError;
use tokio::sync::Mutex;

use crate::{
    database::{Kind, WriterLock, failed, unavailable},
    file::StoreFile,
    opened::Opened,
};

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

/// A connection to the file, which is opened when it is first needed.
#[derive(Debug)]
struct Slot {
    kind: &'static Kind,
    file: Arc<StoreFile>,
    opened: Option<Opened>,
    lock: Option<Arc<WriterLock>>,
}

impl Slot {
    fn of(kind: &'static Kind, file: &Arc<StoreFile>) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self {
            kind,
            file: Arc::clone(file),
            opened: None,
            lock: None,
        }))
    }

    /// Does `work` in a transaction, in this process's turn to write.
    fn write<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        self.check()?;
        let lock = self.lock()?;
        let _turn = lock.take()?;
        // It may have gone while the others wrote.
        self.check()?;
        let connection = self.writing()?;
        transact(connection, TransactionBehavior::Immediate, work)
            .map_err(|failure| failure.at(self.file.path()))
    }

    /// The lock of the file, in a folder that is made if there never was one.
    fn lock(&mut self) -> Result<Arc<WriterLock>, StoreError> {
        let lock = if let Some(lock) = self.lock.take() {
            lock
        } else {
            let (path, is_known) = (self.file.path(), self.file.is_known());
            // Beside what is of another kind, nothing is made.
            let is_there = is_known || self.kind.is_at(path)?;
            Arc::new(WriterLock::of(path, !is_there)?)
        };
        Ok(Arc::clone(self.lock.insert(lock)))
    }

    /// The connection that writes. The file is made if there never was one.
    fn writing(&mut self) -> Result<&mut Opened, StoreError> {
        let opened = if let Some(opened) = self.opened.take() {
            opened
        } else {
            if !self.file.is_known() {
                self.kind.make(self.file.path())?;
            }
            self.file.open(|path| self.kind.open_writer(path))?
        };
        Ok(self.opened.insert(opened))
    }

    /// The connection that reads; `None` if there is no file yet.
    fn reading(&mut self) -> Result<Option<&mut Opened>, StoreError> {
        self.check()?;
        if self.opened.is_none() {
            if !self.kind.is_at(self.file.path())? {
                return Ok(None);
            }
            let opened = self.file.open(|path| self.kind.open_reader(path))?;
            self.opened = Some(opened);
        }
        Ok(self.opened.as_mut())
    }

    /// Fails if the file that was opened is not at its path any more.
    fn check(&mut self) -> Result<(), StoreError> {
        let found = self.file.look();
        if found.is_err()
            && let Some(opened) = &self.opened
        {
            // What was acknowledged goes from the log into the file, wherever it is.
            let merge = "PRAGMA wal_checkpoint(PASSIVE)";
            let _ = opened.query_row(merge, [], |_| Ok(()));
        }
        Ok(found?)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(opened) = self.opened.take() {
            self.file.close(opened);
        }
    }
}

/// Both connections to a file, and which file that is.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    file: Arc<StoreFile>,
    writer: Arc<Mutex<Slot>>,
    reader: Arc<Mutex<Slot>>,
}

impl Connections {
    pub(crate) fn new(kind: &'static Kind, path: PathBuf) -> Self {
        let file = Arc::new(StoreFile::new(path));
        Self {
            writer: Slot::of(kind, &file),
            reader: Slot::of(kind, &file),
            file,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Does `work` in a transaction that writes. Once begun it runs to its end,
    /// whoever waits for it.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let mut slot = self.writer.clone().lock_owned().await;
        self.joined(tokio::task::spawn_blocking(move || slot.write(work)))
            .await
    }

    /// Does `work` on one state of the file; `None` if there is no file.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        let mut slot = self.reader.clone().lock_owned().await;
        self.joined(tokio::task::spawn_blocking(move || {
            let Some(connection) = slot.reading()? else {
                return Ok(None);
            };
            transact(connection, TransactionBehavior::Deferred, work)
                .map(Some)
                .map_err(|failure| failure.at(slot.file.path()))
        }))
        .await
    }

    async fn joined<T>(
        &self,
        work: tokio::task::JoinHandle<Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        work.await
            .map_err(|error| unavailable(self.path(), &error))?
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
