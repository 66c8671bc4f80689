//! What a step costs does not depend on how long the thread is: counted, not timed.

use rustagents_core::tool::EffectClass;
use rustagents_testkit::tool::{FakeTool, World};

use crate::{
    bench::{Bench, said},
    loops::{agent, calls},
};

/// Bytes of records and messages that turn `turn` wrote.
async fn bytes_of_turn(hops: usize, turn: u32) -> usize {
    let mut bench = Bench::new();
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
    let short = bytes_of_turn(10, 9).await;
    let long = bytes_of_turn(100, 90).await;
    assert!(short > 300, "{short} bytes");
    // Ids and counts have more digits; nothing else may grow.
    assert!(
        long <= short + 20,
        "{short} bytes at turn 9, {long} at turn 90"
    );
}
