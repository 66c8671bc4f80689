//! 4,000 supersteps that each append a message of a kilobyte.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use rustagents_core::{
    event::{Event, Events},
    ids::{Branch, MessageId, ThreadId},
    journal::{Journal, Select},
    log::ThreadLog,
    message::Message,
    recorder::Durability,
    scope::Write,
};
use rustagents_graph::{
    Frameless, Graph, GraphBuilder, NodeOutput, Reducer, Update, Writes, node_fn,
};
use rustagents_store_sqlite::{SqliteJournal, Synchronous};

use crate::drive;

use super::{
    Figure,
    raw::{self, Raw},
};

pub(crate) const STEPS: u64 = 4_000;

/// The text of each message.
pub(super) const TEXT_BYTES: usize = 1_000;

/// The steps before which nothing is cold any more.
const TENTH: usize = 400;

pub(crate) fn growth(synchronous: Synchronous) -> Vec<Figure> {
    let mode = match synchronous {
        Synchronous::Normal => "normal",
        Synchronous::Full => "full",
    };
    let named = |what: &str| format!("journal-growth/{mode}{what}");
    let folder = tempfile::tempdir().unwrap();
    let (path, hand) = (folder.path().join("a.db"), folder.path().join("b.db"));
    let runtime = crate::row::runtime();
    let steps = runtime.block_on(run(&path, synchronous, STEPS));
    let rows = runtime.block_on(rows(&path));
    let by_hand = insert(&hand, synchronous, &rows);
    let sum = |steps: &[Duration]| {
        let sum: Duration = steps.iter().sum();
        sum.as_secs_f64() * 1e6
    };
    let mut figures = vec![
        Figure::new(
            named(""),
            "us/step",
            sum(&steps) / STEPS as f64,
            by_hand.as_secs_f64() * 1e6 / STEPS as f64,
        ),
        Figure::new(
            named("/last-tenth"),
            "us/step",
            sum(&steps[steps.len() - TENTH..]) / TENTH as f64,
            sum(&steps[..TENTH]) / TENTH as f64,
        ),
    ];
    if synchronous == Synchronous::Normal {
        let payload: usize = rows.iter().map(|(message, _)| message.len()).sum();
        let few = folder.path().join("c.db");
        runtime.block_on(run(&few, synchronous, STEPS / 4));
        figures.extend([
            Figure::new(
                "journal-growth/bytes",
                "KB",
                raw::bytes(&path) as f64 / 1e3,
                payload as f64 / 1e3,
            ),
            Figure::new(
                "journal-growth/bytes-at-4000-and-1000",
                "KB",
                raw::bytes(&path) as f64 / 1e3,
                raw::bytes(&few) as f64 / 1e3,
            ),
            load(&runtime, &path, &hand),
        ]);
    }
    figures
}

/// How long the head takes to load, beside reading the same bytes.
fn load(runtime: &tokio::runtime::Runtime, path: &Path, hand: &Path) -> Figure {
    let journal = SqliteJournal::open(path).unwrap();
    let raw = Raw::open_again(hand);
    let thread = ThreadId::new("bench").unwrap();
    let (mut ours, mut limit) = (Vec::new(), Vec::new());
    for _ in 0..15 {
        let began = Instant::now();
        let main = Branch::main();
        let log = runtime.block_on(ThreadLog::load(&journal, &thread, &main));
        let log = log.unwrap();
        ours.push(began.elapsed());
        assert!(log.last_message() >= STEPS);
        let began = Instant::now();
        assert!(raw.read() > 0);
        limit.push(began.elapsed());
    }
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1e3
    };
    Figure::new("journal-growth/load", "ms", median(ours), median(limit))
}

/// A node that adds a message, again and again.
fn talking(steps: u64) -> Graph {
    let node = node_fn(|state: Arc<rustagents_graph::State>, _| async move {
        let number = state.messages("messages").len() as u64 + 1;
        let text = format!("{number:0TEXT_BYTES$}");
        let message = Arc::new(Message::user(MessageId::numbered(number), text));
        Ok(NodeOutput::new().write("messages", Update::Messages(vec![message])))
    });
    GraphBuilder::new("talk")
        .channel("messages", Reducer::Messages)
        .node("talk", node)
        .start(["talk"])
        .edge("talk", "talk")
        .recursion_limit(steps)
        .compile()
        .unwrap()
}

/// Runs the steps, and says what each took.
pub(crate) async fn run(path: &Path, synchronous: Synchronous, steps: u64) -> Vec<Duration> {
    let journal = Arc::new(SqliteJournal::open_with(path, synchronous).unwrap());
    let times = Arc::new(Mutex::new((Instant::now(), Vec::new())));
    let noted = Arc::clone(&times);
    let events = Events::listen(move |event| {
        if let Event::CheckpointSaved { .. } = event {
            let mut times = noted.lock().unwrap();
            let now = Instant::now();
            let took = now - times.0;
            times.0 = now;
            times.1.push(took);
        }
    });
    let (scope, claim) = drive::scope(journal, Durability::Sync, events).await;
    let graph = talking(steps);
    let at = graph.position(&scope).unwrap();
    let at = graph.open(&scope, at, Writes::new(), Write::new());
    let at = at.await.unwrap();
    times.lock().unwrap().0 = Instant::now();
    Box::pin(graph.drive(&scope, at, &Frameless)).await.unwrap();
    drop((scope, claim));
    let times = times.lock().unwrap();
    times.1.clone()
}

/// The bytes that each step wrote: its message, and its checkpoint.
async fn rows(path: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let journal = SqliteJournal::open(path).unwrap();
    let thread = ThreadId::new("bench").unwrap();
    let records = journal.read(&thread, Select::all().after(1)).await.unwrap();
    let messages = journal.messages(&thread, 0, usize::MAX).await.unwrap();
    let pairs = messages.iter().zip(&records);
    pairs
        .map(|((_, message), record)| {
            (
                serde_json::to_vec(&**message).unwrap(),
                record.body.clone().into_bytes(),
            )
        })
        .collect()
}

fn insert(path: &Path, synchronous: Synchronous, rows: &[(Vec<u8>, Vec<u8>)]) -> Duration {
    let raw = Raw::open(path, synchronous);
    let began = Instant::now();
    for (message, record) in rows {
        raw.insert(&[(1, message), (1, record)]);
    }
    began.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of a store after so many steps, and those that had to be written.
    fn sizes(steps: u64) -> (f64, f64) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let runtime = crate::row::runtime();
        runtime.block_on(run(&path, Synchronous::Normal, steps));
        let rows = runtime.block_on(rows(&path));
        let payload: usize = rows.iter().map(|(message, _)| message.len()).sum();
        (raw::bytes(&path) as f64, payload as f64)
    }

    #[test]
    fn a_store_grows_with_what_is_written_and_stays_near_it() {
        let (few, _) = sizes(STEPS / 4);
        let (many, payload) = sizes(STEPS);
        assert!(many <= 2.0 * payload, "{many} bytes for {payload}");
        assert!(many <= 4.3 * few, "{few} bytes, then {many}");
    }
}
