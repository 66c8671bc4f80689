//! What a step costs does not depend on how long the thread is: counted, not timed.

use std::sync::Arc;

use rustagents_core::tool::EffectClass;
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};
use rustagents_testkit::tool::{FakeTool, World};

use crate::{
    bench::{Bench, said},
    loops::{agent, calls},
};

/// Bytes of records and messages that turn `turn` wrote.
async fn bytes_of_turn(hops: usize, turn: u32, history: u64) -> usize {
    let mut bench = Bench::new();
    bench.history = history;
    bench.limits.model_calls = 1_000;
    bench.limits.tool_calls = 1_000;
    let replies = (0..hops).map(|_| calls(&[("look", r#"{"order":"A-1042"}"#)]));
    let look = FakeTool::noting("look", EffectClass::Repeatable, &World::new());
    let (agent, _) = agent(replies, [look]);
    assert_eq!(said(&bench.attempt(&agent).await.unwrap()), "done");
    let log = bench.log().await;
    let of_turn = |body: &str| body.contains(&format!(r#""turn":{turn},"#));
    let records = log.records().iter().filter(|record| of_turn(&record.body));
    records.map(|record| record.body.len()).sum()
}

#[tokio::test]
async fn a_hop_of_a_long_conversation_records_as_much_as_one_of_a_short_one() {
    let short = bytes_of_turn(10, 9, 0).await;
    let long = bytes_of_turn(100, 90, 0).await;
    assert!(short > 300, "{short} bytes");
    // Ids and counts have more digits; nothing else may grow.
    assert!(
        long <= short + 20,
        "{short} bytes at turn 9, {long} at turn 90"
    );
}

#[tokio::test]
async fn a_hop_records_as_much_however_much_was_said_before_the_request() {
    for turn in [1, 2, 50] {
        let short = bytes_of_turn(50, turn, 0).await;
        let long = bytes_of_turn(50, turn, 2_000).await;
        assert!(short > 300, "{short} bytes");
        assert!(
            long <= short + 12,
            "turn {turn}: {short} bytes, with a history {long}"
        );
    }
}

/// How often a run of `hops` hops writes; the claim counts.
async fn commits(hops: usize, calls_a_hop: usize) -> u64 {
    let point = FaultPoint {
        write: u64::MAX,
        side: Side::Before,
    };
    let journal = FaultJournal::new(Arc::new(MemoryJournal::new()), point, || {});
    let journal = Arc::new(journal);
    let mut bench = Bench::on(journal.clone());
    bench.limits.model_calls = 1_000;
    bench.limits.tool_calls = 1_000;
    let look = ("look", r#"{"order":"A-1042"}"#);
    let replies = (0..hops).map(|_| calls(&vec![look; calls_a_hop]));
    let tool = FakeTool::noting("look", EffectClass::Repeatable, &World::new());
    let (agent, _) = agent(replies, [tool]);
    assert_eq!(said(&bench.attempt(&agent).await.unwrap()), "done");
    journal.writes()
}

#[tokio::test]
async fn a_hop_commits_its_answer_and_each_result() {
    let (ten, twenty) = (commits(10, 1).await, commits(20, 1).await);
    assert_eq!(twenty - ten, 2 * 10);
    let (ten, twenty) = (commits(10, 3).await, commits(20, 3).await);
    assert_eq!(twenty - ten, 4 * 10, "the last result closes the turn");
}
