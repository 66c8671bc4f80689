//! Stores of an earlier version.

use rustagents_core::journal::{Author, Batch, Journal, JournalError, Owner, Select};
use rustagents_store_sqlite::SqliteJournal;

use crate::support::{commit, fact, old_store, thread};

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_bring_an_older_store_up_to_date_once() {
    for version in [1, 2, 3] {
        many_bring_up_to_date(version).await;
    }
}

async fn many_bring_up_to_date(version: u32) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    old_store(version, &path);
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
async fn what_is_written_to_an_older_store_goes_behind_what_is_there() {
    for version in [1, 2, 3] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        old_store(version, &path);
        let journal = SqliteJournal::open(&path).unwrap();
        let name = thread("ticket-7");
        let before = journal.read(&name, Select::all()).await.unwrap();
        let other = journal.claim(&thread("new"), Owner::default()).await;
        let answer = |key: &str| Batch {
            author: Author::Outside,
            ..fact(&name, 0, key, "{}")
        };
        for (key, head) in [("0", None), ("1", Some(1)), ("2", Some(2))] {
            let seqs = journal.append(answer(key)).await.unwrap();
            assert_eq!(seqs, [21 + head.unwrap_or(0)]);
            let batch = commit(&thread("new"), other.as_ref().unwrap().epoch, head, "{}");
            journal.append(batch).await.unwrap();
        }
        let after = journal.read(&name, Select::all()).await.unwrap();
        assert_eq!((after.len(), &after[..20]), (23, &before[..]));
        let again = journal.append(answer("1")).await.unwrap_err();
        let JournalError::AlreadyRecorded { existing } = again else {
            panic!("{again:?}");
        };
        assert_eq!(*existing, after[21]);
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_brought_up_to_date_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    old_store(1, &path);
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
