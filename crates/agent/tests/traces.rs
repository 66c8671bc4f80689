//! What a call left behind is looked at before anything else happens to it.

use std::{sync::Arc, time::Duration};

use rustagents_agent::Agent;
use rustagents_core::{
    ask::{Answer, Subject},
    journal::kind,
    scope::Halt,
    tool::{Approval, EffectClass, Reconciled, ToolError, ToolErrorKind},
};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};
use rustagents_testkit::{
    model::Reply,
    tool::{FakeTool, World},
};
use serde_json::{Value, json};

use crate::{
    bench::{Bench, asks, said},
    loops::{agent, calls},
};

/// What the next attempt finds.
#[derive(Clone)]
enum Found {
    Ended(Result<Value, ToolError>),
    Lost,
    Panic,
    Never,
}

/// An agent whose one tool leaves a trace before it changes the world.
fn worker(effect: EffectClass, world: &World, found: Found) -> Agent {
    let (working, looking) = (world.clone(), world.clone());
    let tool = FakeTool::new("work", effect, move |_, context| {
        let world = working.clone();
        async move {
            context.trace.started(&json!({ "pid": 7 })).await.unwrap();
            world.change("work");
            Ok(json!({ "ok": true }))
        }
    });
    let tool = tool.reconciling(move |started, context| {
        looking.change(format!("look at {started}"));
        let found = found.clone();
        async move {
            match found {
                Found::Ended(end) => Reconciled::Ended(end),
                Found::Lost => Reconciled::Lost,
                Found::Panic => panic!("looked too closely"),
                Found::Never => {
                    context.cancel.cancelled().await;
                    Reconciled::Lost
                }
            }
        }
    });
    let tool = tool.declare(|spec| {
        spec.approval = Some(Approval::Allow);
        spec.timeout = Duration::from_millis(20);
    });
    agent([calls(&[("work", "{}")]), Reply::Text("done")], [tool]).0
}

/// Crashes after the work, before its result is recorded.
async fn crashed(effect: EffectClass, world: &World) -> Bench {
    let inner = Arc::new(MemoryJournal::new());
    // Claim, input, action, (intent,) trace: the next write is the result.
    let write = if effect == EffectClass::Once { 6 } else { 5 };
    let point = FaultPoint {
        write,
        side: Side::Before,
    };
    let fault = Arc::new(FaultJournal::new(inner.clone(), point, || {}));
    let crash = Bench::on(fault.clone());
    crash
        .attempt(&worker(effect, world, Found::Lost))
        .await
        .unwrap_err();
    assert!(fault.is_dead());
    assert_eq!(world.changes(), ["work"]);
    Bench::on(inner)
}

const LOOK: &str = r#"look at {"pid":7}"#;

#[tokio::test]
async fn a_known_end_is_the_result_and_nobody_is_asked() {
    let world = World::new();
    let bench = crashed(EffectClass::Once, &world).await;
    let found = Found::Ended(Ok(json!({ "late": true })));
    let end = bench
        .attempt(&worker(EffectClass::Once, &world, found))
        .await
        .unwrap();
    assert_eq!(
        (said(&end), end.messages[1].text()),
        ("done".into(), r#"{"late":true}"#.into())
    );
    assert_eq!(world.changes(), ["work", LOOK]);
    assert_eq!(bench.count(kind::ASK).await, 0);
    assert_eq!(bench.count(kind::STARTED).await, 1);
}

#[tokio::test]
async fn proven_not_executed_is_a_failure_that_the_model_sees() {
    let world = World::new();
    let bench = crashed(EffectClass::Once, &world).await;
    let error = ToolError::not_executed(ToolErrorKind::Failed, "it never began");
    let agent = worker(EffectClass::Once, &world, Found::Ended(Err(error)));
    let end = bench.attempt(&agent).await.unwrap();
    assert!(end.messages[1].text().contains("it never began"));
    assert_eq!(world.changes(), ["work", LOOK]);
}

#[tokio::test]
async fn a_lost_end_of_a_once_call_is_in_doubt_and_looked_at_once() {
    for found in [Found::Lost, Found::Panic, Found::Never] {
        let world = World::new();
        let bench = crashed(EffectClass::Once, &world).await;
        let agent = worker(EffectClass::Once, &world, found);
        for _ in 0..2 {
            let ask = asks(&bench.attempt(&agent).await.unwrap()).remove(0);
            assert!(matches!(ask.subject, Subject::InDoubt(_)));
        }
        assert_eq!(world.changes(), ["work", LOOK]);
        bench
            .answer(&"c-1/doubt/1".into(), Answer::NotDone)
            .await
            .unwrap();
        let end = bench.attempt(&agent).await.unwrap();
        assert_eq!(said(&end), "done");
        assert_eq!(world.changes(), ["work", LOOK]);
    }
}

#[tokio::test]
async fn what_may_be_repeated_is_looked_at_before_it_is_made_again() {
    let world = World::new();
    let bench = crashed(EffectClass::Repeatable, &world).await;
    let agent = worker(EffectClass::Repeatable, &world, Found::Lost);
    let end = bench.attempt(&agent).await.unwrap();
    assert_eq!(said(&end), "done");
    assert_eq!(world.changes(), ["work", LOOK, "work"]);
    assert_eq!(bench.count(kind::STARTED).await, 2);
}

#[tokio::test]
async fn a_repeated_call_leaves_a_trace_of_its_own() {
    let world = World::new();
    let bench = crashed(EffectClass::Once, &world).await;
    let agent = worker(EffectClass::Once, &world, Found::Lost);
    bench.attempt(&agent).await.unwrap();
    bench
        .answer(&"c-1/doubt/1".into(), Answer::Repeat)
        .await
        .unwrap();
    assert_eq!(said(&bench.attempt(&agent).await.unwrap()), "done");
    assert_eq!(world.changes(), ["work", LOOK, "work"]);
    assert_eq!(bench.count(kind::STARTED).await, 2);
}

#[tokio::test]
async fn cancelling_while_it_looks_writes_nothing() {
    let world = World::new();
    let bench = crashed(EffectClass::Once, &world).await;
    let before = bench.log().await.records().len();
    let cancelled = bench.clone();
    cancelled.cancel.cancel();
    let agent = worker(EffectClass::Once, &world, Found::Never);
    let halt = cancelled.attempt(&agent).await.unwrap_err();
    assert!(matches!(halt, Halt::Cancelled), "{halt:?}");
    assert_eq!(bench.log().await.records().len(), before);
}
