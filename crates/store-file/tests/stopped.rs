//! A process that is stopped while it holds a lock.

use std::time::Duration;

use rustagents_core::journal::{Journal, Owner, Select, ThreadQuery};
use rustagents_store_file::FileJournal;
use rustagents_testkit::stopped::{self, Stopped};

use crate::support::{fact, log, thread};

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
    let name = thread("t");
    let first = FileJournal::open(folder.path()).unwrap();
    let claim = first.claim(&name, Owner::default()).await.unwrap();
    let lock = log(folder.path(), &name).with_file_name("lock");
    let stopped = Stopped::holding("stopped::child", &lock);
    let journal = FileJournal::open(folder.path()).unwrap();
    let journal = journal.waiting_up_to(PATIENCE);
    let write = || fact(&name, claim.epoch, "k", "{}");
    stopped.is_named(PATIENCE, journal.append(write()).await);
    stopped.is_named(PATIENCE, journal.read(&name, Select::all()).await);
    stopped.is_named(PATIENCE, journal.take_over(&name, Owner::default()).await);
    let listed = journal.threads(ThreadQuery::all()).await.unwrap();
    let [row] = &listed[..] else {
        panic!("{listed:?}");
    };
    assert_eq!((&row.thread, row.epoch), (&name, claim.epoch));
    let writes = futures::future::join_all((0..8).map(|_| journal.append(write())));
    for ended in writes.await {
        stopped.is_named(PATIENCE, ended);
    }
    let other = journal.claim(&thread("u"), Owner::default()).await;
    assert_eq!(other.unwrap().epoch, 1, "other threads go on");
    drop(stopped);
    journal.append(write()).await.unwrap();
}
