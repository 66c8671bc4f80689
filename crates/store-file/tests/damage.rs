//! What a crash leaves of a line is cut; any other damage is an error.

use std::{fs, path::PathBuf};

use rustagents_core::{
    ids::ThreadId,
    journal::{Journal, JournalError, Owner, Select, ThreadQuery},
};
use rustagents_store_file::FileJournal;
use tempfile::TempDir;

use crate::support::{bodies, commit, fact, log, quick_folder, thread};

const BODIES: [&str; 3] = ["\u{0}\n\"", r#"{"a":"\u{1f980}"}"#, r#","sum":"x""#];

/// A thread with a claim and three batches, and another one beside it.
struct Written {
    folder: TempDir,
    name: ThreadId,
    log: PathBuf,
    bytes: Vec<u8>,
}

impl Written {
    async fn new() -> Self {
        let folder = quick_folder();
        let journal = FileJournal::open(folder.path()).unwrap();
        let name = thread("t");
        for name in [&name, &thread("other")] {
            drop(journal.claim(name, Owner::default()).await.unwrap());
            for (head, body) in [None, Some(1), Some(2)].into_iter().zip(BODIES) {
                let write = commit(name, 1, head, body);
                journal.append(write).await.unwrap();
            }
        }
        let log = log(folder.path(), &name);
        let bytes = fs::read(&log).unwrap();
        Self {
            folder,
            name,
            log,
            bytes,
        }
    }

    fn reopen(&self, bytes: &[u8]) -> FileJournal {
        fs::write(&self.log, bytes).unwrap();
        FileJournal::open(self.folder.path()).unwrap()
    }

    /// Where each line ends.
    fn ends(&self) -> Vec<usize> {
        let bytes = self.bytes.iter().enumerate();
        let ends = bytes.filter(|(_, byte)| **byte == b'\n');
        ends.map(|(at, _)| at + 1).collect()
    }
}

#[tokio::test]
async fn what_is_torn_is_cut_by_the_next_writer() {
    let written = Written::new().await;
    let ends = written.ends();
    let (start, whole) = (ends[ends.len() - 2], written.bytes.len());
    for at in start..whole {
        let kept = &written.bytes[..at];
        let with = |fill: u8| [kept, &vec![fill; whole - at]].concat();
        for bytes in [kept.to_vec(), with(b'g'), with(0)] {
            let journal = written.reopen(&bytes);
            assert_eq!(bodies(&journal, &written.name).await, BODIES[..2], "{at}");
            assert_eq!(
                fs::read(&written.log).unwrap(),
                bytes,
                "a reader cuts nothing"
            );
            let next = commit(&written.name, 1, Some(2), "n");
            assert_eq!(journal.append(next).await.unwrap(), [3], "{at}");
            let log = fs::read(&written.log).unwrap();
            assert_eq!(log[..start], written.bytes[..start], "{at}");
            let added = str::from_utf8(&log[start..]).unwrap();
            assert!(
                added.lines().count() == 1 && added.ends_with("\"}\n"),
                "{at}"
            );
            drop(journal);
            let journal = FileJournal::open(written.folder.path()).unwrap();
            let expected = [BODIES[0], BODIES[1], "n"];
            assert_eq!(bodies(&journal, &written.name).await, expected, "{at}");
        }
    }
}

#[tokio::test]
async fn a_torn_tail_is_cut_by_a_claim_and_seen_by_a_handle_that_knew_the_thread() {
    let written = Written::new().await;
    let journal = FileJournal::open(written.folder.path()).unwrap();
    assert_eq!(bodies(&journal, &written.name).await, BODIES);
    let ends = written.ends();
    fs::write(&written.log, &written.bytes[..ends[ends.len() - 2] + 7]).unwrap();
    assert_eq!(bodies(&journal, &written.name).await, BODIES[..2]);
    let claim = journal
        .claim(&written.name, Owner::default())
        .await
        .unwrap();
    assert_eq!(claim.epoch, 2);
    let text = fs::read_to_string(&written.log).unwrap();
    assert!(text.lines().all(|line| line.ends_with("\"}")), "{text}");
}

#[tokio::test]
async fn a_flipped_bit_is_never_a_wrong_record() {
    let written = Written::new().await;
    let ends = written.ends();
    let last = ends[ends.len() - 2];
    for at in 0..written.bytes.len() {
        let line = ends.iter().filter(|end| **end <= at).count() + 1;
        for bit in 0..8 {
            let mut bytes = written.bytes.clone();
            bytes[at] ^= 1 << bit;
            let journal = written.reopen(&bytes);
            match journal.read(&written.name, Select::all()).await {
                Err(JournalError::Corrupt { place, .. }) => {
                    let expected = format!("line {line} of `{}`", written.log.display());
                    assert_eq!(place, expected, "byte {at}, bit {bit}");
                }
                Ok(records) => {
                    let found: Vec<_> = records.iter().map(|r| r.body.as_str()).collect();
                    assert!(at >= last, "byte {at}, bit {bit} of line {line}");
                    assert_eq!(found, BODIES[..2], "byte {at}, bit {bit}");
                }
                Err(other) => panic!("byte {at}, bit {bit}: {other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn lines_that_are_lost_doubled_or_swapped_are_damage() {
    let written = Written::new().await;
    let lines: Vec<_> = written
        .bytes
        .split_inclusive(|byte| *byte == b'\n')
        .collect();
    for at in 0..lines.len() - 1 {
        let (mut lost, mut doubled, mut swapped) = (lines.clone(), lines.clone(), lines.clone());
        lost.remove(at);
        doubled.insert(at, lines[at]);
        swapped.swap(at, at + 1);
        for lines in [lost, doubled, swapped] {
            let journal = written.reopen(&lines.concat());
            match journal.read(&written.name, Select::all()).await {
                Err(JournalError::Corrupt { .. }) => {}
                // What stands last may be torn.
                Ok(records) => {
                    assert!(records.len() < BODIES.len(), "line {at}");
                    assert!(at + 2 >= lines.len() - 1, "line {at}");
                }
                Err(other) => panic!("line {at}: {other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_damaged_log_is_not_written_to_and_stands_in_nobodys_way() {
    let written = Written::new().await;
    let mut bytes = written.bytes.clone();
    let middle = written.ends()[2] - 30;
    bytes[middle] ^= 1;
    let journal = written.reopen(&bytes);
    let corrupt = |error: JournalError| matches!(error, JournalError::Corrupt { .. });
    let write = fact(&written.name, 1, "k", "{}");
    assert!(corrupt(journal.append(write).await.unwrap_err()));
    let claim = journal.claim(&written.name, Owner::default()).await;
    assert!(corrupt(claim.unwrap_err()));
    assert!(corrupt(journal.remove(&written.name, 1).await.unwrap_err()));
    assert_eq!(
        fs::read(&written.log).unwrap(),
        bytes,
        "nothing is overwritten"
    );
    assert_eq!(bodies(&journal, &thread("other")).await, BODIES);
    let rows = journal.threads(ThreadQuery::all()).await.unwrap();
    let rows: Vec<_> = rows
        .iter()
        .map(|r| (r.thread.as_str(), r.last_seq))
        .collect();
    assert_eq!(rows, [("other", 3), ("t", 0)], "up to the damage");
}

#[tokio::test]
async fn a_log_in_another_threads_folder_is_damage() {
    let written = Written::new().await;
    let other = log(written.folder.path(), &thread("other"));
    fs::copy(&written.log, &other).unwrap();
    let journal = FileJournal::open(written.folder.path()).unwrap();
    let error = journal.read(&thread("other"), Select::all()).await;
    let error = error.unwrap_err();
    assert!(matches!(error, JournalError::Corrupt { .. }), "{error:?}");
    let rows = journal.threads(ThreadQuery::all()).await.unwrap();
    assert_eq!(rows.len(), 1);
}

#[tokio::test]
async fn a_damaged_thread_is_discarded_unless_somebody_drives_it() {
    let written = Written::new().await;
    let mut bytes = written.bytes.clone();
    let middle = written.ends()[2] - 30;
    bytes[middle] ^= 1;
    let journal = written.reopen(&written.bytes);
    let (name, owner) = (&written.name, Owner::default());
    let stuck = journal.claim(name, owner.clone()).await.unwrap();
    let present = journal.take_over(name, owner.clone()).await.unwrap();
    let other = written.reopen(&bytes);
    for claim in [present, stuck] {
        let busy = other.discard(name, owner.clone()).await.unwrap_err();
        assert!(matches!(busy, JournalError::Busy { .. }), "{busy:?}");
        assert_eq!(fs::read(&written.log).unwrap(), bytes);
        drop(claim);
    }
    other.discard(name, owner.clone()).await.unwrap();
    let rows = other.threads(ThreadQuery::all()).await.unwrap();
    assert_eq!(rows.len(), 1, "the other one");
    assert_eq!(bodies(&other, &thread("other")).await, BODIES);
    let again = other.claim(name, owner.clone()).await.unwrap();
    assert_eq!(bodies(&other, name).await, [""; 0]);
    let write = commit(name, again.epoch, None, "n");
    assert_eq!(other.append(write).await.unwrap(), [1]);
    drop(again);
    other.discard(name, owner.clone()).await.unwrap();
    let error = other.discard(name, owner).await;
    assert!(error.is_ok(), "it was made by the claim: {error:?}");
}

#[tokio::test]
async fn a_damaged_folder_that_nothing_names_stops_no_list_and_goes_by_its_name() {
    let written = Written::new().await;
    let long = "x".repeat(250);
    let name = thread(&long);
    let journal = FileJournal::open(written.folder.path()).unwrap();
    let claim = journal.claim(&name, Owner::default()).await.unwrap();
    let write = fact(&name, claim.epoch, "k", "{}");
    journal.append(write).await.unwrap();
    drop((claim, journal));
    let file = log(written.folder.path(), &name);
    let mut bytes = fs::read(&file).unwrap();
    bytes[10] ^= 1;
    fs::write(&file, bytes).unwrap();
    let journal = FileJournal::open(written.folder.path()).unwrap();
    let listed = async |query: ThreadQuery| {
        let rows = journal.threads(query).await.unwrap();
        let names = rows.iter().map(|row| row.thread.as_str().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(listed(ThreadQuery::all()).await, ["other", "t"]);
    let named = || ThreadQuery {
        prefix: long.clone(),
        ..ThreadQuery::all()
    };
    assert_eq!(listed(named()).await, std::slice::from_ref(&long));
    journal.discard(&name, Owner::default()).await.unwrap();
    assert_eq!(listed(named()).await, [""; 0]);
}
