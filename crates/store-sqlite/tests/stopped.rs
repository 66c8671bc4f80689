//! A process that is stopped while it holds a lock.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustagents_core::journal::{Journal, JournalError, Owner, Select};
use rustagents_store_sqlite::SqliteJournal;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{fact, thread};

const LOCK: &str = "RUSTAGENTS_TEST_LOCK";

/// How long the tests wait.
const PATIENCE: Duration = Duration::from_millis(100);

/// Holds a lock until it is killed.
#[test]
#[ignore = "is run by the tests that stop it"]
fn child() {
    let file = File::open(std::env::var(LOCK).unwrap()).unwrap();
    file.lock().unwrap();
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nlocked").unwrap();
    out.flush().unwrap();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

/// A child that holds the lock and does nothing any more. It is killed in the end.
struct Stopped(Child);

impl Stopped {
    fn holding(lock: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "stopped::child", "--ignored", "--nocapture"])
            .env(LOCK, lock)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let stopped = Self(child);
        let mut lines = output.lines();
        assert!(lines.any(|line| line.unwrap() == "locked"));
        kill_process(Pid::from_child(&stopped.0), Signal::STOP).unwrap();
        stopped
    }

    /// The call ended, and says who is in the way.
    fn is_named<T: std::fmt::Debug>(&self, ended: Result<T, JournalError>) {
        let error = ended.unwrap_err();
        let JournalError::Unavailable { reason, .. } = &error else {
            panic!("{error:?}");
        };
        assert!(reason.contains("for 100ms"), "{reason}");
        if cfg!(target_os = "linux") {
            let process = format!("process {} has held its lock", self.0.id());
            assert!(reason.contains(&process), "{reason}");
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // A killed process lets go of its locks, stopped or not.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_writer_that_is_stopped_is_not_waited_for_without_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let name = thread("t");
    let first = SqliteJournal::open(&path).unwrap();
    let claim = first.claim(&name, Owner::default()).await.unwrap();
    let stopped = Stopped::holding(&folder.path().join("journal.db.writer"));
    let open = || SqliteJournal::open(&path).unwrap();
    let journal = open().waiting_up_to(PATIENCE);
    let write = || fact(&name, claim.epoch, "k", "{}");
    stopped.is_named(journal.append(write()).await);
    stopped.is_named(journal.claim(&thread("u"), Owner::default()).await);
    stopped.is_named(journal.take_over(&name, Owner::default()).await);
    stopped.is_named(journal.append(write()).await);
    let records = journal.read(&name, Select::all()).await.unwrap();
    assert_eq!(records.len(), 0, "readers need no lock");
    drop(stopped);
    journal.append(write()).await.unwrap();
}
