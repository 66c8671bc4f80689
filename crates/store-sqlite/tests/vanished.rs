//! The store's file is taken away while a journal uses it, an application store or an
//! event journal.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rustagents_core::{
    code::Coded as _,
    journal::{Claim, Journal, JournalError, Owner, Select},
};
use rustagents_store_sqlite::{SqliteEvents, SqliteJournal, SqliteStore};
use rustagents_testkit::{
    clock::ManualClock,
    numbered::{Events, Items, Numbered},
    vanishing,
};
use tempfile::TempDir;

use crate::support::{fact, files, thread};

const GONE: &str = "it was removed or moved while it was in use";
const REPLACED: &str = "another file took its place while it was in use";

/// A journal in use: with a claim, two records, and a connection that reads.
struct InUse {
    folder: TempDir,
    path: PathBuf,
    journal: SqliteJournal,
    claim: Claim,
}

impl InUse {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sub/journal.db");
        let journal = SqliteJournal::open(&path).unwrap();
        let name = thread("t");
        let claim = journal.claim(&name, Owner::default()).await.unwrap();
        for key in ["a", "b"] {
            let write = fact(&name, claim.epoch, key, "{}");
            journal.append(write).await.unwrap();
        }
        assert_eq!(records(&journal).await, 2);
        Self {
            folder,
            path,
            journal,
            claim,
        }
    }

    fn beside(&self, ending: &str) -> PathBuf {
        beside(&self.path, ending)
    }

    fn elsewhere(&self) -> PathBuf {
        self.folder.path().join("elsewhere.db")
    }

    /// Whatever is asked, the journal says why it cannot.
    async fn refuses(&self, expected: &str) {
        let name = thread("t");
        let other = thread("other");
        let write = fact(&name, self.claim.epoch, "c", "{}");
        let errors = [
            self.journal.append(write).await.unwrap_err(),
            self.journal.read(&name, Select::all()).await.unwrap_err(),
            self.journal.owner(&name).await.unwrap_err(),
            self.journal.copy(&name, &other, None).await.unwrap_err(),
            self.journal
                .claim(&other, Owner::default())
                .await
                .unwrap_err(),
        ];
        for error in errors {
            let JournalError::Unavailable { store, reason } = &error else {
                panic!("{error:?}");
            };
            assert_eq!(*store, self.path.display().to_string());
            assert_eq!(reason, expected);
        }
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

async fn records(journal: &SqliteJournal) -> usize {
    let records = journal.read(&thread("t"), Select::all()).await;
    records.unwrap().len()
}

/// The store at `path` is whole, and has what was acknowledged.
async fn is_whole(path: &Path) {
    let journal = SqliteJournal::open(path).unwrap();
    assert_eq!(records(&journal).await, 2);
    let health = journal.check(Duration::from_mins(1)).await.unwrap();
    assert!(health.unwrap().is_complete);
}

#[tokio::test]
async fn a_removed_file_is_not_made_anew() {
    let used = InUse::new().await;
    fs::remove_file(&used.path).unwrap();
    used.refuses(GONE).await;
    used.refuses(GONE).await;
    assert!(!used.path.exists());
}

#[tokio::test]
async fn a_removed_folder_is_not_made_anew() {
    let used = InUse::new().await;
    fs::remove_dir_all(used.path.parent().unwrap()).unwrap();
    used.refuses(GONE).await;
    assert_eq!(files(used.folder.path()), []);
}

#[tokio::test]
async fn a_moved_file_has_all_that_was_acknowledged() {
    let used = InUse::new().await;
    let elsewhere = used.elsewhere();
    fs::rename(&used.path, &elsewhere).unwrap();
    used.refuses(GONE).await;
    assert!(!used.path.exists());
    is_whole(&elsewhere).await;
    drop((used.claim, used.journal));
    is_whole(&elsewhere).await;
}

#[tokio::test]
async fn a_file_that_was_moved_with_its_log_has_all_that_was_acknowledged() {
    let used = InUse::new().await;
    let elsewhere = used.elsewhere();
    for ending in ["", "-wal", "-shm"] {
        fs::rename(used.beside(ending), beside(&elsewhere, ending)).unwrap();
    }
    used.refuses(GONE).await;
    is_whole(&elsewhere).await;
    drop((used.claim, used.journal));
    is_whole(&elsewhere).await;
}

#[tokio::test]
async fn a_moved_folder_has_all_that_was_acknowledged() {
    let used = InUse::new().await;
    let moved = used.folder.path().join("moved");
    fs::rename(used.path.parent().unwrap(), &moved).unwrap();
    used.refuses(GONE).await;
    assert!(!used.path.parent().unwrap().exists());
    is_whole(&moved.join("journal.db")).await;
}

#[tokio::test]
async fn a_file_that_comes_back_is_used_again() {
    let used = InUse::new().await;
    fs::rename(&used.path, used.elsewhere()).unwrap();
    used.refuses(GONE).await;
    fs::rename(used.elsewhere(), &used.path).unwrap();
    let write = fact(&thread("t"), used.claim.epoch, "c", "{}");
    assert_eq!(used.journal.append(write).await.unwrap(), [3]);
    assert_eq!(records(&used.journal).await, 3);
}

#[tokio::test]
async fn a_file_under_the_stores_name_is_left_alone() {
    let used = InUse::new().await;
    fs::rename(&used.path, used.elsewhere()).unwrap();
    fs::write(&used.path, "something else").unwrap();
    used.refuses(REPLACED).await;
    let elsewhere = used.elsewhere();
    is_whole(&elsewhere).await;
    drop((used.claim, used.journal));
    is_whole(&elsewhere).await;
    assert_eq!(fs::read(&used.path).unwrap(), b"something else");
}

#[tokio::test]
async fn another_store_under_the_name_is_neither_written_to_nor_robbed_of_its_log() {
    let used = InUse::new().await;
    let elsewhere = used.elsewhere();
    for ending in ["", "-wal", "-shm"] {
        fs::rename(used.beside(ending), beside(&elsewhere, ending)).unwrap();
    }
    let other = SqliteJournal::open(&used.path).unwrap();
    let name = thread("another");
    let claim = other.claim(&name, Owner::default()).await.unwrap();
    for key in ["a", "b", "c"] {
        let write = fact(&name, claim.epoch, key, "{}");
        other.append(write).await.unwrap();
    }
    used.refuses(REPLACED).await;
    drop((used.claim, used.journal));
    is_whole(&elsewhere).await;
    assert!(beside(&used.path, "-wal").exists());
    let write = fact(&name, claim.epoch, "d", "{}");
    other.append(write).await.unwrap();
    let fresh = SqliteJournal::open(&used.path).unwrap();
    let found = fresh.read(&name, Select::all()).await.unwrap();
    assert_eq!(found.len(), 4);
    assert_eq!(records(&fresh).await, 0);
}

#[tokio::test]
async fn who_waits_for_a_change_hears_that_the_file_is_gone() {
    let used = InUse::new().await;
    let name = thread("t");
    let changed = used.journal.changed(&name, 2);
    let (changed, ()) = tokio::join!(changed, async {
        fs::remove_file(&used.path).unwrap();
    });
    let error = changed.unwrap_err();
    assert!(error.to_string().ends_with(GONE), "{error}");
}

#[tokio::test]
async fn no_store_is_made_beside_the_log_of_one_that_is_gone() {
    let used = InUse::new().await;
    let elsewhere = used.elsewhere();
    let (log, copy) = (used.beside("-wal"), beside(&elsewhere, "-wal"));
    fs::copy(&log, &copy).unwrap();
    let error = SqliteJournal::open(&elsewhere).unwrap_err();
    let is_named = error.to_string().contains(&copy.display().to_string());
    assert!(
        matches!(error, JournalError::Unavailable { .. }) && is_named,
        "{error}"
    );
    assert!(
        SqliteJournal::exists(&elsewhere).is_err(),
        "a look says so too"
    );
    assert!(!elsewhere.exists());
    // With its store beside it, the log is whole again.
    fs::copy(&used.path, &elsewhere).unwrap();
    let journal = SqliteJournal::open(&elsewhere).unwrap();
    assert_eq!(records(&journal).await, 2);
}

fn items(path: &Path) -> Items<SqliteStore> {
    Items(SqliteStore::new(path, Arc::new(ManualClock::new())))
}

fn events(path: &Path) -> Events<SqliteEvents> {
    Events(SqliteEvents::new(path))
}

#[tokio::test]
async fn an_application_store_that_is_taken_away_is_told() {
    let folder = tempfile::tempdir().unwrap();
    vanishing::suite(folder.path(), REPLACED, items).await;
}

#[tokio::test]
async fn an_event_journal_that_is_taken_away_is_told() {
    let folder = tempfile::tempdir().unwrap();
    vanishing::suite(folder.path(), REPLACED, events).await;
}

/// None is made beside the log of one that is gone, and a look says so too.
async fn refuses_an_orphan<N: Numbered>(open: impl Fn(&Path) -> N) {
    let folder = tempfile::tempdir().unwrap();
    let (path, elsewhere) = (folder.path().join("a.db"), folder.path().join("b.db"));
    let store = open(&path);
    for number in 1..=2 {
        assert_eq!(store.add("a").await.unwrap(), number);
    }
    let copy = beside(&elsewhere, "-wal");
    fs::copy(beside(&path, "-wal"), &copy).unwrap();
    let orphan = open(&elsewhere);
    for error in [
        orphan.add("b").await.unwrap_err(),
        orphan.last().await.unwrap_err(),
    ] {
        assert_eq!(error.code().as_str(), "RAG0301");
        let named = copy.display().to_string();
        assert!(error.to_string().contains(&named), "{error}");
    }
    assert!(!elsewhere.exists());
    // With its store beside it, the log is whole again.
    fs::copy(&path, &elsewhere).unwrap();
    assert_eq!(orphan.last().await.unwrap(), 2);
}

#[tokio::test]
async fn no_application_store_is_made_beside_the_log_of_one_that_is_gone() {
    refuses_an_orphan(items).await;
}

#[tokio::test]
async fn no_event_journal_is_made_beside_the_log_of_one_that_is_gone() {
    refuses_an_orphan(events).await;
}
