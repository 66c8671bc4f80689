//! Long bodies and messages are in parts, which are contents of the family.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rustagents_core::{
    CancellationToken,
    ids::{MessageId, ThreadId},
    journal::{Claim, Compaction, Journal, JournalError, Owner, Select, ThreadQuery},
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

/// A thread with one record, whose body is in one part.
async fn written(root: &Path, name: &ThreadId) -> (FileJournal, Claim) {
    let journal = FileJournal::open(root).unwrap();
    let claim = journal.claim(name, Owner::default()).await.unwrap();
    let write = fact(name, claim.epoch, "k", &long('t'));
    journal.append(write).await.unwrap();
    (journal, claim)
}

#[tokio::test]
async fn a_part_that_cannot_be_read_now_is_no_damage() {
    let folder = quick_folder();
    let root = folder.path();
    let name = thread("t");
    drop(written(root, &name).await);
    let part = contents(root).pop().unwrap();
    fs::remove_file(&part).unwrap();
    // Reading a folder is an error of the system, also for who may read everything.
    fs::create_dir(&part).unwrap();
    let other = FileJournal::open(root).unwrap();
    let error = other.read(&name, Select::all()).await.unwrap_err();
    assert!(
        matches!(error, JournalError::Unavailable { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_damaged_part_is_right_again_when_its_value_is_written_again() {
    let folder = quick_folder();
    let root = folder.path();
    let name = thread("t");
    let (journal, claim) = written(root, &name).await;
    let part = contents(root).pop().unwrap();
    for damaged in [&b"\"ttt"[..], b""] {
        fs::write(&part, damaged).unwrap();
        let key = format!("again {}", damaged.len());
        let again = fact(&name, claim.epoch, &key, &long('t'));
        journal.append(again).await.unwrap();
        let other = FileJournal::open(root).unwrap();
        let read = other.read(&name, Select::all()).await.unwrap();
        assert!(read.iter().all(|record| record.body == long('t')));
    }
}

#[tokio::test]
async fn who_writes_long_bodies_keeps_collectors_out_and_who_writes_short_ones_does_not() {
    let folder = quick_folder();
    let root = folder.path();
    let name = thread("t");
    let journal = FileJournal::open(root).unwrap();
    let journal = journal.waiting_up_to(Duration::from_millis(200));
    let claim = journal.claim(&name, Owner::default()).await.unwrap();
    let first = fact(&name, claim.epoch, "first", &long('t'));
    journal.append(first).await.unwrap();
    for lock in ["families.lock", "families.turn"] {
        let collecting = fs::File::open(root.join(lock)).unwrap();
        collecting.lock().unwrap();
        let said = Message::user(MessageId::from(format!("m-{lock}")), long('s'));
        let mut message = fact(&name, claim.epoch, &format!("message {lock}"), "{}");
        message.messages = vec![Arc::new(said)];
        let body = fact(&name, claim.epoch, &format!("body {lock}"), &long('u'));
        for write in [message, body] {
            let error = journal.append(write).await.unwrap_err();
            assert!(error.to_string().contains(lock), "{error}");
        }
        let short = fact(&name, claim.epoch, &format!("short {lock}"), "{}");
        journal.append(short).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_collects_has_its_turn_beside_many_who_write_long_bodies() {
    const WRITERS: usize = 4;
    let folder = quick_folder();
    let root = folder.path().to_owned();
    let journal = Arc::new(FileJournal::open(&root).unwrap());
    let stop = CancellationToken::new();
    let mut writers = Vec::new();
    for number in 0..WRITERS {
        let (journal, stop) = (journal.clone(), stop.clone());
        let name = thread(&format!("writer-{number}"));
        let claim = journal.claim(&name, Owner::default()).await.unwrap();
        writers.push(tokio::spawn(async move {
            let mut count = 0;
            while !stop.is_cancelled() {
                let write = fact(&name, claim.epoch, &format!("k-{count}"), &long('w'));
                journal.append(write).await.unwrap();
                count += 1;
            }
            count
        }));
    }
    for time in 0..5 {
        let name = thread(&format!("gone-{time}"));
        let claim = journal.claim(&name, Owner::default()).await.unwrap();
        let write = fact(&name, claim.epoch, "k", &long('g'));
        journal.append(write).await.unwrap();
        journal.remove(&name, claim.epoch).await.unwrap();
        let is_gone = |path: &PathBuf| !fs::read_to_string(path).unwrap_or_default().contains("gg");
        assert!(contents(&root).iter().all(is_gone), "{time}");
    }
    stop.cancel();
    for writer in writers {
        assert!(writer.await.unwrap() > 0);
    }
}
