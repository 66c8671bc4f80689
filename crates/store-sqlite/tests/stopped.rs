//! A process that is stopped while it holds a lock.

use std::time::Duration;

use rustagents_core::journal::{Journal, Owner, Select};
use rustagents_store_sqlite::SqliteJournal;
use rustagents_testkit::stopped::{self, Stopped};

use crate::support::{fact, thread};

/// How long the tests wait.
const PATIENCE: Duration = Duration::from_millis(100);

#[test]
#[ignore = "is run by the tests that stop it"]
fn child() {
    stopped::hold();
}

#[tokio::test]
async fn a_writer_that_is_stopped_is_not_waited_for_without_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let name = thread("t");
    let first = SqliteJournal::open(&path).unwrap();
    let claim = first.claim(&name, Owner::default()).await.unwrap();
    let stopped = Stopped::holding("stopped::child", &folder.path().join("journal.db.writer"));
    let open = || SqliteJournal::open(&path).unwrap();
    let journal = open().waiting_up_to(PATIENCE);
    let write = || fact(&name, claim.epoch, "k", "{}");
    stopped.is_named(PATIENCE, journal.append(write()).await);
    stopped.is_named(
        PATIENCE,
        journal.claim(&thread("u"), Owner::default()).await,
    );
    stopped.is_named(PATIENCE, journal.take_over(&name, Owner::default()).await);
    stopped.is_named(PATIENCE, journal.append(write()).await);
    let records = journal.read(&name, Select::all()).await.unwrap();
    assert_eq!(records.len(), 0, "readers need no lock");
    drop(stopped);
    journal.append(write()).await.unwrap();
}
