//! What a run records does not depend on how much was said before it: counted, not
//! timed.

use std::{iter::repeat_n, sync::Arc};

use rustagents_core::journal::{Record, Select, kind};
use rustagents_lang::compile;
use rustagents_runtime::{Capabilities, Program, Start};
use rustagents_testkit::model::{FakeModel, Reply};

use crate::{bench::Bench, threads::name};

/// Two agents that talk to each other until the run has no steps left.
const TALK: &str = r#"graph talk {
  channel messages messages
  start ask
  node ask { kind agent  model "talker"  prompt "Ask."  next reply }
  node reply { kind agent  model "talker"  prompt "Reply."  next ask }
}"#;

/// The records of `t` but for snapshots, whose rule is a cost of its own.
async fn records(bench: &Bench) -> Vec<Record> {
    let all = bench.journal.read(&name("t"), Select::all()).await;
    let mut records = all.unwrap();
    records.retain(|record| !record.is(kind::SNAPSHOT));
    records
}

fn bytes<'a>(records: impl IntoIterator<Item = &'a Record>) -> usize {
    records.into_iter().map(|record| record.body.len()).sum()
}

#[tokio::test]
async fn an_input_records_as_much_at_the_end_of_a_long_thread_as_at_its_beginning() {
    let bench = Bench::new();
    let mut runs = Vec::new();
    let mut seen = 0;
    for _ in 0..80 {
        bench.note("t", "so it is").await;
        let all = records(&bench).await;
        runs.push(bytes(&all[seen..]));
        seen = all.len();
    }
    // From input 10 on, numbers have two digits; nothing else may grow.
    assert!(runs[10] > 1_000, "{runs:?}");
    assert!(runs[79] <= runs[10] + 8, "{runs:?}");
}

/// The bytes of so many runs of 25 steps, and those of the last model call.
async fn talk(runs: usize) -> (usize, usize) {
    let mut bench = Bench::new();
    bench.limits.steps = 25;
    let mut capabilities = Capabilities::default();
    let replies = repeat_n(Reply::Text("And you?"), 500);
    capabilities.model("talker", Arc::new(FakeModel::new(replies)));
    let compiled = compile(TALK, &capabilities.snapshot().unwrap());
    let blueprint = compiled.blueprint.unwrap();
    let program = Program::lower(&blueprint, &capabilities).unwrap();
    for _ in 0..runs {
        let start = Start {
            thread: Some(name("t")),
            ..bench.request()
        };
        let report = bench.live().start(&program, start, bench.watch()).await;
        assert!(report.unwrap().is_closed);
    }
    let records = records(&bench).await;
    let calls: Vec<_> = records.iter().filter(|r| r.is(kind::RESULT)).collect();
    assert_eq!(calls.len(), 25 * runs);
    (bytes(&records), calls[25 * runs - 1].body.len())
}

#[tokio::test]
async fn two_agents_that_talk_record_as_much_with_each_word() {
    let (short, first) = talk(4).await;
    let (long, last) = talk(16).await;
    assert!(last <= first + 8, "{first} bytes, then {last}");
    // Only numbers have more digits.
    assert!(long * 100 <= short * 410, "{short} bytes, then {long}");
}
