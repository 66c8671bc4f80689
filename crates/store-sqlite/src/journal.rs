//! The journal itself: claims, the writer and the readers put together.

use std::{
    path::{Path, PathBuf},
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
use tokio::sync::Notify;

use crate::{
    batch,
    claims::Claims,
    file::StoreFile,
    health::{self, Health},
    known::Group,
    reader::{self, Readers},
    schema::{self, Header, Synchronous},
    tail::Tail,
    threads::{self, Claimed, Lock},
    writer::Writer,
};

/// How often a thread may change hands while somebody else claims it.
const LOCK_CHANGES: u32 = 16;

/// A journal in one SQLite file.
///
/// A call that writes while no other call of this journal does, and whose last
/// transactions were short, may keep its async worker for up to 150 µs, looking for
/// its outcome. Before that it lets the worker's other tasks go once. Where there is
/// one processor, or looking does not pay, it sleeps at once.
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
    file: Arc<StoreFile>,
    claims: Claims,
    writer: Writer,
    readers: Readers,
    tail: Tail,
}

impl SqliteJournal {
    /// Opens the store at `path`; if there is none, the first write makes it. Each
    /// commit is durable after an `fsync`.
    ///
    /// # Errors
    /// [`JournalError::Foreign`], [`JournalError::Newer`] or
    /// [`JournalError::Unavailable`]; the file is untouched then.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, JournalError> {
        Self::open_with(path, Synchronous::Full)
    }

    /// As [`SqliteJournal::open`], with commits that are durable as `synchronous`
    /// says.
    ///
    /// # Errors
    /// As [`SqliteJournal::open`].
    pub fn open_with(
        path: impl Into<PathBuf>,
        synchronous: Synchronous,
    ) -> Result<Self, JournalError> {
        let path = path.into();
        schema::inspect(&path)?;
        let written = Arc::new(Notify::new());
        let claims = Claims::of(&path);
        let file = Arc::new(StoreFile::new(path));
        let readers = Readers::new(Arc::clone(&file));
        Ok(Self {
            claims,
            writer: Writer::new(
                Arc::clone(&file),
                readers.clone(),
                synchronous,
                Arc::clone(&written),
            ),
            readers,
            tail: Tail::new(Arc::clone(&file), written),
            file,
        })
    }

    /// The same journal, which has written nothing yet, with another limit to how long
    /// a process is waited for that holds the writer's lock: 30 seconds, if nobody
    /// says otherwise. Then the write fails with [`JournalError::Unavailable`], which
    /// names that process: it may be stopped.
    #[must_use]
    pub fn waiting_up_to(self, patience: Duration) -> Self {
        let writer = self.writer.with_patience(patience);
        Self { writer, ..self }
    }

    /// How many transactions this journal committed so far: the writes that waited
    /// at the same time share one.
    pub fn transactions(&self) -> u64 {
        self.writer.transactions()
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

impl SqliteJournal {
    /// The lock that counts now.
    async fn lock(&self, thread: &ThreadId) -> Result<Lock, JournalError> {
        let thread = thread.clone();
        let work = move |path: &Path, c: &_| reader::lock(path, c, &thread);
        self.readers.read(work).await
    }

    /// Claims the thread under the lock `held`, or says which lock counts.
    async fn claim_under(
        &self,
        thread: &ThreadId,
        owner: &Owner,
        held: Lock,
        takes_over: bool,
    ) -> Result<Result<Claim, Lock>, JournalError> {
        let file = self.claims.take(&self.file, thread, held, owner).await?;
        let (name, owner) = (thread.clone(), owner.clone());
        let claimed = self
            .writer
            .run_checked(move |group| threads::claim(group, &name, &owner, held, takes_over));
        Ok(match claimed.await? {
            Claimed::At(epoch) => Ok(Claim::new(epoch, file)),
            Claimed::OtherLock(lock) => Err(lock),
        })
    }

    async fn claim_free(&self, thread: &ThreadId, owner: &Owner) -> Result<Claim, JournalError> {
        // Nearly every thread was never taken over, so that asking is not worth it.
        let mut lock = 0;
        for _ in 0..LOCK_CHANGES {
            lock = match self.claim_under(thread, owner, lock, false).await {
                Ok(Ok(claim)) => return Ok(claim),
                Ok(Err(counts)) => counts,
                Err(busy @ JournalError::Busy { .. }) => match self.lock(thread).await? {
                    counts if counts == lock => return Err(busy),
                    counts => counts,
                },
                Err(error) => return Err(error),
            };
        }
        Err(changes_hands(thread, owner))
    }

    async fn claim_anyhow(&self, thread: &ThreadId, owner: &Owner) -> Result<Claim, JournalError> {
        let mut lock = self.lock(thread).await?;
        for _ in 0..LOCK_CHANGES {
            lock = match self.claim_under(thread, owner, lock + 1, true).await {
                Ok(Ok(claim)) => return Ok(claim),
                Ok(Err(counts)) => counts,
                // Somebody else took it over just now, and holds that lock.
                Err(JournalError::Busy { .. }) => self.lock(thread).await?,
                Err(error) => return Err(error),
            };
        }
        Err(changes_hands(thread, owner))
    }

    async fn wait_for_change(&self, thread: &ThreadId, after: Seq) -> Result<Seq, JournalError> {
        let _watcher = self.tail.watch();
        loop {
            let mut written = std::pin::pin!(self.tail.written().notified());
            // From here on no write is missed.
            written.as_mut().enable();
            let name = thread.clone();
            let work = move |path: &Path, c: &_| reader::last_seq(path, c, &name);
            let last = self.readers.read(work).await?;
            if last > after {
                return Ok(last);
            }
            written.await;
        }
    }
}

fn changes_hands(thread: &ThreadId, owner: &Owner) -> JournalError {
    JournalError::Busy {
        thread: thread.clone(),
        owner: owner.clone(),
    }
}

impl Journal for SqliteJournal {
    fn claim<'a>(
        &'a self,
        thread: &'a ThreadId,
        owner: Owner,
    ) -> BoxFuture<'a, Result<Claim, JournalError>> {
        Box::pin(async move { self.claim_free(thread, &owner).await })
    }

    fn take_over<'a>(
        &'a self,
        thread: &'a ThreadId,
        owner: Owner,
    ) -> BoxFuture<'a, Result<Claim, JournalError>> {
        Box::pin(async move { self.claim_anyhow(thread, &owner).await })
    }

    fn owner<'a>(
        &'a self,
        thread: &'a ThreadId,
    ) -> BoxFuture<'a, Result<Option<Owner>, JournalError>> {
        Box::pin(async move {
            let lock = self.lock(thread).await?;
            self.claims.holder(thread, lock).await
        })
    }

    fn append(&self, batch: Batch) -> BoxFuture<'_, Result<Vec<Seq>, JournalError>> {
        // The batch comes back: who made it frees it sooner than the writer could.
        let written = self
            .writer
            .run_checked(move |group| Ok((batch::append(group, &batch)?, batch)));
        Box::pin(async { written.await.map(|(seqs, _)| seqs) })
    }

    fn read<'a>(
        &'a self,
        thread: &'a ThreadId,
        select: Select,
    ) -> BoxFuture<'a, Result<Vec<Record>, JournalError>> {
        let thread = thread.clone();
        let work = move |path: &Path, c: &_| reader::records(path, c, &thread, &select);
        Box::pin(self.readers.read(work))
    }

    fn changed<'a>(
        &'a self,
        thread: &'a ThreadId,
        after: Seq,
    ) -> BoxFuture<'a, Result<Seq, JournalError>> {
        Box::pin(self.wait_for_change(thread, after))
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

    fn threads(&self, query: ThreadQuery) -> BoxFuture<'_, Result<Vec<ThreadRow>, JournalError>> {
        let work = move |path: &Path, c: &_| reader::threads(path, c, &query);
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

    fn copy<'a>(
        &'a self,
        from: &'a ThreadId,
        to: &'a ThreadId,
        upto: Option<Seq>,
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        let (from, name) = (from.clone(), to.clone());
        Box::pin(
            self.writer
                .run(to, move |group| threads::copy(group, &from, &name, upto)),
        )
    }

    fn install(&self, image: ThreadImage) -> BoxFuture<'_, Result<(), JournalError>> {
        let thread = image.thread.clone();
        let work = move |group: &mut Group<'_, '_>| threads::install(group, &image);
        Box::pin(async move { self.writer.run(&thread, work).await })
    }

    fn compact(&self, compaction: Compaction) -> BoxFuture<'_, Result<Vec<Seq>, JournalError>> {
        let thread = compaction.batch.thread.clone();
        let work = move |group: &mut Group<'_, '_>| threads::compact(group, &compaction);
        Box::pin(async move { self.writer.run(&thread, work).await })
    }

    fn remove<'a>(
        &'a self,
        thread: &'a ThreadId,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        let name = thread.clone();
        Box::pin(self.writer.run(thread, move |group| {
            threads::remove(group.path, group.connection, &name, epoch)
        }))
    }
}
