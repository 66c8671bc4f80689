//! Changing where a graph stands: updates from outside, and going back.

use std::sync::Arc;

use rustagents_core::journal::kind;
use rustagents_graph::{
    END, Edit, Graph, GraphBuilder, NodeError, NodeOutput, Outcome, Reducer, State, TaskContext,
    Update, Writes, record::Checkpoint,
};
use rustagents_testkit::tool::World;
use serde_json::{Value, json};

use crate::{
    bench::{Bench, asks, failure},
    steps::{noting, seen},
};

fn write(value: impl Into<Value>) -> Writes {
    let mut writes = Writes::new();
    writes.push("seen", Update::Value(value.into()));
    writes
}

fn asking()
-> impl Fn(Arc<State>, TaskContext) -> futures::future::BoxFuture<'static, Result<NodeOutput, NodeError>>
+ Send
+ Sync {
    |_, context| {
        Box::pin(async move {
            let answer = context.ask("?").await?;
            Ok(NodeOutput::new().write("seen", Update::Value(answer)))
        })
    }
}

/// A node, one that asks beside one that does not, and one after both.
fn graph(world: &World) -> Graph {
    GraphBuilder::new("g")
        .channel("seen", Reducer::Append)
        .node("a", noting("a", world))
        .function("ask", asking())
        .node("b", noting("b", world))
        .node("c", noting("c", world))
        .start(["a"])
        .edge("a", "ask")
        .edge("a", "b")
        .join(["ask", "b"], "c")
        .finish("c")
        .compile()
        .unwrap()
}

/// The checkpoints, as text.
async fn checkpoints(bench: &Bench) -> Vec<String> {
    let log = bench.log().await;
    let records = log.records().iter();
    let records = records.filter(|record| record.is(kind::CHECKPOINT));
    records.map(|record| record.body.clone()).collect()
}

#[tokio::test]
async fn an_update_keeps_what_is_pending_and_what_was_finished() {
    let (world, bench) = (World::new(), Bench::new());
    let graph = graph(&world);
    let asked = asks(&bench.attempt(&graph).await.unwrap());
    assert_eq!(world.changes(), ["a", "b"]);
    bench
        .edit(&graph, vec![Edit::new(write("by hand"))])
        .await
        .unwrap();
    let again = asks(&bench.attempt(&graph).await.unwrap());
    assert_eq!(again, asked, "the same question");
    bench.answer(&asked[0].id, json!("yes")).await;
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), ["a", "by hand", "yes", "b", "c"]);
    assert_eq!(world.changes(), ["a", "b", "c"], "nothing ran twice");
}

#[tokio::test]
async fn an_update_as_a_node_takes_its_place() {
    let (world, bench) = (World::new(), Bench::new());
    let graph = graph(&world);
    bench.attempt(&graph).await.unwrap();
    let output = NodeOutput::new().write("seen", Update::Value(json!("for a person")));
    let at = bench
        .edit(&graph, vec![Edit::as_node("ask", output)])
        .await
        .unwrap();
    let pending: Vec<_> = at.tasks().iter().map(|task| task.node.as_str()).collect();
    assert_eq!(pending, ["b"], "its sibling stays, with its recorded write");
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), ["a", "for a person", "b", "c"]);
    assert_eq!(world.changes(), ["a", "b", "c"]);
}

#[tokio::test]
async fn an_update_as_the_end_leaves_nothing_to_do() {
    let (world, bench) = (World::new(), Bench::new());
    let graph = graph(&world);
    bench.attempt(&graph).await.unwrap();
    let output = NodeOutput::new().write("seen", Update::Value(json!("enough")));
    bench
        .edit(&graph, vec![Edit::as_node(END, output)])
        .await
        .unwrap();
    let end = bench.attempt(&graph).await.unwrap();
    assert!(matches!(end.outcome, Outcome::Completed));
    assert_eq!(seen(&end.state), ["a", "enough"]);
}

#[tokio::test]
async fn several_updates_are_one_write_and_all_or_nothing() {
    let (world, bench) = (World::new(), Bench::new());
    let graph = graph(&world);
    bench.attempt(&graph).await.unwrap();
    let before = checkpoints(&bench).await.len();
    let mut bad = Writes::new();
    bad.push("nowhere", Update::Value(json!(1)));
    let edits = vec![Edit::new(write(1)), Edit::new(bad)];
    let error = bench.edit(&graph, edits).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "node `update`: there is no channel `nowhere`"
    );
    assert_eq!(checkpoints(&bench).await.len(), before);
    let edits = vec![Edit::new(write(1)), Edit::new(write(2))];
    let at = bench.edit(&graph, edits).await.unwrap();
    assert_eq!(seen(&at.state), [json!("a"), json!(1), json!(2)]);
    assert_eq!(checkpoints(&bench).await.len(), before + 2);
}

#[tokio::test]
async fn an_update_as_an_unknown_node_or_off_its_routes_is_refused() {
    let (world, bench) = (World::new(), Bench::new());
    let graph = graph(&world);
    bench.attempt(&graph).await.unwrap();
    let refused = async |edit| {
        bench
            .edit(&graph, vec![edit])
            .await
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused(Edit::as_node("ghost", NodeOutput::new())).await,
        "there is no node `ghost`"
    );
    assert_eq!(
        refused(Edit::as_node("a", NodeOutput::new().goto_parent("c"))).await,
        "node `a` goes on in the graph around its own, and there is none"
    );
    assert_eq!(
        refused(Edit::as_node("a", NodeOutput::new().goto("c"))).await,
        "node `a` went to `c`, and has edges that say where it goes"
    );
}

#[tokio::test]
async fn going_back_runs_all_that_followed_anew_and_changes_no_record() {
    let (world, bench) = (World::new(), Bench::new());
    let graph = graph(&world);
    let asked = asks(&bench.attempt(&graph).await.unwrap());
    bench.answer(&asked[0].id, json!("yes")).await;
    let first = bench.attempt(&graph).await.unwrap();
    assert_eq!(seen(&first.state), ["a", "yes", "b", "c"]);
    let before = checkpoints(&bench).await;
    assert_eq!(before.len(), 4, "the input and three steps");
    let at = bench.rewind(&graph, 2).await;
    assert_eq!(seen(&at.state), ["a"]);
    let again = asks(&bench.attempt(&graph).await.unwrap());
    assert_ne!(again[0].id, asked[0].id, "a question of its own");
    bench.answer(&again[0].id, json!("no")).await;
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), ["a", "no", "b", "c"]);
    assert_eq!(world.changes(), ["a", "b", "c", "b", "c"]);
    let after = checkpoints(&bench).await;
    assert_eq!(after[..4], before[..], "old records stay as they were");
    let fork: Checkpoint = serde_json::from_str(&after[4]).unwrap();
    assert_eq!((fork.checkpoint, fork.from), (5, Some(2)));
}

#[tokio::test]
async fn forks_of_one_checkpoint_are_independent_and_of_forks_too() {
    let (world, bench) = (World::new(), Bench::new());
    let graph = graph(&world);
    let asked = asks(&bench.attempt(&graph).await.unwrap());
    bench.answer(&asked[0].id, json!("one")).await;
    bench.attempt(&graph).await.unwrap();
    for answer in ["two", "three"] {
        bench.rewind(&graph, 2).await;
        let asked = asks(&bench.attempt(&graph).await.unwrap());
        bench.answer(&asked[0].id, json!(answer)).await;
        let end = bench.attempt(&graph).await.unwrap();
        assert_eq!(seen(&end.state), ["a", answer, "b", "c"]);
    }
    // Checkpoint 6 is the first step after the first fork.
    let at = bench.rewind(&graph, 6).await;
    assert_eq!(seen(&at.state), ["a", "two", "b"]);
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), ["a", "two", "b", "c"]);
}

#[tokio::test]
async fn going_back_to_the_end_has_nothing_to_do() {
    let (world, bench) = (World::new(), Bench::new());
    let graph = graph(&world);
    let asked = asks(&bench.attempt(&graph).await.unwrap());
    bench.answer(&asked[0].id, json!("yes")).await;
    bench.attempt(&graph).await.unwrap();
    bench.rewind(&graph, 4).await;
    let end = bench.attempt(&graph).await.unwrap();
    assert!(matches!(end.outcome, Outcome::Completed));
    assert_eq!(world.changes().len(), 3);
}

#[tokio::test]
async fn going_back_with_an_edit_branches_off() {
    let (world, bench) = (World::new(), Bench::new());
    let graph = graph(&world);
    let asked = asks(&bench.attempt(&graph).await.unwrap());
    bench.answer(&asked[0].id, json!("yes")).await;
    bench.attempt(&graph).await.unwrap();
    bench.rewind(&graph, 2).await;
    let output = NodeOutput::new().write("seen", Update::Value(json!("edited")));
    bench
        .edit(&graph, vec![Edit::as_node("ask", output)])
        .await
        .unwrap();
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), ["a", "edited", "b", "c"]);
}

#[tokio::test]
async fn what_failed_is_tried_again_on_an_edited_state_and_its_siblings_are_not() {
    let (world, bench) = (World::new(), Bench::new());
    let picky = |state: Arc<State>, _| async move {
        if state.list("seen").iter().any(|item| **item == "fixed") {
            return Ok(NodeOutput::new().write("seen", Update::Value(json!("picky"))));
        }
        Err(NodeError::failed("not like this"))
    };
    let graph = GraphBuilder::new("g")
        .channel("seen", Reducer::Append)
        .node("b", noting("b", &world))
        .function("picky", picky)
        .start(["b", "picky"])
        .finish("b")
        .finish("picky")
        .compile()
        .unwrap();
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(failure(&end), "picky RAG0804: not like this");
    bench
        .edit(&graph, vec![Edit::new(write("fixed"))])
        .await
        .unwrap();
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), ["fixed", "b", "picky"]);
    assert_eq!(world.changes(), ["b"]);
}
