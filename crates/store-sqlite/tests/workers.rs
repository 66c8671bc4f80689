//! Several processes on one store.

use std::{path::Path, sync::Arc};

use rustagents_core::journal::{Journal, Owner, Select};
use rustagents_store_sqlite::{SqliteEvents, SqliteJournal, SqliteStore};
use rustagents_testkit::{
    clock::ManualClock,
    workers::{self, Workers, stores},
};

use crate::support::{fact, quick_folder, thread};

const WORKER: &str = "workers::worker";

#[tokio::test]
#[ignore = "is run by the tests that start it"]
async fn worker() {
    workers::work(|store| SqliteJournal::open(store).unwrap()).await;
}

#[tokio::test]
async fn a_process_that_ends_takes_nothing_from_one_that_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let workers = Workers::new(WORKER, &path);
    let journal = SqliteJournal::open(&path).unwrap();
    let name = thread("t");
    let claim = journal.claim(&name, Owner::default()).await.unwrap();
    for number in 0..3 {
        // Looking at the file must not let go of SQLite's locks on it.
        journal.read(&name, Select::all()).await.unwrap();
        assert!(SqliteJournal::exists(&path).unwrap());
        workers.start(&format!("once other-{number}")).end();
        let write = fact(&name, claim.epoch, &number.to_string(), "{}");
        journal.append(write).await.unwrap();
        workers.start(&format!("once again-{number}")).end();
        let records = journal.read(&name, Select::all()).await.unwrap();
        assert_eq!(records.len(), number + 1);
    }
    drop((claim, journal));
    let journal = SqliteJournal::open(&path).unwrap();
    let records = journal.read(&name, Select::all()).await.unwrap();
    assert_eq!(records.len(), 3);
    for number in 0..3 {
        for other in ["other", "again"] {
            let other = thread(&format!("{other}-{number}"));
            assert_eq!(journal.read(&other, Select::all()).await.unwrap().len(), 1);
        }
    }
}

#[tokio::test]
async fn processes_that_take_turns_make_one_chain_while_others_add_facts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    workers::take_turns(&Workers::new(WORKER, &path), &journal).await;
}

#[tokio::test]
async fn processes_with_threads_of_their_own_lose_nothing_and_none_starves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    workers::write_their_own(&Workers::new(WORKER, &path), &journal).await;
}

#[tokio::test]
async fn processes_that_are_killed_at_any_moment_lose_and_double_nothing() {
    let folder = quick_folder();
    let path = folder.path().join("journal.db");
    let open = |path: &Path| SqliteJournal::open(path).unwrap();
    workers::are_killed(&Workers::new(WORKER, &path), open, 1).await;
}

fn items(path: &Path) -> SqliteStore {
    SqliteStore::new(path, Arc::new(ManualClock::new()))
}

fn events(path: &Path) -> SqliteEvents {
    SqliteEvents::new(path)
}

#[tokio::test]
#[ignore = "is run by the tests that start it"]
async fn item_worker() {
    stores::put(items).await;
}

#[tokio::test]
#[ignore = "is run by the tests that start it"]
async fn event_worker() {
    stores::append(events).await;
}

#[tokio::test]
async fn processes_that_put_items_lose_nothing_and_none_starves() {
    let folder = quick_folder();
    let path = folder.path().join("store.db");
    let workers = Workers::new("workers::item_worker", &path);
    stores::puts(&workers, items, 1).await;
}

#[tokio::test]
async fn processes_that_append_events_lose_nothing_and_none_starves() {
    let folder = quick_folder();
    let path = folder.path().join("events.db");
    let workers = Workers::new("workers::event_worker", &path);
    stores::appends(&workers, events, 1).await;
    let all = rusqlite::Connection::open(&path).unwrap();
    let halves = "SELECT count(*) FROM (SELECT 1 FROM events GROUP BY thread HAVING count(*) % 2)";
    let halves: u64 = all.query_row(halves, [], |row| row.get(0)).unwrap();
    assert_eq!(halves, 0, "an append of two is whole or absent");
}
