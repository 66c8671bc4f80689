//! Several processes on one journal, or on one application store or event journal
//! ([`stores`]): the test program itself is started again for each,
//! for one test of it that is ignored otherwise and does nothing but call [`work`]
//! or what stands there for it.
//!
//! ```no_run
//! # use std::path::Path;
//! # use rustagents_testkit::workers::{self, Workers};
//! # async fn child<J: rustagents_core::journal::Journal>(open: fn(&Path) -> J) {
//! // #[tokio::test] #[ignore] async fn worker() {
//! workers::work(open).await;
//! // } and in a test:
//! let store = Path::new("journal.db");
//! workers::take_turns(&Workers::new("workers::worker", store), &open(store)).await;
//! # }
//! ```

mod process;
pub mod stores;
mod work;

use std::{collections::BTreeSet, path::Path};

use rustagents_core::journal::{Journal, Owner, Record, Select};

use crate::{batch::thread, simulate::Dice};

pub use process::{Worker, Workers};
pub use work::work;
use work::{COMMITS, FACTS, OWN};

/// How often each driver has its turn.
const TURNS: usize = 8;

/// How far each worker with threads of its own must come.
const FAR: u64 = 25;

/// How often workers are killed, and after how many words at the most.
const ROUNDS: u64 = 4;
const WORDS: u64 = 6;

async fn records(journal: &dyn Journal, name: &str) -> Vec<Record> {
    let name = thread(name);
    journal.read(&name, Select::all()).await.expect("readable")
}

/// Four processes drive one thread in turns, and two add facts to it meanwhile: there is
/// one chain, and no fact is lost.
///
/// # Panics
/// If it is otherwise.
pub async fn take_turns(workers: &Workers<'_>, journal: &dyn Journal) {
    let shared = thread("shared");
    let claim = journal.claim(&shared, Owner::default()).await;
    drop(claim.expect("the thread is free"));
    let drivers = (0..4).map(|number| workers.start(&format!("turns driver-{number}")));
    let mut drivers: Vec<_> = drivers.collect();
    let others = (0..2).map(|number| workers.start(&format!("outside other-{number}")));
    let mut others: Vec<_> = others.collect();
    for _ in 0..TURNS {
        for driver in &mut drivers {
            driver.go();
            assert_eq!(driver.hear(), "done");
        }
    }
    for other in &mut others {
        while other.hear() != "done" {}
    }
    drivers.into_iter().chain(others).for_each(Worker::end);

    let records = records(journal, "shared").await;
    assert_eq!(records.len(), 4 * TURNS * COMMITS + 2 * FACTS);
    let keys = is_one_chain(&records);
    for name in ["other-0", "other-1"] {
        assert!((0..FACTS).all(|number| keys.contains(&format!("{name}/{number}"))));
    }
}

/// Checks places and commits, and gives the keys of the facts.
fn is_one_chain(records: &[Record]) -> BTreeSet<String> {
    let (mut head, mut keys) = (0, BTreeSet::new());
    for (seq, record) in (1..).zip(records) {
        assert_eq!(record.seq, seq);
        if let Some(key) = record.key() {
            assert!(keys.insert(key.as_str().to_owned()));
            continue;
        }
        // Each commit says which one it followed.
        let follows = format!(",{head}]");
        assert!(record.body.ends_with(&follows), "{record:?}");
        head = seq;
    }
    keys
}

/// Four processes with three threads each write until all of them got far: none starves,
/// and each thread has what its writer was told.
///
/// # Panics
/// If it is otherwise.
pub async fn write_their_own(workers: &Workers<'_>, journal: &dyn Journal) {
    let started = (0..4).map(|number| workers.start(&format!("many w{number}")));
    let mut started: Vec<_> = started.collect();
    for worker in &mut started {
        while told(worker.hear()).into_iter().min() < Some(FAR) {}
    }
    for (number, worker) in started.into_iter().enumerate() {
        let told = told(&worker.stop());
        for (own, told) in (0..OWN).zip(told) {
            let records = records(journal, &format!("w{number}-{own}")).await;
            assert_eq!(records.len() as u64, told);
            counts_up(&records);
        }
    }
}

fn told(said: &str) -> Vec<u64> {
    let numbers = said.split(' ').map(str::parse);
    numbers.collect::<Result<_, _>>().expect("numbers")
}

/// Each commit of a thread of a worker's own says which one it followed.
fn counts_up(records: &[Record]) {
    for (seq, record) in (1_u64..).zip(records) {
        assert_eq!((record.seq, &*record.body), (seq, &*(seq - 1).to_string()));
    }
}

/// Processes that drive threads of their own, or add facts to a thread that they share,
/// are killed at any moment and started again: what each was told is there, once, and of
/// the rest at most what it was just writing. Nothing of theirs is in the way.
///
/// # Panics
/// If it is otherwise.
pub async fn are_killed<J: Journal>(workers: &Workers<'_>, open: impl Fn(&Path) -> J, seed: u64) {
    let mut dice = Dice::new(seed);
    let shared = thread("shared");
    let claim = open(workers.store()).claim(&shared, Owner::default()).await;
    drop(claim.expect("the thread is free"));
    for _ in 0..ROUNDS {
        let works = ["many w0", "many w1", "forever o0", "forever o1"];
        let mut started: Vec<_> = works.iter().map(|work| workers.start(work)).collect();
        for worker in &mut started {
            for _ in 0..=dice.below(WORDS) {
                worker.hear();
            }
        }
        let said: Vec<_> = started.into_iter().map(Worker::kill).collect();
        let journal = open(workers.store());
        for (name, said) in ["w0", "w1"].iter().zip(&said) {
            for (own, told) in (0..OWN).zip(told(said)) {
                let name = format!("{name}-{own}");
                let records = records(&journal, &name).await;
                let count = records.len() as u64;
                assert!((told..=told + 1).contains(&count), "{told} of {count}");
                counts_up(&records);
                let owner = journal.owner(&thread(&name)).await.expect("readable");
                assert_eq!(owner, None, "its lock went with it");
            }
        }
        let shared = records(&journal, "shared").await;
        let mut keys = is_one_chain(&shared);
        for (name, said) in ["o0", "o1"].iter().zip(said.iter().skip(2)) {
            let told = told(said).into_iter().sum::<u64>();
            for number in 0..told {
                assert!(keys.remove(&format!("{name}/{number}")), "{name}/{number}");
            }
            keys.remove(&format!("{name}/{told}"));
        }
        assert!(keys.is_empty(), "{keys:?}");
    }
}
