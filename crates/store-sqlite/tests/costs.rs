//! How often writing waits for the disk.

use std::{
    fs,
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustagents_core::{
    ids::FactKey,
    journal::{Claim, Journal, JournalError, Owner, Select, Seq},
};
use rustagents_store_sqlite::SqliteJournal;

use crate::support::{fact, thread};

const STORE: &str = "RUSTAGENTS_TEST_STORE";
const WORK: &str = "RUSTAGENTS_TEST_WORK";

/// Where this is set, system calls have to be counted.
const NEEDED: &str = "RAG_NEEDS_STRACE";

async fn claimed(path: &Path) -> (SqliteJournal, Claim) {
    let journal = SqliteJournal::open(path).unwrap();
    let claim = journal.claim(&thread("t"), Owner::default()).await;
    (journal, claim.unwrap())
}

/// Appends `count` batches that all wait before the first can be written.
async fn append_at_once(path: &Path, journal: &SqliteJournal, epoch: u64, count: usize) {
    for seqs in try_at_once(path, journal, epoch, count).await {
        assert_eq!(seqs.unwrap().len(), 1);
    }
}

async fn try_at_once(
    path: &Path,
    journal: &SqliteJournal,
    epoch: u64,
    count: usize,
) -> Vec<Result<Vec<Seq>, JournalError>> {
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
    written
}

#[tokio::test]
async fn what_waits_at_the_same_time_shares_a_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let (journal, claim) = claimed(&path).await;
    // Behind the first 1,024, as many come as there is room for, and a group may be small.
    for (count, may_be) in [(50, 1..=2), (200, 1..=2), (1_500, 6..=9)] {
        let before = journal.transactions();
        append_at_once(&path, &journal, claim.epoch, count).await;
        // The writer waits with the first ones; the others come after it.
        let taken = journal.transactions() - before;
        assert!(may_be.contains(&taken), "{count} took {taken}");
    }
    drop(journal);
    let journal = SqliteJournal::open(&path).unwrap();
    let records = journal.read(&thread("t"), Select::all()).await.unwrap();
    assert_eq!(records.len(), 1_750);
}

#[tokio::test]
async fn what_cannot_be_flushed_counts_as_written_for_nobody_and_nothing_is_written_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let (journal, claim) = claimed(&path).await;
    fs::remove_file(folder.path().join("journal.db-wal")).unwrap();
    let written = try_at_once(&path, &journal, claim.epoch, 1_500).await;
    let flushed = written.iter().filter(|written| written.is_ok()).count();
    // The first may have been alone, and its commit waited for the disk itself.
    assert!(flushed <= 256, "{flushed}");
    let refused = written.into_iter().rev().find_map(Result::err).unwrap();
    assert!(
        refused.to_string().contains("could not be flushed"),
        "{refused}"
    );
    let write = fact(&thread("t"), claim.epoch, "later", "{}");
    let later = journal.append(write).await.unwrap_err();
    assert_eq!(later.to_string(), refused.to_string());
    drop(journal);
    let journal = SqliteJournal::open(&path).unwrap();
    let records = journal.read(&thread("t"), Select::all()).await.unwrap();
    assert!(records.len() >= flushed, "what was told is there");
    assert!(
        records
            .iter()
            .all(|record| record.key() != Some(&FactKey::from("later")))
    );
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

/// How often a process that does `work` waits for the disk; or why system calls cannot
/// be counted.
fn waits(work: &str) -> Result<u64, String> {
    let folder = tempfile::tempdir().unwrap();
    let counts = folder.path().join("counts");
    let traced = Command::new("strace")
        .args(["-f", "-c", "-e", "trace=fsync,fdatasync", "-o"])
        .arg(&counts)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "costs::child", "--ignored"])
        .env(STORE, folder.path().join("journal.db"))
        .env(WORK, work)
        .stdin(Stdio::null())
        .output();
    let traced = match traced {
        Ok(traced) => traced,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err("there is no `strace`: install it".into());
        }
        Err(error) => return Err(format!("`strace` cannot be started: {error}")),
    };
    if !traced.status.success() {
        let said = String::from_utf8_lossy(&traced.stderr);
        let why = if said.to_lowercase().contains("ptrace") {
            "this machine does not permit ptrace, which `strace` needs"
        } else {
            "the process or `strace` failed"
        };
        return Err(format!("{why}: {}", said.trim()));
    }
    let counts = fs::read_to_string(counts).map_err(|error| error.to_string())?;
    let calls = counts.lines().filter_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let is_wait = matches!(words.last(), Some(&"fsync" | &"fdatasync"));
        is_wait.then(|| words[3].parse::<u64>().unwrap())
    });
    Ok(calls.sum())
}

#[test]
fn a_lone_append_waits_for_the_disk_once_and_fifty_together_wait_once() {
    let base = match waits("alone 0") {
        Ok(base) => base,
        Err(why) => {
            let told = format!("system calls cannot be counted here: {why}");
            assert!(std::env::var_os(NEEDED).is_none(), "{told}");
            writeln!(std::io::stderr(), "skipped: {told}").unwrap();
            return;
        }
    };
    assert_eq!(waits("alone 1"), Ok(base + 1));
    assert_eq!(waits("alone 20"), Ok(base + 20));
    let together = waits("together 50").unwrap() - base;
    assert!((1..=2).contains(&together), "fifty waited {together} times");
    let many = waits("together 1500").unwrap() - base;
    assert!((6..=9).contains(&many), "1,500 waited {many} times");
}
