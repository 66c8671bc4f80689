//! Several processes on one folder.

use std::path::Path;

use rustagents_store_file::FileJournal;
use rustagents_testkit::workers::{self, Workers};

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
