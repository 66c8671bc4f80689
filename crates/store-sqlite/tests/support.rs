//! Threads, batches and files for the tests.

use std::{fs, path::Path};

use rustagents_core::{
    ids::{Branch, FactKey, Namespace, RunId, ThreadId},
    journal::{Author, Batch, Chain, Entry, Place, Seq, kind},
};
use tempfile::TempDir;

pub(crate) fn thread(name: &str) -> ThreadId {
    ThreadId::new(name).unwrap()
}

/// A folder for tests that wait for the disk very often: in memory, where that is
/// at hand.
pub(crate) fn quick_folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

pub(crate) fn root() -> Chain {
    Chain {
        branch: Branch::main(),
        namespace: Namespace::root(),
    }
}

pub(crate) fn entry(place: Place, body: &str) -> Entry {
    Entry {
        chain: root(),
        place,
        kind: kind::RESULT,
        run: RunId::from("r"),
        attempt: 1,
        effect: None,
        digest: None,
        body: body.to_owned(),
    }
}

pub(crate) fn batch(thread: &ThreadId, epoch: u64, entries: Vec<Entry>) -> Batch {
    Batch {
        thread: thread.clone(),
        author: Author::Driver(epoch),
        heads: vec![],
        entries,
        messages: vec![],
        contents: vec![],
        at_ms: 1,
    }
}

pub(crate) fn fact(thread: &ThreadId, epoch: u64, key: &str, body: &str) -> Batch {
    let entry = entry(Place::Fact(FactKey::from(key)), body);
    batch(thread, epoch, vec![entry])
}

pub(crate) fn commit(thread: &ThreadId, epoch: u64, head: Option<Seq>, body: &str) -> Batch {
    Batch {
        heads: vec![(root(), head)],
        ..batch(thread, epoch, vec![entry(Place::Commit, body)])
    }
}

pub(crate) fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            (
                path.display().to_string(),
                fs::read(&path).unwrap_or_default(),
            )
        })
        .collect();
    files.sort();
    files
}

/// A store with the tables of version 1.
pub(crate) fn old_store(path: &Path) {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/journal/sqlite-1.sql");
    let store = rusqlite::Connection::open(path).unwrap();
    store
        .execute_batch(&fs::read_to_string(fixture).unwrap())
        .unwrap();
}
