//! How often writing waits for the disk.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustagents_core::journal::{Claim, Journal, Owner, Select};
use rustagents_store_sqlite::SqliteJournal;

use crate::support::{fact, thread};

const STORE: &str = "RUSTAGENTS_TEST_STORE";
const WORK: &str = "RUSTAGENTS_TEST_WORK";

async fn claimed(path: &Path) -> (SqliteJournal, Claim) {
    let journal = SqliteJournal::open(path).unwrap();
    let claim = journal.claim(&thread("t"), Owner::default()).await;
    (journal, claim.unwrap())
}

/// Appends `count` batches that all wait before the first can be written.
async fn append_at_once(path: &Path, journal: &SqliteJournal, epoch: u64, count: usize) {
    let mut lock = path.as_os_str().to_owned();
    lock.push(".writer");
    // Another process writes just now.
    let other = fs::File::open(PathBuf::from(lock)).unwrap();
    other.lock().unwrap();
    let name = thread("t");
    let appends = (0..count).map(|number| {
        let key = format!("{count}/{number}");
        journal.append(fact(&name, epoch, &key, "{}"))
    });
    // The first look at the appends hands all of them over, since nothing makes them
    // give way to others before.
    let appends = tokio::task::unconstrained(futures::future::join_all(appends));
    let (written, ()) = tokio::join!(appends, async {
        other.unlock().unwrap();
    });
    for seqs in written {
        assert_eq!(seqs.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn what_waits_at_the_same_time_shares_a_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let (journal, claim) = claimed(&path).await;
    for count in [50, 200] {
        let before = journal.transactions();
        append_at_once(&path, &journal, claim.epoch, count).await;
        // The writer waits with the first ones; the others come after it.
        let taken = journal.transactions() - before;
        assert!((1..=2).contains(&taken), "{count} took {taken}");
    }
    let records = journal.read(&thread("t"), Select::all()).await.unwrap();
    assert_eq!(records.len(), 250);
}

/// Appends one batch after the other, or all at once.
#[tokio::test]
#[ignore = "is run by the test that counts"]
async fn child() {
    let path = PathBuf::from(std::env::var(STORE).unwrap());
    let work = std::env::var(WORK).unwrap();
    let (journal, claim) = claimed(&path).await;
    let (how, count) = work.split_once(' ').unwrap();
    let count: usize = count.parse().unwrap();
    if how == "together" {
        append_at_once(&path, &journal, claim.epoch, count).await;
        return;
    }
    for number in 0..count {
        let write = fact(&thread("t"), claim.epoch, &number.to_string(), "{}");
        journal.append(write).await.unwrap();
    }
}

/// How often a process that does `work` waits for the disk; `None` where system
/// calls cannot be counted.
fn waits(work: &str) -> Option<u64> {
    let folder = tempfile::tempdir().unwrap();
    let counts = folder.path().join("counts");
    let traced = Command::new("strace")
        .args(["-f", "-c", "-e", "trace=fsync,fdatasync", "-o"])
        .arg(&counts)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "costs::child", "--ignored"])
        .env(STORE, folder.path().join("journal.db"))
        .env(WORK, work)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !traced.ok()?.success() {
        return None;
    }
    let counts = fs::read_to_string(counts).ok()?;
    let calls = counts.lines().filter_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let is_wait = matches!(words.last(), Some(&"fsync" | &"fdatasync"));
        is_wait.then(|| words[3].parse::<u64>().unwrap())
    });
    Some(calls.sum())
}

#[test]
fn a_lone_append_waits_for_the_disk_once_and_fifty_together_wait_once() {
    let Some(base) = waits("alone 0") else {
        let skipped = "skipped: system calls cannot be counted here";
        writeln!(std::io::stderr(), "{skipped}").unwrap();
        return;
    };
    assert_eq!(waits("alone 1"), Some(base + 1));
    assert_eq!(waits("alone 20"), Some(base + 20));
    let together = waits("together 50").unwrap() - base;
    assert!((1..=2).contains(&together), "fifty waited {together} times");
}
