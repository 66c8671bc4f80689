//! Nodes under other names.

use super::*;
use rustagents_graph::{NodeSpec, Reducer, Update, Writes};

fn ran(what: impl Into<Value>) -> NodeOutput {
    NodeOutput::new().write("ran", Update::Value(what.into()))
}

/// What each node is called.
#[derive(Clone, Copy)]
struct Names {
    left: &'static str,
    right: &'static str,
    both: &'static str,
    late: &'static str,
}

const BEFORE: Names = Names {
    left: "left",
    right: "right",
    both: "both",
    late: "late",
};

const NOW: Names = Names {
    left: "a left one",
    right: "z",
    both: "together",
    late: "last",
};

/// `left` is done when `right` asks, which was sent something; both are waited for,
/// and `late` waits until nothing else is left.
fn graph(names: Names, migrations: Vec<Migration>) -> Graph {
    let Names {
        left,
        right,
        both,
        late,
    } = names;
    let graph = GraphBuilder::new("names")
        .channel("ran", Reducer::Append)
        .function("begin", |_, _| async { Ok(NodeOutput::new()) })
        .function("gate", move |_, _| async move {
            Ok(NodeOutput::new().send(right, json!({ "sent": 7 })))
        })
        .function(left, |_, _| async { Ok(ran("left")) })
        .function(right, |_, context: TaskContext| async move {
            let sent = context.argument_json().cloned().unwrap_or_default();
            context.ask("?").await?;
            Ok(ran(json!(["right", sent])))
        })
        .function(both, |_, _| async { Ok(ran("both")) })
        .function(late, |_, _| async { Ok(ran("late")) })
        .spec(late, NodeSpec::new().deferred())
        .start(["begin"])
        .edge("begin", left)
        .edge("begin", "gate")
        .edge("begin", late)
        .commands("gate", [right])
        .join([left, right], both)
        .finish(both)
        .finish(late);
    let graph = migrations
        .into_iter()
        .fold(graph, GraphBuilder::with_migration);
    graph.compile().unwrap()
}

fn renames() -> Vec<Migration> {
    vec![
        Migration::rename_node("1", "left", "a left one"),
        Migration::rename_node("2", "right", "between"),
        Migration::rename_node("3", "both", "together"),
        Migration::rename_node("4", "between", "z"),
        Migration::rename_node("5", "late", "last"),
    ]
}

const ASKED: &str = "right:3.0/1";

async fn waiting() -> Bench {
    let bench = Bench::new();
    let graph = graph(BEFORE, vec![]);
    let run = bench.runner().run(&graph, "t", Writes::new()).await;
    assert_eq!(ids(run.unwrap().asks()), [ASKED]);
    bench
}

#[tokio::test]
async fn what_is_left_to_do_goes_on_under_the_new_names() {
    let bench = waiting().await;
    let graph = graph(NOW, renames());
    let run = bench
        .runner()
        .resume(&graph, "t", [(ASKED, true)])
        .await
        .unwrap();
    assert!(matches!(run.outcome, Outcome::Completed));
    let expected = json!(["left", ["right", { "sent": 7 }], "both", "late"]);
    assert_eq!(run.state.to_json()["ran"], expected);
    bench.is_whole().await;
}

#[tokio::test]
async fn a_name_that_is_not_migrated_is_refused() {
    let bench = waiting().await;
    for without in 0..5 {
        let mut some = renames();
        some.remove(without);
        let is_done = without == 0;
        let graph = graph(NOW, some);
        let resume = bench.runner().resume(&graph, "t", [(ASKED, true)]).await;
        let error = resume.unwrap_err();
        assert_eq!(error.code().as_str(), "RAG0409", "{without}: {error}");
        let what = if is_done || without == 2 {
            "join"
        } else {
            "task"
        };
        assert!(error.to_string().starts_with(what), "{without}: {error}");
    }
}

#[tokio::test]
async fn a_finished_task_that_goes_to_a_renamed_node_is_refused() {
    let bench = Bench::new();
    let runner = bench.runner();
    let going = |target: &'static str, migrations: Vec<Migration>| {
        let graph = GraphBuilder::new("g")
            .function("goes", move |_, _| async move {
                Ok(NodeOutput::new().goto(target))
            })
            .function("waits", |_, context: TaskContext| async move {
                context.ask("?").await?;
                Ok(NodeOutput::new())
            })
            .function(target, |_, _| async { Ok(NodeOutput::new()) })
            .start(["goes", "waits"])
            .commands("goes", [target])
            .finish("waits")
            .finish(target);
        let graph = migrations
            .into_iter()
            .fold(graph, GraphBuilder::with_migration);
        graph.compile().unwrap()
    };
    runner
        .run(&going("there", vec![]), "t", Writes::new())
        .await
        .unwrap();
    let graph = going("here", vec![Migration::rename_node("1", "there", "here")]);
    let resume = runner.resume(&graph, "t", [("waits:1.1/1", true)]);
    let error = bench.refuses("RAG0409", resume).await;
    let says = "migration `1` waits for the end of a step: task goes:1.0 is done, and goes on so: ";
    assert!(error.to_string().starts_with(says), "{error}");
}
