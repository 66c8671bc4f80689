//! How nodes are run: tries, time, handlers, groups, and questions around them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rustagents_core::{
    budget::Resource,
    code::{Class, Code},
    event::Event,
    journal::kind,
    scope::Halt,
};
use rustagents_graph::{
    END, Failure, Graph, GraphBuilder, MemoryCache, NodeError, NodeOutput, NodeSpec, Outcome,
    Reducer, RetryPolicy, State, TaskContext, Timeout, Update, node::NodeFailure,
};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};
use rustagents_testkit::{hooked::HookedJournal, tool::World};
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

/// How often the records are read while so many tasks fail together, and are tried
/// again.
async fn readings(tasks: u64) -> usize {
    let read = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&read);
    let inner = Arc::new(MemoryJournal::new());
    let journal = HookedJournal::new(inner).before_read(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(Ok(())))
    });
    let first = Arc::new(AtomicUsize::new(0));
    let begun = Arc::clone(&first);
    let graph = builder()
        .function("fan", move |_, _| async move {
            let sends = (0..tasks).fold(NodeOutput::new(), |out, n| out.send("a", json!(n)));
            Ok(sends)
        })
        .function("a", move |_, context: TaskContext| {
            let is_first = context.tries() == 1;
            begun.fetch_add(usize::from(is_first), Ordering::SeqCst);
            async move {
                if is_first {
                    return Err(NodeError::failed("not now"));
                }
                Ok(NodeOutput::new().write("seen", Update::Value(json!(1))))
            }
        })
        .spec("a", NodeSpec::new().retry(RetryPolicy::new()))
        .commands("fan", ["a"])
        .max_concurrency(usize::MAX)
        .start(["fan"])
        .finish("a")
        .compile()
        .unwrap();
    let bench = Bench::on(Arc::new(journal));
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state).len() as u64, tasks);
    assert_eq!(first.load(Ordering::SeqCst) as u64, tasks);
    read.load(Ordering::SeqCst)
}

#[tokio::test(start_paused = true)]
async fn tasks_that_fail_together_read_the_log_once() {
    let (few, many) = (readings(2).await, readings(300).await);
    assert_eq!(few, many);
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

/// How often a node runs that fails with a failure of `class` under `policy`.
async fn runs_of(class: Class, policy: RetryPolicy) -> usize {
    let runs: Arc<AtomicUsize> = Arc::default();
    let counted = Arc::clone(&runs);
    let graph = builder()
        .function("a", move |_, _| {
            counted.fetch_add(1, Ordering::SeqCst);
            async move {
                Err(NodeError::Failed(NodeFailure {
                    code: Code::NodeFailed,
                    class,
                    message: "no luck".into(),
                    hint: None,
                }))
            }
        })
        .spec("a", NodeSpec::new().retry(policy))
        .start(["a"])
        .finish("a")
        .compile()
        .unwrap();
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(failure(&end), "a RAG0804: no luck");
    runs.load(Ordering::SeqCst)
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_the_caller_is_not_tried_again_unless_said() {
    assert_eq!(runs_of(Class::Caller, RetryPolicy::new()).await, 1);
    for class in [Class::Retryable, Class::Bug, Class::Cancelled] {
        assert_eq!(runs_of(class, RetryPolicy::new()).await, 3, "{class:?}");
    }
    let always = RetryPolicy::new().when(|_| true);
    assert_eq!(runs_of(Class::Caller, always).await, 3);
}

#[tokio::test(start_paused = true)]
async fn pauses_between_tries_grow_up_to_their_cap() {
    let runs = Arc::default();
    let capped = RetryPolicy::new()
        .tries(6)
        .pause(Duration::from_secs(1), 10.0)
        .cap(Duration::from_secs(5));
    let graph = failing(5, &runs, NodeSpec::new().retry(capped))
        .finish("a")
        .compile()
        .unwrap();
    let began = tokio::time::Instant::now();
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), [json!(5)]);
    // One of about a second, and four of at most five.
    let took = began.elapsed().as_secs_f64();
    assert!((18.9..=21.2).contains(&took), "{took}");
}

#[tokio::test]
async fn two_failures_of_a_step_go_to_their_own_handlers() {
    let bad = |_, _| async { Err(NodeError::failed("no luck")) };
    let handler = |name: &'static str| {
        move |_, context: TaskContext| async move {
            let failure: Failure = context.argument()?;
            let text = format!("{name} of {}", failure.node);
            Ok(NodeOutput::new().write("seen", Update::Value(json!(text))))
        }
    };
    let graph = builder()
        .function("a", bad)
        .spec("a", NodeSpec::new().on_error("one"))
        .function("b", bad)
        .spec("b", NodeSpec::new().on_error("two"))
        .function("one", handler("one"))
        .function("two", handler("two"))
        .start(["a", "b"])
        .finish("a")
        .finish("b")
        .finish("one")
        .finish("two")
        .compile()
        .unwrap();
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert!(matches!(end.outcome, Outcome::Completed), "{end:?}");
    assert_eq!(seen(&end.state), ["one of a", "two of b"]);
}

#[tokio::test]
async fn a_handler_that_fails_fails_the_run() {
    let bad = |text: &'static str| move |_, _| async move { Err(NodeError::failed(text)) };
    let graph = builder()
        .function("a", bad("first"))
        .spec("a", NodeSpec::new().on_error("rescue"))
        .function("rescue", bad("second"))
        .start(["a"])
        .finish("a")
        .finish("rescue")
        .compile()
        .unwrap();
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(failure(&end), "rescue RAG0804: second");
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

#[tokio::test]
async fn defaults_ask_around_each_task_and_make_each_node_optional() {
    let world = World::new();
    let graph = builder()
        .node("a", noting("a", &world))
        .function("b", |_, _| async { Err(NodeError::failed("no luck")) })
        .spec("a", NodeSpec::new().ask_after())
        .defaults(NodeSpec::new().ask_before().optional())
        .start(["a"])
        .sequence(["a", "b", END])
        .compile()
        .unwrap();
    let bench = Bench::new();
    for expected in ["a:1.0/before", "a:1.0/after", "b:2.0/before"] {
        let asked = asks(&bench.attempt(&graph).await.unwrap());
        assert_eq!(asked[0].id.as_str(), expected);
        bench.answer(&asked[0].id, json!(true)).await;
    }
    let end = bench.attempt(&graph).await.unwrap();
    assert!(matches!(end.outcome, Outcome::Completed), "{end:?}");
    assert_eq!(seen(&end.state), ["a"]);
}

/// A graph whose node `a` fails, and whose handler `first` does, if it is to.
fn handing_on(fails: bool, first: NodeSpec) -> Graph {
    builder()
        .function("a", |_, _| async { Err(NodeError::failed("no luck")) })
        .function("first", move |_, _| async move {
            if fails {
                return Err(NodeError::failed("nor here"));
            }
            Ok(NodeOutput::new().write("seen", Update::Value(json!("first"))))
        })
        .node("last", noting("last", &World::new()))
        .spec("a", NodeSpec::new().on_error("first"))
        .spec("first", first)
        .defaults(NodeSpec::new().on_error("last"))
        .start(["a"])
        .finish("a")
        .finish("first")
        .finish("last")
        .compile()
        .unwrap()
}

#[tokio::test]
async fn the_default_error_handler_is_for_no_node_that_handles_failures() {
    let end_of = async |fails, spec| {
        let graph = handing_on(fails, spec);
        Bench::new().attempt(&graph).await.unwrap()
    };
    let end = end_of(true, NodeSpec::new()).await;
    assert_eq!(failure(&end), "first RAG0804: nor here");
    let end = end_of(true, NodeSpec::new().on_error("last")).await;
    assert_eq!(seen(&end.state), ["last"], "unless it says so itself");
    let end = end_of(false, NodeSpec::new()).await;
    assert_eq!(seen(&end.state), ["first"]);
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

/// A node that squares what it is sent, and counts its runs; numbers over 9 are
/// never kept.
fn squaring(runs: &Arc<AtomicUsize>, cache: &Arc<MemoryCache>) -> Graph {
    let runs = Arc::clone(runs);
    builder()
        .function("plan", |_, _| async {
            Ok(NodeOutput::new().send_each("square", [3, 4, 3, 10]))
        })
        .function("square", move |_, context: TaskContext| {
            runs.fetch_add(1, Ordering::SeqCst);
            async move {
                let number: u64 = context.argument()?;
                Ok(NodeOutput::new().write("seen", Update::Value(json!(number * number))))
            }
        })
        .cached(
            "square",
            cache.clone(),
            Some(Duration::from_mins(1)),
            |_, number| number.filter(|number| number.as_u64() < Some(10)).cloned(),
        )
        .start(["plan"])
        .commands("plan", ["square"])
        .finish("square")
        .compile()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_output_is_taken_again_for_the_same_key_while_it_is_good() {
    let (runs, cache) = (Arc::default(), Arc::new(MemoryCache::new(9)));
    let expected = [json!(9), json!(16), json!(9), json!(100)];
    let graph = squaring(&runs, &cache);
    for (minutes, counted) in [(0, 3), (0, 4), (2, 7)] {
        let (bench, clock) = Bench::new().on_a_clock();
        clock.advance(Duration::from_mins(minutes));
        let end = bench.attempt(&graph).await.unwrap();
        assert_eq!(seen(&end.state), expected);
        assert_eq!(
            runs.load(Ordering::SeqCst),
            counted,
            "{minutes} minutes later"
        );
        let hits = bench.events();
        let hits = hits
            .iter()
            .filter(|event| matches!(event, Event::NodeCached { .. }));
        assert!(hits.count() >= 1);
    }
    cache.clear();
    Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 10);
}

#[tokio::test]
async fn a_failure_and_what_the_graph_does_not_take_are_not_kept() {
    let (runs, cache) = (Arc::new(AtomicUsize::new(0)), Arc::new(MemoryCache::new(9)));
    let counted = Arc::clone(&runs);
    let graph = builder()
        .function("a", move |_, _| {
            let run = counted.fetch_add(1, Ordering::SeqCst);
            async move {
                match run {
                    0 => Err(NodeError::failed("no luck")),
                    1 => Ok(NodeOutput::new().write("nowhere", Update::Value(json!(1)))),
                    _ => Ok(NodeOutput::new().write("seen", Update::Value(json!(run)))),
                }
            }
        })
        .spec("a", NodeSpec::new().optional())
        .cached("a", cache, None, |_, _| Some(json!("always")))
        .start(["a"])
        .finish("a")
        .compile()
        .unwrap();
    let end = async || Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(seen(&end().await.state).len(), 0);
    assert!(failure(&end().await).contains("nowhere"));
    assert_eq!(seen(&end().await.state), [json!(2)]);
    assert_eq!(seen(&end().await.state), [json!(2)]);
    assert_eq!(runs.load(Ordering::SeqCst), 3);
}

/// A node that takes three steps of ten seconds.
fn stepping(timeout: Timeout, world: &World) -> Graph {
    let world = world.clone();
    builder()
        .function("a", move |_, context: TaskContext| {
            let world = world.clone();
            async move {
                for step in ["one", "two", "three"] {
                    let world = world.clone();
                    context
                        .step_once(step, move |_| async move {
                            tokio::time::sleep(Duration::from_secs(10)).await;
                            world.change(step);
                            Ok::<_, NodeError>(())
                        })
                        .await?;
                }
                Ok(NodeOutput::new().write("seen", Update::Value(json!("a"))))
            }
        })
        .spec(
            "a",
            NodeSpec::new().timeout(timeout).retry(RetryPolicy::new()),
        )
        .start(["a"])
        .finish("a")
        .compile()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_time_out_lets_the_steps_in_flight_end_and_the_next_try_goes_on_behind_them() {
    let world = World::new();
    let graph = stepping(Timeout::run(Duration::from_secs(15)), &world);
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), ["a"]);
    assert_eq!(world.changes(), ["one", "two", "three"]);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_ends_is_a_sign_of_life() {
    let world = World::new();
    let bench = Bench::new();
    let graph = stepping(Timeout::idle(Duration::from_secs(15)), &world);
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), ["a"]);
    assert_eq!(bench.count(kind::FAILED_TRY).await, 0);
}

#[tokio::test]
async fn a_panic_before_the_nodes_first_await_is_its_failure() {
    let graph = builder()
        .function("a", |state: Arc<State>, _| {
            let first = state.list("seen")[0].clone();
            async move { Ok(NodeOutput::new().write("seen", Update::Value((*first).clone()))) }
        })
        .start(["a"])
        .finish("a")
        .compile()
        .unwrap();
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(failure(&end), "a RAG0804: the node panicked");
}

#[tokio::test(start_paused = true)]
async fn driven_time_is_looked_at_between_supersteps() {
    let graph = builder()
        .function("a", |_, _| async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            Ok(NodeOutput::new().write("seen", Update::Value(json!("a"))))
        })
        .start(["a"])
        .edge("a", "a")
        .compile()
        .unwrap();
    let mut bench = Bench::new();
    bench.limits.driven = Duration::from_secs(25);
    let end = bench.attempt(&graph).await.unwrap();
    let Outcome::Budget(exceeded) = end.outcome else {
        panic!("{:?}", end.outcome);
    };
    assert_eq!(exceeded.resource, Resource::DrivenTime);
    assert_eq!(end.steps, 3, "the last boundary before it stands");
}

#[tokio::test(start_paused = true)]
async fn a_long_message_of_a_failure_is_cut_wherever_it_is_recorded() {
    use rustagents_graph::{MAX_FAILURE_BYTES, StepContext};
    // Characters of three bytes, so that the limit lies within one.
    let long = "\u{20ac}".repeat(3 << 20);
    let begins = &long[..MAX_FAILURE_BYTES / 3 * 3];
    let cut = format!("{begins}\u{2026} ({} bytes in all)", long.len());
    for (once, tries, handled) in [(false, 1, false), (false, 2, true), (true, 1, false)] {
        let (bench, said) = (Bench::new(), long.clone());
        let spec = NodeSpec::new().retry(RetryPolicy::new().tries(tries).when(|_| true));
        let spec = if handled {
            spec.on_error("rescue")
        } else {
            spec
        };
        let work = move |_, context: TaskContext| {
            let said = said.clone();
            async move {
                if once {
                    let lost = |_: StepContext| async { Err::<u32, _>(said) };
                    context.step_once("pay", lost).await?;
                    return Ok(NodeOutput::new());
                }
                Err(NodeError::failed(said))
            }
        };
        let rescue = |_, context: TaskContext| async move {
            let sent: serde_json::Value = context.argument()?;
            Ok(NodeOutput::new().write("sent", Update::Value(sent)))
        };
        let graph = GraphBuilder::new("g")
            .channel("sent", Reducer::Overwrite)
            .function("work", work)
            .function("rescue", rescue)
            .spec("work", spec)
            .start(["work"])
            .finish("work")
            .finish("rescue")
            .compile()
            .unwrap();
        let end = bench.attempt(&graph).await.unwrap();
        match &end.outcome {
            Outcome::Suspended(asks) => assert!(once && asks[0].prompt.contains(&cut)),
            Outcome::Completed => {
                assert_eq!(end.state.value("sent").unwrap()["message"], cut.as_str());
                assert_eq!(bench.count(kind::FAILED_TRY).await, 1);
            }
            _ => assert_eq!(failure(&end), format!("work RAG0804: {cut}")),
        }
    }
}
