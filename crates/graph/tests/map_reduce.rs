//! The same work on many items inside one node.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rustagents_graph::{
    Graph, GraphBuilder, ItemEnd, MapReduce, NodeError, NodeOutput, Outcome, Reducer, TaskContext,
    Update,
};
use rustagents_testkit::tool::World;
use serde_json::json;

use crate::{
    bench::{Bench, asks, failure},
    steps::seen,
};

/// A node that works on `seconds`, each as long as it says; 13 fails.
fn graph(seconds: &'static [u64], how: MapReduce, world: &World) -> Graph {
    let world = world.clone();
    GraphBuilder::new("g")
        .channel("seen", Reducer::Append)
        .function("map", move |_, context: TaskContext| {
            let world = world.clone();
            async move {
                let ends = context
                    .map_reduce("item", seconds.to_vec(), how, |item| {
                        let world = world.clone();
                        async move {
                            tokio::time::sleep(Duration::from_secs(item)).await;
                            if item == 13 {
                                return Err(NodeError::failed("bad luck"));
                            }
                            world.change(item.to_string());
                            Ok(item * 2)
                        }
                    })
                    .await?;
                let ends = ends.into_iter().map(|end| match end {
                    ItemEnd::Done(result) => json!(result),
                    ItemEnd::Failed(failure) => json!(failure.message),
                    ItemEnd::TimedOut => json!("late"),
                    _ => json!("cancelled"),
                });
                let ends = ends.collect();
                Ok(NodeOutput::new().write("seen", Update::Items(ends)))
            }
        })
        .start(["map"])
        .finish("map")
        .compile()
        .unwrap()
}

async fn ends(seconds: &'static [u64], how: MapReduce) -> (Vec<serde_json::Value>, u64) {
    let began = tokio::time::Instant::now();
    let end = Bench::new()
        .attempt(&graph(seconds, how, &World::new()))
        .await
        .unwrap();
    assert!(matches!(end.outcome, Outcome::Completed), "{end:?}");
    (seen(&end.state), began.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn results_stand_in_the_order_of_the_items_and_failures_beside_them() {
    let all = MapReduce::new();
    assert_eq!(
        ends(&[3, 13, 1], all).await,
        (vec![json!(6), json!("bad luck"), json!(2)], 13)
    );
    assert_eq!(ends(&[], all).await.0.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn only_so_many_items_are_worked_on_at_the_same_time() {
    assert_eq!(
        ends(&[2, 2, 2, 2, 2], MapReduce::new().concurrency(2))
            .await
            .1,
        6
    );
}

#[tokio::test(start_paused = true)]
async fn a_race_is_over_with_the_first_and_a_quorum_with_enough() {
    assert_eq!(
        ends(&[5, 2, 9], MapReduce::new().race()).await,
        (vec![json!("cancelled"), json!(4), json!("cancelled")], 2)
    );
    assert_eq!(
        ends(&[5, 2, 13, 20], MapReduce::new().quorum(2)).await,
        (
            vec![json!(10), json!(4), json!("cancelled"), json!("cancelled")],
            5
        )
    );
}

#[tokio::test(start_paused = true)]
async fn too_few_and_a_first_failure_fail_the_node() {
    let failed = async |seconds, how| {
        let began = tokio::time::Instant::now();
        let end = Bench::new()
            .attempt(&graph(seconds, how, &World::new()))
            .await;
        (failure(&end.unwrap()), began.elapsed().as_secs())
    };
    assert_eq!(
        failed(&[13, 13, 20], MapReduce::new().quorum(2)).await,
        (
            "map RAG0804: 2 of 3 items are needed, and 2 failed".into(),
            13
        )
    );
    assert_eq!(
        failed(&[1, 13, 20], MapReduce::new().fail_fast()).await,
        ("map RAG0804: bad luck".into(), 13)
    );
    assert_eq!(
        failed(
            &[1, 20],
            MapReduce::new().quorum(2).timeout(Duration::from_secs(5))
        )
        .await,
        (
            "map RAG0804: 2 of 2 items are needed, and 0 failed".into(),
            5
        )
    );
}

#[tokio::test(start_paused = true)]
async fn time_is_bounded_for_each_item_and_for_all() {
    let second = Duration::from_secs(1);
    assert_eq!(
        ends(&[1, 9], MapReduce::new().item_timeout(4 * second)).await,
        (vec![json!(2), json!("late")], 4)
    );
    assert_eq!(
        ends(&[1, 9], MapReduce::new().timeout(4 * second)).await,
        (vec![json!(2), json!("cancelled")], 4)
    );
}

#[tokio::test]
async fn items_that_are_done_are_not_worked_on_again() {
    let runs: Arc<AtomicUsize> = Arc::default();
    let counted = Arc::clone(&runs);
    let graph = GraphBuilder::new("g")
        .channel("seen", Reducer::Append)
        .function("map", move |_, context: TaskContext| {
            let runs = Arc::clone(&counted);
            async move {
                let ends = context
                    .map_reduce("item", 0..5_u64, MapReduce::new(), |item| {
                        let runs = Arc::clone(&runs);
                        async move {
                            runs.fetch_add(1, Ordering::SeqCst);
                            Ok::<_, NodeError>(item)
                        }
                    })
                    .await?;
                let sum: u64 = ends.into_iter().filter_map(ItemEnd::done).sum();
                context.ask("enough?").await?;
                Ok(NodeOutput::new().write("seen", Update::Value(json!(sum))))
            }
        })
        .start(["map"])
        .finish("map")
        .compile()
        .unwrap();
    let bench = Bench::new();
    let asked = asks(&bench.attempt(&graph).await.unwrap());
    bench.answer(&asked[0].id, json!("yes")).await;
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), [json!(10)]);
    assert_eq!(runs.load(Ordering::SeqCst), 5);
}
