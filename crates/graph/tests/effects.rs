//! Steps inside a node: what is done once, over all attempts.

mod concurrent;
mod crash;
mod doubt;
mod left;
mod misuse;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::join;
use rustagents_core::{code::Code, event::Event, journal::kind};
use rustagents_graph::{
    END, Graph, GraphBuilder, GraphEnd, NodeError, NodeOutput, Outcome, Reducer, StepOptions,
    TaskContext, Update, node_fn,
};
use rustagents_testkit::tool::World;
use serde_json::{Value, json};

use crate::bench::{Bench, asks, failure};

/// A graph of one node that writes what `work` returns.
pub(crate) fn working<F, R>(work: F) -> Graph
where
    F: Fn(TaskContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Value, NodeError>> + Send + 'static,
{
    GraphBuilder::new("g")
        .channel("out", Reducer::Overwrite)
        .node(
            "work",
            node_fn(move |_, context| {
                let work = work(context);
                async move { Ok(NodeOutput::new().write("out", Update::Value(work.await?))) }
            }),
        )
        .start(["work"])
        .edge("work", END)
        .compile()
        .unwrap()
}

pub(crate) fn out(end: &GraphEnd) -> &Value {
    match &end.outcome {
        Outcome::Completed => end.state.value("out").unwrap(),
        other => panic!("expected an end, found {other:?}"),
    }
}

/// Answers whatever is asked by its own prompt until the graph ends.
pub(crate) async fn through(bench: &Bench, graph: &Graph) -> GraphEnd {
    loop {
        let end = bench.attempt(graph).await.unwrap();
        let Outcome::Suspended(asks) = &end.outcome else {
            return end;
        };
        for ask in asks {
            bench.answer(&ask.id, json!(ask.prompt)).await;
        }
    }
}

/// What changes the world by `what`, and gives it back.
pub(crate) async fn change(world: World, what: String) -> Result<String, NodeError> {
    world.change(&what);
    Ok(what)
}

#[tokio::test]
async fn work_before_each_of_three_questions_is_done_once() {
    let world = World::new();
    let noted = world.clone();
    let graph = working(move |context| {
        let world = noted.clone();
        async move {
            let mut said = Vec::new();
            for round in 0..3 {
                let work = || change(world.clone(), format!("work {round}"));
                let done = context.step("work", work).await?;
                said.push(context.ask(done).await?);
            }
            Ok(json!(said))
        }
    });
    let bench = Bench::new();
    let end = through(&bench, &graph).await;
    assert_eq!(out(&end), &json!(["work 0", "work 1", "work 2"]));
    assert_eq!(world.changes(), ["work 0", "work 1", "work 2"]);
    assert_eq!(bench.count(kind::STEP_RESULT).await, 3);
    assert!(bench.has_fact("step/work:1.0/work#3/result").await);
}

#[tokio::test]
async fn a_payment_beside_a_question_is_made_once() {
    for payment_first in [true, false] {
        let world = World::new();
        let noted = world.clone();
        let graph = working(move |context| {
            let world = noted.clone();
            async move {
                let pay = context.step_once("pay", move |_| async move {
                    tokio::task::yield_now().await;
                    change(world, "paid".into()).await
                });
                let (paid, said) = if payment_first {
                    join!(pay, context.ask("sure?"))
                } else {
                    let (said, paid) = join!(context.ask("sure?"), pay);
                    (paid, said)
                };
                Ok(json!([paid?, said?]))
            }
        });
        let bench = Bench::new();
        let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
        assert_eq!(world.changes().len(), usize::from(payment_first));
        bench.answer(&ask.id, json!("sure?")).await;
        let end = bench.attempt(&graph).await.unwrap();
        assert_eq!(out(&end), &json!(["paid", "sure?"]));
        assert_eq!(world.changes(), ["paid"]);
    }
}

#[tokio::test]
async fn an_error_is_the_nodes_to_handle_and_is_not_recorded() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let graph = working(move |context| {
        let calls = counted.clone();
        async move {
            let work = || async move {
                let call = calls.fetch_add(1, Ordering::Relaxed);
                if call == 0 { Err("not now") } else { Ok(call) }
            };
            match context.step("work", work).await {
                Ok(call) => Ok(json!(call)),
                Err(error) => context.ask(error.to_string()).await,
            }
        }
    });
    let bench = Bench::new();
    let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
    assert_eq!(ask.prompt, "not now");
    assert_eq!(out(&bench.attempt(&graph).await.unwrap()), &json!(1));
}

#[tokio::test]
async fn any_boxed_error_fails_a_step_and_a_nodes_own_error_stays_what_it_is() {
    type Boxed = Box<dyn std::error::Error + Send + Sync>;
    let graph = working(|context| async move {
        let work = || async {
            let number: u32 = "x".parse()?;
            Ok::<_, Boxed>(number)
        };
        Ok(json!(context.step("parse", work).await?))
    });
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(failure(&end), "work RAG0804: invalid digit found in string");
    let interrupted = NodeError::Interrupted {
        reason: "enough".into(),
    };
    let boxed: Boxed = Box::new(interrupted);
    assert!(matches!(
        NodeError::from(boxed),
        NodeError::Interrupted { .. }
    ));
}

#[tokio::test]
async fn a_panic_is_the_steps_error() {
    type Ended = Result<(), NodeError>;
    let graph = working(|context| async move {
        let inside = context.step("inside", || async { panicking() }).await;
        let work = || std::future::ready(panicking());
        let before = context.step("before", work).await;
        let texts = [inside, before].map(|ended: Ended| ended.unwrap_err().to_string());
        Ok(json!(texts))
    });
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(
        out(&end),
        &json!(["step `inside#1` panicked", "step `before#1` panicked"])
    );
}

fn panicking() -> Result<(), NodeError> {
    panic!("on purpose");
}

#[tokio::test]
async fn another_input_executes_a_step_again_and_says_so() {
    let (world, input) = (World::new(), Arc::new(AtomicUsize::new(1)));
    let (noted, now) = (world.clone(), input.clone());
    let graph = working(move |context| {
        let (world, input) = (noted.clone(), now.load(Ordering::Relaxed));
        async move {
            let options = StepOptions::new("work").input(&input);
            let done = context
                .step_with(options, move |_| change(world, format!("on {input}")))
                .await?;
            context.ask("?").await?;
            Ok(json!(done))
        }
    });
    let bench = Bench::new();
    let repeated = |events: &[Event]| {
        let is_repeat =
            |event: &&Event| matches!(event, Event::StepRepeated { step, .. } if step == "work#1");
        events.iter().filter(is_repeat).count()
    };
    for (value, repeats) in [(1, 0), (2, 1), (2, 0), (1, 0)] {
        input.store(value, Ordering::Relaxed);
        asks(&bench.attempt(&graph).await.unwrap());
        assert_eq!(repeated(&bench.events()), repeats, "{value}");
    }
    assert_eq!(world.changes(), ["on 1", "on 2"]);
}

#[tokio::test]
async fn a_result_that_cannot_be_recorded_is_a_failure_and_may_be_handled() {
    let graph = working(|context| async move {
        let large = context.step("large", || async {
            Ok::<_, NodeError>("x".repeat(9 << 20))
        });
        let large = large.await.unwrap_err();
        let odd = context.step("odd", || async { Ok::<_, NodeError>(f64::NAN) });
        let odd = odd.await.unwrap_err();
        let codes = [large, odd].map(|error| match error {
            NodeError::Failed(failure) => failure.code.as_str(),
            other => panic!("{other}"),
        });
        Ok(json!(codes))
    });
    let bench = Bench::new();
    let end = bench.attempt(&graph).await.unwrap();
    let codes = [Code::TooLarge.as_str(), Code::StepResult.as_str()];
    assert_eq!(out(&end), &json!(codes));
    assert_eq!(bench.count(kind::STEP_RESULT).await, 0);
}

#[tokio::test]
async fn a_recorded_result_of_another_type_stops_the_run_and_closes_nothing() {
    let first = working(|context| async move {
        let text = || async { Ok::<_, NodeError>("text".to_owned()) };
        context.step("s", text).await?;
        context.ask("?").await
    });
    let later = working(|context| async move {
        let number = context
            .step("s", || async { Ok::<u32, NodeError>(1) })
            .await;
        Ok(json!(number.unwrap_or(0)))
    });
    let bench = Bench::new();
    asks(&bench.attempt(&first).await.unwrap());
    let halt = bench.attempt(&later).await.unwrap_err();
    assert!(halt.to_string().contains("step `work:1.0/s#1`"), "{halt}");
    assert_eq!(bench.count(kind::RUN_CLOSED).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_ends_its_steps_and_begins_no_other() {
    let world = World::new();
    let (bench, noted) = (Bench::new(), world.clone());
    let cancel = bench.cancel.clone();
    let graph = working(move |context| {
        let (world, cancel) = (noted.clone(), cancel.clone());
        async move {
            let slow = context.step("slow", || {
                let world = world.clone();
                async move {
                    cancel.cancel();
                    tokio::time::sleep(Duration::from_secs(9)).await;
                    change(world, "slow".into()).await
                }
            });
            let slow = slow.await?;
            let next = context.step("next", || change(world.clone(), "next".into()));
            Ok(json!([slow, next.await.unwrap_or("caught".into())]))
        }
    });
    bench.attempt(&graph).await.unwrap_err();
    assert_eq!(world.changes(), ["slow"]);
    assert!(bench.has_fact("step/work:1.0/slow#1/result").await);
}
