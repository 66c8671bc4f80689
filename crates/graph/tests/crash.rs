//! Crashes at every write of a graph with two tasks a step and a question.

use std::sync::Arc;

use rustagents_graph::{
    END, Graph, GraphBuilder, GraphEnd, GraphState, NodeOutput, Outcome, Reducer, TaskContext,
    Update, node_fn,
};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};
use rustagents_testkit::tool::World;
use serde_json::json;

use crate::{bench::Bench, steps::noting};

fn graph(world: &World) -> Graph {
    let ask = node_fn(|_, context: TaskContext| async move {
        let answer = context.ask("?").await?;
        Ok(NodeOutput::new().write("seen", Update::Value(answer)))
    });
    GraphBuilder::new("g")
        .channel("messages", Reducer::Messages)
        .channel("seen", Reducer::Append)
        .node("a", noting("a", world))
        .node("ask", ask)
        .node("b", noting("b", world))
        .node("c", noting("c", world))
        .start(["a"])
        .edge("a", "ask")
        .edge("a", "b")
        .edge("ask", "c")
        .edge("b", "c")
        .edge("c", END)
        .compile()
        .unwrap()
}

async fn drive(bench: &Bench, graph: &Graph) -> Option<GraphEnd> {
    for _ in 0..9 {
        let end = bench.attempt(graph).await.ok()?;
        let Outcome::Suspended(asks) = &end.outcome else {
            return Some(end);
        };
        for ask in asks {
            bench.try_answer(&ask.id, json!("yes")).await.ok()?;
        }
    }
    panic!("no end after nine attempts");
}

#[tokio::test]
async fn a_crash_at_any_write_leads_to_the_same_state() {
    let never = FaultPoint {
        write: u64::MAX,
        side: Side::Before,
    };
    let journal = Arc::new(FaultJournal::new(
        Arc::new(MemoryJournal::new()),
        never,
        || {},
    ));
    let bench = Bench::on(journal.clone());
    let expected = drive(&bench, &graph(&World::new()))
        .await
        .unwrap()
        .state
        .to_json();
    assert_eq!(expected["seen"], json!(["a", "yes", "b", "c"]));
    assert!(journal.writes() > 7);
    for write in 1..=journal.writes() {
        for side in [Side::Before, Side::After] {
            let inner = Arc::new(MemoryJournal::new());
            let fault = FaultJournal::new(inner.clone(), FaultPoint { write, side }, || {});
            let world = World::new();
            assert!(
                drive(&Bench::on(Arc::new(fault)), &graph(&world))
                    .await
                    .is_none()
            );
            let end = drive(&Bench::on(inner), &graph(&world)).await.unwrap();
            assert_eq!(end.state.to_json(), expected, "write {write} {side:?}");
            let runs = world.changes();
            let most = usize::from(side == Side::Before);
            assert!(runs.len() <= 3 + most, "write {write} {side:?}: {runs:?}");
        }
    }
}
