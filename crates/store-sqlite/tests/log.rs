//! How long SQLite's log gets, whoever writes and reads.

use std::{fs, path::PathBuf};

use rustagents_core::{
    digest::Digest,
    journal::{Batch, Content, Journal, Owner, Select},
};
use rustagents_store_sqlite::SqliteJournal;

use crate::support::{fact, thread};

/// Bytes of a page in the log, with its header.
const PAGE: u64 = 4_096 + 24;

/// Pages above which the writer itself moves what is in the log, with what a batch adds.
const TOO_LONG: u64 = 4_000 + PAGES + 10;

/// Pages of the content of a batch.
const PAGES: u64 = 64;

struct Store {
    folder: tempfile::TempDir,
    journal: SqliteJournal,
    written: u64,
}

impl Store {
    async fn open() -> Self {
        let folder = crate::support::quick_folder();
        let journal = SqliteJournal::open(folder.path().join("journal.db")).unwrap();
        journal
            .claim(&thread("ticket-7"), Owner::default())
            .await
            .unwrap();
        Self {
            folder,
            journal,
            written: 0,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn bytes(&self, name: &str) -> u64 {
        fs::metadata(self.path(name)).unwrap().len()
    }

    /// Appends a batch whose content takes [`PAGES`].
    async fn append(&mut self) {
        self.written += 1;
        let mut bytes = vec![b'x'; usize::try_from(PAGES * 4_096).unwrap()];
        bytes[..8].copy_from_slice(&self.written.to_be_bytes());
        let digest = Digest::of(&bytes);
        let batch = Batch {
            contents: vec![Content { digest, bytes }],
            ..fact(&thread("ticket-7"), 1, &format!("k{}", self.written), "{}")
        };
        self.journal.append(batch).await.unwrap();
    }

    /// How many facts are found by somebody who opens the store anew.
    async fn found(&self) -> u64 {
        let again = SqliteJournal::open(self.path("journal.db")).unwrap();
        let records = again
            .read(&thread("ticket-7"), Select::all())
            .await
            .unwrap();
        u64::try_from(records.len()).unwrap()
    }
}

#[tokio::test]
async fn under_steady_writing_the_log_is_moved_into_the_file_and_begins_anew() {
    let mut store = Store::open().await;
    let mut longest = 0;
    for _ in 0..250 {
        store.append().await;
        longest = longest.max(store.bytes("journal.db-wal"));
    }
    assert!(longest <= TOO_LONG * PAGE, "{longest} bytes");
    let moved = store.bytes("journal.db");
    assert!(moved >= 200 * PAGES * 4_096, "{moved} bytes in the file");
    assert_eq!(store.found().await, 250);
}

#[tokio::test]
async fn a_short_log_is_left_alone() {
    let mut store = Store::open().await;
    let before = store.bytes("journal.db");
    for _ in 0..10 {
        store.append().await;
    }
    assert_eq!(store.bytes("journal.db"), before);
    assert!(store.bytes("journal.db-wal") >= 10 * PAGES * PAGE);
}

#[tokio::test]
async fn who_reads_for_long_sees_no_change_and_the_log_begins_anew_behind_them() {
    let mut store = Store::open().await;
    store.append().await;
    let reader = rusqlite::Connection::open(store.path("journal.db")).unwrap();
    let count = || -> u64 {
        reader
            .query_row("SELECT count(*) FROM records", [], |row| row.get(0))
            .unwrap()
    };
    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(count(), 1);
    for _ in 1..100 {
        store.append().await;
    }
    assert_eq!(count(), 1);
    let longest = store.bytes("journal.db-wal");
    assert!(longest > TOO_LONG * PAGE, "nobody moves what is read");
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(count(), 100);
    // The first batches move it all, and the others fit where it was.
    for _ in 0..90 {
        store.append().await;
    }
    let now = store.bytes("journal.db-wal");
    assert!(now <= longest + 3 * (PAGES + 10) * PAGE, "{now} bytes");
    assert_eq!(store.found().await, 190);
}

#[tokio::test]
async fn the_last_to_close_leaves_no_log() {
    let mut store = Store::open().await;
    for _ in 0..20 {
        store.append().await;
    }
    let Store {
        folder, journal, ..
    } = store;
    drop(journal);
    assert!(!folder.path().join("journal.db-wal").exists());
}
