//! A step that an earlier attempt left open, in a node that fails before it makes the
//! step again.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::future::pending;
use rustagents_core::{
    ask::Answer,
    budget::{BudgetExceeded, Resource},
    journal::kind,
    scope::Halt,
};
use rustagents_graph::{
    Graph, GraphBuilder, NodeError, NodeOutput, NodeSpec, Outcome, RetryPolicy, TaskContext,
    Timeout, Writes, node_fn,
};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};
use rustagents_testkit::tool::World;
use serde_json::json;

use super::doubt::{answer, crash};
use crate::bench::{Bench, asks, failure};

/// What a node does before its step, from the second attempt on.
#[derive(Clone, Copy, Debug)]
enum Before {
    Fails,
    Panics,
    Hangs,
    IsOverItsBudget,
}

/// A graph of a node that pays in a step, which hangs in the first attempt; in later
/// ones the node does not get there.
fn paying(world: &World, attempts: &Arc<AtomicUsize>, before: Before, spec: NodeSpec) -> Graph {
    let (world, attempts) = (world.clone(), attempts.clone());
    let pay = move |_, context: TaskContext| {
        let (world, attempts) = (world.clone(), attempts.clone());
        async move {
            if attempts.fetch_add(1, Ordering::Relaxed) > 0 {
                match before {
                    Before::Fails => return Err(NodeError::failed("the line is down")),
                    Before::Panics => panic!("the line is down"),
                    Before::Hangs => pending::<()>().await,
                    Before::IsOverItsBudget => {
                        let (resource, limit) = (Resource::ToolCalls, 1);
                        return Err(Halt::Budget(BudgetExceeded { resource, limit }).into());
                    }
                }
            }
            let charge = context.step_once("pay", move |_| async move {
                world.change("paid");
                pending::<Result<u32, NodeError>>().await
            });
            charge.await?;
            Ok(NodeOutput::new())
        }
    };
    GraphBuilder::new("g")
        .function("pay", pay)
        .function("rescue", |_, _| async { Ok(NodeOutput::new()) })
        .spec("pay", spec)
        .start(["pay"])
        .finish("pay")
        .finish("rescue")
        .compile()
        .unwrap()
}

fn specs() -> [(NodeSpec, bool); 4] {
    let timed = || NodeSpec::new().timeout(Timeout::run(Duration::from_secs(20)));
    let retry = RetryPolicy::new().tries(3).when(|_| true);
    [
        (timed(), false),
        (timed().retry(retry), false),
        (timed().optional(), true),
        (timed().on_error("rescue"), true),
    ]
}

#[tokio::test(start_paused = true)]
async fn it_is_asked_about_before_the_node_fails_for_whatever_reason() {
    for before in [Before::Fails, Before::Panics, Before::Hangs] {
        for (spec, goes_on) in specs() {
            let (world, bench) = (World::new(), Bench::new());
            let graph = paying(&world, &Arc::default(), before, spec);
            crash(&bench, &graph).await;
            for _ in 0..2 {
                let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
                assert_eq!(ask.id.as_str(), "pay:1.0/pay#1/doubt/1", "{before:?}");
                assert_eq!(ask.node.as_str(), "pay");
                assert_eq!(bench.count(kind::RUN_CLOSED).await, 0);
            }
            let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
            answer(&bench, &ask, Answer::NotDone).await;
            let end = bench.attempt(&graph).await.unwrap();
            match &end.outcome {
                Outcome::Completed => assert!(goes_on, "{before:?}"),
                Outcome::Failed { node, .. } => {
                    assert!(!goes_on && node.as_str() == "pay", "{before:?}");
                }
                other => panic!("{other:?}"),
            }
            assert_eq!(world.changes(), ["paid"]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_asked_about_before_the_run_ends_over_its_budget() {
    let (world, bench) = (World::new(), Bench::new());
    let before = Before::IsOverItsBudget;
    let graph = paying(&world, &Arc::default(), before, NodeSpec::new());
    crash(&bench, &graph).await;
    let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
    let receipt = Answer::Done { result: json!(7) };
    answer(&bench, &ask, receipt).await;
    let end = bench.attempt(&graph).await.unwrap();
    assert!(matches!(end.outcome, Outcome::Budget(_)), "{end:?}");
}

/// A graph whose node runs `inner` in the first attempts, and fails before that later.
fn calling(inner: &Graph, attempts: &Arc<AtomicUsize>, fails_from: usize) -> Graph {
    let (inner, attempts) = (inner.clone(), attempts.clone());
    let call = node_fn(move |_, context: TaskContext| {
        let (inner, number) = (inner.clone(), attempts.fetch_add(1, Ordering::Relaxed) + 1);
        async move {
            if number >= fails_from {
                return Err(NodeError::failed("the line is down"));
            }
            context.run_graph("in", &inner, Writes::new()).await?;
            pending::<()>().await;
            Ok(NodeOutput::new())
        }
    });
    let graph = GraphBuilder::new("g").node("call", call).start(["call"]);
    graph.finish("call").compile().unwrap()
}

#[tokio::test(start_paused = true)]
async fn one_in_a_graph_inside_is_asked_about_too() {
    let (world, bench) = (World::new(), Bench::new());
    let inner = paying(&world, &Arc::default(), Before::Fails, NodeSpec::new());
    let graph = calling(&inner, &Arc::default(), 2);
    crash(&bench, &graph).await;
    let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
    assert_eq!(ask.id.as_str(), "call:1.0/in#1/pay:1.0/pay#1/doubt/1");
    assert_eq!(ask.node.as_str(), "pay");
    answer(&bench, &ask, Answer::NotDone).await;
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(failure(&end), "call RAG0804: the line is down");
    assert_eq!(world.changes(), ["paid"]);
}

#[tokio::test(start_paused = true)]
async fn one_that_a_task_inside_answered_for_is_no_question() {
    // A second task that never ends keeps the step of the graph inside from its
    // checkpoint, so that a write alone says that the first one is done.
    for has_sibling in [false, true] {
        let bench = Bench::new();
        let pay = |_, context: TaskContext| async move {
            let lost = context.step_once("pay", |_| async { Err::<u32, _>("lost") });
            lost.await.unwrap_err();
            Ok(NodeOutput::new())
        };
        let wait = |_, _| async {
            pending::<()>().await;
            Ok(NodeOutput::new())
        };
        let inner = GraphBuilder::new("inner")
            .function("pay", pay)
            .finish("pay");
        let inner = if has_sibling {
            let inner = inner.function("wait", wait).finish("wait");
            inner.start(["pay", "wait"])
        } else {
            inner.start(["pay"])
        };
        let graph = calling(&inner.compile().unwrap(), &Arc::default(), 2);
        crash(&bench, &graph).await;
        let end = bench.attempt(&graph).await.unwrap();
        assert_eq!(failure(&end), "call RAG0804: the line is down");
    }
}

#[tokio::test(start_paused = true)]
async fn no_crash_lets_the_node_fail_without_the_question() {
    for side in [Side::Before, Side::After] {
        let (mut write, mut is_hit) = (0, true);
        while is_hit {
            write += 1;
            let (store, world) = (Arc::new(MemoryJournal::new()), World::new());
            let point = FaultPoint { write, side };
            let faults = Arc::new(FaultJournal::new(store.clone(), point, || {}));
            let graph = paying(&world, &Arc::default(), Before::Fails, NodeSpec::new());
            let attempt = Bench::on(faults.clone());
            let attempt = attempt.attempt(&graph);
            let _ = tokio::time::timeout(Duration::from_secs(1), attempt).await;
            is_hit = faults.is_dead();
            let bench = Bench::on(store);
            let is_open = bench.has_fact("step/pay:1.0/pay#1/intent/1").await;
            let end = tokio::time::timeout(Duration::from_secs(1), bench.attempt(&graph)).await;
            match end.map(|end| end.unwrap().outcome) {
                Ok(Outcome::Suspended(asks)) => assert!(is_open && asks.len() == 1),
                Ok(Outcome::Failed { .. }) => assert!(!is_open && world.changes().is_empty()),
                // The first attempt died before its node began.
                Err(_) => assert!(!is_open && is_hit),
                Ok(other) => panic!("{other:?}"),
            }
        }
        assert!(write > 2, "{side:?}");
    }
}
