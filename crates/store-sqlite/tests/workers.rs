//! Several processes on one store: this test program is started again for each.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rustagents_core::journal::{Author, Batch, Journal, Owner, Place, Select};
use rustagents_store_sqlite::SqliteJournal;

use crate::support::{commit, fact, thread};

const STORE: &str = "RUSTAGENTS_TEST_STORE";
const WORK: &str = "RUSTAGENTS_TEST_WORK";

/// How many commits a process makes in its turn, and how many facts another adds.
const COMMITS: usize = 3;
const FACTS: usize = 60;

/// A worker process, told line by line what to do.
struct Worker {
    child: Child,
    orders: ChildStdin,
    said: BufReader<ChildStdout>,
}

impl Worker {
    fn start(store: &Path, work: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "workers::worker", "--ignored", "--nocapture"])
            .env(STORE, store)
            .env(WORK, work)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = child.stdin.take().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            orders,
            said,
        }
    }

    fn go(&mut self) {
        writeln!(self.orders, "go").unwrap();
    }

    /// The next thing that it says.
    fn hear(&mut self) -> String {
        loop {
            let mut line = String::new();
            let read = self.said.read_line(&mut line).unwrap();
            assert_ne!(read, 0, "the worker ended");
            if let Some((_, said)) = line.trim_end().split_once("says ") {
                return said.to_owned();
            }
        }
    }

    fn end(self) {
        let Self {
            mut child,
            orders,
            said,
        } = self;
        drop(orders);
        for line in said.lines() {
            line.unwrap();
        }
        assert!(child.wait().unwrap().success());
    }

    /// Tells it to stop, and gives the last number that it said.
    fn stop(self) -> usize {
        let Self {
            mut child,
            orders,
            said,
        } = self;
        drop(orders);
        let mut last = None;
        for line in said.lines() {
            let line = line.unwrap();
            let said = line.split_once("says ").map(|(_, said)| said);
            last = said.and_then(|said| said.parse().ok()).or(last);
        }
        assert!(child.wait().unwrap().success());
        // Whoever said nothing any more had come as far as was asked.
        last.unwrap_or(25)
    }
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nsays {text}").unwrap();
    out.flush().unwrap();
}

/// Waits for an order; `false` if there are no more.
fn ordered() -> bool {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap() > 0
}

/// Rings when there are no more orders.
fn stopped() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let stops = Arc::clone(&stop);
    std::thread::spawn(move || {
        while ordered() {}
        stops.store(true, Ordering::SeqCst);
    });
    stop
}

#[tokio::test]
#[ignore = "is run by the tests that start it"]
async fn worker() {
    let journal = SqliteJournal::open(std::env::var(STORE).unwrap()).unwrap();
    let work = std::env::var(WORK).unwrap();
    let (what, name) = work.split_once(' ').unwrap();
    match what {
        "once" => once(&journal, name).await,
        "turns" => turns(&journal, name).await,
        "outside" => outside(&journal, name).await,
        "many" => many(&journal, name).await,
        _ => panic!("unknown work {work}"),
    }
}

/// Writes one fact to a thread of its own, and ends.
async fn once(journal: &SqliteJournal, name: &str) {
    let own = thread(name);
    let claim = journal.claim(&own, Owner::default()).await.unwrap();
    let write = fact(&own, claim.epoch, "k", "{}");
    journal.append(write).await.unwrap();
}

/// At each order it claims the shared thread and puts commits on its chain.
async fn turns(journal: &SqliteJournal, name: &str) {
    let shared = thread("shared");
    while ordered() {
        let claim = journal.claim(&shared, Owner::default()).await.unwrap();
        let newest = Select::all().newest_first();
        let records = journal.read(&shared, newest).await.unwrap();
        let last = records.iter().find(|record| record.place == Place::Commit);
        let mut head = last.map(|record| record.seq);
        for _ in 0..COMMITS {
            let body = format!("[\"{name}\",{}]", head.unwrap_or(0));
            let write = commit(&shared, claim.epoch, head, &body);
            head = journal.append(write).await.unwrap().pop();
        }
        drop(claim);
        say("done");
    }
}

/// Writes facts to the shared thread, which others drive.
async fn outside(journal: &SqliteJournal, name: &str) {
    for number in 0..FACTS {
        let write = Batch {
            author: Author::Outside,
            ..fact(&thread("shared"), 0, &format!("{name}/{number}"), "{}")
        };
        journal.append(write).await.unwrap();
    }
    say("done");
}

/// Drives three threads at once, and says each time when all three got a record.
async fn many(journal: &SqliteJournal, name: &str) {
    let stop = stopped();
    let own = [0, 1, 2].map(|number| thread(&format!("{name}-{number}")));
    let mut claims = Vec::new();
    for own in &own {
        claims.push(journal.claim(own, Owner::default()).await.unwrap());
    }
    let mut head = None;
    while !stop.load(Ordering::SeqCst) {
        let writes = own.iter().zip(&claims);
        let writes = writes.map(|(own, claim)| {
            let body = format!("{}", head.unwrap_or(0));
            journal.append(commit(own, claim.epoch, head, &body))
        });
        for written in futures::future::join_all(writes).await {
            assert_eq!(written.unwrap(), [head.unwrap_or(0) + 1]);
        }
        head = Some(head.unwrap_or(0) + 1);
        say(&head.unwrap().to_string());
    }
    say("end");
}

#[tokio::test]
async fn a_process_that_ends_takes_nothing_from_one_that_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    let name = thread("t");
    let claim = journal.claim(&name, Owner::default()).await.unwrap();
    for number in 0..3 {
        // Looking at the file must not let go of SQLite's locks on it.
        journal.read(&name, Select::all()).await.unwrap();
        assert!(SqliteJournal::exists(&path).unwrap());
        Worker::start(&path, &format!("once other-{number}")).end();
        let write = fact(&name, claim.epoch, &number.to_string(), "{}");
        journal.append(write).await.unwrap();
        let fresh = Worker::start(&path, &format!("once again-{number}"));
        fresh.end();
        let records = journal.read(&name, Select::all()).await.unwrap();
        assert_eq!(records.len(), number + 1);
    }
    drop((claim, journal));
    let journal = SqliteJournal::open(&path).unwrap();
    let records = journal.read(&name, Select::all()).await.unwrap();
    assert_eq!(records.len(), 3);
    for number in 0..3 {
        for other in ["other", "again"] {
            let other = thread(&format!("{other}-{number}"));
            assert_eq!(journal.read(&other, Select::all()).await.unwrap().len(), 1);
        }
    }
}

#[tokio::test]
async fn processes_that_take_turns_make_one_chain_while_others_add_facts() {
    const TURNS: usize = 8;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    let shared = thread("shared");
    drop(journal.claim(&shared, Owner::default()).await.unwrap());
    let mut drivers: Vec<_> = (0..4)
        .map(|number| Worker::start(&path, &format!("turns driver-{number}")))
        .collect();
    let mut others: Vec<_> = (0..2)
        .map(|number| Worker::start(&path, &format!("outside other-{number}")))
        .collect();
    for _ in 0..TURNS {
        for driver in &mut drivers {
            driver.go();
            assert_eq!(driver.hear(), "done");
        }
    }
    for other in &mut others {
        assert_eq!(other.hear(), "done");
    }
    drivers.into_iter().chain(others).for_each(Worker::end);

    let records = journal.read(&shared, Select::all()).await.unwrap();
    assert_eq!(records.len(), 4 * TURNS * COMMITS + 2 * FACTS);
    let (mut head, mut keys) = (0, BTreeSet::new());
    for (seq, record) in (1..).zip(&records) {
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
    for name in ["other-0", "other-1"] {
        assert!((0..FACTS).all(|number| keys.contains(&format!("{name}/{number}"))));
    }
}

#[tokio::test]
async fn processes_with_threads_of_their_own_lose_nothing_and_none_starves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let mut workers: Vec<_> = (0..4)
        .map(|number| Worker::start(&path, &format!("many w{number}")))
        .collect();
    // They write until each of them got that far.
    for worker in &mut workers {
        while worker.hear() != "25" {}
    }
    let mut told = Vec::new();
    for worker in workers {
        told.push(worker.stop());
    }
    let journal = SqliteJournal::open(&path).unwrap();
    for (number, told) in told.into_iter().enumerate() {
        for own in 0..3 {
            let own = thread(&format!("w{number}-{own}"));
            let records = journal.read(&own, Select::all()).await.unwrap();
            assert_eq!(records.len(), told);
            for (seq, record) in (1_u64..).zip(&records) {
                assert_eq!((record.seq, &*record.body), (seq, &*(seq - 1).to_string()));
            }
        }
    }
}
