//! What a node must not do with steps, and is told so.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use futures::{FutureExt, join};
use rustagents_core::journal::{JournalError, kind};
use rustagents_graph::{NodeError, TaskContext};
use rustagents_store::MemoryJournal;
use rustagents_testkit::{hooked::HookedJournal, tool::World};
use serde_json::json;

use super::{change, out, working};
use crate::bench::{Bench, asks};

async fn one() -> Result<u32, NodeError> {
    Ok(1)
}

fn code<T>(ended: Result<T, NodeError>) -> String {
    match ended {
        Ok(_) => "ok".into(),
        Err(NodeError::Failed(failure)) => failure.code.to_string(),
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test]
async fn two_steps_of_one_name_in_flight_are_refused_and_in_turn_are_numbered() {
    let graph = working(|context| async move {
        let (first, second) = join!(context.step("same", one), context.step("same", one));
        let keyed = join!(
            context.step_keyed("same", "a", one),
            context.step_keyed("same", "b", one),
            context.step_keyed("same", "b", one),
        );
        let hint = match &second {
            Err(NodeError::Failed(failure)) => failure.hint.clone(),
            other => panic!("{other:?}"),
        };
        let after = context.step("same", one).await;
        let keyed = [code(keyed.0), code(keyed.1), code(keyed.2)];
        Ok(json!([code(first), code(second), hint, code(after), keyed]))
    });
    let bench = Bench::new();
    let end = bench.attempt(&graph).await.unwrap();
    let hint = "tell them apart with `step_keyed`, or await one before the next";
    assert_eq!(
        out(&end),
        &json!(["ok", "RAG0807", hint, "ok", ["ok", "ok", "RAG0807"]])
    );
    assert!(bench.has_fact("step/work:1.0/same#2/result").await);
    assert!(bench.has_fact("step/work:1.0/same:b#1/result").await);
}

#[tokio::test]
async fn a_name_or_key_is_neither_empty_nor_long() {
    let graph = working(|context| async move {
        let empty = code(context.step("", one).await);
        let long = code(context.step(&"n".repeat(201), one).await);
        let key = code(context.step_keyed("n", "", one).await);
        Ok(json!([empty, long, key]))
    });
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(out(&end), &json!(["RAG0806", "RAG0806", "RAG0806"]));
}

#[tokio::test]
async fn steps_and_questions_from_outside_the_task_are_refused() {
    let graph = working(|context| async move {
        let inner = context.clone();
        let elsewhere = tokio::spawn(async move {
            let step = code(inner.step("elsewhere", one).await);
            let ask = code(inner.ask("?").await);
            (step, ask, code(inner.spawn(one())))
        });
        let elsewhere = elsewhere.await.unwrap();
        let inner = context.clone();
        let nested = context.step("outer", || async move {
            let step = code(inner.step("inner", one).await);
            Ok::<_, NodeError>((step, code(inner.ask("?").await)))
        });
        Ok(json!([elsewhere, nested.await?]))
    });
    let end = Bench::new().attempt(&graph).await.unwrap();
    let outside = "RAG0808";
    assert_eq!(
        out(&end),
        &json!([[outside, outside, outside], [outside, outside]])
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_from_another_thread_are_refused() {
    let graph = working(|context| async move {
        let inner = context.clone();
        let there = tokio::task::spawn_blocking(move || {
            let handle = tokio::runtime::Handle::current();
            handle.block_on(async move { code(inner.step("there", one).await) })
        });
        Ok(json!(there.await.unwrap()))
    });
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(out(&end), &json!("RAG0808"));
}

#[tokio::test]
async fn a_context_that_outlived_its_task_makes_no_steps() {
    let kept: Arc<Mutex<Option<TaskContext>>> = Arc::default();
    let keep = kept.clone();
    let graph = working(move |context| {
        *keep.lock().unwrap() = Some(context.clone());
        async move { context.ask("?").await }
    });
    asks(&Bench::new().attempt(&graph).await.unwrap());
    let context = kept.lock().unwrap().take().unwrap();
    assert_eq!(code(context.step("late", one).await), "RAG0808");
}

#[tokio::test]
async fn a_task_makes_ten_thousand_steps_at_the_most() {
    let graph = working(|context| async move {
        for _ in 0..10_000 {
            context.step("s", one).await?;
        }
        Ok(json!(code(context.step("s", one).await)))
    });
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(out(&end), &json!("RAG0812"));
}

#[tokio::test]
async fn a_journal_that_fails_stops_the_task_whatever_its_node_makes_of_that() {
    let failed = AtomicBool::new(false);
    let hooked = HookedJournal::new(Arc::new(MemoryJournal::new())).before_append(move |batch| {
        let is_result = batch
            .entries
            .iter()
            .any(|entry| entry.kind == kind::STEP_RESULT);
        let fails = is_result && !failed.swap(true, Ordering::Relaxed);
        async move {
            if !fails {
                return Ok(());
            }
            let (store, reason) = ("memory".into(), "on purpose".into());
            Err(JournalError::Unavailable { store, reason })
        }
        .boxed()
    });
    let world = World::new();
    let noted = world.clone();
    let graph = working(move |context| {
        let world = noted.clone();
        async move {
            let work = context.step("work", || change(world.clone(), "work".into()));
            let done = work.await.unwrap_or("caught".into());
            let more = context.step("more", || change(world.clone(), "more".into()));
            Ok(json!([done, more.await.unwrap_or("caught".into())]))
        }
    });
    let bench = Bench::on(Arc::new(hooked));
    let halt = bench.attempt(&graph).await.unwrap_err();
    assert!(halt.to_string().contains("on purpose"), "{halt}");
    assert_eq!(bench.count(kind::RUN_CLOSED).await, 0);
    assert_eq!(
        out(&bench.attempt(&graph).await.unwrap()),
        &json!(["work", "more"])
    );
    assert_eq!(world.changes(), ["work", "work", "more"]);
}
