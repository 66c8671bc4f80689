//! Steps that are dropped, forgotten, raced and spawned.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt, future::join_all};
use rustagents_core::journal::kind;
use rustagents_graph::{NodeError, TaskContext};
use rustagents_testkit::tool::World;
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::{change, out, working};
use crate::bench::{Bench, asks, failure};

/// Changes the world after a minute.
async fn slowly(world: World, what: &'static str) -> Result<String, NodeError> {
    sleep(Duration::from_mins(1)).await;
    change(world, what.into()).await
}

#[tokio::test(start_paused = true)]
async fn a_step_that_the_node_dropped_is_recorded_before_its_task_ends() {
    for end in ["returns", "fails", "panics", "asks"] {
        let world = World::new();
        let noted = world.clone();
        let graph = working(move |context| {
            let world = noted.clone();
            async move {
                tokio::select! {
                    biased;
                    done = context.step("slow", || slowly(world.clone(), "slow")) => {
                        return Ok(json!(done?));
                    }
                    () = sleep(Duration::from_secs(1)) => {}
                }
                match end {
                    "returns" => Ok(json!("raced")),
                    "fails" => Err(NodeError::failed("gave up")),
                    "asks" => context.ask("?").await,
                    _ => panic!("on purpose"),
                }
            }
        });
        let bench = Bench::new();
        let ended = bench.attempt(&graph).await.unwrap();
        match end {
            "returns" => assert_eq!(out(&ended), &json!("raced")),
            "asks" => assert_eq!(asks(&ended).len(), 1),
            _ => assert!(failure(&ended).starts_with("work RAG0804")),
        }
        assert_eq!(world.changes(), ["slow"], "{end}");
        assert_eq!(bench.count(kind::STEP_RESULT).await, 1, "{end}");
        if end == "asks" {
            assert_eq!(out(&bench.attempt(&graph).await.unwrap()), &json!("slow"));
            assert_eq!(world.changes(), ["slow"]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_raced_or_timed_out_still_waits_and_begins_nothing_more() {
    let world = World::new();
    let late = |context: TaskContext, world: World| async move {
        let done = context.step("late", || change(world, "late".into())).await;
        Ok(json!(done.unwrap_or("caught".into())))
    };
    let (a, b, c) = (world.clone(), world.clone(), world.clone());
    let graphs = [
        working(move |context| {
            let world = a.clone();
            async move {
                tokio::select! {
                    biased;
                    answer = context.ask("?") => { answer?; }
                    () = std::future::ready(()) => {}
                }
                late(context, world).await
            }
        }),
        working(move |context| {
            let world = b.clone();
            async move {
                let _ = timeout(Duration::from_millis(1), context.ask("?")).await;
                late(context, world).await
            }
        }),
        working(move |context| {
            let world = c.clone();
            async move {
                let _ = context.ask("?").now_or_never();
                late(context, world).await
            }
        }),
    ];
    for (index, graph) in graphs.iter().enumerate() {
        let bench = Bench::new();
        let ask = asks(&bench.attempt(graph).await.unwrap()).remove(0);
        assert_eq!(world.changes().len(), index, "case {index}");
        bench.answer(&ask.id, json!("yes")).await;
        assert_eq!(out(&bench.attempt(graph).await.unwrap()), &json!("late"));
    }
}

#[tokio::test(start_paused = true)]
async fn keyed_steps_run_together_in_any_order() {
    let world = World::new();
    let noted = world.clone();
    let turn = Arc::new(AtomicUsize::new(0));
    let graph = working(move |context| {
        let (world, turn) = (noted.clone(), turn.fetch_add(1, Ordering::Relaxed));
        async move {
            let mut keys: Vec<usize> = (0..20).collect();
            if turn % 2 == 1 {
                keys.reverse();
            }
            let steps = keys.into_iter().map(|key| {
                let world = world.clone();
                context.step_keyed("fetch", key, move || async move {
                    sleep(Duration::from_mins(1)).await;
                    change(world, format!("{key}")).await
                })
            });
            let mut done = join_all(steps)
                .await
                .into_iter()
                .collect::<Result<Vec<_>, _>>()?;
            done.sort_by_key(|key| key.parse::<usize>().unwrap());
            context.ask("?").await?;
            Ok(json!(done))
        }
    });
    let bench = Bench::new();
    let began = tokio::time::Instant::now();
    let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
    assert_eq!(began.elapsed(), Duration::from_mins(1));
    bench.answer(&ask.id, json!(1)).await;
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(out(&end).as_array().unwrap().len(), 20);
    assert_eq!(world.changes().len(), 20);
    assert!(bench.has_fact("step/work:1.0/fetch:7#1/result").await);
}

#[tokio::test(start_paused = true)]
async fn spawned_work_asks_makes_steps_and_goes_on_without_its_handle() {
    let world = World::new();
    let noted = world.clone();
    let graph = working(move |context| {
        let world = noted.clone();
        async move {
            let (inner, changed) = (context.clone(), world.clone());
            drop(context.spawn(async move {
                sleep(Duration::from_secs(1)).await;
                inner
                    .step("forgotten", || change(changed, "forgotten".into()))
                    .await
            })?);
            let (inner, changed) = (context.clone(), world.clone());
            let waited = context.spawn(async move {
                let done = inner.step("waited", || slowly(changed, "waited")).await?;
                let answer = inner.ask("?").await?;
                Ok::<_, NodeError>(json!([done, answer]))
            })?;
            waited.await?
        }
    });
    let bench = Bench::new();
    let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
    bench.answer(&ask.id, json!("yes")).await;
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(out(&end), &json!(["waited", "yes"]));
    assert_eq!(world.changes(), ["forgotten", "waited"]);
}

#[tokio::test(start_paused = true)]
async fn spawned_work_is_dropped_when_the_node_is_over_but_its_steps_are_not() {
    for asks_too in [false, true] {
        let world = World::new();
        let noted = world.clone();
        let graph = working(move |context| {
            let world = noted.clone();
            async move {
                let inner = context.clone();
                let spawned = context.spawn(async move {
                    let done = inner.step("slow", || slowly(world.clone(), "slow")).await;
                    world.change("never");
                    done
                })?;
                sleep(Duration::from_secs(1)).await;
                drop(spawned);
                if asks_too {
                    context.ask("?").await?;
                }
                Ok(json!("over"))
            }
        });
        let bench = Bench::new();
        bench.attempt(&graph).await.unwrap();
        assert_eq!(world.changes(), ["slow"]);
        assert_eq!(bench.count(kind::STEP_RESULT).await, 1);
    }
}

#[tokio::test]
async fn a_panic_of_spawned_work_is_told_to_its_handle() {
    let graph = working(|context| async move {
        let spawned = context.spawn(async { panic!("on purpose") })?;
        let ended: Result<(), NodeError> = spawned.await;
        Ok(json!(ended.unwrap_err().to_string()))
    });
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(out(&end), &json!("spawned work panicked"));
}
