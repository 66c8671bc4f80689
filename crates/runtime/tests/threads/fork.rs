use rustagents_core::{
    code::Coded,
    ids::Branch,
    journal::{Author, Batch, Chain, Entry, Place, kind},
};
use rustagents_runtime::{
    Status, ThreadView, Watch,
    threads::{Fork, Keep, ThreadsError, fork},
    view::Phase,
};
use rustagents_testkit::batch;
use serde_json::json;

use super::{MIXED, WORD, name};
use crate::bench::Bench;

fn at(checkpoint: impl Into<Option<u64>>, to: &str) -> Fork {
    Fork {
        from: name("t"),
        to: name(to),
        checkpoint: checkpoint.into(),
        repeats: false,
    }
}

async fn phase(bench: &Bench, thread: &str) -> Phase {
    let view = ThreadView::load(&*bench.journal, &name(thread)).await;
    view.unwrap().unwrap().phase
}

#[tokio::test]
async fn a_copy_goes_on_as_its_source_and_leaves_it_alone() {
    let bench = Bench::new();
    bench.paid("t", json!(1)).await;
    let before = bench.all("t").await;
    fork(&*bench.journal, &at(None, "u")).await.unwrap();
    let more = bench.one_more("u").await;
    assert_eq!(bench.all("t").await, before);
    assert_eq!(bench.one_more("t").await, more);
    bench.is_whole("u").await;
}

#[tokio::test]
async fn a_fork_at_the_end_of_a_run_takes_a_new_input_as_the_thread_did_then() {
    let bench = Bench::new();
    bench.say("t", WORD, json!(1)).await;
    bench.say("t", WORD, json!(2)).await;
    let fresh = Bench::new();
    fresh.say("t", WORD, json!(1)).await;
    fork(&*bench.journal, &at(2, "u")).await.unwrap();
    assert!(matches!(phase(&bench, "u").await, Phase::Closed(_)));
    assert_eq!(bench.checkpoints("u").await, [1, 2]);
    let (forked, alone) = (bench.one_more("u").await, fresh.one_more("t").await);
    // Messages keep their numbers in the family, so that no id is given twice.
    assert_eq!(forked.len(), alone.len());
    bench.is_whole("u").await;
}

#[tokio::test]
async fn a_fork_in_the_middle_of_a_run_is_resumed_to_the_same_end() {
    let bench = Bench::new();
    let end = bench.paid("t", json!(1)).await;
    fork(&*bench.journal, &at(2, "u")).await.unwrap();
    assert_eq!(phase(&bench, "u").await, Phase::Open);
    let again = bench.approve_all("u", MIXED).await;
    assert_eq!(
        (again.status, again.output),
        (Status::Completed, end.output)
    );
    assert_eq!(bench.world.changes().len(), 2, "no call was made again");
    bench.is_whole("u").await;
}

#[tokio::test]
async fn calls_that_a_fork_could_repeat_are_named_and_nothing_is_written() {
    let bench = Bench::new();
    bench.paid("t", json!(1)).await;
    let error = fork(&*bench.journal, &at(1, "u")).await.unwrap_err();
    match &error {
        ThreadsError::WouldRepeat { calls, .. } => {
            let mut calls: Vec<_> = calls.iter().map(|(c, t)| format!("{c} {t}")).collect();
            calls.sort();
            assert_eq!(calls, ["c-1 pay", "c-2 pay"]);
        }
        other => panic!("{other}"),
    }
    assert_eq!(error.code().as_str(), "RAG0412");
    assert_eq!(bench.all("u").await, []);
    let told = fork(
        &*bench.journal,
        &Fork {
            repeats: true,
            ..at(1, "u")
        },
    )
    .await
    .unwrap();
    assert_eq!(told.len(), 2);
    assert_eq!(phase(&bench, "u").await, Phase::Open);
    let waits = bench.approve_all("u", MIXED).await;
    assert_eq!(waits.asks.len(), 2, "each is asked about again");
}

#[tokio::test]
async fn steps_that_a_fork_could_repeat_are_named_too() {
    let bench = Bench::new();
    bench.say("t", WORD, json!(1)).await;
    let entry = Entry {
        chain: Chain {
            branch: Branch::main(),
            namespace: "pay:2.0".into(),
        },
        kind: kind::STEP_INTENT,
        ..batch::entry(
            Place::Fact("step/pay:2.0/charge#1/intent/1".into()),
            r#"{"step":"charge#1","number":1}"#,
        )
    };
    let intent = Batch {
        author: Author::Outside,
        ..batch::batch(&name("t"), 0, vec![entry])
    };
    bench.journal.append(intent).await.unwrap();
    match fork(&*bench.journal, &at(1, "u")).await.unwrap_err() {
        ThreadsError::WouldRepeat { calls, .. } => {
            assert_eq!(calls, [("pay:2.0/charge#1".into(), "step".into())]);
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_pruned_thread_still_names_the_calls_and_forks_at_what_it_has() {
    let bench = Bench::new();
    bench.say("t", WORD, json!(1)).await;
    let fresh = Bench::new();
    for bench in [&bench, &fresh] {
        bench.paid("t", json!("p")).await;
        bench.say("t", WORD, json!(2)).await;
        bench.say("t", WORD, json!(3)).await;
    }
    let last = *bench.checkpoints("t").await.last().unwrap();
    fork(&*bench.journal, &at(last - 2, "whole")).await.unwrap();
    bench.live().prune(&name("t"), Keep::Last(5)).await.unwrap();
    fork(&*bench.journal, &at(last - 2, "pruned"))
        .await
        .unwrap();
    bench.is_whole("pruned").await;
    assert_eq!(
        bench.one_more("whole").await,
        bench.one_more("pruned").await
    );
    bench.is_whole("pruned").await;

    let pruned = Bench::new();
    pruned.paid("t", json!("p")).await;
    pruned
        .live()
        .prune(&name("t"), Keep::Last(3))
        .await
        .unwrap();
    let error = fork(&*pruned.journal, &at(1, "u")).await.unwrap_err();
    assert!(matches!(error, ThreadsError::WouldRepeat { .. }), "{error}");
    fork(
        &*pruned.journal,
        &Fork {
            repeats: true,
            ..at(1, "u")
        },
    )
    .await
    .unwrap();
    let waits = pruned.approve_all("u", MIXED).await;
    assert_eq!(waits.asks.len(), 2);
    fork(&*pruned.journal, &at(2, "v")).await.unwrap();
    let cancelled = pruned.live().cancel(&name("v")).await.unwrap();
    assert_eq!(cancelled.status, Status::Cancelled, "no call is in doubt");
}

#[tokio::test]
async fn what_is_not_there_is_refused_with_what_is() {
    let bench = Bench::new();
    let error = fork(&*bench.journal, &at(None, "u")).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0401");
    bench.say("t", WORD, json!(1)).await;
    for missing in [0, 3, u64::MAX] {
        let error = fork(&*bench.journal, &at(missing, "u")).await.unwrap_err();
        assert_eq!(error.code().as_str(), "RAG0414");
        assert_eq!(error.hint().unwrap(), "it has the checkpoints 1 to 2");
    }
    let error = fork(&*bench.journal, &at(1, "t")).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0413");
    let program = bench.program(WORD);
    let runtime = bench.live();
    runtime
        .start(&program, bench.request(), Watch::default())
        .await
        .unwrap();
}
