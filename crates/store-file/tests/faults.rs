//! A disk that fails at every step of a scenario, in every way.

use std::sync::Arc;

use rustagents_core::{
    digest::Digest,
    ids::MessageId,
    journal::{
        Batch, Claim, Compaction, Content, Family, Journal, JournalError, Owner, PlacedMessage,
        Record, Select, ThreadImage, ThreadQuery,
    },
    message::Message,
};
use rustagents_store::MemoryJournal;
use rustagents_store_file::{
    FileJournal,
    fault::{DiskFault, Failure},
};

use crate::support::{commit, fact, files, quick_folder, thread};

/// How many moves the scenario has.
const MOVES: usize = 11;

/// The epochs of the claims of `t` and `u`, as the scenario got them.
#[derive(Default)]
struct Held {
    t: Option<Claim>,
    u: Option<Claim>,
}

fn epoch(claim: Option<&Claim>) -> u64 {
    claim.map_or(0, |claim| claim.epoch)
}

fn content(text: &str) -> Content {
    Content {
        digest: Digest::of(text.as_bytes()),
        bytes: text.as_bytes().to_vec(),
    }
}

/// A commit that mentions a message and a content of its own. The second one and its
/// message are so long that they are in parts.
fn full(epoch: u64, head: Option<u64>, number: u64) -> Batch {
    let content = content(&format!("content {number}"));
    let more = "long ".repeat(if number == 2 { 4_000 } else { 1 });
    let body = format!("[\"m-{number}\",\"{}\",\"{more}\"]", content.digest);
    let mut batch = commit(&thread("t"), epoch, head, &body);
    batch.messages = vec![Arc::new(Message::user(
        MessageId::numbered(number),
        format!("hello {more}"),
    ))];
    batch.contents = vec![content];
    batch
}

fn image() -> ThreadImage {
    ThreadImage {
        thread: thread("v"),
        epoch: 4,
        records: vec![],
        messages: vec![Arc::new(Message::user(MessageId::numbered(1), "moved"))],
        contents: vec![content("moved")],
        family: None,
    }
}

/// A thread of the family of `t`, with two contents that are there, and one of its own.
async fn joined(journal: &dyn Journal) -> Result<ThreadImage, JournalError> {
    let mut records = journal.read(&thread("t"), Select::all()).await?;
    records.truncate(3);
    if let Some(last) = records.last_mut() {
        last.body = format!("[\"{}\"]", content("joined").digest);
    }
    let shared = ["content 2", "content 3"].map(|text| content(text).digest);
    Ok(ThreadImage {
        thread: thread("w"),
        epoch: 4,
        records,
        messages: vec![],
        contents: vec![content("joined")],
        family: Some(Family {
            of: thread("t"),
            shared: shared.to_vec(),
        }),
    })
}

/// One move of the scenario.
async fn go(journal: &dyn Journal, at: usize, held: &mut Held) -> Result<(), JournalError> {
    let (t, u) = (thread("t"), thread("u"));
    match at {
        0 => held.t = Some(journal.claim(&t, Owner::default()).await?),
        1 => drop(
            journal
                .append(full(epoch(held.t.as_ref()), None, 1))
                .await?,
        ),
        2 => drop(
            journal
                .append(full(epoch(held.t.as_ref()), Some(1), 2))
                .await?,
        ),
        3 => drop(
            journal
                .append(fact(&t, epoch(held.t.as_ref()), "k", "1"))
                .await?,
        ),
        4 => {
            let batch = full(epoch(held.t.as_ref()), Some(2), 3);
            let drop = vec![1..=1];
            journal.compact(Compaction { batch, drop }).await?;
        }
        5 => journal.copy(&t, &u, Some(3)).await?,
        6 => journal.install(image()).await?,
        7 => drop(
            journal
                .append(fact(&t, epoch(held.t.as_ref()), "l", "1"))
                .await?,
        ),
        8 => journal.install(joined(journal).await?).await?,
        9 => held.u = Some(journal.claim(&u, Owner::default()).await?),
        _ => journal.remove(&u, epoch(held.u.as_ref())).await?,
    }
    Ok(())
}

/// What stands in a journal, the epochs left aside.
#[derive(Debug, PartialEq)]
struct Seen(Vec<(String, u64, Vec<Record>, Vec<PlacedMessage>)>);

async fn see(journal: &dyn Journal) -> Seen {
    let mut seen = Vec::new();
    for row in journal.threads(ThreadQuery::all()).await.unwrap() {
        let mut records = journal.read(&row.thread, Select::all()).await.unwrap();
        for record in &mut records {
            record.epoch = 0;
        }
        let messages = journal.messages(&row.thread, 0, 99).await.unwrap();
        seen.push((row.thread.to_string(), row.last_seq, records, messages));
    }
    Seen(seen)
}

/// The contents that a thread has, of those of the scenario.
async fn contents(journal: &dyn Journal, name: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    for text in ["content 1", "content 2", "content 3", "moved", "joined"] {
        let digest = Digest::of(text.as_bytes());
        let stored = journal.content(&thread(name), digest).await.unwrap();
        found.extend(stored.map(|_| text));
    }
    found
}

/// What stands in a journal before the first move, and after each.
async fn expected() -> Vec<(Seen, Vec<(&'static str, Vec<&'static str>)>)> {
    let (journal, mut held) = (MemoryJournal::new(), Held::default());
    let mut all = Vec::new();
    for at in 0..=MOVES {
        let mut stored = Vec::new();
        for name in ["t", "u", "v", "w"] {
            stored.push((name, contents(&journal, name).await));
        }
        all.push((see(&journal).await, stored));
        if at < MOVES {
            go(&journal, at, &mut held).await.unwrap();
        }
    }
    all
}

/// How many steps the whole scenario takes.
async fn steps() -> u64 {
    let folder = quick_folder();
    let fault = Arc::new(DiskFault::new(0, Failure::Stop));
    let root = folder.path().join("journal");
    let journal = FileJournal::with_fault(root, Arc::clone(&fault)).unwrap();
    let mut held = Held::default();
    for at in 0..MOVES {
        go(&journal, at, &mut held).await.unwrap();
    }
    fault.steps()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_at_any_step_leaves_each_move_whole_or_undone() {
    crash_everywhere(Failure::Stop, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_does_one_in_the_middle_of_a_write() {
    crash_everywhere(Failure::Torn, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_does_a_loss_of_power() {
    crash_everywhere(Failure::Stop, true).await;
}

async fn crash_everywhere(failure: Failure, loses_power: bool) {
    let (expected, steps) = (expected().await, steps().await);
    assert!(steps > 60, "{steps}");
    for step in 1..=steps {
        let folder = quick_folder();
        let root = folder.path().join("journal");
        let fault = Arc::new(DiskFault::new(step, failure));
        let journal = FileJournal::with_fault(&root, Arc::clone(&fault)).unwrap();
        let mut held = Held::default();
        let mut done = 0;
        while done < MOVES && go(&journal, done, &mut held).await.is_ok() {
            done += 1;
        }
        let highest = epoch(held.t.as_ref());
        drop((journal, held));
        if loses_power {
            fault.lose_power(&root).unwrap();
        }
        let journal = FileJournal::open(&root).unwrap();
        let seen = see(&journal).await;
        let place = format!("step {step}, {done} moves done");
        let (before, after) = (&expected[done], expected.get(done + 1));
        let now = if seen == before.0 {
            before
        } else {
            assert_eq!(Some(&seen), after.map(|(seen, _)| seen), "{place}");
            after.unwrap()
        };
        for (name, needed) in &now.1 {
            let found = contents(&journal, name).await;
            let is_there = |text| found.contains(text);
            assert!(needed.iter().all(is_there), "{place}: {name} has {found:?}");
        }
        go_on(&journal, highest).await;
        leaves_no_garbage(&root);
    }
}

/// The thread `t` can be claimed and written to, and a compaction cleans up.
async fn go_on(journal: &dyn Journal, highest: u64) {
    let t = thread("t");
    let claim = journal.claim(&t, Owner::default()).await.unwrap();
    assert!(claim.epoch > highest);
    let written = journal.append(fact(&t, claim.epoch, "next", "1")).await;
    written.unwrap();
    let compaction = Compaction {
        batch: fact(&t, claim.epoch, "last", "1"),
        drop: vec![1..=99],
    };
    journal.compact(compaction).await.unwrap();
}

fn leaves_no_garbage(folder: &std::path::Path) {
    let families = folder.join("families");
    if !families.exists() {
        return;
    }
    for (path, bytes) in files(&families) {
        if let Some(bytes) = bytes {
            let name = path.file_name().unwrap().to_str().unwrap();
            let digest = Digest::from_hex(name).expect("a draft was left");
            // What `u` and `w`, of the family of `t`, or `v` have may stay.
            let kept = ["content 1", "content 2", "content 3", "moved", "joined"];
            let is_kept = kept
                .iter()
                .any(|text| Digest::of(text.as_bytes()) == digest);
            let text = String::from_utf8(bytes).unwrap();
            let is_part = text.starts_with("\"long ") || text.starts_with("\"hello long ");
            assert!(is_kept || is_part, "{text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_failure_at_any_step_the_same_handle_goes_on() {
    let (expected, steps) = (expected().await, steps().await);
    for step in 1..=steps {
        for failure in [Failure::Once, Failure::OnceTorn] {
            let folder = quick_folder();
            let fault = Arc::new(DiskFault::new(step, failure));
            let journal = FileJournal::with_fault(folder.path(), fault).unwrap();
            let mut held = Held::default();
            for at in 0..MOVES {
                let place = format!("{failure:?} at step {step}, move {at}");
                let Err(error) = go(&journal, at, &mut held).await else {
                    continue;
                };
                let is_told = matches!(error, JournalError::Unavailable { .. });
                assert!(is_told, "{place}: {error:?}");
                let is_done = see(&journal).await != expected[at].0;
                if is_done {
                    assert!(!matches!(at, 1 | 2 | 3 | 7), "{place}: a batch is undone");
                    assert_eq!(see(&journal).await, expected[at + 1].0, "{place}");
                }
                if !is_done || matches!(at, 0 | 9) {
                    go(&journal, at, &mut held).await.expect(&place);
                }
            }
            assert_eq!(see(&journal).await, expected[MOVES].0, "step {step}");
            let fresh = FileJournal::open(folder.path()).unwrap();
            assert_eq!(see(&fresh).await, expected[MOVES].0, "step {step}");
        }
    }
}
