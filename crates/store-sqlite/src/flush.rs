//! Waits for the disk beside the writer, where it has more to do than one group.
//!
//! A transaction that is committed without waiting stands in SQLite's log, and is durable
//! once that was flushed. Its callers are told then, and the writer has begun the next
//! one meanwhile. The log is written from its beginning to its end, so that what follows
//! a commit is never durable without it: nobody who read a commit too early can write
//! down what rests on it and survive it.
//!
//! After a flush that failed nobody knows what the disk has, and one that succeeds later
//! says nothing about that. So nothing is written any more by this writer.

use std::{
    fs::OpenOptions,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        mpsc::{SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use rustagents_core::journal::JournalError;

use crate::schema::unavailable;

/// Tells those who wrote how it ended.
type Tell = Box<dyn FnOnce(Option<&JournalError>) + Send>;

/// The thread that waits, which starts when it is first needed.
pub(crate) struct Flusher {
    path: PathBuf,
    failure: Arc<OnceLock<JournalError>>,
    running: Option<Running>,
}

struct Running {
    committed: SyncSender<Tell>,
    thread: JoinHandle<()>,
}

impl Flusher {
    /// One for the log of the store at `path`.
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            failure: Arc::default(),
            running: None,
        }
    }

    /// Fails if an earlier flush did.
    pub(crate) fn check(&self) -> Result<(), JournalError> {
        self.failure.get().cloned().map_or(Ok(()), Err)
    }

    /// Has `tell` called once all that was committed so far is durable. Waits as long as
    /// another transaction waits for its turn.
    pub(crate) fn flush(&mut self, tell: Tell) {
        let running = match self.running.take() {
            Some(running) => Ok(running),
            None => self.start(),
        };
        match running {
            Ok(running) => {
                // The thread ends after the last sender.
                drop(running.committed.send(tell));
                self.running = Some(running);
            }
            Err(error) => self.fail(&error, tell),
        }
    }

    fn start(&self) -> io::Result<Running> {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        let log = OpenOptions::new().write(true).open(log)?;
        self.start_with(move || log.sync_data())
    }

    fn start_with(
        &self,
        flush: impl Fn() -> io::Result<()> + Send + 'static,
    ) -> io::Result<Running> {
        // One transaction is flushed while the next one is written.
        let (committed, waiting) = sync_channel::<Tell>(0);
        let (path, failure) = (self.path.clone(), Arc::clone(&self.failure));
        let work = move || {
            for tell in waiting {
                if failure.get().is_none()
                    && let Err(error) = flush()
                {
                    let _ = failure.set(failed(&path, &error));
                }
                tell(failure.get());
            }
        };
        let thread = thread::Builder::new()
            .name("rag-flush".into())
            .spawn(work)?;
        Ok(Running { committed, thread })
    }

    fn fail(&self, error: &io::Error, tell: Tell) {
        tell(Some(self.failure.get_or_init(|| failed(&self.path, error))));
    }
}

impl Drop for Flusher {
    /// Waits until all were told.
    fn drop(&mut self) {
        if let Some(Running { committed, thread }) = self.running.take() {
            drop(committed);
            drop(thread.join());
        }
    }
}

fn failed(path: &Path, error: &io::Error) -> JournalError {
    let reason = format!(
        "its log could not be flushed ({error}), so that a loss of power may take what was \
         written last; open the store again to go on"
    );
    unavailable(path, &reason)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// A flusher whose flushes wait for their ends.
    fn flusher() -> (Flusher, Sender<io::Result<()>>) {
        let mut flusher = Flusher::new(Path::new("a.db"));
        let (ends, wait) = channel();
        let flush = move || wait.recv().unwrap();
        flusher.running = Some(flusher.start_with(flush).unwrap());
        (flusher, ends)
    }

    fn tell(name: &'static str) -> (Tell, Receiver<(&'static str, Option<String>)>) {
        let (told, hear) = channel();
        let tell = move |failure: Option<&JournalError>| {
            told.send((name, failure.map(ToString::to_string))).unwrap();
        };
        (Box::new(tell), hear)
    }

    #[test]
    fn who_wrote_is_told_after_the_flush_and_the_writer_goes_on_before() {
        let (mut flusher, ends) = flusher();
        let (first, hear) = tell("first");
        flusher.flush(first);
        assert!(hear.try_recv().is_err(), "it is not durable yet");
        ends.send(Ok(())).unwrap();
        assert_eq!(hear.recv().unwrap(), ("first", None));
        assert!(flusher.check().is_ok());
    }

    #[test]
    fn each_transaction_has_a_flush_of_its_own_and_all_are_told_before_the_end() {
        let (mut flusher, ends) = flusher();
        let ((first, hear_first), (second, hear_second)) = (tell("first"), tell("second"));
        flusher.flush(first);
        let writer = thread::spawn(move || {
            flusher.flush(second);
            drop(flusher);
        });
        ends.send(Ok(())).unwrap();
        assert_eq!(hear_first.recv().unwrap(), ("first", None));
        assert!(hear_second.try_recv().is_err(), "a flush for each");
        ends.send(Ok(())).unwrap();
        writer.join().unwrap();
        assert_eq!(hear_second.try_recv().unwrap(), ("second", None));
    }

    #[test]
    fn after_a_flush_that_failed_nothing_counts_as_durable() {
        let (mut flusher, ends) = flusher();
        let ((first, hear_first), (second, hear_second)) = (tell("first"), tell("second"));
        flusher.flush(first);
        ends.send(Err(io::Error::other("a bad disk"))).unwrap();
        let (_, failure) = hear_first.recv().unwrap();
        let failure = failure.unwrap();
        assert!(failure.contains("a bad disk"), "{failure}");
        assert!(failure.contains("open the store again"), "{failure}");
        assert_eq!(flusher.check().unwrap_err().to_string(), failure);
        // Another flush is not asked for: it would say nothing about the first one.
        flusher.flush(second);
        assert_eq!(hear_second.recv().unwrap(), ("second", Some(failure)));
    }

    #[test]
    fn a_log_that_is_not_there_cannot_be_flushed() {
        let folder = tempfile::tempdir().unwrap();
        let mut flusher = Flusher::new(&folder.path().join("a.db"));
        let (first, hear) = tell("first");
        flusher.flush(first);
        assert!(hear.try_recv().unwrap().1.is_some());
        assert!(flusher.check().is_err());
    }
}
