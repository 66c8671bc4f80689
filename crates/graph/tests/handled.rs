//! What is sent to an error handler: a failure, or what a node sends itself.

use rustagents_core::{
    ids::{Branch, FactKey},
    journal::kind,
};
use rustagents_graph::{
    Edit, Graph, GraphBuilder, NodeError, NodeOutput, NodeSpec, Outcome, Reducer, TaskContext,
    record::TaskWrite,
};
use rustagents_testkit::tool::World;
use serde_json::{Value, json};

use crate::{
    bench::{Bench, asks, failure},
    steps::{noting, seen},
};

fn builder() -> GraphBuilder {
    GraphBuilder::new("g").channel("seen", Reducer::Append)
}

/// What the node of [`handled`] does.
#[derive(Clone, Copy, Debug)]
enum Does {
    Fails,
    /// It sends something to the error handler itself.
    Sends,
}

/// A node `a` with an error handler, which may command if it is to, beside one that
/// asks; both lead to `both`.
fn handled(does: Does, commands: bool) -> Graph {
    let world = World::new();
    let graph = builder()
        .function("a", move |_, _| async move {
            match does {
                Does::Fails => Err(NodeError::failed("no luck")),
                Does::Sends => Ok(NodeOutput::new().send("rescue", json!("sent"))),
            }
        })
        .spec("a", NodeSpec::new().on_error("rescue"))
        .node("rescue", noting("rescue", &world))
        .function("b", |_, context: TaskContext| async move {
            context.ask("on?").await?;
            Ok(NodeOutput::new())
        })
        .node("both", noting("both", &world))
        .start(["a", "b"])
        .join(["a", "b"], "both")
        .finish("rescue")
        .finish("both");
    let graph = if commands {
        graph.commands("a", ["rescue"])
    } else {
        graph
    };
    graph.compile().unwrap()
}

#[tokio::test]
async fn what_a_node_sends_to_its_error_handler_is_no_failure_and_has_to_be_declared() {
    let end = Bench::new().attempt(&handled(Does::Sends, false)).await;
    assert_eq!(
        failure(&end.unwrap()),
        "a RAG0815: node `a` went to `rescue`, and has edges that say where it goes"
    );
    for (does, expected) in [
        (Does::Fails, &["rescue"][..]),
        (Does::Sends, &["both", "rescue"]),
    ] {
        let graph = handled(does, true);
        let bench = Bench::new();
        let asked = asks(&bench.attempt(&graph).await.unwrap());
        bench.answer(&asked[0].id, json!(true)).await;
        let end = bench.attempt(&graph).await.unwrap();
        assert!(matches!(end.outcome, Outcome::Completed), "{end:?}");
        let mut seen = seen(&end.state);
        seen.sort_by_key(Value::to_string);
        assert_eq!(seen, expected, "{does:?}: a failure reaches no join");
    }
}

#[tokio::test]
async fn an_update_as_a_node_that_has_not_declared_its_error_handler_is_refused() {
    let graph = handled(Does::Fails, false);
    let bench = Bench::new();
    bench.attempt(&graph).await.unwrap();
    let output = NodeOutput::new().send("rescue", json!("sent"));
    let edit = bench.edit(&graph, vec![Edit::as_node("a", output)]).await;
    let told = edit.unwrap_err().to_string();
    assert!(told.contains("went to `rescue`"), "{told}");
}

/// Records, as a build before did, that `a` is done and sends to `rescue`.
async fn record_of_old(bench: &Bench) {
    let body = json!({
        "deltas": [],
        "goto": [{ "send": { "node": "rescue", "argument": { "node": "a" } } }],
    });
    bench.note("write/a:1.0", kind::TASK_WRITE, &body).await;
}

#[tokio::test]
async fn a_record_of_an_older_build_that_sends_to_the_error_handler_is_of_a_failure() {
    for commands in [false, true] {
        let graph = handled(Does::Fails, commands);
        let bench = Bench::new();
        let opened = bench.open(&graph).await;
        assert_eq!(opened.checkpoint, 1);
        record_of_old(&bench).await;
        let asked = asks(&bench.attempt(&graph).await.unwrap());
        bench.answer(&asked[0].id, json!(true)).await;
        let end = bench.attempt(&graph).await.unwrap();
        assert_eq!(seen(&end.state), ["rescue"]);
    }
}

#[tokio::test]
async fn what_is_recorded_of_a_send_to_the_error_handler_says_whether_it_is_a_failure() {
    for (does, handled_so) in [(Does::Fails, true), (Does::Sends, false)] {
        let graph = handled(does, true);
        let bench = Bench::new();
        bench.attempt(&graph).await.unwrap();
        let log = bench.log().await;
        let key = FactKey::from("write/a:1.0");
        let record = log.fact(&Branch::main(), &key);
        let write: TaskWrite = record.unwrap().decode(kind::TASK_WRITE).unwrap();
        assert_eq!(write.handled, Some(handled_so));
    }
}
