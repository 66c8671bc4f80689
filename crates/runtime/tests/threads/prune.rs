use std::sync::Arc;

use proptest::prelude::*;
use rustagents_core::{
    code::Coded,
    ids::RunId,
    journal::{Journal, Owner, Record, kind},
};
use rustagents_runtime::{
    StateEdit, Status, ThreadView, inspect,
    threads::{Fork, Keep, Pruned, fork, state_at},
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

#[tokio::test]
async fn a_snapshot_of_the_driver_and_one_of_the_pruning_go_together() {
    let (pruned, whole) = (Bench::new(), Bench::new());
    for bench in [&pruned, &whole] {
        for number in 0..6 {
            bench.note("t", &number.to_string().repeat(30_000)).await;
        }
    }
    assert!(whole.count(kind::SNAPSHOT).await > 0);
    prune(&pruned, Keep::Last(9)).await;
    pruned.is_whole("t").await;
    for checkpoint in pruned.checkpoints("t").await {
        let at = |bench: &Bench| {
            let journal = Arc::clone(&bench.journal);
            async move {
                state_at(&*journal, &name("t"), Some(checkpoint))
                    .await
                    .unwrap()
            }
        };
        assert_eq!(
            at(&pruned).await,
            at(&whole).await,
            "checkpoint {checkpoint}"
        );
    }
    assert_eq!(pruned.one_more("t").await, whole.one_more("t").await);
}

/// What happens to a thread.
#[derive(Clone, Debug)]
enum Act {
    Say(u8),
    Pay,
    Approve,
    Cancel,
    /// A large value, so that the driver comes to write snapshots.
    Large(u8),
    Prune(u64),
    /// An earlier run goes, of the pruned twin only: its state stays.
    DeleteEarlier(usize),
    /// The last run goes, of both.
    DeleteLast,
    /// Back by so many checkpoints.
    Rewind(u64),
    Update(u8),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        3 => (0_u8..9).prop_map(Act::Say),
        2 => Just(Act::Pay),
        2 => Just(Act::Approve),
        1 => Just(Act::Cancel),
        2 => (0_u8..9).prop_map(Act::Large),
        3 => (1_u64..6).prop_map(Act::Prune),
        1 => (0_usize..9).prop_map(Act::DeleteEarlier),
        1 => Just(Act::DeleteLast),
        3 => (0_u64..5).prop_map(Act::Rewind),
        2 => (0_u8..9).prop_map(Act::Update),
    ];
    proptest::collection::vec(act, 1..16)
}

/// What happens to one twin; says whether it can happen to the other. It cannot where a
/// pruning took what it needs: what came before a last run that is to be deleted, or
/// every run there was.
async fn act(bench: &Bench, act: &Act, prunes: bool) -> bool {
    let view = ThreadView::load(&*bench.journal, &name("t")).await.unwrap();
    let is_over = view
        .as_ref()
        .is_none_or(|view| matches!(view.phase, Phase::Closed(_)));
    match act {
        Act::DeleteLast | Act::Rewind(_) | Act::Update(_) if view.is_none() => return false,
        Act::Say(note) if is_over => drop(bench.say("t", WORD, json!(note)).await),
        Act::Large(note) if is_over => bench.note("t", &note.to_string().repeat(40_000)).await,
        Act::Pay if is_over => drop(bench.say("t", MIXED, json!("pay")).await),
        Act::Approve if !is_over => drop(bench.approve_all("t", MIXED).await),
        Act::Cancel if !is_over => drop(bench.live().cancel(&name("t")).await.unwrap()),
        Act::Prune(last) if prunes && bench.records().await > 0 => {
            prune(bench, Keep::Last(*last)).await;
        }
        Act::DeleteEarlier(index) if prunes && is_over && view.is_some() => {
            let mut runs = runs(bench).await;
            runs.pop();
            if let Some(run) = runs.get(*index) {
                bench.live().delete_run(&name("t"), run).await.unwrap();
            }
        }
        Act::DeleteLast if is_over => {
            let run = runs(bench).await.pop().unwrap();
            return bench.live().delete_run(&name("t"), &run).await.is_ok();
        }
        Act::Rewind(back) => {
            let last = bench.checkpoints("t").await.pop().unwrap_or_default();
            let rewound = bench.go_back("t", last.saturating_sub(*back)).await;
            if let Err(error) = rewound {
                let code = error.code().as_str();
                assert!(["RAG0414", "RAG0416"].contains(&code), "{error}");
                return false;
            }
        }
        Act::Update(note) => {
            let edit = StateEdit {
                set: vec![("note".into(), json!(note)), ("list".into(), json!(note))],
                ..StateEdit::default()
            };
            bench.update("t", vec![edit]).await.unwrap();
        }
        _ => {}
    }
    if bench.records().await > 0 {
        bench.is_whole("t").await;
    }
    true
}

/// The runs that have a checkpoint, in order.
async fn runs(bench: &Bench) -> Vec<RunId> {
    let moments = inspect::history(&*bench.journal, &name("t"), 1_000, None).await;
    let mut runs: Vec<_> = moments.unwrap().into_iter().map(|m| m.run).collect();
    runs.dedup();
    runs
}

/// Does `acts` to a thread and, except for the prunings, to its twin, and compares.
async fn twins_agree(acts: &[Act]) {
    let (pruned, whole) = (Bench::new(), Bench::new());
    for step in acts {
        if act(&pruned, step, true).await {
            act(&whole, step, false).await;
        }
    }
    for checkpoint in pruned.checkpoints("t").await {
        let at = Some(checkpoint);
        let state = state_at(&*pruned.journal, &name("t"), at).await.unwrap();
        let twin = state_at(&*whole.journal, &name("t"), at).await.unwrap();
        assert_eq!(state, twin, "checkpoint {checkpoint}");
        let to = format!("fork-{checkpoint}");
        let given = Fork {
            from: name("t"),
            to: name(&to),
            checkpoint: at,
            repeats: true,
        };
        fork(&*pruned.journal, &given).await.unwrap();
        pruned.is_whole(&to).await;
        let forked = state_at(&*pruned.journal, &name(&to), None).await.unwrap();
        assert_eq!(state, forked, "a fork at checkpoint {checkpoint}");
        pruned.finish(&to).await;
        pruned.one_more(&to).await;
        pruned.is_whole(&to).await;
    }
    for bench in [&pruned, &whole] {
        let view = ThreadView::load(&*bench.journal, &name("t")).await.unwrap();
        if view.is_some() {
            bench.finish("t").await;
        }
    }
    assert_eq!(pruned.one_more("t").await, whole.one_more("t").await);
}

#[tokio::test]
async fn a_thread_that_lost_all_its_runs_keeps_its_state() {
    twins_agree(&[
        Act::Pay,
        Act::Approve,
        Act::Rewind(1),
        Act::Prune(1),
        Act::Approve,
        Act::DeleteLast,
        Act::DeleteLast,
        Act::Rewind(1),
        Act::Update(1),
    ])
    .await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_pruned_thread_and_its_whole_twin_say_the_same(acts in acts()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(twins_agree(&acts));
    }
}
