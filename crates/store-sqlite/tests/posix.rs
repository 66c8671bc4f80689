//! Looking at a file does not take SQLite's locks on it from the process.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path, sync::Arc};

use rustagents_core::{
    event_journal::EventJournal as _,
    journal::{Journal as _, Owner, Select},
    store::{Reading, Store as _},
};
use rustagents_store_sqlite::{SqliteEvents, SqliteJournal, SqliteStore};
use rustagents_testkit::clock::ManualClock;

use crate::support::{fact, thread};

/// How many locks this process has on the file.
fn locks(path: &Path) -> usize {
    let inode = format!(":{}", fs::metadata(path).unwrap().ino());
    let process = std::process::id().to_string();
    let locks = fs::read_to_string("/proc/locks").unwrap();
    let own = locks.lines().filter(|line| {
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        words[1] == "POSIX" && words[4] == process && words[5].ends_with(&inode)
    });
    own.count()
}

#[tokio::test]
async fn a_journal_that_is_opened_again_keeps_its_locks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    let name = thread("t");
    let claim = journal.claim(&name, Owner::default()).await.unwrap();
    let write = |key: &str| fact(&name, claim.epoch, key, "{}");
    journal.append(write("a")).await.unwrap();
    let held = locks(&path);
    assert!(held > 0);
    assert!(SqliteJournal::exists(&path).unwrap());
    assert_eq!(locks(&path), held, "after a look");
    let second = SqliteJournal::open(&path).unwrap();
    assert_eq!(locks(&path), held, "after it was opened");
    let read = second.read(&name, Select::all()).await.unwrap();
    assert_eq!(read.len(), 1);
    assert!(locks(&path) >= held, "after it was read");
    second.append(write("b")).await.unwrap();
    drop(second);
    assert!(locks(&path) > 0, "after it was closed");
    journal.append(write("c")).await.unwrap();
    drop(journal);
    assert_eq!(locks(&path), 0);
    let again = SqliteJournal::open(&path).unwrap();
    assert_eq!(again.read(&name, Select::all()).await.unwrap().len(), 3);
}

#[tokio::test]
async fn so_do_the_store_and_the_events() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new());
    let address = rustagents_core::store::Address::new(["a"], "k").unwrap();
    let path = folder.path().join("items.db");
    let open = || SqliteStore::new(&path, clock.clone());
    let store = open();
    let options = rustagents_core::store::PutOptions::default();
    let put = store.put(address.clone(), serde_json::json!(1), options);
    put.await.unwrap();
    let held = locks(&path);
    assert!(held > 0);
    let item = open().get(&address, Reading::Plain).await.unwrap();
    assert!(item.is_some());
    assert!(locks(&path) >= held);
    let foreign = SqliteJournal::open(&path).unwrap_err();
    assert!(foreign.to_string().contains("another program"), "{foreign}");
    let events = SqliteEvents::new(&path);
    events.changed(0).await.unwrap_err();
    assert!(locks(&path) >= held);
}
