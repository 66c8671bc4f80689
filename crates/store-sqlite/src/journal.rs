//! The journal itself: claims, the writer and the readers put together.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rustagents_core::{
    BoxFuture,
    digest::Digest,
    ids::ThreadId,
    journal::{Batch, Claim, Journal, JournalError, Owner, PlacedMessage, Record, Seq, ThreadRow},
};

use crate::{
    claims::Claims,
    health::{self, Health},
    reader::{self, Readers},
    schema::{self, Header},
    writer::{Job, Writer},
};

/// A journal in one SQLite file.
///
/// ```
/// use rustagents_core::{ids::ThreadId, journal::{Journal, Owner}};
/// use rustagents_store_sqlite::SqliteJournal;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let journal = SqliteJournal::open(folder.path().join("journal.db"))?;
/// let claim = journal.claim(&ThreadId::new("ticket-7")?, Owner::default()).await?;
/// assert_eq!(claim.epoch, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SqliteJournal {
    claims: Claims,
    writer: Writer,
    readers: Readers,
}

impl SqliteJournal {
    /// Opens the store at `path`; if there is none, the first write makes it.
    ///
    /// # Errors
    /// [`JournalError::Foreign`], [`JournalError::Newer`] or
    /// [`JournalError::Unavailable`]; the file is untouched then.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, JournalError> {
        let path = path.into();
        schema::inspect(&path)?;
        Ok(Self {
            claims: Claims::of(&path),
            writer: Writer::new(path.clone()),
            readers: Readers::new(path),
        })
    }

    /// Whether there is a store at `path`.
    ///
    /// # Errors
    /// As [`SqliteJournal::open`].
    pub fn exists(path: &Path) -> Result<bool, JournalError> {
        schema::inspect(path).map(|header| header == Header::Ours)
    }

    /// Lets SQLite look for damage in the file, for no longer than `patience`;
    /// `None` if there is no store yet. What the records say is not looked at.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`] says what it found; else as [`SqliteJournal::open`].
    pub async fn check(&self, patience: Duration) -> Result<Option<Health>, JournalError> {
        let work = move |path: &Path, _: &_| health::check(path, patience).map(Some);
        self.readers.read(work).await
    }
}

impl Journal for SqliteJournal {
    fn claim<'a>(
        &'a self,
        thread: &'a ThreadId,
        owner: Owner,
    ) -> BoxFuture<'a, Result<Claim, JournalError>> {
        Box::pin(async move {
            let lock = self.claims.take(thread, &owner).await?;
            let job = |reply| Job::Claim {
                thread: thread.clone(),
                owner,
                reply,
            };
            let epoch = self.writer.run(job).await?;
            Ok(Claim::new(epoch, lock))
        })
    }

    fn owner<'a>(
        &'a self,
        thread: &'a ThreadId,
    ) -> BoxFuture<'a, Result<Option<Owner>, JournalError>> {
        Box::pin(async move { self.claims.holder(thread) })
    }

    fn append(&self, batch: Batch) -> BoxFuture<'_, Result<Vec<Seq>, JournalError>> {
        Box::pin(self.writer.run(|reply| Job::Append { batch, reply }))
    }

    fn read<'a>(
        &'a self,
        thread: &'a ThreadId,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Record>, JournalError>> {
        let thread = thread.clone();
        let work = move |path: &Path, c: &_| reader::records(path, c, &thread, after, limit);
        Box::pin(self.readers.read(work))
    }

    fn messages<'a>(
        &'a self,
        thread: &'a ThreadId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<PlacedMessage>, JournalError>> {
        let thread = thread.clone();
        let work = move |path: &Path, c: &_| reader::messages(path, c, &thread, after, limit);
        Box::pin(self.readers.read(work))
    }

    fn threads<'a>(
        &'a self,
        after: Option<&'a ThreadId>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ThreadRow>, JournalError>> {
        let after = after.cloned();
        let work = move |path: &Path, c: &_| reader::threads(path, c, after.as_ref(), limit);
        Box::pin(self.readers.read(work))
    }

    fn content<'a>(
        &'a self,
        thread: &'a ThreadId,
        digest: Digest,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, JournalError>> {
        let thread = thread.clone();
        let work = move |path: &Path, c: &_| reader::content(path, c, &thread, digest);
        Box::pin(self.readers.read(work))
    }
}
