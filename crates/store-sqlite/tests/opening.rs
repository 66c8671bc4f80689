//! What opening makes of what it finds, and leaves alone.

use std::fs;

use rustagents_core::journal::{Journal, JournalError, Owner, Select};
use rustagents_store_sqlite::SqliteJournal;

use crate::support::{files, thread};

#[tokio::test]
async fn opening_and_reading_make_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sub/journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    assert!(!SqliteJournal::exists(&path).unwrap());
    assert!(
        journal
            .read(&thread("t"), Select::all())
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(journal.owner(&thread("t")).await.unwrap(), None);
    drop(journal);
    assert!(files(folder.path()).is_empty());
}

#[tokio::test]
async fn foreign_and_newer_files_are_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.db");
    fs::write(&text, "this is not a database").unwrap();
    let other = folder.path().join("other.db");
    rusqlite::Connection::open(&other)
        .unwrap()
        .execute_batch("CREATE TABLE t(x)")
        .unwrap();
    let newer = folder.path().join("newer.db");
    let journal = SqliteJournal::open(&newer).unwrap();
    drop(journal.claim(&thread("t"), Owner::default()).await.unwrap());
    drop(journal);
    rusqlite::Connection::open(&newer)
        .unwrap()
        .execute_batch("PRAGMA user_version = 6; PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    let before = files(folder.path());
    for path in [&text, &other] {
        let error = SqliteJournal::open(path).unwrap_err();
        assert!(matches!(error, JournalError::Foreign { .. }), "{error:?}");
    }
    let error = SqliteJournal::open(&newer).unwrap_err();
    assert!(
        matches!(
            error,
            JournalError::Newer {
                found: 6,
                supported: 5,
                ..
            }
        ),
        "{error:?}"
    );
    let error = SqliteJournal::open(folder.path()).unwrap_err();
    assert!(
        matches!(error, JournalError::Unavailable { .. }),
        "{error:?}"
    );
    assert_eq!(files(folder.path()), before);
}

#[tokio::test]
async fn a_store_that_cannot_be_made_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    let journal = SqliteJournal::open(file.join("journal.db"));
    let error = match journal {
        Ok(journal) => journal
            .claim(&thread("t"), Owner::default())
            .await
            .unwrap_err(),
        Err(error) => error,
    };
    assert!(
        matches!(error, JournalError::Unavailable { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn what_a_crash_left_of_making_the_store_is_no_store_and_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    fs::write(&path, "").unwrap();
    for companion in ["", "-journal", "-wal"] {
        let draft = folder.path().join(format!("journal.db.new{companion}"));
        fs::write(draft, "half a store").unwrap();
    }
    assert!(!SqliteJournal::exists(&path).unwrap());
    let journal = SqliteJournal::open(&path).unwrap();
    assert!(
        journal
            .read(&thread("t"), Select::all())
            .await
            .unwrap()
            .is_empty()
    );
    let claim = journal.claim(&thread("t"), Owner::default()).await.unwrap();
    assert_eq!(claim.epoch, 1);
    assert!(!folder.path().join("journal.db.new").exists());
    drop((claim, journal));
    assert!(SqliteJournal::exists(&path).unwrap());
}
