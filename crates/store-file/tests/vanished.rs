//! The store's folder is taken away while a journal uses it, an application store or an
//! event journal.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustagents_core::journal::{Claim, Journal, JournalError, Owner, Select, ThreadQuery};
use rustagents_store_file::{FileEvents, FileJournal, FileStore};
use rustagents_testkit::{
    clock::ManualClock,
    numbered::{Events, Items, Numbered},
    vanishing,
};
use tempfile::TempDir;

use crate::support::{fact, thread};

const GONE: &str = "it was removed or moved while it was in use";
const REPLACED: &str = "another store took its place while it was in use";

/// A journal in use, with a claim and a record.
struct InUse {
    folder: TempDir,
    root: PathBuf,
    journal: FileJournal,
    claim: Claim,
}

async fn filled(root: &Path) -> (FileJournal, Claim) {
    let (journal, name) = (FileJournal::open(root).unwrap(), thread("t"));
    let claim = journal.claim(&name, Owner::default()).await.unwrap();
    let write = fact(&name, claim.epoch, "a", "{}");
    journal.append(write).await.unwrap();
    (journal, claim)
}

impl InUse {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("store");
        let (journal, claim) = filled(&root).await;
        Self {
            folder,
            root,
            journal,
            claim,
        }
    }

    fn elsewhere(&self) -> PathBuf {
        self.folder.path().join("elsewhere")
    }

    fn next(&self) -> rustagents_core::journal::Batch {
        fact(&thread("t"), self.claim.epoch, "b", "{}")
    }

    /// Whatever is asked, the journal says why it cannot.
    async fn refuses(&self, expected: &str) {
        let (name, other) = (thread("t"), thread("other"));
        let journal = &self.journal;
        let errors = [
            journal.append(self.next()).await.unwrap_err(),
            journal.read(&name, Select::all()).await.unwrap_err(),
            journal.threads(ThreadQuery::all()).await.unwrap_err(),
            journal.owner(&name).await.unwrap_err(),
            journal.copy(&name, &other, None).await.unwrap_err(),
            journal.remove(&name, self.claim.epoch).await.unwrap_err(),
            journal.claim(&other, Owner::default()).await.unwrap_err(),
        ];
        for error in errors {
            let JournalError::Unavailable { store, reason } = &error else {
                panic!("{error:?}");
            };
            assert_eq!(*store, self.root.display().to_string());
            assert_eq!(reason, expected);
        }
    }
}

#[tokio::test]
async fn a_store_that_was_removed_is_told_and_not_made_again() {
    let used = InUse::new().await;
    fs::remove_dir_all(&used.root).unwrap();
    used.refuses(GONE).await;
    assert!(!used.root.exists());
    // A program that is started now begins with a store of its own.
    filled(&used.root).await;
    used.refuses(REPLACED).await;
}

#[tokio::test]
async fn a_store_whose_folder_was_emptied_is_told() {
    let used = InUse::new().await;
    fs::remove_dir_all(&used.root).unwrap();
    fs::create_dir(&used.root).unwrap();
    used.refuses(GONE).await;
    assert_eq!(fs::read_dir(&used.root).unwrap().count(), 0);
}

#[tokio::test]
async fn a_store_that_was_moved_is_used_again_when_it_is_back() {
    let used = InUse::new().await;
    fs::rename(&used.root, used.elsewhere()).unwrap();
    used.refuses(GONE).await;
    assert!(!used.root.exists());
    filled(&used.root).await;
    used.refuses(REPLACED).await;
    fs::remove_dir_all(&used.root).unwrap();
    fs::rename(used.elsewhere(), &used.root).unwrap();
    used.journal.append(used.next()).await.unwrap();
    let again = FileJournal::open(&used.root).unwrap();
    let records = again.read(&thread("t"), Select::all()).await.unwrap();
    assert_eq!(records.len(), 2);
}

#[tokio::test]
async fn a_store_that_another_process_made_is_the_one_that_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    let early = FileJournal::open(&root).unwrap();
    let name = thread("t");
    assert_eq!(early.read(&name, Select::all()).await.unwrap(), []);
    filled(&root).await;
    assert_eq!(early.read(&name, Select::all()).await.unwrap().len(), 1);
    fs::remove_dir_all(&root).unwrap();
    let error = early.read(&name, Select::all()).await.unwrap_err();
    assert!(error.to_string().ends_with(GONE), "{error}");
}

fn items(path: &Path) -> Items<FileStore> {
    Items(FileStore::new(path, Arc::new(ManualClock::new())))
}

fn events(path: &Path) -> Events<FileEvents> {
    Events(FileEvents::new(path))
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

/// What was written is taken out of a folder that stays, or put back to what it was
/// before: numbers that were given are not given again.
async fn tells_of_its_contents(
    name: &str,
    replaced: &str,
    open: impl Fn(&Path) -> Box<dyn Numbered>,
) {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    assert_eq!(store.add("a").await.unwrap(), 1);
    let file = folder.path().join(name);
    let before = fs::read(&file).unwrap();
    assert_eq!(store.add("b").await.unwrap(), 2);
    let after = fs::read(&file).unwrap();
    let refuses = async |expected: &str| {
        for error in [
            store.add("c").await.unwrap_err(),
            store.last().await.unwrap_err(),
        ] {
            assert!(error.to_string().ends_with(expected), "{error}");
        }
    };
    fs::remove_file(&file).unwrap();
    refuses(GONE).await;
    assert!(!file.exists());
    fs::write(&file, before).unwrap();
    refuses(replaced).await;
    fs::write(&file, after).unwrap();
    assert_eq!(store.add("c").await.unwrap(), 3);
}

#[tokio::test]
async fn an_application_store_whose_log_is_taken_away_is_told() {
    tells_of_its_contents("items.log", REPLACED, |path| Box::new(items(path))).await;
}

#[tokio::test]
async fn an_event_journal_whose_files_are_taken_away_is_told() {
    let name = "00000000000000000001.jsonl";
    tells_of_its_contents(name, GONE, |path| Box::new(events(path))).await;
}
