//! What worker processes do with an application store and an event journal, and what
//! must come of it.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use rustagents_core::{
    event_journal::{EventJournal, EventQuery, PlacedEvent, RunEvent},
    ids::{Namespace, RunId, ThreadId},
    store::{Address, Put, PutOptions, Reading, Store, StoreError, Write},
};
use serde_json::{Map, Value, json};

use super::{
    process::{STORE, WORK, Worker, Workers},
    work::{say, stopped},
};
use crate::simulate::Dice;

/// How far each process must come while the others write.
const FAR: u64 = 20;

/// How often processes are killed, and after how many words at the most.
const ROUNDS: u64 = 4;
const WORDS: u64 = 6;

/// The processes, by name.
const NAMES: [&str; 4] = ["w0", "w1", "w2", "w3"];

/// Does what the test told this process to do: it writes to the store that `open` opens,
/// without a pause, and says after each write how many there were.
///
/// # Panics
/// If the store refuses something, or if no test started this process.
pub async fn put<S: Store>(open: impl FnOnce(&Path) -> S) {
    let (store, name, stop) = orders();
    let store = open(Path::new(&store));
    let mut count = counts(&store, &name).await.0;
    while !stop() {
        add_one(&store, &name, count).await;
        count += 1;
        say(&count.to_string());
    }
}

/// The same with events.
///
/// # Panics
/// As [`put`].
pub async fn append<J: EventJournal>(open: impl FnOnce(&Path) -> J) {
    let (store, name, stop) = orders();
    let journal = open(Path::new(&store));
    let mut count = numbers(&events(&journal).await, &name).len() as u64;
    while !stop() {
        let event = |at| event(&name, at);
        // Two at a time, which stand one behind the other.
        let appended = journal.append(vec![event(count), event(count + 1)]).await;
        let offsets = appended.expect("appended");
        assert_eq!(offsets.len(), 2);
        count += 2;
        say(&count.to_string());
    }
}

fn orders() -> (String, String, impl Fn() -> bool) {
    let store = std::env::var(STORE).expect("a store");
    let work = std::env::var(WORK).expect("work");
    let stop: std::sync::Arc<AtomicBool> = stopped();
    (store, work, move || stop.load(Ordering::SeqCst))
}

fn address(key: &str) -> Address {
    Address::new(["workers"], key).expect("a valid address")
}

/// How often `name` wrote: by its own item, and by the one that all share.
async fn counts(store: &impl Store, name: &str) -> (u64, u64) {
    let own = value(store, name).await.1;
    let (_, shared) = value(store, "shared").await;
    let count = |value: Option<&Value>| value.and_then(Value::as_u64).unwrap_or(0);
    (
        count(own.as_ref()),
        count(shared.and_then(|all| all.get(name).cloned()).as_ref()),
    )
}

async fn value(store: &impl Store, key: &str) -> (Option<u64>, Option<Value>) {
    let item = store.get(&address(key), Reading::Plain).await;
    let item = item.expect("readable");
    (
        item.as_ref().map(|item| item.version),
        item.map(|item| item.value),
    )
}

/// Counts one write of `name` more, in its own item and in the one that all share: both
/// or none, and on what the others counted.
async fn add_one(store: &impl Store, name: &str, count: u64) {
    loop {
        let (version, shared) = value(store, "shared").await;
        let mut all = shared.map_or_else(Map::new, |all| {
            all.as_object().cloned().expect("counts by name")
        });
        all.insert(name.to_owned(), json!(count + 1));
        let options = match version {
            None => PutOptions::default().if_absent(),
            Some(version) => PutOptions::default().at_version(version),
        };
        let put = |key, value, options| {
            Write::Put(Put {
                address: address(key),
                value,
                options,
            })
        };
        let both = vec![
            put("shared", Value::Object(all), options),
            put(name, json!(count + 1), PutOptions::default()),
        ];
        match store.write(both).await {
            Ok(_) => return,
            // Another was faster.
            Err(StoreError::Conflict { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn event(name: &str, number: u64) -> RunEvent {
    RunEvent {
        thread: ThreadId::new(name).expect("a valid name"),
        run: RunId::from("r"),
        root_run: RunId::from("r"),
        kind: "step.started".into(),
        namespace: Namespace::from(""),
        at_ms: number,
        payload: json!({ "by": name, "n": number }),
    }
}

/// All events, whose places have no gaps.
async fn events(journal: &impl EventJournal) -> Vec<PlacedEvent> {
    let (mut query, mut all) = (EventQuery::from(1), Vec::new());
    loop {
        let page = journal.read(query.clone()).await.expect("readable");
        if page.events.is_empty() {
            return all;
        }
        all.extend(page.events);
        query = query.on_from(page.next);
    }
}

/// The numbers of the events of `name`, in order.
fn numbers(events: &[PlacedEvent], name: &str) -> Vec<u64> {
    let own = events
        .iter()
        .filter(|placed| placed.event.thread.as_str() == name);
    own.map(|placed| placed.event.at_ms).collect()
}

/// What is there after the processes ended: how often each wrote.
async fn put_by(store: &impl Store) -> Vec<u64> {
    let mut put = Vec::new();
    for name in NAMES {
        let (own, shared) = counts(store, name).await;
        assert_eq!(own, shared, "`{name}` wrote a half");
        put.push(own);
    }
    let (version, _) = value(store, "shared").await;
    assert_eq!(
        version.unwrap_or(0),
        put.iter().sum::<u64>(),
        "each write is a version"
    );
    put
}

async fn appended_by(journal: &impl EventJournal) -> Vec<u64> {
    let events = events(journal).await;
    for (place, event) in (1..).zip(&events) {
        assert_eq!(event.offset, place);
    }
    let mut appended = Vec::new();
    for name in NAMES {
        let numbers = numbers(&events, name);
        let count = numbers.len() as u64;
        assert!(numbers.into_iter().eq(0..count), "`{name}` is in order");
        appended.push(count);
    }
    appended
}

/// Four processes write until all of them got far, and once more from the beginning,
/// until they are killed at any moment: none starves, what each was told is there, and
/// beyond that at the most the `unit` that it was just writing.
async fn write_and_are_killed(
    workers: &Workers<'_>,
    unit: u64,
    seed: u64,
    there: impl AsyncFn() -> Vec<u64>,
) {
    let start = || NAMES.map(|name| workers.start(name));
    let mut started = start();
    for worker in &mut started {
        while told(worker.hear()) < FAR {}
    }
    let said = started.map(|worker| told(&worker.stop()));
    assert_eq!(there().await, said);
    let mut dice = Dice::new(seed);
    for _ in 0..ROUNDS {
        let mut started = start();
        for worker in &mut started {
            for _ in 0..=dice.below(WORDS) {
                worker.hear();
            }
        }
        let said = started.map(Worker::kill).map(|said| told(&said));
        for (told, there) in said.into_iter().zip(there().await) {
            let extent = told..=told + unit;
            assert!(extent.contains(&there), "{told} of {there}");
        }
    }
}

fn told(said: &str) -> u64 {
    said.parse().expect("a number")
}

/// Processes that [`put`] with compare-and-set lose nothing, leave nothing half done,
/// and none starves, also where they are killed.
///
/// # Panics
/// If it is otherwise.
pub async fn puts<S: Store>(workers: &Workers<'_>, open: impl Fn(&Path) -> S, seed: u64) {
    let there = async || put_by(&open(workers.store())).await;
    write_and_are_killed(workers, 1, seed, there).await;
}

/// The same of processes that [`append`].
///
/// # Panics
/// If it is otherwise.
pub async fn appends<J: EventJournal>(workers: &Workers<'_>, open: impl Fn(&Path) -> J, seed: u64) {
    let there = async || appended_by(&open(workers.store())).await;
    write_and_are_killed(workers, 2, seed, there).await;
}
