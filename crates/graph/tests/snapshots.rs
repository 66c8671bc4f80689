//! Snapshots: written by the bytes that are alive, and never a different state.

use proptest::prelude::*;
use rustagents_core::{
    ids::Branch,
    journal::{Select, kind},
    log::ThreadLog,
};
use rustagents_graph::{
    Edit, Graph, GraphBuilder, GraphState, NodeOutput, Reducer, State, Update, Writes, node_fn,
    record::{Checkpoint, Snapshot},
};
use serde_json::{Value, json};

use crate::bench::Bench;

const CHANNELS: [(&str, Reducer); 3] = [
    ("value", Reducer::Overwrite),
    ("list", Reducer::Append),
    ("count", Reducer::Overwrite),
];

/// A graph of one node that goes round and writes, each time, what `script` says
/// for the number of rounds so far.
fn rounds(
    channels: &[(&'static str, Reducer)],
    limit: u64,
    script: impl Fn(usize) -> Vec<(&'static str, Value)> + Send + Sync + 'static,
) -> Graph {
    let node = node_fn(move |state: std::sync::Arc<State>, _| {
        let round = state.value("count").and_then(Value::as_u64).unwrap_or(0);
        let mut output = NodeOutput::new().write("count", Update::Value((round + 1).into()));
        for (channel, value) in script(usize::try_from(round).unwrap()) {
            output = output.write(channel, Update::Value(value));
        }
        async { Ok(output) }
    });
    let mut builder = GraphBuilder::new("g");
    for (name, reducer) in channels {
        builder = builder.channel(*name, *reducer);
    }
    builder
        .node("w", node)
        .start(["w"])
        .edge("w", "w")
        .recursion_limit(limit)
        .compile()
        .unwrap()
}

async fn driven(graph: &Graph, bench: &mut Bench) -> State {
    bench.limits.steps = 100_000;
    let end = bench.attempt(graph).await.unwrap();
    (*end.state).clone()
}

/// The state that all checkpoints make, snapshots left aside.
async fn replayed(bench: &Bench) -> Value {
    let mut state = State::new(CHANNELS);
    let log = bench.log().await;
    for record in log.records().iter().filter(|r| r.is(kind::CHECKPOINT)) {
        let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT).unwrap();
        for (channel, delta) in &checkpoint.deltas {
            state.change(channel, delta, |id| log.message(id)).unwrap();
        }
    }
    state.to_json()
}

async fn snapshots(bench: &Bench) -> Vec<(usize, Snapshot)> {
    let log = bench.log().await;
    let records = log.records().iter().filter(|r| r.is(kind::SNAPSHOT));
    records
        .map(|r| (r.body.len(), r.decode(kind::SNAPSHOT).unwrap()))
        .collect()
}

#[tokio::test]
async fn what_only_grows_is_never_written_again() {
    let graph = rounds(&CHANNELS, 1_000, |_| {
        vec![("list", "x".repeat(1_000).into())]
    });
    let mut bench = Bench::new();
    driven(&graph, &mut bench).await;
    assert_eq!(snapshots(&bench).await.len(), 0);
}

#[tokio::test]
async fn what_is_overwritten_is_loaded_at_the_cost_of_what_is_alive() {
    let graph = rounds(&CHANNELS, 1_000, |round| {
        vec![("value", format!("{round:01000}").into())]
    });
    let mut bench = Bench::new();
    let state = driven(&graph, &mut bench).await;
    let written = snapshots(&bench).await;
    assert!((14..=20).contains(&written.len()), "{}", written.len());
    let bytes: usize = written.iter().map(|(bytes, _)| bytes).sum();
    assert!(
        bytes < 30_000,
        "a snapshot is as large as what is alive: {bytes}"
    );
    let log = ThreadLog::load(&*bench.journal, &Bench::thread(), &Branch::main())
        .await
        .unwrap();
    assert!(log.records().len() < 70, "{}", log.records().len());
    let again = driven(&graph, &mut bench).await;
    assert_eq!(again.to_json(), state.to_json());
    assert_eq!(again.to_json(), replayed(&bench).await);
}

/// A long value, once, and then one of `bytes` in each round.
fn large(long: usize, bytes: usize, rounds_: u64) -> Graph {
    rounds(&CHANNELS, rounds_, move |round| {
        let short = char::from(b'a' + u8::try_from(round % 26).unwrap());
        let mut writes = vec![("value", short.to_string().repeat(bytes).into())];
        if round == 0 {
            writes.push(("list", "x".repeat(long).into()));
        }
        writes
    })
}

const MIB: usize = 1 << 20;

#[tokio::test]
async fn a_large_state_gets_a_snapshot_where_its_batch_has_room_for_it() {
    let graph = large(5 * MIB, MIB, 20);
    let mut bench = Bench::new();
    let state = driven(&graph, &mut bench).await;
    let written = snapshots(&bench).await;
    assert_eq!(written.len(), 1, "the deltas are twice the state once");
    assert!(written[0].0 > 6 * MIB, "{}", written[0].0);
    let again = driven(&graph, &mut bench).await;
    assert_eq!(again.to_json(), state.to_json());
    assert_eq!(again.to_json(), replayed(&bench).await);
}

#[tokio::test]
async fn a_state_without_room_for_its_snapshot_is_written_all_the_same() {
    // A step alone fits, and so does a snapshot alone.
    let graph = large(3 * MIB, 3 * MIB, 12);
    let mut bench = Bench::new();
    let state = driven(&graph, &mut bench).await;
    assert_eq!(snapshots(&bench).await.len(), 0);
    let again = driven(&graph, &mut bench).await;
    assert_eq!(again.to_json(), state.to_json());
    assert_eq!(again.to_json(), replayed(&bench).await);
}

#[tokio::test]
async fn a_snapshot_makes_room_for_what_is_written_behind_it() {
    let graph = large(0, MIB, 2);
    let mut bench = Bench::new();
    driven(&graph, &mut bench).await;
    let edit = |bytes: usize| {
        let mut writes = Writes::new();
        writes.push("value", Update::Value("z".repeat(bytes).into()));
        Edit::new(writes)
    };
    let one = bench.edit(&graph, vec![edit(MIB)]).await.unwrap();
    assert_eq!(snapshots(&bench).await.len(), 1, "alone it has room");
    // The first of these has one as well, but with it the batch would be too large.
    bench
        .edit(&graph, vec![edit(MIB), edit(MIB)])
        .await
        .unwrap();
    let edits = vec![edit(MIB), edit(3 * MIB), edit(3 * MIB)];
    let at = bench.edit(&graph, edits).await.unwrap();
    assert_eq!(at.checkpoint, one.checkpoint + 5);
    assert_eq!(snapshots(&bench).await.len(), 1);
    let again = bench.at_rest(&graph).await;
    assert_eq!(again.state.to_json(), at.state.to_json());
    assert_eq!(again.state.to_json(), replayed(&bench).await);
}

#[tokio::test]
async fn what_the_plan_no_longer_declares_is_carried_through_a_snapshot() {
    let mut bench = Bench::new();
    driven(
        &rounds(&CHANNELS, 3, |round| vec![("list", json!(round))]),
        &mut bench,
    )
    .await;
    let fewer = [("value", Reducer::Overwrite), ("count", Reducer::Overwrite)];
    let write = |round: usize| vec![("value", format!("{round:01000}").into())];
    let between = driven(&rounds(&fewer, 200, write), &mut bench).await;
    assert_eq!(between.list("list").len(), 0, "nobody sees it");
    assert!(!snapshots(&bench).await.is_empty());
    let state = driven(&rounds(&CHANNELS, 201, |_| Vec::new()), &mut bench).await;
    let list: Vec<_> = state
        .list("list")
        .iter()
        .map(|item| (**item).clone())
        .collect();
    assert_eq!(list, [json!(0), json!(1), json!(2)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_state_is_the_same_with_and_without_snapshots(
        sizes in proptest::collection::vec((0_usize..3, 0_usize..20_000), 1..60),
        restarts in proptest::collection::vec(1_u64..60, 0..3),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let steps = sizes.len() as u64;
            let write = move |round: usize| -> Vec<(&'static str, Value)> {
                match sizes.get(round) {
                    Some((0, size)) => vec![("value", "v".repeat(*size).into())],
                    Some((1, size)) => vec![("list", "l".repeat(*size / 10).into())],
                    _ => Vec::new(),
                }
            };
            let mut bench = Bench::new();
            let mut limits = restarts;
            limits.push(steps);
            limits.sort_unstable();
            for limit in limits {
                let graph = rounds(&CHANNELS, limit.min(steps), write.clone());
                let state = driven(&graph, &mut bench).await;
                prop_assert_eq!(state.to_json(), replayed(&bench).await);
            }
            let page = Select::all().of(kind::CHECKPOINT);
            let all = bench.journal.read(&Bench::thread(), page).await.unwrap();
            prop_assert_eq!(all.len() as u64, steps + 1);
            Ok(())
        })?;
    }
}
