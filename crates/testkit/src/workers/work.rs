//! What a worker process does.

use std::{
    io::Write as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rustagents_core::journal::{Author, Batch, Journal, Owner, Place, Select, Seq};

use super::process::{SAYS, STORE, WORK};
use crate::batch::{commit, fact, thread};

/// How many commits a process makes in its turn, and how many facts another adds.
pub(super) const COMMITS: usize = 3;
pub(super) const FACTS: usize = 60;

/// How many threads a process has for itself.
pub(super) const OWN: usize = 3;

/// Does what the test told this process to do, on the journal that `open` opens.
///
/// # Panics
/// If the journal refuses something, or if no test started this process.
pub async fn work<J: Journal>(open: impl FnOnce(&Path) -> J) {
    let store = std::env::var(STORE).expect("a store");
    let journal = open(Path::new(&store));
    let work = std::env::var(WORK).expect("work");
    let (what, name) = work.split_once(' ').expect("a word and a name");
    match what {
        "once" => once(&journal, name).await,
        "turns" => turns(&journal, name).await,
        "outside" => outside(&journal, name, FACTS).await,
        "forever" => outside(&journal, name, usize::MAX).await,
        "many" => many(&journal, name).await,
        _ => panic!("unknown work {work}"),
    }
}

pub(super) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{SAYS}{text}").expect("somebody who listens");
    out.flush().expect("somebody who listens");
}

/// Waits for an order; `false` if there are no more.
fn ordered() -> bool {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("orders") > 0
}

/// Rings when there are no more orders.
pub(super) fn stopped() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let stops = Arc::clone(&stop);
    std::thread::spawn(move || {
        while ordered() {}
        stops.store(true, Ordering::SeqCst);
    });
    stop
}

/// Writes one fact to a thread of its own, and ends.
async fn once(journal: &dyn Journal, name: &str) {
    let own = thread(name);
    let claim = journal.claim(&own, Owner::default()).await;
    let claim = claim.expect("the thread is free");
    let write = fact(&own, claim.epoch, "k", "{}");
    journal.append(write).await.expect("appended");
}

/// At each order it claims the shared thread and puts commits on its chain.
async fn turns(journal: &dyn Journal, name: &str) {
    let shared = thread("shared");
    while ordered() {
        let claim = journal.claim(&shared, Owner::default()).await;
        let claim = claim.expect("the others let go");
        let newest = Select::all().newest_first();
        let records = journal.read(&shared, newest).await.expect("readable");
        let last = records.iter().find(|record| record.place == Place::Commit);
        let mut head = last.map(|record| record.seq);
        for _ in 0..COMMITS {
            let body = format!("[\"{name}\",{}]", head.unwrap_or(0));
            let write = commit(&shared, claim.epoch, head, &body);
            head = journal.append(write).await.expect("appended").pop();
        }
        drop(claim);
        say("done");
    }
}

/// Adds facts to the shared thread, which others drive, behind those that it has
/// already, up to so many; says after each how many there are.
async fn outside(journal: &dyn Journal, name: &str, count: usize) {
    let shared = thread("shared");
    let records = journal.read(&shared, Select::all()).await;
    let records = records.expect("readable");
    let prefix = format!("{name}/");
    let own = |key: &str| key.starts_with(&prefix);
    let keys = records.iter().filter_map(|record| record.key());
    let there = keys.filter(|key| own(key.as_str())).count();
    for number in there..count {
        let write = Batch {
            author: Author::Outside,
            ..fact(&shared, 0, &format!("{name}/{number}"), "{}")
        };
        journal.append(write).await.expect("appended");
        say(&(number + 1).to_string());
    }
    say("done");
}

/// Drives threads of its own at once, from where they are, and says each time how far
/// each of them is.
async fn many(journal: &dyn Journal, name: &str) {
    let stop = stopped();
    let own: [_; OWN] = std::array::from_fn(|number| thread(&format!("{name}-{number}")));
    let mut claims = Vec::new();
    let mut heads: Vec<Seq> = Vec::new();
    for own in &own {
        let claim = journal.claim(own, Owner::default()).await;
        claims.push(claim.expect("the thread is free"));
        let records = journal.read(own, Select::all()).await.expect("readable");
        heads.push(records.len() as u64);
    }
    while !stop.load(Ordering::SeqCst) {
        let writes = own.iter().zip(&claims).zip(&heads);
        let writes = writes.map(|((own, claim), head)| {
            let expected = (*head > 0).then_some(*head);
            journal.append(commit(own, claim.epoch, expected, &head.to_string()))
        });
        let written = futures::future::join_all(writes).await;
        for (head, written) in heads.iter_mut().zip(written) {
            assert_eq!(written.expect("appended"), [*head + 1]);
            *head += 1;
        }
        let told: Vec<_> = heads.iter().map(ToString::to_string).collect();
        say(&told.join(" "));
    }
}
