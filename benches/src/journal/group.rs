//! 1,000 threads at once, each commit durable.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use rustagents_core::{
    ids::{Branch, FactKey, Namespace, RunId, ThreadId},
    journal::{Author, Batch, Chain, Entry, Journal, Owner, Place, kind},
};
use rustagents_store_sqlite::{SqliteJournal, Synchronous};

use super::{Figure, raw::Raw};

const THREADS: u32 = 1_000;
const BATCHES: u32 = 10;

pub(crate) fn group() -> Vec<Figure> {
    let folder = tempfile::tempdir().unwrap();
    let runtime = crate::row::runtime();
    let journal = SqliteJournal::open(folder.path().join("a.db")).unwrap();
    let journal = Arc::new(journal);
    let before = runtime.block_on(claimed(&journal));
    let claims = before.len();
    let first = journal.transactions();
    let began = Instant::now();
    runtime.block_on(append_all(&journal));
    let ours = began.elapsed();
    let transactions = journal.transactions() - first;
    let batches = THREADS * BATCHES;
    assert_eq!(claims, THREADS as usize);
    let raw = Raw::open(&folder.path().join("b.db"), Synchronous::Full);
    let limit = by_hand(&raw, u64::from(batches).div_ceil(transactions));
    let each = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(batches);
    vec![
        Figure::new("journal-group", "us/batch", each(ours), each(limit)),
        Figure::new(
            "journal-group/fsyncs",
            "per 50 batches",
            transactions as f64 * 50.0 / f64::from(batches),
            1.0,
        ),
    ]
}

fn thread(number: u32) -> ThreadId {
    ThreadId::new(&format!("t-{number}")).unwrap()
}

fn body() -> String {
    format!("{{\"text\":\"{}\"}}", "x".repeat(500))
}

async fn claimed(journal: &Arc<SqliteJournal>) -> Vec<u64> {
    let claims = (0..THREADS).map(|number| {
        let journal = Arc::clone(journal);
        async move {
            let thread = thread(number);
            let claim = journal.claim(&thread, Owner::default());
            claim.await.unwrap().epoch
        }
    });
    futures::future::join_all(claims).await
}

async fn append_all(journal: &Arc<SqliteJournal>) {
    let drivers = (0..THREADS).map(|number| {
        let journal = Arc::clone(journal);
        async move {
            for batch in 0..BATCHES {
                journal.append(fact(number, batch)).await.unwrap();
            }
        }
    });
    futures::future::join_all(drivers).await;
}

fn fact(number: u32, batch: u32) -> Batch {
    Batch {
        thread: thread(number),
        author: Author::Driver(1),
        heads: Vec::new(),
        entries: vec![Entry {
            chain: Chain {
                branch: Branch::main(),
                namespace: Namespace::root(),
            },
            place: Place::Fact(FactKey::from(format!("k{batch}"))),
            kind: kind::RESULT,
            run: RunId::from("r"),
            attempt: 1,
            effect: None,
            digest: None,
            body: body(),
        }],
        messages: Vec::new(),
        contents: Vec::new(),
        at_ms: 1,
    }
}

fn by_hand(raw: &Raw, group: u64) -> Duration {
    let body = body().into_bytes();
    let group = usize::try_from(group).unwrap();
    let rows: Vec<_> = (0..THREADS * BATCHES)
        .map(|row| (row % THREADS, &*body))
        .collect();
    let began = Instant::now();
    for rows in rows.chunks(group) {
        raw.insert(rows);
    }
    began.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifty_waiting_batches_share_a_commit() {
        let folder = tempfile::tempdir().unwrap();
        let runtime = crate::row::runtime();
        let journal = SqliteJournal::open(folder.path().join("a.db")).unwrap();
        let journal = Arc::new(journal);
        runtime.block_on(claimed(&journal));
        let first = journal.transactions();
        runtime.block_on(append_all(&journal));
        let commits = journal.transactions() - first;
        let batches = u64::from(THREADS * BATCHES);
        assert!(commits * 50 <= batches, "{commits} commits for {batches}");
    }

    #[test]
    fn a_lone_batch_has_a_commit_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let runtime = crate::row::runtime();
        let journal = SqliteJournal::open(folder.path().join("a.db")).unwrap();
        runtime.block_on(async {
            let claim = journal.claim(&thread(0), Owner::default()).await.unwrap();
            assert_eq!((claim.epoch, journal.transactions()), (1, 1));
            for batch in 0..10 {
                journal.append(fact(0, batch)).await.unwrap();
                assert_eq!(journal.transactions(), u64::from(batch) + 2);
            }
        });
    }
}
