//! What SQLite alone needs for the same bytes in the same mode.

use std::path::Path;

use rusqlite::Connection;
use rustagents_store_sqlite::Synchronous;

/// A table of blobs, in a write-ahead log.
pub(super) struct Raw(Connection);

impl Raw {
    pub(super) fn open(path: &Path, synchronous: Synchronous) -> Self {
        let connection = Connection::open(path).unwrap();
        let synchronous = match synchronous {
            Synchronous::Normal => "normal",
            Synchronous::Full => "full",
        };
        connection
            .execute_batch(&format!(
                "PRAGMA journal_mode = wal; PRAGMA synchronous = {synchronous};
                 CREATE TABLE rows(id INTEGER PRIMARY KEY, thread INTEGER, body BLOB NOT NULL)"
            ))
            .unwrap();
        Self(connection)
    }

    /// Opens what was written before.
    pub(super) fn open_again(path: &Path) -> Self {
        Self(Connection::open(path).unwrap())
    }

    /// Inserts rows in one transaction.
    pub(super) fn insert(&self, rows: &[(u32, &[u8])]) {
        let run = |sql: &str| {
            let mut statement = self.0.prepare_cached(sql).unwrap();
            statement.execute([]).unwrap();
        };
        run("BEGIN IMMEDIATE");
        for (thread, body) in rows {
            self.0
                .prepare_cached("INSERT INTO rows(thread, body) VALUES(?1, ?2)")
                .unwrap()
                .execute(rusqlite::params![thread, body])
                .unwrap();
        }
        run("COMMIT");
    }

    /// Reads everything back, and says how many bytes that is.
    pub(super) fn read(&self) -> usize {
        let mut statement = self
            .0
            .prepare_cached("SELECT body FROM rows ORDER BY id")
            .unwrap();
        let bodies = statement
            .query_map([], |row| row.get::<_, Vec<u8>>(0))
            .unwrap();
        bodies.map(|body| body.unwrap().len()).sum()
    }
}

/// The bytes of a store, once its log is merged into it.
pub(super) fn bytes(path: &Path) -> u64 {
    let connection = Connection::open(path).unwrap();
    connection
        .query_row("PRAGMA wal_checkpoint(truncate)", [], |_| Ok(()))
        .unwrap();
    drop(connection);
    std::fs::metadata(path).unwrap().len()
}
