//! Batches that wait for one thread are written together: one line, one wait for the disk.

use std::{fs::File, path::Path, sync::Arc, time::Duration};

use crate::support::{commit, entry, fact, log, quick_folder, thread};
use rustagents_core::{
    digest::Digest,
    ids::{FactKey, MessageId},
    journal::{Batch, Content, Journal, JournalError, Owner, Place, Select, Seq},
    message::Message,
};
use rustagents_store_file::{
    FileJournal,
    fault::{DiskFault, Failure},
};

/// Appends batches that all wait before the first can be written, one after the other.
async fn together(
    journal: &Arc<FileJournal>,
    root: &Path,
    batches: Vec<Batch>,
) -> Vec<Result<Vec<Seq>, JournalError>> {
    let name = thread("t");
    let other = File::open(log(root, &name).with_file_name("lock")).unwrap();
    other.lock().unwrap();
    let mut written = Vec::new();
    for (number, batch) in (1..).zip(batches) {
        let journal_of_it = Arc::clone(journal);
        written.push(tokio::spawn(
            async move { journal_of_it.append(batch).await },
        ));
        while journal.waiting(&name) < number {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    other.unlock().unwrap();
    let mut told = Vec::new();
    for written in written {
        told.push(written.await.unwrap());
    }
    told
}

/// A journal whose disk fails at that step after the thread was claimed.
async fn claimed(root: &Path, step: u64, failure: Failure) -> (Arc<FileJournal>, Arc<DiskFault>) {
    let open = |root: &Path, step| {
        let fault = Arc::new(DiskFault::new(step, failure));
        let journal = FileJournal::with_fault(root, Arc::clone(&fault));
        (Arc::new(journal.unwrap()), fault)
    };
    let other = quick_folder();
    let (whole, steps) = open(&other.path().join("journal"), 0);
    let claim = async |journal: &FileJournal| journal.claim(&thread("t"), Owner::default()).await;
    drop(claim(&whole).await.unwrap());
    let (journal, fault) = open(root, if step == 0 { 0 } else { steps.steps() + step });
    drop(claim(&journal).await.unwrap());
    (journal, fault)
}

fn key(number: usize) -> Batch {
    fact(&thread("t"), 1, &format!("k{number}"), &number.to_string())
}

fn lines(root: &Path) -> usize {
    let text = std::fs::read_to_string(log(root, &thread("t"))).unwrap();
    text.lines()
        .filter(|line| line.starts_with("{\"batch\""))
        .count()
}

#[tokio::test]
async fn many_that_wait_at_once_wait_for_the_disk_once() {
    let folder = quick_folder();
    let (journal, fault) = claimed(folder.path(), 0, Failure::Stop).await;
    journal.append(key(0)).await.unwrap();
    let before = fault.steps();
    let told = together(&journal, folder.path(), (1..=20).map(key).collect()).await;
    let mut seqs: Vec<_> = told.into_iter().flat_map(Result::unwrap).collect();
    assert_eq!(fault.steps() - before, 2, "a write, and a wait");
    assert_eq!(lines(folder.path()), 2);
    seqs.sort_unstable();
    assert_eq!(seqs, (2..=21).collect::<Vec<_>>());
    let fresh = FileJournal::open(folder.path()).unwrap();
    for journal in [&fresh, &*journal] {
        let records = journal.read(&thread("t"), Select::all()).await.unwrap();
        assert_eq!(records.len(), 21);
        for (number, record) in records.iter().enumerate() {
            assert_eq!(record.key(), Some(&FactKey::from(format!("k{number}"))));
            assert_eq!(record.body, number.to_string());
        }
    }
}

#[tokio::test]
async fn each_is_checked_against_those_before_it_and_refused_alone() {
    let folder = quick_folder();
    let (journal, _) = claimed(folder.path(), 0, Failure::Stop).await;
    let name = thread("t");
    let said = |number, text: &str, content: &[u8]| {
        let mut batch = key(number);
        let id = MessageId::numbered(1);
        batch.messages = vec![Arc::new(Message::user(id, text))];
        batch.contents = vec![Content {
            digest: Digest::of(content),
            bytes: content.to_vec(),
        }];
        batch.at_ms = number as u64;
        batch
    };
    let batches = vec![
        key(0),
        commit(&name, 1, None, "first"),
        commit(&name, 1, Some(2), "second"),
        commit(&name, 1, Some(2), "too late"),
        key(0),
        fact(&name, 2, "k9", "another's"),
        said(1, "hello", b"one"),
        said(2, "other", b"two"),
        said(3, "hello", b"three"),
    ];
    let told = together(&journal, folder.path(), batches).await;
    assert_eq!(lines(folder.path()), 1);
    let placed: Vec<_> = told.iter().map(|told| told.as_deref().ok()).collect();
    let at = |seq: &'static [Seq]| Some(seq);
    let expected = [
        at(&[1]),
        at(&[2]),
        at(&[3]),
        None,
        None,
        None,
        at(&[4]),
        None,
        at(&[5]),
    ];
    assert_eq!(placed, expected);
    let JournalError::HeadMoved { found, .. } = told[3].as_ref().unwrap_err() else {
        panic!("{told:?}");
    };
    assert_eq!(*found, Some(3));
    let JournalError::AlreadyRecorded { existing } = told[4].as_ref().unwrap_err() else {
        panic!("{told:?}");
    };
    assert_eq!(existing.seq, 1);
    assert!(matches!(told[5], Err(JournalError::Fenced { .. })));
    assert!(matches!(told[7], Err(JournalError::Malformed { .. })));
    let fresh = FileJournal::open(folder.path()).unwrap();
    let records = fresh.read(&name, Select::all()).await.unwrap();
    assert_eq!(records, journal.read(&name, Select::all()).await.unwrap());
    let times: Vec<_> = records.iter().map(|record| record.at_ms).collect();
    assert_eq!(times, [1, 1, 1, 1, 3], "each has its own");
    assert_eq!(fresh.messages(&name, 0, 9).await.unwrap().len(), 1);
    for (content, is_there) in [(b"one" as &[u8], true), (b"two", false), (b"three", true)] {
        let found = fresh.content(&name, Digest::of(content)).await.unwrap();
        assert_eq!(found.is_some(), is_there);
    }
}

#[tokio::test]
async fn what_is_too_much_for_one_line_is_written_as_several() {
    let folder = quick_folder();
    let (journal, _) = claimed(folder.path(), 0, Failure::Stop).await;
    let large = |number: usize, bytes: usize| {
        fact(
            &thread("t"),
            1,
            &format!("k{number}"),
            &"\u{1}".repeat(bytes),
        )
    };
    let mut batches: Vec<_> = (0..40).map(key).collect();
    batches.push(large(40, 2_000_000));
    batches.extend((41..45).map(|number| large(number, 400_000)));
    let told = together(&journal, folder.path(), batches).await;
    let seqs: Vec<_> = told.into_iter().flat_map(Result::unwrap).collect();
    assert_eq!(seqs, (1..=45).collect::<Vec<_>>());
    assert_eq!(lines(folder.path()), 4, "40; one alone; 2; 2");
    let fresh = FileJournal::open(folder.path()).unwrap();
    let records = fresh.read(&thread("t"), Select::all()).await.unwrap();
    assert_eq!(records.len(), 45);
}

/// At every step, in every way: who was told that it is written finds it, nobody finds a
/// part, and nobody is refused for something that was not written.
#[tokio::test]
async fn a_disk_that_fails_in_a_group_fails_all_that_it_would_have_held() {
    use Failure::{Once, OnceTorn, Stop, Torn};
    for failure in [Stop, Torn, Once, OnceTorn] {
        for step in 1.. {
            let folder = quick_folder();
            let root = &folder.path().join("journal");
            let (journal, fault) = claimed(root, step, failure).await;
            let before = fault.steps();
            let told = together(&journal, root, group()).await;
            let place = format!("{failure:?} at {step}: {told:?}");
            let is_over = fault.steps() - before < step;
            assert_eq!(told.iter().any(is_lost), !is_over, "{place}");
            let dies = matches!(failure, Stop | Torn);
            tells_the_truth(root, &told, dies, &place).await;
            if dies {
                fault.lose_power(root).unwrap();
                tells_the_truth(root, &told, dies, &place).await;
            }
            let fresh = FileJournal::open(root).unwrap();
            let write = fact(&thread("t"), 1, "goes on", "{}");
            fresh.append(write).await.unwrap();
            if is_over {
                break;
            }
        }
    }
}

/// A pair; another; one that the pair forbids; a commit.
fn group() -> Vec<Batch> {
    let mut pair = key(0);
    let second = entry(Place::Fact(FactKey::from("pair")), "0");
    pair.entries.push(second);
    vec![pair, key(1), key(0), commit(&thread("t"), 1, None, "1")]
}

fn is_lost(told: &Result<Vec<Seq>, JournalError>) -> bool {
    matches!(told, Err(JournalError::Unavailable { .. }))
}

/// Checks what was told against what is there.
async fn tells_the_truth(
    root: &Path,
    told: &[Result<Vec<Seq>, JournalError>],
    dies: bool,
    place: &str,
) {
    let fresh = FileJournal::open(root).unwrap();
    let records = fresh.read(&thread("t"), Select::all()).await.unwrap();
    let has = |key: &str| {
        let key = FactKey::from(key);
        records.iter().any(|record| record.key() == Some(&key))
    };
    let commits = records.iter().any(|record| record.key().is_none());
    // Without the pair, the one that it forbids is written under the same key.
    let there = [has("pair"), has("k1"), has("k0") && !has("pair"), commits];
    for (told, there) in told.iter().zip(there) {
        match told {
            Ok(_) => assert!(there, "{place}"),
            Err(JournalError::Unavailable { .. }) => assert!(dies || !there, "{place}"),
            Err(_) => assert!(has("pair"), "{place}"),
        }
    }
    assert!(!has("pair") || has("k0"), "half of it: {place}");
}
