//! Threads, batches and folders for the tests.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use rustagents_core::{
    ids::{Branch, FactKey, Namespace, RunId, ThreadId},
    journal::{Author, Batch, Chain, Entry, Journal, Place, Select, Seq, kind},
};
use rustagents_store::names;
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

/// The bodies of a thread's records, in order.
pub(crate) async fn bodies(journal: &dyn Journal, thread: &ThreadId) -> Vec<String> {
    let records = journal.read(thread, Select::all()).await.unwrap();
    records.into_iter().map(|record| record.body).collect()
}

/// The log of a thread in the store at `root`.
pub(crate) fn log(root: &Path, thread: &ThreadId) -> PathBuf {
    let folder = root.join("threads").join(names::file_name(thread));
    folder.join("log.jsonl")
}

/// All files below a folder, with their bytes; folders have none.
pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
            files.insert(path, None);
        } else {
            let bytes = fs::read(&path).unwrap();
            files.insert(path, Some(bytes));
        }
    }
    files
}
