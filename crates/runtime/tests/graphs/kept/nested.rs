//! Kept children inside kept children.

use super::*;
use rustagents_core::budget::Limits;

/// A graph around the child, with a memory of its own.
fn middle(kind: Kind, spec: NodeSpec) -> Graph {
    let graph = GraphBuilder::new("middle")
        .channel("topic", Reducer::Overwrite)
        .channel("log", Reducer::Append)
        .channel("middle", Reducer::Append);
    held(graph, kind, child())
        .spec("sub", spec)
        .function("note", |state: Arc<State>, _| async move {
            Ok(NodeOutput::new().write("middle", Update::Value(topic(&state))))
        })
        .start(["note"])
        .sequence(["note", "sub", END])
        .compile()
        .unwrap()
}

fn nested(kind: Kind, outer: NodeSpec, inner: NodeSpec) -> Graph {
    in_turns(held(builder(), kind, middle(kind, inner)).spec("sub", outer))
        .recursion_limit(200)
        .compile()
        .unwrap()
}

async fn said(runner: &GraphRunner, graph: &Graph, topic: &str, times: u64) {
    let run = runner.run(graph, "t", input(topic, times)).await.unwrap();
    assert!(matches!(run.outcome, Outcome::Completed), "{run:?}");
}

#[tokio::test]
async fn a_child_of_a_kept_child_is_kept_with_it() {
    let keep = || NodeSpec::new().keep_state();
    for kind in KINDS {
        let bench = Bench::new();
        let graph = nested(kind, keep(), keep());
        let limits = Limits {
            steps: 200,
            ..Limits::default()
        };
        for (topic, times) in [("a", 2), ("b", 1), ("c", 20)] {
            said(&bench.runner().limited(limits), &graph, topic, times).await;
        }
        let runner = bench.runner();
        for moment in runner.history("t", 1_000).await.unwrap() {
            let number = Some(moment.checkpoint);
            let at = runner.state_inside(&graph, "t", number).await.unwrap();
            let log = words(&json!(at.state.list("log")));
            let outer = at.kept.first();
            let inner = outer.and_then(|outer| outer.kept.first());
            let noted = outer.map_or_else(Vec::new, |outer| words(&outer.state["middle"]));
            assert_eq!(noted, log, "{kind:?} {number:?}");
            assert_eq!(
                inner.map_or_else(Vec::new, memory),
                log,
                "{kind:?} {number:?}"
            );
        }
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn a_child_of_one_that_keeps_nothing_begins_empty_with_it() {
    for kind in KINDS {
        let bench = Bench::new();
        let graph = nested(kind, NodeSpec::new(), NodeSpec::new().keep_state());
        said(&bench.runner(), &graph, "a", 2).await;
        let run = bench.runner().run(&graph, "t", input("ask", 1)).await;
        assert_eq!(run.unwrap().asks().len(), 1);
        let runner = bench.runner();
        let inside = runner.state_inside(&graph, "t", None).await.unwrap();
        assert_eq!(inside.kept, []);
        let innermost = inside.children.last().unwrap();
        assert_eq!(innermost.namespace.depth(), 2);
        assert_eq!(innermost.state["memory"], json!([]), "{kind:?}");
    }
}

#[tokio::test]
async fn what_a_child_in_its_middle_keeps_is_shown_with_it() {
    let ask = |_, context: TaskContext| async move {
        context.ask("?").await?;
        Ok(NodeOutput::new())
    };
    let middle = held(builder(), Kind::Adapted, child())
        .spec("sub", NodeSpec::new().keep_state())
        .function("ask", ask)
        .start(["sub"])
        .sequence(["sub", "ask", END])
        .compile()
        .unwrap();
    let graph = held(builder(), Kind::Adapted, middle)
        .start(["sub"])
        .finish("sub")
        .compile()
        .unwrap();
    let bench = Bench::new();
    let runner = bench.runner();
    runner.run(&graph, "t", input("a", 1)).await.unwrap();
    let inside = runner.state_inside(&graph, "t", None).await.unwrap();
    assert_eq!(inside.kept, []);
    assert_eq!(memory(&inside.children[0].kept[0]), ["a"]);
}
