//! Threads, batches and files for the tests.

use std::{fs, path::Path};

use tempfile::TempDir;

pub(crate) use rustagents_testkit::batch::*;

/// A folder for tests that wait for the disk very often: in memory, where that is
/// at hand.
pub(crate) fn quick_folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
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

/// A store with the tables of an earlier version. `ticket-7` has 20 records and 8
/// messages.
pub(crate) fn old_store(version: u32, path: &Path) {
    let fixture = format!("../../spec/journal/sqlite-{version}.sql");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture);
    let store = rusqlite::Connection::open(path).unwrap();
    let sql = fs::read_to_string(fixture).unwrap();
    let sql = format!("BEGIN; {sql} COMMIT;");
    store.execute_batch(&sql).unwrap();
}
