//! The thread that writes: it groups what is waiting into one transaction.

use std::{
    collections::VecDeque,
    fs::File,
    path::PathBuf,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use rusqlite::Connection;
use rustagents_core::{ids::ThreadId, journal::JournalError};
use rustagents_store::locks::Patience;
use tokio::sync::Notify;

use crate::{
    batch::Refused,
    file::StoreFile,
    flush::Flusher,
    handoff::{self, Receiver, Reply, Sender},
    known::{Group, Known},
    log::Log,
    opened::Opened,
    reader::Readers,
    schema::{self, Synchronous},
    sync,
};

/// How many jobs may wait before their callers do.
const ROOM: usize = 1_024;

/// How many share a transaction.
const GROUP: usize = 256;

/// Something to be written inside the group's transaction.
trait Job: Send {
    /// Does it, or leaves nothing of it behind; or else says why the transaction
    /// has to go.
    fn perform(&mut self, group: &mut Group<'_, '_>) -> Option<JournalError>;

    /// Tells its outcome, once the transaction is durable; `failure` is why there is none.
    fn tell(self: Box<Self>, failure: Option<&JournalError>);
}

struct Task<T, F> {
    /// `None` once it was done.
    work: Option<F>,
    result: Option<Result<T, JournalError>>,
    reply: Reply<Result<T, JournalError>>,
}

impl<T, F> Job for Task<T, F>
where
    T: Send + 'static,
    F: FnOnce(&mut Group<'_, '_>) -> Result<T, Refused> + Send,
{
    fn perform(&mut self, group: &mut Group<'_, '_>) -> Option<JournalError> {
        let work = self.work.take()?;
        let (result, spoilt) = match work(group) {
            Ok(done) => (Ok(done), None),
            Err(Refused::Clean(error)) => (Err(error), None),
            Err(Refused::Dirty(error)) => (Err(error.clone()), Some(error)),
        };
        self.result = Some(result);
        spoilt
    }

    fn tell(self: Box<Self>, failure: Option<&JournalError>) {
        // A refusal may rest on what is lost with the transaction.
        let failed = failure.map(|failure| Err(failure.clone()));
        if let Some(result) = failed.or(self.result) {
            self.reply.tell(result);
        }
    }
}

/// The handle of the writer thread, which starts at the first write.
#[derive(Debug)]
pub(crate) struct Writer {
    file: Arc<StoreFile>,
    readers: Readers,
    log: Log,
    synchronous: Synchronous,
    /// How long other processes are waited for.
    patience: Duration,
    written: Arc<Notify>,
    transactions: Arc<AtomicU64>,
    running: OnceLock<Running>,
}

struct Running {
    jobs: Option<Sender<Box<dyn Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").finish_non_exhaustive()
    }
}

impl Writer {
    /// A writer that rings `written` after each commit.
    pub(crate) fn new(
        file: Arc<StoreFile>,
        readers: Readers,
        synchronous: Synchronous,
        written: Arc<Notify>,
    ) -> Self {
        Self {
            file,
            readers,
            log: Log::default(),
            synchronous,
            patience: Patience::USUAL,
            written,
            transactions: Arc::default(),
            running: OnceLock::new(),
        }
    }

    /// The same writer, which has not begun, with other patience.
    pub(crate) fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Hands work on `thread` over and waits for its outcome. Once handed over, it
    /// runs to its end, whether somebody waits or not. What it wrote before it failed
    /// is undone.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        thread: &ThreadId,
        work: impl FnOnce(&mut Group<'_, '_>) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let thread = thread.clone();
        self.run_checked(move |group| {
            let done = savepoint(group, work);
            group.known.forget(&thread);
            done
        })
        .await
    }

    /// As [`Writer::run`], for work that writes nothing before it has checked
    /// everything, and so needs nobody to undo it.
    pub(crate) async fn run_checked<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Group<'_, '_>) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, JournalError> {
        let gone = || schema::unavailable(self.file.path(), &"the writer is gone");
        let jobs = self.running().jobs.as_ref().ok_or_else(gone)?;
        let (reply, outcome) = jobs.place();
        let job = Box::new(Task {
            work: Some(work),
            result: None,
            reply,
        });
        jobs.send(job).await.map_err(|_| gone())?;
        let outcome = outcome.await.ok_or_else(gone)?;
        self.log.shorten_beside(&self.readers);
        outcome
    }

    /// How many transactions were committed.
    pub(crate) fn transactions(&self) -> u64 {
        self.transactions.load(Ordering::Relaxed)
    }

    fn running(&self) -> &Running {
        self.running.get_or_init(|| {
            let (jobs, queue) = handoff::queue(ROOM, GROUP, sync::is_worth_it());
            let desk = Desk {
                file: Arc::clone(&self.file),
                log: self.log.clone(),
                synchronous: self.synchronous,
                patience: self.patience,
                written: Arc::clone(&self.written),
                transactions: Arc::clone(&self.transactions),
                flusher: Flusher::new(self.file.path()),
                store: None,
            };
            let thread = std::thread::Builder::new()
                .name("rag-journal".into())
                .spawn(move || desk.write_all(queue))
                .ok();
            // Without a thread the queue is dropped, and each job is told so.
            Running {
                jobs: Some(jobs),
                thread: Mutex::new(thread),
            }
        })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let Some(mut running) = self.running.take() else {
            return;
        };
        running.jobs = None;
        let thread = running
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            // Closing the queue ends the thread after what it was handed.
            drop(thread.join());
        }
    }
}

/// What the writer thread works with.
struct Desk {
    file: Arc<StoreFile>,
    log: Log,
    synchronous: Synchronous,
    patience: Duration,
    written: Arc<Notify>,
    transactions: Arc<AtomicU64>,
    flusher: Flusher,
    store: Option<Store>,
}

/// The open store: its connection, and the file whose lock serialises processes.
struct Store {
    connection: Opened,
    /// Whether a commit waits for the disk.
    waits: Option<Synchronous>,
    known: Known,
    lock: File,
    lock_path: PathBuf,
}

impl Desk {
    fn write_all(mut self, mut queue: Receiver<Box<dyn Job>>) {
        let mut group = VecDeque::with_capacity(GROUP);
        // Takes what is waiting when the last commit returned, and waits for no more.
        while queue.take(&mut group) {
            let has_more = queue.has_group();
            self.write_group(&mut group, has_more);
        }
        drop(self.flusher);
        // Whoever moves the log has another connection, and is not to be the last to go.
        self.log.wait();
        if let Some(store) = self.store {
            self.file.close(store.connection);
        }
    }

    /// Writes a group. Where there is more to do already, that goes on while the disk
    /// is waited for.
    fn write_group(&mut self, jobs: &mut VecDeque<Box<dyn Job>>, has_more: bool) {
        let is_flushed_beside = has_more && self.synchronous == Synchronous::Full;
        let waits = if is_flushed_beside {
            Synchronous::Normal
        } else {
            self.synchronous
        };
        if let Err(failure) = self.begin(waits) {
            return tell(jobs.drain(..), Some(&failure));
        }
        let Some(store) = &mut self.store else {
            return;
        };
        let path = self.file.path();
        let mut group = Group::new(path, &store.connection, &mut store.known);
        let spoilt = jobs.iter_mut().find_map(|job| job.perform(&mut group));
        let failure = spoilt.or_else(|| {
            let stored = group.tails().store(&store.connection);
            let committed = stored.and_then(|()| run(&store.connection, "COMMIT"));
            committed
                .map_err(|error| schema::failed(path, &error))
                .err()
        });
        drop(group);
        if failure.is_some() {
            let _ = run(&store.connection, "ROLLBACK");
            store.known.forget_all();
        } else {
            self.transactions.fetch_add(1, Ordering::Relaxed);
        }
        let written = Arc::clone(&self.written);
        if failure.is_none() && is_flushed_beside {
            let jobs: Vec<_> = jobs.drain(..).collect();
            self.flusher.flush(Box::new(move |failure| {
                tell(jobs, failure);
                written.notify_waiters();
            }));
            let _ = store.lock.unlock();
        } else {
            // Who waits for this goes on while the lock is let go.
            tell(jobs.drain(..), failure.as_ref());
            let _ = store.lock.unlock();
            written.notify_waiters();
        }
        self.log.shorten(&store.connection);
    }

    /// Begins a transaction under the writer's lock.
    fn begin(&mut self, waits: Synchronous) -> Result<(), JournalError> {
        self.flusher.check()?;
        let file = &self.file;
        let path = file.path();
        let slot = &mut self.store;
        let patience = Patience::new(self.patience);
        let store = match slot.take() {
            Some(store) => {
                let locked = patience.lock(&store.lock_path, &store.lock);
                let store = slot.insert(store);
                locked.map_err(|e| schema::refused(path, &e))?;
                store
            }
            None => slot.insert(open(file, &self.log, patience)?),
        };
        file.check().inspect_err(|_| {
            // What was acknowledged goes from the log into the file, wherever it is.
            let merge = "PRAGMA wal_checkpoint(PASSIVE)";
            let _ = store.connection.query_row(merge, [], |_| Ok(()));
            let _ = store.lock.unlock();
        })?;
        store
            .wait(waits)
            .and_then(|()| run(&store.connection, "BEGIN IMMEDIATE"))
            .and_then(|()| store.known.check(&store.connection))
            .map_err(|error| {
                let _ = run(&store.connection, "ROLLBACK");
                let _ = store.lock.unlock();
                schema::failed(path, &error)
            })
    }
}

impl Store {
    /// Says whether commits wait for the disk.
    fn wait(&mut self, waits: Synchronous) -> rusqlite::Result<()> {
        if self.waits != Some(waits) {
            self.connection
                .pragma_update(None, "synchronous", waits.as_str())?;
            self.waits = Some(waits);
        }
        Ok(())
    }
}

/// Tells each job how it ended.
fn tell(jobs: impl IntoIterator<Item = Box<dyn Job>>, failure: Option<&JournalError>) {
    for job in jobs {
        job.tell(failure);
    }
}

/// Opens the store under the writer's lock, which stays held.
fn open(file: &StoreFile, log: &Log, patience: Patience) -> Result<Store, JournalError> {
    let path = file.path();
    file.check()?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| schema::refused(path, &e))?;
    }
    let lock = schema::writer_lock(path, patience)?;
    if !file.is_known() {
        schema::make(path)?;
    }
    let mut connection = file.open(schema::open_writer)?;
    log.take(&mut connection)
        .map_err(|e| schema::failed(path, &e))?;
    Ok(Store {
        connection,
        waits: None,
        known: Known::default(),
        lock,
        lock_path: schema::writer_lock_path(path),
    })
}

/// Keeps what `work` wrote only if it succeeds; its neighbours stay untouched.
fn savepoint<T>(
    group: &mut Group<'_, '_>,
    work: impl FnOnce(&mut Group<'_, '_>) -> Result<T, JournalError>,
) -> Result<T, Refused> {
    let (path, connection) = (group.path, group.connection);
    let fail = |error: rusqlite::Error| Refused::Dirty(schema::failed(path, &error));
    let run = |sql| run(connection, sql).map_err(fail);
    group.tails().store(connection).map_err(fail)?;
    run("SAVEPOINT job")?;
    let result = work(group);
    match result {
        Ok(_) => group.tails().store(connection).map_err(fail)?,
        Err(_) => run("ROLLBACK TO job")?,
    }
    run("RELEASE job")?;
    result.map_err(Refused::Clean)
}

fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
