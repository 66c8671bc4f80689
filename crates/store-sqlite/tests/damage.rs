//! Damaged stores: reading and checking them.

use std::{fs, path::Path, time::Duration};

use rustagents_core::{
    digest::Digest,
    ids::{FactKey, ThreadId},
    journal::{Content, Entry, Journal, JournalError, Owner, Place, Select},
};
use rustagents_store_sqlite::SqliteJournal;

use crate::support::{fact, old_store, thread};

#[tokio::test]
async fn a_damaged_store_is_a_typed_error_that_names_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    let name = thread("t");
    let claim = journal.claim(&name, Owner::default()).await.unwrap();
    for key in ["a", "b"] {
        journal
            .append(fact(&name, claim.epoch, key, "{}"))
            .await
            .unwrap();
    }
    drop((claim, journal));
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("UPDATE records SET body = x'ff' WHERE id = 2")
        .unwrap();
    let journal = SqliteJournal::open(&path).unwrap();
    let error = journal.read(&name, Select::all()).await.unwrap_err();
    assert!(
        matches!(&error, JournalError::Corrupt { place, .. } if place == "record 2"),
        "{error:?}"
    );
    assert_eq!(
        journal
            .read(&name, Select::all().limit(1))
            .await
            .unwrap()
            .len(),
        1,
        "the rest stays readable"
    );
    drop(journal);
    let mut bytes = fs::read(&path).unwrap();
    bytes[4_096..].fill(0x5a);
    fs::write(&path, bytes).unwrap();
    let journal = SqliteJournal::open(&path).unwrap();
    let error = journal.read(&name, Select::all()).await.unwrap_err();
    assert!(matches!(error, JournalError::Corrupt { .. }), "{error:?}");
}

#[tokio::test]
async fn a_check_finds_damage_that_reading_a_thread_does_not_meet() {
    const PATIENCE: Duration = Duration::from_mins(1);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    assert_eq!(journal.check(PATIENCE).await.unwrap(), None);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    let name = thread("t");
    let claim = journal.claim(&name, Owner::default()).await.unwrap();
    journal
        .append(fact(&name, claim.epoch, "k", "{}"))
        .await
        .unwrap();
    let health = journal.check(PATIENCE).await.unwrap().unwrap();
    assert_eq!((health.version, health.is_complete), (5, true));
    drop((claim, journal));

    // The last page is of a table that the thread's records are not in.
    let mut bytes = fs::read(&path).unwrap();
    let size = bytes.len();
    bytes[size - 4096..].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let journal = SqliteJournal::open(&path).unwrap();
    assert_eq!(journal.read(&name, Select::all()).await.unwrap().len(), 1);
    let error = journal.check(PATIENCE).await.unwrap_err();
    assert!(matches!(error, JournalError::Corrupt { .. }), "{error:?}");
}

#[tokio::test]
async fn a_check_ends_when_its_time_is_up_and_the_store_stays_readable() {
    let folder = tempfile::tempdir().unwrap();
    let journal = SqliteJournal::open(folder.path().join("journal.db")).unwrap();
    let name = thread("t");
    let claim = journal.claim(&name, Owner::default()).await.unwrap();
    for batch in 0..20 {
        let mut many = fact(&name, claim.epoch, "k", "{}");
        let entry = many.entries.remove(0);
        many.entries = (0..500)
            .map(|number| Entry {
                place: Place::Fact(FactKey::from(format!("k-{batch}-{number}"))),
                ..entry.clone()
            })
            .collect();
        journal.append(many).await.unwrap();
    }
    let health = journal.check(Duration::ZERO).await.unwrap().unwrap();
    assert!(!health.is_complete);
    assert_eq!(
        journal
            .read(&name, Select::all().limit(10))
            .await
            .unwrap()
            .len(),
        10
    );
}

#[tokio::test]
async fn a_reference_to_nothing_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    old_store(1, &path);
    let store = rusqlite::Connection::open(&path).unwrap();
    store
        .execute_batch("PRAGMA foreign_keys = off; DELETE FROM chains WHERE id = 2")
        .unwrap();
    let journal = SqliteJournal::open(&path).unwrap();
    let error = journal.check(Duration::from_secs(10)).await.unwrap_err();
    assert!(
        matches!(&error, JournalError::Corrupt { reason, .. } if reason.contains("`chains`")),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_thread_is_removed_though_its_copy_cannot_be_read_and_nothing_else_goes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    let (whole, broken) = (thread("whole"), thread("broken"));
    let claim = journal.claim(&whole, Owner::default()).await.unwrap();
    let content = Content {
        digest: Digest::of(b"blob"),
        bytes: b"blob".to_vec(),
    };
    let mut write = fact(
        &whole,
        claim.epoch,
        "k",
        &format!("[\"{}\"]", content.digest),
    );
    write.contents = vec![content.clone()];
    journal.append(write).await.unwrap();
    journal.copy(&whole, &broken, None).await.unwrap();
    assert_eq!(damage_bodies(&path, &broken), 1);
    let error = journal.read(&broken, Select::all()).await.unwrap_err();
    assert!(matches!(error, JournalError::Corrupt { .. }), "{error:?}");
    journal.remove(&whole, claim.epoch).await.unwrap();
    assert!(
        journal
            .read(&whole, Select::all())
            .await
            .unwrap()
            .is_empty()
    );
    // The broken one may mention it.
    let kept = journal.content(&broken, content.digest).await.unwrap();
    assert_eq!(kept, Some(content.bytes));
}

/// Makes the bodies of a thread's records unreadable, and says of how many.
fn damage_bodies(path: &Path, thread: &ThreadId) -> usize {
    let store = rusqlite::Connection::open(path).unwrap();
    store.busy_timeout(Duration::from_secs(10)).unwrap();
    store
        .execute(
            "UPDATE records SET body = x'ff'
              WHERE id IN (SELECT r.id FROM threads t
                             JOIN record_spans s ON s.start >> 32 = t.id
                             JOIN records r ON r.id >= s.id AND (s.last IS NULL OR r.id <= s.last)
                            WHERE t.name = ?1)",
            [thread.as_str()],
        )
        .unwrap()
}
