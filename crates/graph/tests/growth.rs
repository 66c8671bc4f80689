//! What a superstep costs does not depend on how many there were: counted, not timed.

use std::sync::Arc;

use rustagents_core::journal::kind;
use rustagents_graph::{Graph, GraphBuilder, NodeOutput, Outcome, Reducer, Update, node_fn};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};

use crate::bench::Bench;

fn counting(steps: u64) -> Graph {
    let add = node_fn(|_, _| async {
        Ok(NodeOutput::new().write("seen", Update::Value("x".repeat(1_000).into())))
    });
    GraphBuilder::new("g")
        .channel("seen", Reducer::Append)
        .node("add", add)
        .start(["add"])
        .edge("add", "add")
        .recursion_limit(steps)
        .compile()
        .unwrap()
}

async fn bytes_of_last_step(steps: u64) -> usize {
    let mut bench = Bench::new();
    bench.limits.steps = steps;
    let end = bench.attempt(&counting(steps)).await.unwrap();
    assert!(matches!(end.outcome, Outcome::RecursionLimit { .. }));
    assert_eq!(end.state.list("seen").len() as u64, steps);
    let log = bench.log().await;
    let last = log
        .records()
        .iter()
        .rfind(|record| record.is(kind::CHECKPOINT))
        .unwrap();
    last.body.len()
}

#[tokio::test]
async fn four_thousand_steps_of_a_kilobyte_cost_the_same_each() {
    let (short, long) = (
        bytes_of_last_step(1_000).await,
        bytes_of_last_step(4_000).await,
    );
    assert!(
        short > 1_000 && long <= short + 8,
        "{short} bytes, then {long}"
    );
}

/// How often a run of `steps` supersteps writes; the claim counts.
async fn commits(steps: u64) -> u64 {
    let point = FaultPoint {
        write: u64::MAX,
        side: Side::Before,
    };
    let journal = FaultJournal::new(Arc::new(MemoryJournal::new()), point, || {});
    let journal = Arc::new(journal);
    let mut bench = Bench::on(journal.clone());
    bench.limits.steps = steps;
    bench.attempt(&counting(steps)).await.unwrap();
    journal.writes()
}

#[tokio::test]
async fn a_superstep_of_one_task_commits_once() {
    assert_eq!(commits(20).await - commits(10).await, 10);
}
