//! Crashes and rivals: each operation happens whole, or not at all.

use std::sync::Arc;

use rustagents_core::{code::Coded, journal::Journal};
use rustagents_runtime::{Retry, StateEdit, Watch};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};
use serde_json::json;

use super::retry::{HALF, MENDED};
use crate::{
    bench::Bench,
    races::late,
    threads::{MIXED, name},
};

async fn said(bench: &Bench) {
    bench.say("t", MIXED, json!(1)).await;
}

async fn failed(bench: &Bench) {
    bench.say("t", HALF, json!(1)).await;
}

/// Does `act` on what `prepare` made, with a crash before and after each write, and
/// checks that the thread is as before or as after, and goes on to the same end.
async fn enumerated(
    prepare: impl AsyncFn(&Bench),
    act: impl AsyncFn(&Bench) -> bool,
    finish: impl AsyncFn(&Bench) -> usize,
    is_one_batch: bool,
) {
    let whole = Bench::new();
    prepare(&whole).await;
    let before = whole.all("t").await.len();
    let inner: Arc<dyn Journal> = whole.journal.clone();
    let never = FaultPoint {
        write: u64::MAX,
        side: Side::Before,
    };
    let counting = Arc::new(FaultJournal::new(inner, never, || {}));
    let counted = Bench {
        world: whole.world.clone(),
        ..Bench::on(counting.clone())
    };
    assert!(act(&counted).await);
    let writes = counting.writes();
    let after = whole.all("t").await.len();
    let expected = finish(&whole).await;
    assert_eq!(
        writes == 2,
        is_one_batch,
        "a claim and {writes} - 1 batches"
    );
    for write in 1..=writes {
        for side in [Side::Before, Side::After] {
            let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
            let bench = Bench::on(inner.clone());
            prepare(&bench).await;
            let fault = FaultJournal::new(inner.clone(), FaultPoint { write, side }, || {});
            let dying = Bench {
                world: bench.world.clone(),
                ..Bench::on(Arc::new(fault))
            };
            assert!(!act(&dying).await, "write {write} {side:?}");
            bench.is_whole("t").await;
            let stands = bench.all("t").await.len();
            if is_one_batch {
                assert!(stands == before || stands == after, "a half: {stands}");
            }
            if stands == before {
                assert!(act(&bench).await, "write {write} {side:?}");
            }
            assert_eq!(finish(&bench).await, expected, "write {write} {side:?}");
            bench.is_whole("t").await;
        }
    }
}

#[tokio::test]
async fn a_crash_leaves_a_thread_before_it_went_back_or_after() {
    enumerated(
        said,
        async |bench| bench.go_back("t", 1).await.is_ok(),
        async |bench| {
            bench.finish("t").await;
            bench.checkpoints("t").await.len()
        },
        true,
    )
    .await;
}

#[tokio::test]
async fn a_crash_leaves_the_state_before_all_edits_or_after() {
    let edit = |node: Option<&str>| StateEdit {
        set: vec![("note".into(), json!(2))],
        as_node: node.map(str::to_owned),
        route: None,
    };
    enumerated(
        said,
        async |bench| {
            let edits = vec![edit(None), edit(Some("left"))];
            bench.update("t", edits).await.is_ok()
        },
        async |bench| {
            bench.finish("t").await;
            bench.checkpoints("t").await.len()
        },
        true,
    )
    .await;
}

#[tokio::test]
async fn a_crash_in_a_retry_leaves_a_run_that_goes_on() {
    enumerated(
        failed,
        async |bench| {
            let retry = Retry {
                thread: name("t"),
                limits: bench.limits,
            };
            let program = bench.program(MENDED);
            let watch = Watch::default();
            bench.live().retry(&program, retry, watch).await.is_ok()
        },
        async |bench| {
            for _ in 0..5 {
                if bench.approve_all("t", MENDED).await.is_closed {
                    break;
                }
            }
            bench.checkpoints("t").await.len()
        },
        false,
    )
    .await;
}

#[tokio::test]
async fn an_update_behind_the_end_of_the_run_is_looked_at_once_more() {
    let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let first = Arc::new(Bench::on(inner.clone()));
    said(&first).await;
    let ahead = Arc::clone(&first);
    let to_the_end = Box::pin(async move { ahead.finish("t").await });
    let second = Bench::on(Arc::new(late(inner, to_the_end)));
    let edit = StateEdit {
        as_node: Some("left".into()),
        ..StateEdit::default()
    };
    let records = || async { first.records().await };
    let error = second.update("t", vec![edit]).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0416");
    let before = records().await;
    let rewound = second.rewind("t", 1, false).await.unwrap_err();
    assert_eq!(rewound.code().as_str(), "RAG0412", "it paid meanwhile");
    assert_eq!(records().await, before);
}
