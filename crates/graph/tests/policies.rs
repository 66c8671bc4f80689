//! How nodes are run: tries, time, handlers, groups, and questions around them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rustagents_core::{code::Class, event::Event, journal::kind, scope::Halt};
use rustagents_graph::{
    END, Failure, Graph, GraphBuilder, NodeError, NodeOutput, NodeSpec, Outcome, Reducer,
    RetryPolicy, TaskContext, Timeout, Update,
};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};
use rustagents_testkit::tool::World;
use serde_json::json;

use crate::{
    bench::{Bench, asks, failure},
    steps::{noting, seen},
};

fn builder() -> GraphBuilder {
    GraphBuilder::new("g").channel("seen", Reducer::Append)
}

/// A node that fails `times` times, and counts its runs.
fn failing(times: usize, runs: &Arc<AtomicUsize>, spec: NodeSpec) -> GraphBuilder {
    let runs = Arc::clone(runs);
    builder()
        .function("a", move |_, _| {
            let run = runs.fetch_add(1, Ordering::SeqCst);
            async move {
                if run < times {
                    return Err(NodeError::failed(format!("no luck with run {run}")));
                }
                Ok(NodeOutput::new().write("seen", Update::Value(json!(run))))
            }
        })
        .spec("a", spec)
        .start(["a"])
}

#[tokio::test(start_paused = true)]
async fn a_failed_task_is_tried_again_after_a_growing_pause() {
    let runs = Arc::default();
    let graph = failing(2, &runs, NodeSpec::new().retry(RetryPolicy::new()))
        .finish("a")
        .compile()
        .unwrap();
    let (bench, began) = (Bench::new(), tokio::time::Instant::now());
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), [json!(2)]);
    assert_eq!(bench.count(kind::FAILED_TRY).await, 2);
    let took = began.elapsed().as_secs_f64();
    assert!(
        (1.3..=1.7).contains(&took),
        "0.5 s and 1 s, give or take: {took}"
    );
    let tries = bench.events().into_iter().filter_map(|event| match event {
        Event::NodeRetried { tries, message, .. } => Some((tries, message)),
        _ => None,
    });
    assert_eq!(
        tries.collect::<Vec<_>>(),
        [
            (1, "no luck with run 0".into()),
            (2, "no luck with run 1".into())
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn tries_are_bounded_and_only_for_what_may_help() {
    let runs = Arc::default();
    let graph = failing(9, &runs, NodeSpec::new().retry(RetryPolicy::new().tries(4)))
        .finish("a")
        .compile()
        .unwrap();
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(failure(&end), "a RAG0804: no luck with run 3");
    let runs = Arc::default();
    let never = RetryPolicy::new().when(|failure| failure.class == Class::Bug);
    let graph = failing(9, &runs, NodeSpec::new().retry(never))
        .finish("a")
        .compile()
        .unwrap();
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(failure(&end), "a RAG0804: no luck with run 0");
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_tried_again_in_a_step_as_in_its_node() {
    for in_step in [false, true] {
        let graph = builder()
            .function("a", move |_, context: TaskContext| async move {
                let tries = context.tries();
                assert!(in_step || tries == 2, "on purpose");
                let work = || async move {
                    assert_eq!(tries, 2, "on purpose");
                    Ok::<_, NodeError>(tries)
                };
                let done = context.step("work", work).await?;
                Ok(NodeOutput::new().write("seen", Update::Value(json!(done))))
            })
            .spec("a", NodeSpec::new().retry(RetryPolicy::new()))
            .start(["a"])
            .finish("a")
            .compile()
            .unwrap();
        let end = Bench::new().attempt(&graph).await.unwrap();
        assert!(matches!(end.outcome, Outcome::Completed), "{end:?}");
        assert_eq!(seen(&end.state), [json!(2)]);
    }
}

#[tokio::test(start_paused = true)]
async fn tries_are_counted_across_crashes() {
    let spec = || NodeSpec::new().retry(RetryPolicy::new().tries(3));
    for write in 3..=4 {
        let runs = Arc::default();
        let graph = failing(9, &runs, spec()).finish("a").compile().unwrap();
        let inner = Arc::new(MemoryJournal::new());
        let point = FaultPoint {
            write,
            side: Side::After,
        };
        let fault = FaultJournal::new(inner.clone(), point, || {});
        Bench::on(Arc::new(fault))
            .attempt(&graph)
            .await
            .unwrap_err();
        let end = Bench::on(inner).attempt(&graph).await.unwrap();
        assert!(matches!(end.outcome, Outcome::Failed { .. }));
        assert_eq!(runs.load(Ordering::SeqCst), 3, "crash after write {write}");
    }
}

/// A node that waits for a minute, and says every ten seconds that it is alive if
/// it is to.
fn waiting(beats: bool, timeout: Timeout) -> Graph {
    builder()
        .function("a", move |_, context: TaskContext| async move {
            for _ in 0..6 {
                tokio::time::sleep(Duration::from_secs(10)).await;
                if beats {
                    context.heartbeat();
                }
            }
            Ok(NodeOutput::new().write("seen", Update::Value(json!("a"))))
        })
        .spec("a", NodeSpec::new().timeout(timeout))
        .start(["a"])
        .finish("a")
        .compile()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_node_that_takes_too_long_fails_and_one_that_is_alive_goes_on() {
    let failed = async |beats, timeout| {
        failure(
            &Bench::new()
                .attempt(&waiting(beats, timeout))
                .await
                .unwrap(),
        )
    };
    let (run, idle) = (
        Timeout::run(Duration::from_secs(50)),
        Timeout::idle(Duration::from_secs(15)),
    );
    assert_eq!(
        failed(true, run).await,
        "a RAG0816: the node took more than 50000 ms"
    );
    assert_eq!(
        failed(false, idle).await,
        "a RAG0816: the node was idle for more than 15000 ms"
    );
    assert_eq!(
        failed(true, idle.and(run)).await,
        "a RAG0816: the node took more than 50000 ms"
    );
    let end = Bench::new().attempt(&waiting(true, idle)).await.unwrap();
    assert_eq!(seen(&end.state), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn an_error_handler_is_sent_the_failure_and_decides_where_it_goes_on() {
    let runs = Arc::default();
    let spec = NodeSpec::new()
        .retry(RetryPolicy::new().tries(2))
        .on_error("rescue");
    let graph = failing(9, &runs, spec)
        .edge("a", "b")
        .node("b", noting("b", &World::new()))
        .finish("b")
        .function("rescue", |_, context: TaskContext| async move {
            let failure: Failure = context.argument()?;
            let told = json!([failure.node, failure.code, failure.message, failure.tries]);
            Ok(NodeOutput::new()
                .write("seen", Update::Value(told))
                .goto(END))
        })
        .commands("rescue", ["b", END])
        .compile()
        .unwrap();
    let bench = Bench::new();
    let end = bench.attempt(&graph).await.unwrap();
    assert!(matches!(end.outcome, Outcome::Completed));
    assert_eq!(
        seen(&end.state),
        [json!(["a", "RAG0804", "no luck with run 1", 2])],
        "the way of the failed node was not taken"
    );
}

#[tokio::test]
async fn after_a_crash_the_handler_runs_and_not_the_node() {
    let runs: Arc<AtomicUsize> = Arc::default();
    let graph = failing(9, &runs, NodeSpec::new().on_error("rescue"))
        .finish("a")
        .node("rescue", noting("rescue", &World::new()))
        .finish("rescue")
        .compile()
        .unwrap();
    let inner = Arc::new(MemoryJournal::new());
    let point = FaultPoint {
        write: 3,
        side: Side::After,
    };
    let fault = FaultJournal::new(inner.clone(), point, || {});
    Bench::on(Arc::new(fault))
        .attempt(&graph)
        .await
        .unwrap_err();
    let end = Bench::on(inner).attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), ["rescue"]);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_optional_node_may_fail_and_its_siblings_go_on() {
    let runs = Arc::default();
    let graph = failing(9, &runs, NodeSpec::new().optional())
        .node("b", noting("b", &World::new()))
        .node("c", noting("c", &World::new()))
        .start(["b"])
        .join(["a", "b"], "c")
        .finish("c")
        .compile()
        .unwrap();
    let bench = Bench::new();
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), ["b", "c"]);
    let failed = |event: &Event| matches!(event, Event::NodeFailed { .. });
    assert_eq!(bench.events().iter().filter(|e| failed(e)).count(), 1);
}

#[tokio::test]
async fn a_question_is_never_handled_retried_or_optional() {
    let graph = builder()
        .function("a", |_, context: TaskContext| async move {
            let answer = match context.ask("?").await {
                Ok(answer) => answer,
                Err(_) => json!("swallowed"),
            };
            Ok(NodeOutput::new().write("seen", Update::Value(answer)))
        })
        .spec(
            "a",
            NodeSpec::new()
                .retry(RetryPolicy::new())
                .on_error("rescue")
                .optional(),
        )
        .node("rescue", noting("rescue", &World::new()))
        .start(["a"])
        .finish("a")
        .finish("rescue")
        .compile()
        .unwrap();
    let bench = Bench::new();
    let asked = asks(&bench.attempt(&graph).await.unwrap());
    bench.answer(&asked[0].id, json!("yes")).await;
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), ["yes"]);
}

/// Runs `tasks` tasks of a second each, and says how many ran at the same time and
/// how long all took.
async fn crowd(tasks: u64, build: fn(GraphBuilder) -> GraphBuilder) -> (usize, Duration) {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let peak = Arc::clone(&most);
    let graph = builder()
        .function("plan", move |_, _| async move {
            Ok(NodeOutput::new().send_each("work", 0..tasks))
        })
        .function("work", move |_, _| {
            let (now, most) = (Arc::clone(&now), Arc::clone(&most));
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(NodeOutput::new().write("seen", Update::Value(json!(1))))
            }
        })
        .start(["plan"])
        .commands("plan", ["work"])
        .finish("work");
    let graph = build(graph).compile().unwrap();
    let began = tokio::time::Instant::now();
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state).len() as u64, tasks);
    (peak.load(Ordering::SeqCst), began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_graph_and_a_group_bound_what_runs_at_the_same_time() {
    let second = Duration::from_secs(1);
    assert_eq!(crowd(100, |graph| graph).await, (64, 2 * second));
    assert_eq!(
        crowd(10, |graph| graph.max_concurrency(4)).await,
        (4, 3 * second)
    );
    let grouped = |graph: GraphBuilder| {
        graph
            .group("database", 2)
            .spec("work", NodeSpec::new().group("database"))
    };
    assert_eq!(crowd(5, grouped).await, (2, 3 * second));
}

#[tokio::test]
async fn a_person_is_asked_before_and_after_and_nothing_runs_twice() {
    let world = World::new();
    let graph = builder()
        .node("a", noting("a", &world))
        .node("b", noting("b", &world))
        .spec("a", NodeSpec::new().ask_before().ask_after())
        .start(["a", "b"])
        .finish("a")
        .finish("b")
        .compile()
        .unwrap();
    let bench = Bench::new();
    let before = asks(&bench.attempt(&graph).await.unwrap());
    assert_eq!(before[0].id.as_str(), "a:1.0/before");
    assert_eq!(world.changes(), ["b"], "the sibling ran, the node did not");
    let again = asks(&bench.attempt(&graph).await.unwrap());
    assert_eq!(again, before);
    bench.answer(&before[0].id, json!(true)).await;
    let after = asks(&bench.attempt(&graph).await.unwrap());
    assert_eq!(after[0].id.as_str(), "a:1.0/after");
    assert_eq!(world.changes(), ["b", "a"]);
    bench.answer(&after[0].id, json!(true)).await;
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), ["a", "b"]);
    assert_eq!(world.changes().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn defaults_are_for_nodes_that_do_not_say_it_themselves() {
    let runs = Arc::default();
    let graph = failing(2, &runs, NodeSpec::new())
        .defaults(NodeSpec::new().retry(RetryPolicy::new()).on_error("rescue"))
        .function("rescue", |_, _| async {
            Err(NodeError::failed("a handler is not its own"))
        })
        .finish("a")
        .finish("rescue")
        .compile()
        .unwrap();
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), [json!(2)]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_waits_for_ever_is_dropped_when_the_run_is_cancelled() {
    let world = World::new();
    let graph = builder()
        .function("wait", |_, _| async {
            std::future::pending::<()>().await;
            Ok(NodeOutput::new())
        })
        .node("b", noting("b", &world))
        .start(["wait", "b"])
        .finish("wait")
        .finish("b")
        .compile()
        .unwrap();
    let bench = Bench::new();
    let cancel = bench.cancel.clone();
    let (end, ()) = tokio::join!(bench.attempt(&graph), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    });
    assert!(matches!(end, Err(Halt::Cancelled)), "{end:?}");
    assert!(bench.has_fact("write/b:1.1").await, "its sibling is kept");
}
