//! Long bodies and messages are in parts, which are contents of the family.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustagents_core::{
    ids::MessageId,
    journal::{Compaction, Journal, JournalError, Owner, Select, ThreadQuery},
    message::Message,
};
use rustagents_store_file::FileJournal;

use crate::support::{fact, log, quick_folder, thread};

fn long(of: char) -> String {
    format!("\"{}\"", of.to_string().repeat(20_000))
}

/// The contents of all families.
fn contents(root: &Path) -> Vec<PathBuf> {
    let Ok(families) = fs::read_dir(root.join("families")) else {
        return vec![];
    };
    let folders = families.map(|family| family.unwrap().path());
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
    files.map(|file| file.unwrap().path()).collect()
}

/// The first line of the log of `t`.
fn head(root: &Path, name: &str) -> String {
    let text = fs::read_to_string(log(root, &thread(name))).unwrap();
    text.lines().next().unwrap().to_owned()
}

#[tokio::test]
async fn a_part_that_is_lost_or_changed_is_told_and_the_rest_stays_readable() {
    let folder = quick_folder();
    let root = folder.path();
    let journal = FileJournal::open(root).unwrap();
    for (name, value) in [("t", long('t')), ("other", long('o'))] {
        let name = thread(name);
        let claim = journal.claim(&name, Owner::default()).await.unwrap();
        let mut write = fact(&name, claim.epoch, "k", &value);
        write.messages = vec![Arc::new(Message::user(MessageId::numbered(1), value))];
        journal.append(write).await.unwrap();
        let text = fs::read_to_string(log(root, &name)).unwrap();
        assert!(text.len() < 2_000, "{} bytes", text.len());
    }
    let of_t = |path: &PathBuf| fs::read_to_string(path).unwrap().contains("tttt");
    let part = contents(root).into_iter().find(of_t).unwrap();
    let bytes = fs::read(&part).unwrap();
    let mut flipped = bytes.clone();
    flipped[10_000] ^= 4;
    for damage in [None, Some(flipped)] {
        match &damage {
            None => fs::remove_file(&part).unwrap(),
            Some(bytes) => fs::write(&part, bytes).unwrap(),
        }
        let journal = FileJournal::open(root).unwrap();
        let error = journal.read(&thread("t"), Select::all()).await.unwrap_err();
        assert!(
            matches!(&error, JournalError::Corrupt { place, .. } if place.starts_with("line 4 of")),
            "{error:?}"
        );
        // A list needs no bodies.
        let rows = journal.threads(ThreadQuery::all()).await.unwrap();
        let rows: Vec<_> = rows
            .iter()
            .map(|row| (row.thread.as_str(), row.last_seq))
            .collect();
        assert_eq!(rows, [("other", 1), ("t", 1)]);
        let other = journal.read(&thread("other"), Select::all()).await.unwrap();
        assert_eq!(other[0].body, long('o'));
    }
    fs::write(&part, bytes).unwrap();
    let read = journal.read(&thread("t"), Select::all()).await.unwrap();
    assert_eq!(read[0].body, long('t'));
}

#[tokio::test]
async fn a_log_of_the_first_format_is_written_to_as_such_until_it_is_written_anew() {
    let folder = quick_folder();
    let root = folder.path().join("store");
    copy(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/journal/file-1"),
        &root,
    );
    let name = thread("ticket-8");
    let journal = FileJournal::open(&root).unwrap();
    let before = contents(&root).len();
    let claim = journal.claim(&name, Owner::default()).await.unwrap();
    let write = fact(&name, claim.epoch, "k", &long('n'));
    journal.append(write).await.unwrap();
    assert!(head(&root, "ticket-8").contains("\"format\":1"));
    assert_eq!(contents(&root).len(), before);
    let again = FileJournal::open(&root).unwrap();
    let read = again.read(&name, Select::all()).await.unwrap();
    assert_eq!(read.last().unwrap().body, long('n'));
    let compaction = Compaction {
        batch: fact(&name, claim.epoch, "l", "{}"),
        drop: vec![],
    };
    journal.compact(compaction).await.unwrap();
    assert!(head(&root, "ticket-8").contains("\"format\":2"));
    assert_eq!(contents(&root).len(), before + 1);
    let anew = again.read(&name, Select::all()).await.unwrap();
    assert_eq!(anew[..read.len()], read);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}
