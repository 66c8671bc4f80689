//! The thread that writes: it groups what is waiting into one transaction.

use std::{
    fs::{File, OpenOptions},
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError},
    thread::JoinHandle,
};

use rusqlite::Connection;
use rustagents_core::{
    ids::ThreadId,
    journal::{Batch, Epoch, JournalError, Owner, Seq},
};
use tokio::sync::{mpsc, oneshot};

use crate::{batch, schema};

/// How many jobs may wait before senders do.
const QUEUE: usize = 256;

/// How many jobs share a transaction at the most.
const GROUP: usize = 64;

type Reply<T> = oneshot::Sender<Result<T, JournalError>>;

/// Something to be written.
pub(crate) enum Job {
    Claim {
        thread: ThreadId,
        owner: Owner,
        reply: Reply<Epoch>,
    },
    Append {
        batch: Batch,
        reply: Reply<Vec<Seq>>,
    },
}

/// A job's outcome, told only once the transaction is durable.
enum Outcome {
    Claimed(Reply<Epoch>, Result<Epoch, JournalError>),
    Appended(Reply<Vec<Seq>>, Result<Vec<Seq>, JournalError>),
}

/// The handle of the writer thread, which starts at the first write.
#[derive(Debug)]
pub(crate) struct Writer {
    path: PathBuf,
    running: OnceLock<Running>,
}

#[derive(Debug)]
struct Running {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            running: OnceLock::new(),
        }
    }

    /// Hands a job over and waits for its outcome. Once handed over, a job runs
    /// to its end, whether somebody waits or not.
    pub(crate) async fn run<T>(
        &self,
        job: impl FnOnce(Reply<T>) -> Job,
    ) -> Result<T, JournalError> {
        let (reply, outcome) = oneshot::channel();
        let gone = || schema::unavailable(&self.path, &"the writer is gone");
        let jobs = self.running().jobs.as_ref().ok_or_else(gone)?;
        jobs.send(job(reply)).await.map_err(|_| gone())?;
        outcome.await.map_err(|_| gone())?
    }

    fn running(&self) -> &Running {
        self.running.get_or_init(|| {
            let (jobs, queue) = mpsc::channel(QUEUE);
            let path = self.path.clone();
            let thread = std::thread::Builder::new()
                .name("rag-journal".into())
                .spawn(move || write_all(&path, queue))
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

fn write_all(path: &Path, mut queue: mpsc::Receiver<Job>) {
    let mut store = None;
    let mut group = Vec::with_capacity(GROUP);
    while let Some(first) = queue.blocking_recv() {
        group.push(first);
        while group.len() < GROUP
            && let Ok(job) = queue.try_recv()
        {
            group.push(job);
        }
        write_group(path, &mut store, group.drain(..));
    }
}

/// The open store: its connection, and the file whose lock serialises processes.
struct Store {
    connection: Connection,
    lock: File,
}

fn write_group(path: &Path, store: &mut Option<Store>, jobs: impl Iterator<Item = Job>) {
    let store = match begin(path, store) {
        Ok(store) => store,
        Err(failure) => return jobs.for_each(|job| job.refuse(&failure)),
    };
    let outcomes: Vec<_> = jobs
        .map(|job| perform(path, &store.connection, job))
        .collect();
    let committed = store.connection.execute_batch("COMMIT");
    if committed.is_err() {
        let _ = store.connection.execute_batch("ROLLBACK");
    }
    let _ = store.lock.unlock();
    let failure = committed
        .map_err(|error| schema::failed(path, &error))
        .err();
    for outcome in outcomes {
        outcome.tell(failure.as_ref());
    }
}

fn begin<'a>(path: &Path, store: &'a mut Option<Store>) -> Result<&'a Store, JournalError> {
    let store = match store {
        Some(store) => {
            store
                .lock
                .lock()
                .map_err(|e| schema::unavailable(path, &e))?;
            store
        }
        None => store.insert(open(path)?),
    };
    store
        .connection
        .execute_batch("BEGIN IMMEDIATE")
        .map_err(|error| {
            let _ = store.lock.unlock();
            schema::failed(path, &error)
        })?;
    Ok(store)
}

/// Opens the store under the writer's lock, which stays held.
fn open(path: &Path) -> Result<Store, JournalError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| schema::unavailable(path, &e))?;
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".writer");
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&name)
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|e| schema::unavailable(path, &e))?;
    Ok(Store {
        connection: schema::open_writer(path)?,
        lock,
    })
}

fn perform(path: &Path, connection: &Connection, job: Job) -> Outcome {
    match job {
        Job::Claim {
            thread,
            owner,
            reply,
        } => {
            let result = savepoint(path, connection, || {
                batch::claim(path, connection, &thread, &owner)
            });
            Outcome::Claimed(reply, result)
        }
        Job::Append { batch, reply } => {
            let result = savepoint(path, connection, || batch::append(path, connection, &batch));
            Outcome::Appended(reply, result)
        }
    }
}

/// Keeps what `work` wrote only if it succeeds; its neighbours stay untouched.
fn savepoint<T>(
    path: &Path,
    connection: &Connection,
    work: impl FnOnce() -> Result<T, JournalError>,
) -> Result<T, JournalError> {
    let run = |sql: &str| {
        connection
            .execute_batch(sql)
            .map_err(|e| schema::failed(path, &e))
    };
    run("SAVEPOINT job")?;
    let result = work();
    if result.is_err() {
        run("ROLLBACK TO job")?;
    }
    run("RELEASE job")?;
    result
}

impl Job {
    fn refuse(self, failure: &JournalError) {
        match self {
            Self::Claim { reply, .. } => drop(reply.send(Err(failure.clone()))),
            Self::Append { reply, .. } => drop(reply.send(Err(failure.clone()))),
        }
    }
}

impl Outcome {
    fn tell(self, failure: Option<&JournalError>) {
        // A receiver that is gone does not need the news.
        match self {
            Self::Claimed(reply, result) => drop(reply.send(verdict(result, failure))),
            Self::Appended(reply, result) => drop(reply.send(verdict(result, failure))),
        }
    }
}

fn verdict<T>(
    result: Result<T, JournalError>,
    failure: Option<&JournalError>,
) -> Result<T, JournalError> {
    match failure {
        Some(failure) => result.and(Err(failure.clone())),
        None => result,
    }
}
