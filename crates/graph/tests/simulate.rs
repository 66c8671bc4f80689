//! Random graphs through random storms: whatever goes wrong, a run ends as if
//! nothing had, and nothing happens twice that must not.
//!
//! `RAG_SIMULATE_SEED=17` runs one seed and prints what happened in it;
//! `RAG_SIMULATE_SEEDS=1000000` runs so many, from `RAG_SIMULATE_FROM` on.

mod build;
mod plan;
mod run;
mod world;

use std::collections::BTreeMap;

use rustagents_testkit::simulate::Dice;

use self::{
    plan::Plan,
    run::{Ending, Run},
    world::Ledger,
};

/// How many seeds are run.
const SEEDS: u64 = 3_000;

/// On how many threads; each run is on one.
const THREADS: usize = 2;

/// Runs one seed, undisturbed and then disturbed, and says what differs.
fn simulate(seed: u64) -> (Ledger, Result<(), String>) {
    let mut dice = Dice::new(seed);
    let plan = Plan::random(&mut dice);
    let mut calm = Run::new(&plan, dice.split(), true);
    let expected = match calm.end_calmly() {
        Ok(expected) => expected,
        // A graph without an end says nothing of storms.
        Err(what) if what.contains("RecursionLimit") => return (calm.ledger(), Ok(())),
        Err(what) => return (calm.ledger(), Err(format!("undisturbed, {what}"))),
    };
    let mut run = Run::new(&plan, dice.split(), false);
    let ended = run.through_storms().and_then(|()| run.end_calmly());
    let compared = ended.and_then(|ending| compare(&calm.ledger(), &expected, &run, &ending));
    let told = compared.map_err(|what| format!("{what}\nplan: {plan:#?}"));
    (run.ledger(), told)
}

fn compare(calm: &Ledger, expected: &Ending, run: &Run, ending: &Ending) -> Result<(), String> {
    let ledger = run.ledger();
    if let Some(violation) = ledger.violations.first() {
        return Err(violation.clone());
    }
    same("the end", expected, ending)?;
    let restored = run.restored().map_err(|halt| halt.to_string())?;
    same("the state in the log", &ending.state, &restored)?;
    if expected.outcome != "completed" {
        // Whoever waits for an answer beside what fails may or may not get it before.
        return Ok(());
    }
    // Each task is taken in once. How often it begins says nothing: as often as it is
    // tried, and gone on with behind each answer.
    same("the tasks that are done", &calm.taken, &ledger.taken)?;
    let names = |begun: &BTreeMap<String, u32>| begun.keys().cloned().collect::<Vec<_>>();
    same("the tasks", &names(&calm.begun), &names(&ledger.begun))?;
    // A crash between a step and its record, and a try that fails behind it, make it
    // again; so there may be more. `Ledger::excuse` holds each of them to a crash or
    // a failure, and no try has two results of a step.
    at_least("the steps", &calm.steps, &ledger.steps)?;
    let recorded = ledger.recorded();
    at_least("the results of steps", &calm.recorded(), &recorded)?;
    at_least("the steps with results", &recorded, &ledger.steps)?;
    same("the payments", &calm.payments, &ledger.payments)?;
    let ends = ledger
        .payments
        .keys()
        .map(|payment| (payment.clone(), ledger.ends(payment)));
    same("the ends of payments", &ledger.payments, &ends.collect())
}

/// Whether the same things were done, each as often or more often.
fn at_least(
    what: &str,
    expected: &BTreeMap<String, u32>,
    is: &BTreeMap<String, u32>,
) -> Result<(), String> {
    let as_often = expected
        .iter()
        .zip(is)
        .all(|((name, least), (found, times))| name == found && least <= times);
    if as_often && expected.len() == is.len() {
        return Ok(());
    }
    same(what, expected, is)
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, is: &T) -> Result<(), String> {
    if expected == is {
        return Ok(());
    }
    Err(format!(
        "{what} differs:\nexpected {expected:?}\n   found {is:?}"
    ))
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap())
}

/// Runs a seed and panics if it fails, with what happened.
fn check(seed: u64) -> Ledger {
    let (ledger, told) = simulate(seed);
    if let Err(what) = told {
        let trace = ledger.trace.join("\n");
        panic!("seed {seed}: {what}\n{trace}\nRAG_SIMULATE_SEED={seed} runs it alone");
    }
    ledger
}

/// What has to happen in so many seeds, and how often at the least.
const WAYS: [(&str, usize); 24] = [
    ("its process was killed", 1_000),
    ("stopped: the store", 200),
    ("is durable", 200),
    ("snapshot", 30),
    ("a call goes on from another", 200),
    ("the work was cancelled", 200),
    ("stopped at a boundary", 100),
    ("doubt/1 with Done", 100),
    ("doubt/1 with Repeat", 100),
    ("doubt/1 with NotDone", 100),
    ("is made anew", 100),
    ("nobody answered", 100),
    ("too late for", 20),
    ("failed: chaos", 1_000),
    ("panicked", 100),
    ("took more than", 30),
    ("was idle for", 30),
    ("failed: always", 200),
    ("waits", 1_000),
    ("children: ", 500),
    ("was there already", 200),
    (" items", 500),
    ("ran a graph", 100),
    ("leads out", 50),
];

/// How often each of the ways is in a trace.
fn ways(trace: &[String]) -> [usize; WAYS.len()] {
    WAYS.map(|(what, _)| trace.iter().filter(|line| line.contains(what)).count())
}

#[test]
fn a_storm_changes_neither_the_end_nor_what_was_done() {
    if let Some(seed) = number("RAG_SIMULATE_SEED") {
        println!("{}", check(seed).trace.join("\n"));
        return;
    }
    let begin = number("RAG_SIMULATE_FROM").unwrap_or(0);
    let end = begin + number("RAG_SIMULATE_SEEDS").unwrap_or(SEEDS);
    let found = std::thread::scope(|scope| {
        let threads = [0, 1].map(|first| {
            let seeds = (begin + first..end).step_by(THREADS);
            scope.spawn(move || {
                let mut found = [0; WAYS.len()];
                for seed in seeds {
                    let more = ways(&check(seed).trace);
                    found
                        .iter_mut()
                        .zip(more)
                        .for_each(|(found, more)| *found += more);
                }
                found
            })
        });
        threads.map(|thread| match thread.join() {
            Ok(found) => found,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    });
    if end - begin < SEEDS {
        return;
    }
    for (place, (what, least)) in WAYS.iter().enumerate() {
        let times: usize = found.iter().map(|found| found[place]).sum();
        assert!(times >= *least, "{what}: {times} times");
    }
}

#[test]
fn a_seed_gives_the_same_run() {
    for seed in 0..40 {
        assert_eq!(check(seed).trace, check(seed).trace, "seed {seed}");
    }
}
