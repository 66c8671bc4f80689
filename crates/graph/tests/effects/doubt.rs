//! Steps that must not run twice, and whose outcome is lost.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::future::pending;
use rustagents_core::{
    ask::{Answer, Ask, Subject},
    journal::kind,
    recorder::Durability,
    scope::Halt,
};
use rustagents_graph::{
    Graph, GraphBuilder, NodeError, NodeOutput, NodeSpec, Outcome, RetryPolicy, StepContext,
    StepOptions, TaskContext,
};
use rustagents_testkit::{drive, tool::World};
use serde_json::{Value, json};

use super::{change, out, working};
use crate::bench::{Bench, asks, failure};

/// Charges once; the first call of all hangs for good.
fn charging(world: &World, keys: &Arc<std::sync::Mutex<Vec<String>>>) -> Graph {
    let (noted, keys) = (world.clone(), keys.clone());
    working(move |context| {
        let (world, keys) = (noted.clone(), keys.clone());
        async move {
            let charge = context.step_once("charge", move |step: StepContext| async move {
                keys.lock().unwrap().push(step.idempotency_key.to_string());
                world.change("charged");
                if world.changes().len() == 1 {
                    pending::<()>().await;
                }
                Ok::<u32, NodeError>(7)
            });
            match charge.await {
                Ok(receipt) => Ok(json!(receipt)),
                Err(NodeError::Failed(failure)) => Ok(json!(failure.code.as_str())),
                Err(other) => Err(other),
            }
        }
    })
}

pub(super) async fn crash(bench: &Bench, graph: &Graph) {
    let attempt = bench.attempt(graph);
    tokio::time::timeout(Duration::from_secs(1), attempt)
        .await
        .unwrap_err();
}

pub(super) async fn answer(bench: &Bench, ask: &Ask, answer: Answer) {
    assert!(answer.fits(&ask.subject));
    drive::answer(&*bench.journal, Bench::thread(), &ask.id, &answer)
        .await
        .unwrap();
}

fn done(result: Value) -> Answer {
    Answer::Done { result }
}

#[tokio::test(start_paused = true)]
async fn a_lost_outcome_is_asked_about_and_never_repeated_by_itself() {
    let cases = [
        (done(json!(9)), json!(9), 1),
        (Answer::NotDone, json!("RAG0811"), 1),
        (Answer::Repeat, json!(7), 2),
    ];
    for (said, expected, charges) in cases {
        let (world, keys, bench) = (World::new(), Arc::default(), Bench::new());
        let graph = charging(&world, &keys);
        crash(&bench, &graph).await;
        assert!(bench.has_fact("step/work:1.0/charge#1/intent/1").await);
        for _ in 0..2 {
            let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
            assert_eq!(ask.id.as_str(), "work:1.0/charge#1/doubt/1");
            let Subject::StepInDoubt(subject) = &ask.subject else {
                panic!("{ask:?}");
            };
            assert_eq!(subject.step, "charge#1");
            assert_eq!(subject.idempotency_key.to_string(), keys.lock().unwrap()[0]);
        }
        let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
        assert_eq!(bench.count(kind::ASK).await, 1);
        answer(&bench, &ask, said).await;
        assert_eq!(out(&bench.attempt(&graph).await.unwrap()), &expected);
        assert_eq!(world.changes().len(), charges);
        let keys = keys.lock().unwrap();
        assert!(keys.iter().all(|key| *key == keys[0]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_step_can_be_in_doubt_again() {
    let (world, bench) = (World::new(), Bench::new());
    let noted = world.clone();
    let graph = working(move |context| {
        let world = noted.clone();
        async move {
            let never = context.step_once("charge", move |_| async move {
                world.change("charged");
                pending::<Result<u32, NodeError>>().await
            });
            Ok(json!(never.await?))
        }
    });
    crash(&bench, &graph).await;
    let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
    answer(&bench, &ask, Answer::Repeat).await;
    crash(&bench, &graph).await;
    let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
    assert_eq!(ask.id.as_str(), "work:1.0/charge#1/doubt/2");
    assert_eq!(world.changes().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_given_result_that_is_none_is_asked_for_again() {
    let (world, bench) = (World::new(), Bench::new());
    let graph = charging(&world, &Arc::default());
    crash(&bench, &graph).await;
    let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
    answer(&bench, &ask, done(json!("seven"))).await;
    let again = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
    assert_eq!(again.id.as_str(), "work:1.0/charge#1/doubt/1/2");
    assert!(again.prompt.contains("invalid type"), "{}", again.prompt);
    answer(&bench, &again, done(json!(7))).await;
    assert_eq!(out(&bench.attempt(&graph).await.unwrap()), &json!(7));
    assert_eq!(world.changes().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_doubt_is_settled_before_a_failed_sibling_closes_the_run() {
    use rustagents_graph::{END, GraphBuilder, NodeOutput, TaskContext, node_fn};
    let hangs = Arc::new(AtomicUsize::new(0));
    let tried = hangs.clone();
    let charge = node_fn(move |_, context: TaskContext| {
        let tried = tried.clone();
        async move {
            context
                .step_once("charge", move |_| async move {
                    tried.fetch_add(1, Ordering::Relaxed);
                    pending::<Result<(), NodeError>>().await
                })
                .await?;
            Ok(NodeOutput::new())
        }
    });
    let fail = node_fn(|_, _| async { Err(NodeError::failed("no")) });
    let graph = GraphBuilder::new("g")
        .node("charge", charge)
        .node("fail", fail)
        .start(["charge", "fail"])
        .edge("charge", END)
        .edge("fail", END)
        .compile()
        .unwrap();
    let bench = Bench::new();
    crash(&bench, &graph).await;
    let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
    answer(&bench, &ask, done(json!(null))).await;
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(failure(&end), "fail RAG0804: no");
    assert_eq!(hangs.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn another_input_of_a_step_that_must_not_run_twice_stops_the_run() {
    let (world, input) = (World::new(), Arc::new(AtomicUsize::new(1)));
    let (noted, now) = (world.clone(), input.clone());
    let graph = working(move |context| {
        let (world, input) = (noted.clone(), now.load(Ordering::Relaxed));
        async move {
            let options = StepOptions::new("charge").once().input(&input);
            let charge = context.step_with(options, move |_| change(world, "charged".into()));
            // Whatever the node makes of it.
            let charged = charge.await.unwrap_or_else(|error| error.to_string());
            context.ask("?").await?;
            Ok(json!(charged))
        }
    });
    let bench = Bench::new();
    let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
    bench.answer(&ask.id, json!("yes")).await;
    input.store(2, Ordering::Relaxed);
    let halt = bench.attempt(&graph).await.unwrap_err();
    let Halt::StepChanged {
        step,
        recorded,
        now,
    } = &halt
    else {
        panic!("{halt}");
    };
    assert_eq!(step, "work:1.0/charge#1");
    let text = halt.to_string();
    assert!(text.contains(&recorded.short()) && text.contains(&now.short()));
    assert_eq!(bench.count(kind::RUN_CLOSED).await, 0);
    input.store(1, Ordering::Relaxed);
    assert_eq!(
        out(&bench.attempt(&graph).await.unwrap()),
        &json!("charged")
    );
    assert_eq!(world.changes(), ["charged"]);
}

#[tokio::test(start_paused = true)]
async fn a_step_in_doubt_does_not_become_one_that_may_be_repeated() {
    let (world, bench) = (World::new(), Bench::new());
    crash(&bench, &charging(&world, &Arc::default())).await;
    let noted = world.clone();
    let graph = working(move |context| {
        let world = noted.clone();
        async move {
            let charge = context.step("charge", || change(world, "charged".into()));
            Ok(json!(charge.await?))
        }
    });
    let halt = bench.attempt(&graph).await.unwrap_err();
    assert!(matches!(halt, Halt::Incompatible { .. }), "{halt}");
    assert_eq!(world.changes(), ["charged"]);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_recorded_stays_good_when_the_step_may_be_repeated_now() {
    let (world, bench) = (World::new(), Bench::new());
    for once in [true, false] {
        let noted = world.clone();
        let graph = working(move |context| {
            let world = noted.clone();
            async move {
                let options = StepOptions::new("charge");
                let options = if once { options.once() } else { options };
                let charge = move |_| change(world, "charged".into());
                context.step_with(options, charge).await?;
                context.ask("?").await
            }
        });
        asks(&bench.attempt(&graph).await.unwrap());
    }
    assert_eq!(world.changes(), ["charged"]);
}

/// A node whose `once` step fails, which may be tried again and has an error handler.
fn failing(world: &World, tries: u32) -> Graph {
    let (noted, handled) = (world.clone(), world.clone());
    GraphBuilder::new("g")
        .function("work", move |_, context: TaskContext| {
            let world = noted.clone();
            async move {
                let charge = context.step_once("charge", |_| async move {
                    world.change("charged");
                    Err::<u32, _>("the line dropped")
                });
                charge.await?;
                Ok(NodeOutput::new())
            }
        })
        .function("rescue", move |_, _| {
            handled.change("rescued");
            async { Ok(NodeOutput::new()) }
        })
        .spec(
            "work",
            NodeSpec::new()
                .retry(RetryPolicy::new().tries(tries))
                .on_error("rescue"),
        )
        .start(["work"])
        .finish("work")
        .finish("rescue")
        .compile()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_error_of_a_step_that_must_not_run_twice_is_asked_about_before_its_node_fails() {
    for tries in [1, 2] {
        let (world, bench) = (World::new(), Bench::new());
        let graph = failing(&world, tries);
        let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
        assert_eq!(ask.id.as_str(), "work:1.0/charge#1/doubt/1");
        assert!(ask.prompt.contains("the line dropped"), "{ask:?}");
        assert_eq!(world.changes(), ["charged"], "nobody handled it");
        answer(&bench, &ask, Answer::NotDone).await;
        let end = bench.attempt(&graph).await.unwrap();
        assert!(matches!(end.outcome, Outcome::Completed), "{end:?}");
        assert_eq!(world.changes(), ["charged", "rescued"]);
    }
}

/// A node as `spec` says whose `once` step has `result`, and what handles its failure.
fn resulting(world: &World, spec: &NodeSpec, result: &Value) -> Graph {
    let (noted, handled) = (world.clone(), world.clone());
    let result = result.clone();
    GraphBuilder::new("g")
        .function("work", move |_, context: TaskContext| {
            let (world, result) = (noted.clone(), result.clone());
            async move {
                let charge = context.step_once("charge", |_| async move {
                    world.change("charged");
                    Ok::<_, NodeError>(result)
                });
                charge.await?;
                Ok(NodeOutput::new())
            }
        })
        .function("rescue", move |_, _| {
            handled.change("rescued");
            async { Ok(NodeOutput::new()) }
        })
        .spec("work", spec.clone())
        .start(["work"])
        .finish("work")
        .finish("rescue")
        .compile()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_result_that_cannot_be_recorded_is_asked_about_before_its_node_fails() {
    let deep = |levels| (0..levels).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    let retry = RetryPolicy::new().tries(3).when(|_| true);
    let specs = [
        NodeSpec::new(),
        NodeSpec::new().retry(retry),
        NodeSpec::new().optional(),
        NodeSpec::new().on_error("rescue"),
    ];
    let results = [
        (json!("x".repeat(8 << 20)), "is over the limit of 8388608"),
        // With its record around it, it is one too deep.
        (deep(96), "would be nested deeper than 96"),
        (deep(97), "is nested deeper than 96"),
    ];
    for spec in &specs {
        for (result, why) in &results {
            for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
                let (world, mut bench) = (World::new(), Bench::new());
                bench.durability = durability;
                let graph = resulting(&world, spec, result);
                let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
                assert_eq!(ask.id.as_str(), "work:1.0/charge#1/doubt/1");
                assert!(ask.prompt.contains(why), "{}", ask.prompt);
                assert_eq!(bench.count(kind::RUN_CLOSED).await, 0);
                answer(&bench, &ask, done(json!("receipt"))).await;
                let end = bench.attempt(&graph).await.unwrap();
                assert!(matches!(end.outcome, Outcome::Completed), "{end:?}");
                assert_eq!(world.changes(), ["charged"]);
            }
        }
    }
}

#[tokio::test]
async fn who_says_that_it_was_not_done_lets_the_node_fail() {
    let (world, bench) = (World::new(), Bench::new());
    let large = json!("x".repeat(8 << 20));
    let graph = resulting(&world, &NodeSpec::new().on_error("rescue"), &large);
    let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
    answer(&bench, &ask, Answer::NotDone).await;
    let end = bench.attempt(&graph).await.unwrap();
    assert!(matches!(end.outcome, Outcome::Completed), "{end:?}");
    assert_eq!(world.changes(), ["charged", "rescued"]);
}

#[tokio::test]
async fn a_step_that_says_that_it_changed_nothing_leaves_no_doubt() {
    let (world, bench) = (World::new(), Bench::new());
    let noted = world.clone();
    let graph = working(move |context| {
        let world = noted.clone();
        async move {
            let charge = context.step_once("charge", move |step: StepContext| async move {
                world.change("called");
                if world.changes().len() < 3 {
                    step.changed_nothing();
                    return Err("nobody there");
                }
                Ok(7)
            });
            match charge.await {
                Ok(receipt) => Ok(json!(receipt)),
                Err(error) => context.ask(error.to_string()).await,
            }
        }
    });
    for _ in 0..2 {
        let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
        assert_eq!(ask.prompt, "nobody there");
    }
    assert_eq!(out(&bench.attempt(&graph).await.unwrap()), &json!(7));
    assert_eq!(bench.count(kind::STEP_INTENT).await, 3);
    assert_eq!(bench.count(kind::STEP_RELEASED).await, 2);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_must_not_run_twice_is_durable_whatever_the_runs_durability() {
    for durability in [Durability::Async, Durability::Exit] {
        let (world, mut bench) = (World::new(), Bench::new());
        bench.durability = durability;
        let noted = world.clone();
        let graph = working(move |context| {
            let world = noted.clone();
            async move {
                let charge = context.step_once("charge", {
                    let world = world.clone();
                    move |_| change(world, "charged".into())
                });
                let charged = charge.await?;
                world.change("went on");
                if world.changes().len() == 2 {
                    pending::<()>().await;
                }
                Ok(json!(charged))
            }
        });
        crash(&bench, &graph).await;
        assert_eq!(
            out(&bench.attempt(&graph).await.unwrap()),
            &json!("charged")
        );
        assert_eq!(world.changes(), ["charged", "went on", "went on"]);
    }
}
