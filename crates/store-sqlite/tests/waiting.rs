//! An async worker waits for no lock and no disk.

use std::{fs::File, path::Path, sync::Arc};

use rusqlite::Connection;
use rustagents_core::journal::{Journal, Owner};
use rustagents_store_sqlite::{SqliteEvents, SqliteJournal, SqliteStore};
use rustagents_testkit::{
    clock::ManualClock,
    waiting::{
        Pipe, event_reads, event_writes, journal_reads, journal_writes, others_go_on,
        others_go_on_once, store_reads, store_writes,
    },
};

use crate::support::{commit, quick_folder, thread};

/// Keeps everybody out of a database that nobody has open.
fn keep_out(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT;")
        .unwrap();
    connection
}

#[tokio::test]
async fn others_go_on_while_a_write_to_the_journal_waits() {
    let folder = quick_folder();
    let path = folder.path().join("journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    let (name, others) = (thread("t"), [thread("u"), thread("v")]);
    let claim = journal.claim(&name, Owner::default()).await.unwrap();
    for call in journal_writes(&journal, &name, claim.epoch, Some(&others)) {
        let held = File::open(folder.path().join("journal.db.writer")).unwrap();
        held.lock().unwrap();
        others_go_on(call, || drop(held)).await;
    }
}

#[tokio::test]
async fn others_go_on_while_a_store_is_made() {
    let folder = quick_folder();
    let journal = SqliteJournal::open(folder.path().join("journal.db")).unwrap();
    let (name, others) = (thread("t"), [thread("u"), thread("v")]);
    let held = File::create(folder.path().join("journal.db.writer")).unwrap();
    held.lock().unwrap();
    let calls = journal_writes(&journal, &name, 0, Some(&others));
    let claim = calls.into_iter().find(|(name, _)| *name == "claim");
    others_go_on(claim.unwrap(), || drop(held)).await;
}

#[tokio::test]
async fn others_go_on_while_a_look_at_the_journal_waits() {
    let folder = quick_folder();
    let path = folder.path().join("journal.db");
    let name = thread("t");
    let journal = SqliteJournal::open(&path).unwrap();
    let claim = journal.claim(&name, Owner::default()).await.unwrap();
    let write = commit(&name, claim.epoch, None, "{}");
    journal.append(write).await.unwrap();
    drop((claim, journal));
    for at in 0..6 {
        let kept_out = keep_out(&path);
        let journal = SqliteJournal::open(&path).unwrap();
        let call = journal_reads(&journal, &name).into_iter().nth(at);
        others_go_on(call.unwrap(), || drop(kept_out)).await;
    }
}

/// A runtime with one thread for async work, and one that may wait for the disk.
fn two_threads() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(1)
        .enable_time()
        .build()
        .unwrap()
}

#[cfg(unix)]
#[test]
fn others_go_on_while_the_disk_does_not_answer_who_drives_a_thread() {
    let folder = quick_folder();
    two_threads().block_on(async {
        let journal = SqliteJournal::open(folder.path().join("journal.db")).unwrap();
        let name = thread("t");
        drop(journal.claim(&name, Owner::default()).await.unwrap());
        let calls = journal_reads(&journal, &name);
        let owner = calls.into_iter().find(|(name, _)| *name == "owner");
        let pipe = Pipe::at(&folder.path().join("journal.db.claims/t-t"));
        // The database is asked first, on the only thread for that, which is kept until
        // somebody waits behind the question.
        let (lets_go, waits) = std::sync::mpsc::channel::<()>();
        let kept = tokio::task::spawn_blocking(move || waits.recv());
        let asked = async {
            let behind = tokio::task::spawn_blocking(|| ());
            lets_go.send(()).unwrap();
            behind.await.unwrap();
        };
        others_go_on_once(owner.unwrap(), asked, || pipe.open()).await;
        kept.await.unwrap().unwrap();
    });
}

#[test]
fn a_claim_does_nothing_on_the_async_worker_itself() {
    let folder = quick_folder();
    let (lets_go, waits) = std::sync::mpsc::channel::<()>();
    two_threads().block_on(async {
        // The one thread that may wait for the disk does.
        let busy = tokio::task::spawn_blocking(move || waits.recv());
        let journal = SqliteJournal::open(folder.path().join("journal.db")).unwrap();
        let (name, others) = (thread("t"), [thread("u"), thread("v")]);
        let calls = journal_writes(&journal, &name, 0, Some(&others));
        let claim = calls.into_iter().find(|(name, _)| *name == "claim");
        others_go_on(claim.unwrap(), || {
            assert_eq!(crate::support::files(folder.path()), []);
            lets_go.send(()).unwrap();
        })
        .await;
        busy.await.unwrap().unwrap();
    });
}

#[tokio::test]
async fn others_go_on_while_a_call_of_the_application_store_waits() {
    let folder = quick_folder();
    let path = folder.path().join("store.db");
    let open = || SqliteStore::new(&path, Arc::new(ManualClock::new()));
    let first = open();
    store_writes(&first).remove(0).1.await.unwrap();
    drop(first);
    for at in 0..3 {
        for calls in [store_writes, store_reads] {
            let kept_out = keep_out(&path);
            let store = open();
            let call = calls(&store).into_iter().nth(at);
            others_go_on(call.unwrap(), || drop(kept_out)).await;
        }
    }
}

#[tokio::test]
async fn others_go_on_while_a_call_of_the_event_journal_waits() {
    let folder = quick_folder();
    let path = folder.path().join("events.db");
    let first = SqliteEvents::new(&path);
    event_writes(&first).remove(0).1.await.unwrap();
    drop(first);
    for at in 0..5 {
        let kept_out = keep_out(&path);
        let journal = SqliteEvents::new(&path);
        let calls = event_reads(&journal).into_iter();
        let call = calls.chain(event_writes(&journal)).nth(at);
        others_go_on(call.unwrap(), || drop(kept_out)).await;
    }
}
