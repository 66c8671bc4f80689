//! 4,000 batches of one writer, each awaited: a commit, and a message of a kilobyte.

use std::{sync::Arc, time::Instant};

use rustagents_core::{
    ids::{Branch, MessageId, Namespace, RunId, ThreadId},
    journal::{Author, Batch, Chain, Entry, Journal, Owner, Place, Seq, kind},
    message::Message,
};
use rustagents_store_sqlite::{SqliteJournal, Synchronous};

use super::{Figure, growth::TEXT_BYTES, raw::Raw};

const BATCHES: u64 = 4_000;

pub(super) fn lone(synchronous: Synchronous, mode: &str) -> Vec<Figure> {
    let folder = tempfile::tempdir().unwrap();
    let runtime = crate::row::runtime();
    let journal = SqliteJournal::open_with(folder.path().join("a.db"), synchronous).unwrap();
    let batches: Vec<_> = (1..=BATCHES).map(batch).collect();
    let rows: Vec<_> = batches.iter().map(row).collect();
    let ours = runtime.block_on(async {
        let thread = ThreadId::new("t").unwrap();
        let claim = journal.claim(&thread, Owner::default()).await.unwrap();
        let began = Instant::now();
        let mut head = None;
        for batch in batches {
            head = Some(append(&journal, batch, head).await);
        }
        let took = began.elapsed();
        drop(claim);
        took
    });
    let raw = Raw::open(&folder.path().join("b.db"), synchronous);
    let began = Instant::now();
    for (message, record) in &rows {
        raw.insert(&[(1, message), (1, record)]);
    }
    let limit = began.elapsed();
    let each = |time: std::time::Duration| time.as_secs_f64() * 1e6 / BATCHES as f64;
    vec![Figure::new(
        format!("journal-lone/{mode}"),
        "us/batch",
        each(ours),
        each(limit),
    )]
}

async fn append(journal: &SqliteJournal, mut batch: Batch, head: Option<Seq>) -> Seq {
    for (_, expected) in &mut batch.heads {
        *expected = head;
    }
    journal.append(batch).await.unwrap()[0]
}

/// The bytes that a batch has to write.
fn row(batch: &Batch) -> (Vec<u8>, Vec<u8>) {
    let message = serde_json::to_vec(&*batch.messages[0]).unwrap();
    (message, batch.entries[0].body.clone().into_bytes())
}

fn batch(number: u64) -> Batch {
    let chain = Chain {
        branch: Branch::main(),
        namespace: Namespace::root(),
    };
    let text = format!("{number:0TEXT_BYTES$}");
    Batch {
        thread: ThreadId::new("t").unwrap(),
        author: Author::Driver(1),
        heads: vec![(chain.clone(), None)],
        entries: vec![Entry {
            chain,
            place: Place::Commit,
            kind: kind::CHECKPOINT,
            run: RunId::from("r"),
            attempt: 1,
            effect: None,
            digest: None,
            body: format!(
                r#"{{"checkpoint":{number},"deltas":[["messages",{{"messages":["m-{number}"]}}]]}}"#
            ),
        }],
        messages: vec![Arc::new(Message::user(MessageId::numbered(number), text))],
        contents: Vec::new(),
        at_ms: number,
    }
}
