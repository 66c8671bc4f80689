//! What a time-out finds inside a node: graphs, and what is in flight in them.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rustagents_core::{
    ask::{Answer, Ask},
    code::Code,
    event::Event,
    journal::kind,
};
use rustagents_graph::{
    Graph, GraphBuilder, NodeError, NodeOutput, NodeSpec, Outcome, Reducer, RetryPolicy,
    StepContext, TaskContext, Timeout, Update, Writes, node_fn,
};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};
use rustagents_testkit::{drive, tool::World};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{
    bench::{Bench, asks, failure},
    steps::{noting, seen},
};

/// What a node has.
const TIME: Duration = Duration::from_secs(20);

/// What its effect needs.
const LONG: Duration = Duration::from_mins(1);

fn builder(name: &str) -> GraphBuilder {
    GraphBuilder::new(name).channel("seen", Reducer::Append)
}

/// The ways in which a node holds a graph, by the place of the graph's tasks.
const HOLDS: [(&str, &str); 4] = [
    ("shared", "x:1.0/pay:1.0"),
    ("adapted", "x:1.0/pay:1.0"),
    ("called", "x:1.0/in#1/pay:1.0"),
    ("deep", "x:1.0/called:1.0/in#1/pay:1.0"),
];

fn called(graph: &Graph) -> impl rustagents_graph::Node + use<> {
    let graph = graph.clone();
    node_fn(move |_, context: TaskContext| {
        let graph = graph.clone();
        async move {
            context.run_graph("in", &graph, Writes::new()).await?;
            Ok(NodeOutput::new())
        }
    })
}

/// A graph whose node `x` holds `child` and has its time, and a handler `h`.
fn around(holds: &str, child: &Graph, spec: NodeSpec, world: &World) -> Graph {
    let graph = builder("g");
    let graph = match holds {
        "shared" => graph.subgraph("x", child.clone()),
        "adapted" => graph.adapted(
            "x",
            child.clone(),
            |_, _| Writes::new(),
            |_: &rustagents_graph::State| Writes::new(),
        ),
        "called" => graph.node("x", called(child)),
        _ => {
            let deep = builder("deep").node("called", called(child));
            let deep = deep.start(["called"]).finish("called").compile().unwrap();
            graph.subgraph("x", deep)
        }
    };
    graph
        .spec("x", spec)
        .node("h", noting("handled", world))
        .node("then", noting("then", world))
        .start(["x"])
        .edge("x", "then")
        .finish("then")
        .finish("h")
        .compile()
        .unwrap()
}

fn specs() -> [(&'static str, NodeSpec); 5] {
    let timed = || NodeSpec::new().timeout(Timeout::run(TIME));
    [
        ("plain", timed()),
        ("idle", NodeSpec::new().timeout(Timeout::idle(TIME))),
        ("retry", timed().retry(RetryPolicy::new())),
        ("handler", timed().on_error("h")),
        ("optional", timed().optional()),
    ]
}

fn completed(end: &rustagents_graph::GraphEnd) {
    assert!(
        matches!(end.outcome, Outcome::Completed),
        "{:?}",
        end.outcome
    );
}

fn check_end(what: &str, end: &rustagents_graph::GraphEnd) {
    match what {
        "handler" | "optional" => completed(end),
        _ => {
            let expected = format!("x {}", Code::NodeTimeout);
            assert!(failure(end).starts_with(&expected), "{}", failure(end));
        }
    }
}

/// Pays in a step that takes long and comes to `end`, and goes on with `more` then.
fn paying(end: Result<u64, &'static str>, more: bool, world: &World) -> Graph {
    let noted = world.clone();
    builder("child")
        .function("pay", move |_, context: TaskContext| {
            let world = noted.clone();
            async move {
                let paid = world.clone();
                let pay = move |_: StepContext| async move {
                    paid.change("begin");
                    sleep(LONG).await;
                    paid.change("end");
                    end
                };
                context.step_once("pay", pay).await?;
                world.change("behind it");
                Ok(NodeOutput::new())
            }
        })
        .node("more", noting("more", world))
        .start(["pay"])
        .edge("pay", if more { "more" } else { rustagents_graph::END })
        .finish("more")
        .compile()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_once_step_inside_ends_and_is_recorded_before_its_node_is_dropped() {
    for (holds, place) in HOLDS {
        for (what, spec) in specs() {
            let (bench, world) = (Bench::new(), World::new());
            let graph = around(holds, &paying(Ok(7), true, &world), spec, &world);
            let began = Instant::now();
            let end = bench.attempt(&graph).await.unwrap();
            check_end(what, &end);
            assert_eq!(began.elapsed(), LONG, "{holds}, {what}");
            assert_eq!(world.changes()[..2], ["begin", "end"]);
            let result = format!("step/{place}/pay#1/result");
            assert!(bench.has_fact(&result).await, "{holds}, {what}");
            assert_eq!(bench.count(kind::ASK).await, 0);
            let after = match what {
                "handler" => vec!["handled"],
                "optional" => vec!["then"],
                _ => vec![],
            };
            assert_eq!(world.changes()[2..], after, "{holds}, {what}");
        }
    }
}

async fn answer(bench: &Bench, ask: &Ask, answer: Answer) {
    drive::answer(&*bench.journal, Bench::thread(), &ask.id, &answer)
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_doubt_inside_is_asked_about_before_the_node_fails() {
    for (holds, place) in HOLDS {
        for (what, spec) in specs() {
            let (bench, world) = (Bench::new(), World::new());
            let child = paying(Err("the line dropped"), true, &world);
            let graph = around(holds, &child, spec, &world);
            let end = bench.attempt(&graph).await.unwrap();
            let [ask] = &asks(&end)[..] else {
                panic!("{:?}", end.outcome)
            };
            assert_eq!(ask.id.as_str(), format!("{place}/pay#1/doubt/1"));
            assert!(ask.prompt.contains("the line dropped"), "{}", ask.prompt);
            assert_eq!(world.changes(), ["begin", "end"], "{holds}, {what}");
            let told = bench.events().into_iter().filter_map(|event| match event {
                Event::NodeSuspended { asks, .. } => Some(asks.len()),
                _ => None,
            });
            assert_eq!(told.sum::<usize>(), 1, "{holds}, {what}");
            // Nobody said what happened: it is asked again, and nothing runs.
            assert_eq!(asks(&bench.attempt(&graph).await.unwrap()).len(), 1);
            answer(&bench, ask, Answer::Done { result: json!(7) }).await;
            let end = bench.attempt(&graph).await.unwrap();
            completed(&end);
            let changes = world.changes();
            assert_eq!(changes, ["begin", "end", "behind it", "more", "then"]);
        }
    }
}

/// Two tasks: `pay` runs `pay`, and `wait` waits for ever, or for as long as `held`.
fn beside(
    world: &World,
    pay: impl Fn(TaskContext) -> futures::future::BoxFuture<'static, Result<(), NodeError>>
    + Send
    + Sync
    + 'static,
) -> Graph {
    builder("child")
        .function("pay", move |_, context| {
            let pay = pay(context);
            async move { pay.await.map(|()| NodeOutput::new()) }
        })
        .function("wait", |_, context: TaskContext| async move {
            context
                .step("wait", pending::<Result<(), NodeError>>)
                .await?;
            Ok(NodeOutput::new())
        })
        .node("next", noting("next", world))
        .start(["pay", "wait"])
        .edge("pay", "next")
        .finish("wait")
        .finish("next")
        .compile()
        .unwrap()
}

fn lost(context: TaskContext) -> futures::future::BoxFuture<'static, Result<(), NodeError>> {
    Box::pin(async move {
        let lost = |_: StepContext| async { Err::<(), _>("lost") };
        context.step_once("pay", lost).await
    })
}

#[tokio::test(start_paused = true)]
async fn a_doubt_beside_something_endless_is_asked_about_when_the_time_is_over() {
    for (holds, place) in HOLDS {
        for (what, spec) in specs() {
            let (bench, world) = (Bench::new(), World::new());
            let graph = around(holds, &beside(&world, lost), spec, &world);
            // The second attempt finds the doubt, and does not make the step.
            for _ in 0..2 {
                let began = Instant::now();
                let end = bench.attempt(&graph).await.unwrap();
                assert_eq!(began.elapsed(), TIME, "{holds}, {what}");
                let ids: Vec<_> = asks(&end).iter().map(|ask| ask.id.to_string()).collect();
                assert_eq!(ids, [format!("{place}/pay#1/doubt/1")], "{holds}, {what}");
                let told = bench.events().into_iter().filter_map(|event| match event {
                    Event::NodeSuspended { asks, .. } => Some(asks.len()),
                    _ => None,
                });
                assert_eq!(told.sum::<usize>(), 1, "{holds}, {what}");
            }
            let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
            answer(
                &bench,
                &ask,
                Answer::Done {
                    result: json!(null),
                },
            )
            .await;
            check_end(what, &bench.attempt(&graph).await.unwrap());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_may_be_repeated_inside_is_cut_in_time() {
    for (holds, _) in HOLDS {
        for (what, spec) in specs() {
            let (bench, world) = (Bench::new(), World::new());
            let child = beside(&world, |_| Box::pin(async { Ok(()) }));
            let graph = around(holds, &child, spec, &world);
            let began = Instant::now();
            check_end(what, &bench.attempt(&graph).await.unwrap());
            assert_eq!(began.elapsed(), TIME, "{holds}, {what}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_doubt_that_a_task_inside_answered_for_is_no_question() {
    for (holds, _) in HOLDS {
        let (bench, world) = (Bench::new(), World::new());
        let handled = |context| -> futures::future::BoxFuture<'static, _> {
            Box::pin(async move {
                lost(context).await.unwrap_err();
                Ok(())
            })
        };
        let spec = NodeSpec::new().timeout(Timeout::run(TIME)).on_error("h");
        let graph = around(holds, &beside(&world, handled), spec, &world);
        let end = bench.attempt(&graph).await.unwrap();
        completed(&end);
        assert_eq!(seen(&end.state), [json!("handled")]);
    }
}

/// Pays in each of its three tasks, two of which may run at the same time.
fn paying_thrice(world: &World) -> Graph {
    let mut graph = builder("child").max_concurrency(2);
    for (name, seconds) in [("one", 30), ("two", 60), ("three", 1)] {
        let world = world.clone();
        graph = graph.function(name, move |_, context: TaskContext| {
            let world = world.clone();
            async move {
                let pay = move |_: StepContext| async move {
                    sleep(Duration::from_secs(seconds)).await;
                    world.change(name);
                    Ok::<_, NodeError>(())
                };
                context.step_once("pay", pay).await?;
                Ok(NodeOutput::new().write("seen", Update::Value(name.into())))
            }
        });
    }
    graph
        .start(["one", "two", "three"])
        .finish("one")
        .finish("two")
        .finish("three")
        .compile()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn all_that_is_in_flight_is_waited_for_and_nothing_more_begins() {
    for (holds, _) in HOLDS {
        let (bench, world) = (Bench::new(), World::new());
        let spec = NodeSpec::new().timeout(Timeout::run(TIME));
        let graph = around(holds, &paying_thrice(&world), spec, &world);
        let began = Instant::now();
        check_end("plain", &bench.attempt(&graph).await.unwrap());
        assert_eq!(began.elapsed(), LONG, "{holds}");
        assert_eq!(world.changes(), ["one", "two"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_stops_where_a_node_is_over_and_its_step_is_not() {
    let (bench, world) = (Bench::new(), World::new());
    let spec = NodeSpec::new().timeout(Timeout::run(TIME)).on_error("h");
    let graph = around("shared", &paying(Ok(7), false, &world), spec, &world);
    let cancel = bench.cancel.clone();
    let run = async { bench.attempt(&graph).await };
    let (end, ()) = tokio::join!(run, async {
        sleep(Duration::from_secs(40)).await;
        cancel.cancel();
    });
    let halt = end.map(|end| end.outcome).unwrap_err();
    assert!(matches!(halt, rustagents_core::scope::Halt::Cancelled));
    assert_eq!(world.changes(), ["begin", "end"]);
    assert!(bench.has_fact("step/x:1.0/pay:1.0/pay#1/result").await);
}

#[tokio::test(start_paused = true)]
async fn a_time_inside_a_time_is_over_for_itself() {
    let (bench, world) = (Bench::new(), World::new());
    let slow = Arc::new(AtomicBool::new(true));
    let is_slow = Arc::clone(&slow);
    let inner = paying(Err("lost"), false, &world);
    let middle = builder("middle")
        .subgraph("x", inner)
        .spec("x", NodeSpec::new().timeout(Timeout::run(TIME)).optional())
        .function("wait", move |_, _| {
            let slow = is_slow.load(Ordering::SeqCst);
            async move {
                if slow {
                    sleep(LONG * 3).await;
                }
                Ok(NodeOutput::new())
            }
        })
        .start(["x", "wait"])
        .finish("x")
        .finish("wait")
        .compile()
        .unwrap();
    let spec = NodeSpec::new()
        .timeout(Timeout::run(LONG * 2))
        .on_error("h");
    let graph = around("shared", &middle, spec, &world);
    let began = Instant::now();
    let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
    assert_eq!(began.elapsed(), LONG * 2);
    assert_eq!(ask.id.as_str(), "x:1.0/x:1.0/pay:1.0/pay#1/doubt/1");
    slow.store(false, Ordering::SeqCst);
    answer(&bench, &ask, Answer::NotDone).await;
    let end = bench.attempt(&graph).await.unwrap();
    completed(&end);
    assert_eq!(seen(&end.state), [json!("then")], "not done, and optional");
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_write_neither_repeats_the_step_nor_forgets_a_doubt() {
    for (holds, place) in HOLDS {
        let (mut write, mut crashes) = (0, true);
        while crashes {
            write += 1;
            for side in [Side::Before, Side::After] {
                let (inner, world) = (Arc::new(MemoryJournal::new()), World::new());
                let fault = FaultJournal::new(inner.clone(), FaultPoint { write, side }, || {});
                let spec = NodeSpec::new().timeout(Timeout::run(TIME)).on_error("h");
                let graph = around(holds, &paying(Ok(7), true, &world), spec, &world);
                crashes = Bench::on(Arc::new(fault)).attempt(&graph).await.is_err();
                let bench = Bench::on(inner);
                let is_known = bench.has_fact(&format!("step/{place}/pay#1/result")).await;
                let is_over = world.changes().contains(&"handled".to_owned());
                assert!(is_known || !is_over, "{holds}, write {write} {side:?}");
                if crashes {
                    let end = bench.attempt(&graph).await.unwrap();
                    if let Outcome::Suspended(asks) = &end.outcome {
                        assert!(!is_known && asks[0].subject.is_in_doubt());
                        answer(&bench, &asks[0], Answer::Done { result: json!(7) }).await;
                        completed(&bench.attempt(&graph).await.unwrap());
                    } else {
                        completed(&end);
                    }
                }
                let begun = world.changes().iter().filter(|did| *did == "begin").count();
                // None where the crash came right behind the intent.
                assert!(begun <= 1, "{holds}, write {write} {side:?}");
            }
        }
        assert!(write > 4, "{write}");
    }
}
