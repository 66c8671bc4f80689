//! Stores of an earlier version.

use rustagents_core::journal::{Journal, JournalError, Owner, Select};
use rustagents_store_sqlite::SqliteJournal;

use crate::support::{old_store, thread};

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_bring_an_older_store_up_to_date_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    old_store(&path);
    let name = thread("ticket-7");
    let reads = (0..8).map(|index| {
        let (journal, name) = (SqliteJournal::open(&path).unwrap(), name.clone());
        tokio::spawn(async move {
            if index % 2 == 0 {
                let other = thread(&format!("new-{index}"));
                journal.claim(&other, Owner::default()).await.unwrap();
            }
            let records = journal.read(&name, Select::all()).await.unwrap();
            let messages = journal.messages(&name, 0, 100).await.unwrap();
            (records.len(), messages.len())
        })
    });
    for read in reads {
        assert_eq!(read.await.unwrap(), (20, 8));
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_brought_up_to_date_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    old_store(&path);
    let broken = rusqlite::Connection::open(&path).unwrap();
    broken.execute_batch("CREATE TABLE removed(x)").unwrap();
    drop(broken);
    let journal = SqliteJournal::open(&path).unwrap();
    let error = journal.read(&thread("ticket-7"), Select::all()).await;
    let error = error.unwrap_err();
    assert!(
        matches!(error, JournalError::Unavailable { .. }),
        "{error:?}"
    );
    let store = rusqlite::Connection::open(&path).unwrap();
    let left: (u32, u32) = store
        .query_row(
            "SELECT (SELECT count(*) FROM messages), user_version FROM pragma_user_version",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!(left, (17, 1));
}
