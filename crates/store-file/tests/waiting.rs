//! An async worker waits for no lock and no disk.

use std::{fs::File, path::Path, sync::Arc};

use rustagents_core::{
    journal::{Journal, Owner},
    store::Store as _,
};
use rustagents_store_file::{FileEvents, FileJournal, FileStore};
use rustagents_testkit::{
    clock::ManualClock,
    waiting::{
        Call, Pipe, event_reads, event_writes, journal_reads, journal_writes, others_go_on,
        store_reads, store_writes,
    },
};

use crate::support::{commit, log, quick_folder, thread};

/// Makes a call while another process holds a lock.
async fn beside(lock: &Path, call: Call<'_>) {
    let held = File::open(lock).unwrap();
    held.lock().unwrap();
    others_go_on(call, || drop(held)).await;
}

#[tokio::test]
async fn others_go_on_while_a_call_of_the_journal_waits() {
    let folder = quick_folder();
    let journal = FileJournal::open(folder.path()).unwrap();
    let (name, others) = (thread("t"), [thread("u"), thread("v")]);
    let lock = |name| log(folder.path(), name).with_file_name("lock");
    // What is locked must be there.
    let was = journal.claim(&others[1], Owner::default()).await.unwrap();
    journal.remove(&others[1], was.epoch).await.unwrap();
    let claim = journal.claim(&name, Owner::default()).await.unwrap();
    for call in journal_writes(&journal, &name, claim.epoch, Some(&others)) {
        let locked = match call.0 {
            "discard" => &others[0],
            "install" | "claim" => &others[1],
            _ => &name,
        };
        beside(&lock(locked), call).await;
    }
    let claim = journal.claim(&name, Owner::default()).await.unwrap();
    let write = || commit(&name, claim.epoch, None, "{}");
    journal.append(write()).await.unwrap();
    for call in journal_reads(&journal, &name) {
        beside(&lock(&name), call).await;
    }
}

#[tokio::test]
async fn others_go_on_while_contents_are_collected_and_while_a_store_is_made() {
    let folder = quick_folder();
    let journal = FileJournal::open(folder.path()).unwrap();
    let (name, others) = (thread("t"), [thread("u"), thread("v")]);
    let making = folder.path().join("format.lock");
    File::create(&making).unwrap();
    let claims = journal_writes(&journal, &name, 0, Some(&others));
    let claim = claims.into_iter().find(|(name, _)| *name == "claim");
    beside(&making, claim.unwrap()).await;
    let claim = journal.claim(&name, Owner::default()).await.unwrap();
    let collecting = folder.path().join("families.lock");
    File::create(&collecting).unwrap();
    let mut writes = journal_writes(&journal, &name, claim.epoch, None).into_iter();
    beside(&collecting, writes.next().unwrap()).await;
}

#[cfg(unix)]
#[tokio::test]
async fn others_go_on_while_the_disk_does_not_answer_who_drives_a_thread() {
    let folder = quick_folder();
    let journal = FileJournal::open(folder.path()).unwrap();
    let name = thread("t");
    drop(journal.claim(&name, Owner::default()).await.unwrap());
    let calls = journal_reads(&journal, &name);
    let owner = calls.into_iter().find(|(name, _)| *name == "owner");
    let pipe = Pipe::at(&folder.path().join("claims/t-t.0"));
    others_go_on(owner.unwrap(), || pipe.open()).await;
}

#[tokio::test]
async fn others_go_on_while_a_call_of_the_application_store_waits() {
    let folder = quick_folder();
    let store = FileStore::new(folder.path(), Arc::new(ManualClock::new()));
    let lock = folder.path().join("lock");
    store.sweep(1).await.unwrap();
    File::create(&lock).unwrap();
    for call in store_writes(&store).into_iter().chain(store_reads(&store)) {
        beside(&lock, call).await;
    }
}

#[tokio::test]
async fn others_go_on_while_a_call_of_the_event_journal_waits() {
    let folder = quick_folder();
    let journal = FileEvents::new(folder.path());
    let lock = folder.path().join("lock");
    File::create(&lock).unwrap();
    let mut writes = event_writes(&journal).into_iter();
    beside(&lock, writes.next().unwrap()).await;
    for call in event_reads(&journal).into_iter().chain(writes) {
        beside(&lock, call).await;
    }
}
