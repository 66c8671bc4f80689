use std::sync::Arc;

use proptest::prelude::*;
use rustagents_core::{
    code::Coded,
    journal::{Journal, Owner, Record, kind},
};
use rustagents_runtime::{
    Status,
    threads::{Keep, Pruned},
    view::Phase,
};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint},
};
use serde_json::json;

use super::{MIXED, NOTHING, WORD, name};
use crate::bench::Bench;

async fn prune(bench: &Bench, keep: Keep) -> Pruned {
    bench.live().prune(&name("t"), keep).await.unwrap()
}

#[tokio::test]
async fn what_is_left_goes_on_as_if_nothing_had_been_taken() {
    let (pruned, whole) = (Bench::new(), Bench::new());
    for bench in [&pruned, &whole] {
        bench.paid("t", json!("a")).await;
        bench.say("t", WORD, json!({"b": [1]})).await;
        bench.say("t", WORD, json!("c")).await;
    }
    let before = pruned.view().await.report();
    let count = pruned.records().await;
    let told = prune(&pruned, Keep::Last(2)).await;
    assert_eq!(told.checkpoints, 2);
    assert!(told.removed.bytes > 0, "{told:?}");
    let left = u64::try_from(count).unwrap() + 1 - told.removed.records;
    assert_eq!(pruned.records().await as u64, left);
    assert_eq!(pruned.checkpoints("t").await, [6, 7]);
    pruned.is_whole("t").await;
    let after = pruned.view().await.report();
    assert_eq!((after.status, after.output), (before.status, before.output));
    assert_eq!((after.run, after.steps), (before.run, before.steps));
    assert_eq!(pruned.one_more("t").await, whole.one_more("t").await);
    pruned.is_whole("t").await;
}

#[tokio::test]
async fn pruning_again_takes_nothing_and_writes_nothing() {
    let bench = Bench::new();
    bench.paid("t", json!(1)).await;
    prune(&bench, Keep::Last(1)).await;
    let records = bench.all("t").await;
    assert_eq!(prune(&bench, Keep::Last(1)).await.removed, NOTHING);
    assert_eq!(bench.all("t").await, records);
}

#[tokio::test]
async fn a_run_that_waits_keeps_all_that_it_needs() {
    let bench = Bench::new();
    let broken = WORD.replace("\"last\"", "\"broken\"");
    for _ in 0..3 {
        bench.say("t", &broken, json!(1)).await;
    }
    let run = bench.say("t", MIXED, json!(2)).await.run;
    let own = |records: Vec<Record>| {
        let own = records.into_iter().filter(|record| record.run == run);
        own.collect::<Vec<_>>()
    };
    let (records, spent) = (bench.all("t").await, bench.view().await.report().spent);
    let told = prune(&bench, Keep::Last(1)).await;
    assert!(told.removed.records > 0, "{told:?}");
    assert_eq!(own(bench.all("t").await), own(records));
    bench.is_whole("t").await;
    let view = bench.view().await;
    assert!(view.waits());
    assert_eq!(view.report().spent, spent);
    let end = bench.approve_all("t", MIXED).await;
    assert_eq!(
        (end.status, bench.world.changes().len()),
        (Status::Completed, 2)
    );
}

#[tokio::test]
async fn what_is_newer_than_a_time_stays_and_the_last_always_does() {
    let bench = Bench::new();
    for note in 0..4 {
        bench.say("t", WORD, json!(note)).await;
    }
    let records = bench.all("t").await;
    let mut points = records.iter().filter(|record| record.is(kind::CHECKPOINT));
    let fourth = points.nth(3).unwrap().at_ms;
    prune(&bench, Keep::Since(fourth)).await;
    assert_eq!(bench.checkpoints("t").await.last(), Some(&8));
    prune(&bench, Keep::Since(u64::MAX)).await;
    assert_eq!(bench.checkpoints("t").await, [8]);
    bench.is_whole("t").await;
}

#[tokio::test]
async fn a_thread_that_is_driven_or_unknown_is_left_alone() {
    let bench = Bench::new();
    let error = bench.live().prune(&name("t"), Keep::Last(1)).await;
    assert_eq!(error.unwrap_err().code().as_str(), "RAG0401");
    assert!(
        rustagents_runtime::threads::find(&*bench.journal, &name("t"))
            .await
            .unwrap()
            .is_none()
    );
    bench.say("t", WORD, json!(1)).await;
    let records = bench.records().await;
    let claim = bench
        .journal
        .claim(&name("t"), Owner::default())
        .await
        .unwrap();
    let error = bench.live().prune(&name("t"), Keep::Last(1)).await;
    assert_eq!(error.unwrap_err().code().as_str(), "RAG0305");
    assert_eq!(bench.records().await, records);
    drop(claim);
}

#[tokio::test]
async fn a_pruning_that_dies_is_done_or_was_never_begun() {
    let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let bench = Bench::on(Arc::clone(&inner));
    bench.paid("t", json!(1)).await;
    let (before, whole) = (bench.all("t").await, bench.view().await.report());
    for (point, done) in [("before:2", false), ("after:2", true)] {
        let fault = FaultPoint::parse(point).unwrap();
        let dying = Bench::on(Arc::new(FaultJournal::new(
            Arc::clone(&inner),
            fault,
            || {},
        )));
        dying
            .live()
            .prune(&name("t"), Keep::Last(1))
            .await
            .unwrap_err();
        assert_eq!(bench.all("t").await != before, done, "{point}");
        assert_eq!(bench.view().await.report().output, whole.output);
        bench.is_whole("t").await;
    }
}

/// What happens to a thread.
#[derive(Clone, Debug)]
enum Act {
    Say(u8),
    Pay,
    Approve,
    Cancel,
    Prune(u64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        3 => (0_u8..9).prop_map(Act::Say),
        2 => Just(Act::Pay),
        2 => Just(Act::Approve),
        1 => Just(Act::Cancel),
        3 => (1_u64..6).prop_map(Act::Prune),
    ];
    proptest::collection::vec(act, 1..12)
}

async fn act(bench: &Bench, act: &Act, prunes: bool) {
    let view = rustagents_runtime::ThreadView::load(&*bench.journal, &name("t"))
        .await
        .unwrap();
    let is_over = view.is_none_or(|view| matches!(view.phase, Phase::Closed(_)));
    match act {
        Act::Say(note) if is_over => drop(bench.say("t", WORD, json!(note)).await),
        Act::Pay if is_over => drop(bench.say("t", MIXED, json!("pay")).await),
        Act::Approve if !is_over => drop(bench.approve_all("t", MIXED).await),
        Act::Cancel if !is_over => drop(bench.live().cancel(&name("t")).await.unwrap()),
        Act::Prune(last) if prunes && bench.records().await > 0 => {
            prune(bench, Keep::Last(*last)).await;
            bench.is_whole("t").await;
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_pruned_thread_and_its_whole_twin_say_the_same(acts in acts()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (pruned, whole) = (Bench::new(), Bench::new());
            for step in &acts {
                act(&pruned, step, true).await;
                act(&whole, step, false).await;
            }
            for bench in [&pruned, &whole] {
                if bench.records().await > 0 {
                    bench.approve_all("t", MIXED).await;
                }
            }
            prop_assert_eq!(pruned.one_more("t").await, whole.one_more("t").await);
            prop_assert_eq!(pruned.world.changes().len(), whole.world.changes().len());
            Ok(())
        })?;
    }
}
