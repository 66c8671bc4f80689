//! A real process, killed in the middle of its work.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::Path,
    process::{Command, Stdio},
};

use rustagents_core::{
    digest::Digest,
    journal::{Content, Journal, Owner},
};
use rustagents_store_file::FileJournal;

use crate::support::{bodies, commit, thread};

const STORE: &str = "RUSTAGENTS_TEST_STORE";

fn content(number: u64) -> Content {
    let bytes = number.to_string().repeat(500).into_bytes();
    Content {
        digest: Digest::of(&bytes),
        bytes,
    }
}

/// Writes until it is killed, and says what it was told is written.
#[tokio::test]
#[ignore = "is run by the test that kills it"]
async fn child() {
    let journal = FileJournal::open(std::env::var(STORE).unwrap()).unwrap();
    let name = thread("t");
    let claim = journal.claim(&name, Owner::default()).await.unwrap();
    let mut head = bodies(&journal, &name).await.len() as u64;
    loop {
        let content = content(head + 1);
        let body = format!("[{},\"{}\"]", head + 1, content.digest);
        let mut write = commit(&name, claim.epoch, (head > 0).then_some(head), &body);
        write.contents = vec![content];
        head = journal.append(write).await.unwrap()[0];
        let mut out = std::io::stdout().lock();
        writeln!(out, "\nwritten {head}").unwrap();
        out.flush().unwrap();
    }
}

/// Runs the child and kills it after it said `lines` times what it wrote; gives
/// the last place that it was told of.
fn kill_after(store: &Path, lines: usize) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::child", "--ignored", "--nocapture"])
        .env(STORE, store)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    while said.matches("written").count() < lines {
        assert_ne!(output.read_line(&mut said).unwrap(), 0, "{said}");
    }
    // SIGKILL: it has no time for anything.
    child.kill().unwrap();
    output.read_to_string(&mut said).unwrap();
    child.wait().unwrap();
    let mut numbers = said
        .lines()
        .filter_map(|line| line.strip_prefix("written "));
    numbers.next_back().unwrap().parse().unwrap()
}

#[tokio::test]
async fn what_a_killed_process_was_told_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("journal");
    for round in 1..=12 {
        let told = kill_after(&store, round % 4 + 1);
        let journal = FileJournal::open(&store).unwrap();
        let name = thread("t");
        assert_eq!(journal.owner(&name).await.unwrap(), None);
        let found = bodies(&journal, &name).await;
        let count = found.len() as u64;
        assert!((told..=told + 1).contains(&count), "{told} of {count}");
        for (number, body) in (1..).zip(&found) {
            let content = content(number);
            assert_eq!(*body, format!("[{number},\"{}\"]", content.digest));
            let stored = journal.content(&name, content.digest).await.unwrap();
            assert_eq!(stored, Some(content.bytes));
        }
        let claim = journal.claim(&name, Owner::default()).await.unwrap();
        assert_eq!(claim.epoch, round as u64 * 2);
    }
}
