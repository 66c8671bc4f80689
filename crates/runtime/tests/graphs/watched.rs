//! What a watcher of a run hears.

use super::*;
use rustagents_core::event::Events;
use rustagents_graph::NodeSpec;
use rustagents_runtime::stream::{Stream, StreamBody, StreamMode, StreamPart};

fn watching(bench: &Bench, modes: &[StreamMode]) -> (GraphRunner, Stream) {
    let (events, stream) = Stream::of(Events::default(), modes.iter().copied(), 999);
    let watch = Watch {
        events,
        ..Watch::default()
    };
    (bench.runner().watched(watch), stream)
}

/// What a stream still holds, once nobody can say more.
async fn all(runner: GraphRunner, mut stream: Stream) -> Vec<StreamPart> {
    drop(runner);
    let mut parts = Vec::new();
    while let Some(part) = stream.next().await {
        parts.push(part);
    }
    parts
}

/// What tasks did, each in one line, without their begins and good ends.
fn told(parts: &[StreamPart]) -> Vec<String> {
    let lines = parts.iter().filter_map(|part| match &part.body {
        StreamBody::Tasks { task, did, .. } => Some(format!("[{}] {task} {did:?}", part.namespace)),
        _ => None,
    });
    let lines = lines.filter(|line| !line.ends_with(" Start") && !line.ends_with(" Complete"));
    lines.collect()
}

fn asking(name: &str) -> GraphBuilder<Desk> {
    GraphBuilder::typed(name)
        .function("ask", |_, context: TaskContext| async move {
            let answer = context.ask("?").await?;
            note(answer.as_str().unwrap_or_default())
        })
        .start(["ask"])
        .finish("ask")
}

/// Three graphs deep, with a question, beside one behind an adapter; both are asked
/// for too, before they run.
fn nested() -> Graph<Desk> {
    let middle = GraphBuilder::<Desk>::typed("middle")
        .subgraph("inner", asking("inner").compile().unwrap())
        .start(["inner"])
        .finish("inner")
        .compile()
        .unwrap();
    GraphBuilder::<Desk>::typed("outer")
        .subgraph("sub", middle)
        .adapted(
            "other",
            asking("other").compile().unwrap(),
            |_, _| Desk::update(),
            |child: &Desk| Desk::update().extend_notes(child.notes.clone()),
        )
        .spec("other", NodeSpec::new().ask_before())
        .start(["sub", "other"])
        .finish("sub")
        .finish("other")
        .compile()
        .unwrap()
}

#[tokio::test]
async fn a_question_is_told_once_in_each_attempt_by_the_innermost_task() {
    let bench = Bench::new();
    let graph = nested();
    let (runner, stream) = watching(&bench, &[StreamMode::Tasks]);
    let run = runner.run(&graph, "t", Desk::update()).await.unwrap();
    let inner = "sub:1.0/inner:1.0/ask:1.0/1";
    assert_eq!(ids(run.asks()), [inner, "other:1.1/before"]);
    let mut heard = told(&all(runner, stream).await);
    heard.sort();
    assert_eq!(
        heard,
        [
            r#"[] other:1.1 Suspend(["other:1.1/before"])"#,
            "[] sub:1.0 Suspend([])",
            r#"[sub:1.0/inner:1.0] sub:1.0/inner:1.0/ask:1.0 Suspend(["sub:1.0/inner:1.0/ask:1.0/1"])"#,
            "[sub:1.0] sub:1.0/inner:1.0 Suspend([])",
        ]
    );
    // The next attempt tells of what still waits, and of what is asked anew.
    let (runner, stream) = watching(&bench, &[StreamMode::Tasks]);
    let before = [("other:1.1/before", "yes")];
    let run = runner.resume(&graph, "t", before).await.unwrap();
    let other = "other:1.1/ask:1.0/1";
    assert_eq!(ids(run.asks()), [inner, other]);
    let heard = told(&all(runner, stream).await);
    for id in [inner, other] {
        let times = heard.iter().filter(|line| line.contains(id)).count();
        assert_eq!(times, 1, "{id}: {heard:?}");
    }
    let (runner, stream) = watching(&bench, &[StreamMode::Tasks]);
    let both = [(inner, "a"), (other, "b")];
    let run = runner.resume(&graph, "t", both).await.unwrap();
    assert!(matches!(run.outcome, Outcome::Completed));
    assert_eq!(run.state.notes, ["a", "b"]);
    assert_eq!(told(&all(runner, stream).await), [""; 0]);
    bench.is_whole().await;
}
