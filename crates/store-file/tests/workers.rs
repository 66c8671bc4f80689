//! Several processes on one folder.

use std::{path::Path, sync::Arc};

use rustagents_store_file::{FileEvents, FileJournal, FileStore};
use rustagents_testkit::{
    clock::ManualClock,
    workers::{self, Workers, stores},
};

use crate::support::quick_folder;

const WORKER: &str = "workers::worker";

fn open(path: &Path) -> FileJournal {
    FileJournal::open(path).unwrap()
}

#[tokio::test]
#[ignore = "is run by the tests that start it"]
async fn worker() {
    workers::work(open).await;
}

#[tokio::test]
async fn processes_that_take_turns_make_one_chain_while_others_add_facts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    workers::take_turns(&Workers::new(WORKER, &path), &open(&path)).await;
}

#[tokio::test]
async fn processes_with_threads_of_their_own_lose_nothing_and_none_starves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    workers::write_their_own(&Workers::new(WORKER, &path), &open(&path)).await;
}

#[tokio::test]
async fn processes_that_are_killed_at_any_moment_lose_and_double_nothing() {
    for seed in 0..2 {
        let folder = quick_folder();
        let path = folder.path().join("journal");
        workers::are_killed(&Workers::new(WORKER, &path), open, seed).await;
    }
}

fn items(path: &Path) -> FileStore {
    FileStore::new(path, Arc::new(ManualClock::new()))
}

fn events(path: &Path) -> FileEvents {
    FileEvents::new(path)
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
    let path = folder.path().join("store");
    let workers = Workers::new("workers::item_worker", &path);
    stores::puts(&workers, items, 1).await;
}

#[tokio::test]
async fn processes_that_append_events_lose_nothing_and_none_starves() {
    let folder = quick_folder();
    let path = folder.path().join("events");
    let workers = Workers::new("workers::event_worker", &path);
    stores::appends(&workers, events, 1).await;
}
