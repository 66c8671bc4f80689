//! Threads, batches and files for the tests.

use std::{fs, path::Path};

use rustagents_core::{
    ids::{Branch, FactKey, Namespace, RunId, ThreadId},
    journal::{Author, Batch, Chain, Entry, Place, kind},
};

pub(crate) fn thread(name: &str) -> ThreadId {
    ThreadId::new(name).unwrap()
}

pub(crate) fn fact(thread: &ThreadId, epoch: u64, key: &str, body: &str) -> Batch {
    Batch {
        thread: thread.clone(),
        author: Author::Driver(epoch),
        heads: vec![],
        entries: vec![Entry {
            chain: Chain {
                branch: Branch::main(),
                namespace: Namespace::root(),
            },
            place: Place::Fact(FactKey::from(key)),
            kind: kind::RESULT,
            run: RunId::from("r"),
            attempt: 1,
            effect: None,
            digest: None,
            body: body.to_owned(),
        }],
        messages: vec![],
        contents: vec![],
        at_ms: 1,
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
