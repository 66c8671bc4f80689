//! Threads, batches and folders for the tests.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustagents_core::{
    ids::ThreadId,
    journal::{Journal, Select},
};
use rustagents_store::names;
use rustagents_store_file::FileJournal;
use tempfile::TempDir;

pub(crate) use rustagents_testkit::batch::*;

/// A folder for tests that wait for the disk very often: in memory, where that is
/// at hand.
pub(crate) fn quick_folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// Several handles on one folder, as several processes are.
pub(crate) fn handles(count: usize) -> (TempDir, Vec<Arc<FileJournal>>) {
    let folder = tempfile::tempdir().unwrap();
    let open = |_| Arc::new(FileJournal::open(folder.path().join("journal")).unwrap());
    let handles = (0..count).map(open).collect();
    (folder, handles)
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
