//! The SQLite journal keeps the contract, and its files are safe from it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed expectation is a failed test"
)]

mod events;
mod items;

use std::{fs, path::Path, time::Duration};

use proptest::prelude::*;
use rustagents_core::{
    ids::{Branch, FactKey, Namespace, RunId, ThreadId},
    journal::{Author, Batch, Chain, Entry, Journal, JournalError, Owner, Place, Select, kind},
};
use rustagents_store::MemoryJournal;
use rustagents_store_sqlite::{SqliteJournal, Synchronous};

fn thread(name: &str) -> ThreadId {
    ThreadId::new(name).unwrap()
}

fn fact(thread: &ThreadId, epoch: u64, key: &str, body: &str) -> Batch {
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

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
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

#[tokio::test]
async fn keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let mut number = 0;
    rustagents_testkit::contract::journal(|| {
        number += 1;
        let path = folder.path().join(format!("{number}.db"));
        async move { SqliteJournal::open(path).unwrap() }
    })
    .await;
}

#[tokio::test]
async fn a_second_handle_reads_what_the_first_wrote_and_is_kept_out_of_its_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/journal.db");
    let (first, second) = (
        SqliteJournal::open(&path).unwrap(),
        SqliteJournal::open(&path).unwrap(),
    );
    let name = thread("t");
    let claim = first
        .claim(
            &name,
            Owner {
                process: 1,
                since_ms: 2,
            },
        )
        .await
        .unwrap();
    first
        .append(fact(&name, claim.epoch, "k", "{}"))
        .await
        .unwrap();
    assert_eq!(second.read(&name, Select::all()).await.unwrap().len(), 1);
    let error = second.claim(&name, Owner::default()).await.unwrap_err();
    assert!(
        matches!(
            error,
            JournalError::Busy {
                owner: Owner { process: 1, .. },
                ..
            }
        ),
        "{error:?}"
    );
    drop(claim);
    let claim = second.claim(&name, Owner::default()).await.unwrap();
    assert_eq!(claim.epoch, 2);
    let error = first.append(fact(&name, 1, "l", "{}")).await.unwrap_err();
    assert!(matches!(error, JournalError::Fenced { .. }), "{error:?}");
}

#[tokio::test]
async fn a_dropped_append_still_runs_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    let name = thread("t");
    let claim = journal.claim(&name, Owner::default()).await.unwrap();
    // Another process writes just now, so that the answer has to wait.
    let other = fs::File::open(folder.path().join("journal.db.writer")).unwrap();
    other.lock().unwrap();
    {
        let mut append = journal.append(fact(&name, claim.epoch, "k", "{}"));
        // One poll hands the batch over; the future is dropped before the answer.
        assert!(futures_poll_once(&mut append).await.is_none());
    }
    other.unlock().unwrap();
    drop(claim);
    drop(journal);
    let journal = SqliteJournal::open(&path).unwrap();
    assert_eq!(journal.read(&name, Select::all()).await.unwrap().len(), 1);
}

async fn futures_poll_once<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(match std::pin::Pin::new(&mut *future).poll(context) {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

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
        .execute_batch("PRAGMA user_version = 3; PRAGMA wal_checkpoint(TRUNCATE)")
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
                found: 3,
                supported: 2,
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
        .execute_batch("UPDATE records SET body = x'ff' WHERE id & 4294967295 = 2")
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

#[tokio::test(flavor = "multi_thread")]
async fn many_threads_share_the_writer_and_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journals: Vec<_> = (0..3)
        .map(|_| std::sync::Arc::new(SqliteJournal::open(&path).unwrap()))
        .collect();
    let mut tasks = tokio::task::JoinSet::new();
    for (index, journal) in journals.iter().cycle().take(12).cloned().enumerate() {
        tasks.spawn(async move {
            let name = thread(&format!("t{index}"));
            let claim = journal.claim(&name, Owner::default()).await.unwrap();
            for key in 0..20 {
                let seqs = journal
                    .append(fact(&name, claim.epoch, &key.to_string(), "{}"))
                    .await;
                assert_eq!(seqs.unwrap(), [key + 1]);
            }
        });
    }
    tasks.join_all().await;
    for index in 0..12 {
        let records = journals[0]
            .read(&thread(&format!("t{index}")), Select::all())
            .await
            .unwrap();
        assert_eq!(records.len(), 20);
    }
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
    assert_eq!((health.version, health.is_complete), (2, true));
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

/// A store with the tables of version 1.
fn old_store(path: &Path) {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/journal/sqlite-1.sql");
    let store = rusqlite::Connection::open(path).unwrap();
    store
        .execute_batch(&fs::read_to_string(fixture).unwrap())
        .unwrap();
}

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

#[tokio::test]
async fn what_another_process_writes_is_heard() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let (writer, watcher) = (
        SqliteJournal::open(&path).unwrap(),
        SqliteJournal::open(&path).unwrap(),
    );
    let name = thread("t");
    for number in 1..=3 {
        let heard = watcher.changed(&name, number - 1);
        let write = async {
            let claim = writer.claim(&name, Owner::default()).await.unwrap();
            let write = fact(&name, claim.epoch, &format!("k{number}"), "{}");
            writer.append(write).await.unwrap();
        };
        let (heard, ()) = tokio::join!(heard, write);
        assert_eq!(heard.unwrap(), number);
    }
}

#[tokio::test]
async fn a_store_without_fsync_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let mut number = 0;
    rustagents_testkit::contract::journal(|| {
        number += 1;
        let path = folder.path().join(format!("{number}.db"));
        async move { SqliteJournal::open_with(path, Synchronous::Normal).unwrap() }
    })
    .await;
}

#[tokio::test]
async fn a_thread_whose_owner_hangs_is_taken_over_and_claimed_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let (hung, other) = (
        SqliteJournal::open(&path).unwrap(),
        SqliteJournal::open(&path).unwrap(),
    );
    let name = thread("t");
    let first = hung.claim(&name, Owner::default()).await.unwrap();
    let second = other.take_over(&name, Owner::default()).await.unwrap();
    assert_eq!(second.epoch, 2);
    let error = hung.claim(&name, Owner::default()).await.unwrap_err();
    assert!(matches!(error, JournalError::Busy { .. }), "{error:?}");
    drop(second);
    assert_eq!(other.owner(&name).await.unwrap(), None);
    // The first one still holds a lock, which does not count any more.
    let third = other.claim(&name, Owner::default()).await.unwrap();
    assert_eq!(third.epoch, 3);
    drop((first, third));
    assert_eq!(hung.claim(&name, Owner::default()).await.unwrap().epoch, 4);
}

#[tokio::test]
async fn a_reference_to_nothing_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    old_store(&path);
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_store_does_what_the_model_does(bytes in proptest::collection::vec(any::<u8>(), 0..160)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(rustagents_testkit::agreement::agree(
            &MemoryJournal::new(),
            || SqliteJournal::open_with(&path, Synchronous::Normal).unwrap(),
            &bytes,
        ));
    }
}
