//! Streams of a run's parts.

use std::{sync::Arc, time::Duration};

use rustagents_core::{
    event::Events,
    ids::{Branch, ThreadId},
    journal::{Journal, Owner},
    log::ThreadLog,
    scope::{RunShared, Scope, Write},
};
use rustagents_graph::{
    END, Frameless, Graph, GraphBuilder, NodeOutput, Outcome, Reducer, TaskContext, Update, Writes,
};
use rustagents_runtime::status::{ExecutionStatus, GraphHealth, GraphRunStatus};
use rustagents_runtime::stream::{Stream, StreamBody, StreamMode, StreamPart, TaskDid};
use rustagents_store::MemoryJournal;
use rustagents_testkit::drive;
use serde_json::json;
use tokio::sync::Notify;

async fn run(graph: &Graph, events: Events) {
    let journal = Arc::new(MemoryJournal::new());
    let thread = ThreadId::new("t").unwrap();
    let claim = journal.claim(&thread, Owner::default()).await.unwrap();
    let log = ThreadLog::load(&*journal, &thread, &Branch::main()).await;
    let scope = Scope::root(RunShared {
        events,
        ..drive::shared(journal, thread, &claim, log.unwrap())
    });
    let at = graph.position(&scope).unwrap();
    let at = graph.open(&scope, at, Writes::new(), Write::new()).await;
    let end = graph.drive(&scope, at.unwrap(), &Frameless).await.unwrap();
    assert!(matches!(end.outcome, Outcome::Completed));
}

fn builder(name: &str) -> GraphBuilder {
    GraphBuilder::new(name).channel("seen", Reducer::Append)
}

/// A node that says something, and a graph inside with one that writes.
fn graph() -> Graph {
    let inner = builder("inner")
        .function("in", |_, _| async {
            Ok(NodeOutput::new().write("seen", Update::Value(json!("in"))))
        })
        .start(["in"])
        .finish("in")
        .compile()
        .unwrap();
    builder("outer")
        .function("say", |_, context: TaskContext| async move {
            context.tell("half way");
            Ok(NodeOutput::new().write("seen", Update::Value(json!("say"))))
        })
        .subgraph("sub", inner)
        .start(["say"])
        .sequence(["say", "sub", END])
        .compile()
        .unwrap()
}

/// All parts of `modes`, each in one line.
async fn parts(modes: &[StreamMode], buffer: usize) -> Vec<String> {
    let (events, mut stream) = Stream::of(Events::default(), modes.iter().copied(), buffer);
    run(&graph(), events).await;
    let mut lines = Vec::new();
    while let Some(part) = stream.next().await {
        lines.push(line(&part));
    }
    lines
}

fn line(part: &StreamPart) -> String {
    let said = match &part.body {
        StreamBody::Values { checkpoint, state } => format!("{checkpoint} {state}"),
        StreamBody::Updates { task, writes, .. } => format!("{task} {writes}"),
        StreamBody::Tasks { task, did, .. } => format!("{task} {did:?}"),
        StreamBody::Checkpoints { checkpoint, .. } => format!("saved {checkpoint}"),
        StreamBody::Custom { task, value, .. } => format!("{task} says {value}"),
        StreamBody::Missed(parts) => format!("missed {parts}"),
        other => format!("{other:?}"),
    };
    format!("[{}] {said}", part.namespace)
}

#[tokio::test]
async fn each_mode_has_its_parts_with_the_graph_that_they_come_from() {
    assert_eq!(
        parts(&[StreamMode::Values], 99).await,
        [
            r#"[] 2 {"seen":["say"]}"#,
            r#"[sub:2.0] 2 {"seen":["say","in"]}"#,
            r#"[] 3 {"seen":["say","in"]}"#,
        ]
    );
    assert_eq!(
        parts(&[StreamMode::Updates], 99).await,
        [
            r#"[] say:1.0 [["seen",{"set":"say"}]]"#,
            r#"[sub:2.0] sub:2.0/in:1.0 [["seen",{"set":"in"}]]"#,
            r#"[] sub:2.0 [["seen",{"set":"in"}]]"#,
        ]
    );
    assert_eq!(
        parts(&[StreamMode::Tasks], 99).await,
        [
            "[] say:1.0 Start",
            "[] say:1.0 Complete",
            "[] sub:2.0 Start",
            "[sub:2.0] sub:2.0/in:1.0 Start",
            "[sub:2.0] sub:2.0/in:1.0 Complete",
            "[] sub:2.0 Complete",
        ]
    );
    assert_eq!(
        parts(&[StreamMode::Custom], 99).await,
        [r#"[] say:1.0 says "half way""#]
    );
    assert_eq!(
        parts(&[StreamMode::Checkpoints], 99).await,
        ["[] saved 2", "[sub:2.0] saved 2", "[] saved 3"]
    );
}

#[tokio::test]
async fn several_modes_come_in_the_order_in_which_things_happened() {
    assert_eq!(
        parts(&[StreamMode::Custom, StreamMode::Checkpoints], 99).await,
        [
            r#"[] say:1.0 says "half way""#,
            "[] saved 2",
            "[sub:2.0] saved 2",
            "[] saved 3"
        ]
    );
}

#[tokio::test]
async fn a_slow_consumer_holds_nobody_up_and_is_told_what_it_missed() {
    assert_eq!(
        parts(&[StreamMode::Tasks], 2).await,
        [
            "[] missed 4",
            "[sub:2.0] sub:2.0/in:1.0 Complete",
            "[] sub:2.0 Complete",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_consumer_that_stops_beside_the_run_does_not_stop_it() {
    let (taken, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let waits = Arc::clone(&taken);
    let graph = builder("g")
        .function("first", move |_, _| {
            let waits = Arc::clone(&waits);
            async move {
                waits.notified().await;
                Ok(NodeOutput::new())
            }
        })
        .function("second", |_, _| async { Ok(NodeOutput::new()) })
        .function("third", |_, _| async { Ok(NodeOutput::new()) })
        .start(["first"])
        .sequence(["first", "second", "third", END])
        .compile()
        .unwrap();
    let (events, mut stream) = Stream::of(Events::default(), [StreamMode::Tasks], 2);
    let goes_on = Arc::clone(&ended);
    let consumer = tokio::spawn(async move {
        let mut lines = vec![line(&stream.next().await.unwrap())];
        taken.notify_one();
        goes_on.notified().await;
        while let Some(part) = stream.next().await {
            lines.push(line(&part));
        }
        lines
    });
    // If the run waited for the consumer, time would pass.
    let run = tokio::time::timeout(Duration::from_secs(1), run(&graph, events));
    run.await.expect("the run waits for nobody");
    ended.notify_one();
    assert_eq!(
        consumer.await.unwrap(),
        [
            "[] first:1.0 Start",
            "[] missed 3",
            "[] third:3.0 Start",
            "[] third:3.0 Complete"
        ]
    );
}

#[tokio::test]
async fn streams_are_independent_and_a_dropped_one_disturbs_nobody() {
    let (events, dropped) = Stream::of(Events::default(), [StreamMode::Debug], 9);
    let (events, mut tasks) = Stream::of(events, [StreamMode::Tasks], 9);
    drop(dropped);
    let watcher = tokio::spawn(async move {
        let first = tasks.next().await.unwrap();
        let mut left = 0;
        while tasks.next().await.is_some() {
            left += 1;
        }
        (first, left)
    });
    run(&graph(), events).await;
    let (first, left) = watcher.await.unwrap();
    let StreamBody::Tasks { did, .. } = first.body else {
        panic!("{first:?}");
    };
    assert_eq!((did, left), (TaskDid::Start, 5));
}

#[tokio::test]
async fn what_only_some_want_is_not_heard_by_others() {
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let listener = Arc::clone(&heard);
    let events = Events::listen(move |event| listener.lock().unwrap().push(format!("{event:?}")));
    let (events, stream) = Stream::of(events, [StreamMode::Values], 9);
    run(&graph(), events).await;
    let heard = heard.lock().unwrap();
    assert!(heard.iter().any(|event| event.starts_with("Custom")));
    let costly = |event: &&String| event.starts_with("StateCommitted");
    assert_eq!(heard.iter().filter(costly).count(), 0);
    drop(stream);
}

#[tokio::test]
async fn a_status_and_the_nodes_health_are_put_together_from_events() {
    let put_together = Arc::new(std::sync::Mutex::new((
        GraphRunStatus::default(),
        GraphHealth::default(),
        0_u64,
    )));
    let listener = Arc::clone(&put_together);
    let events = Events::listen(move |event| {
        let mut both = listener.lock().unwrap();
        let offset = both.2;
        // Each event comes twice.
        for _ in 0..2 {
            both.0.apply(offset, 1_000 + offset, event);
            both.1.apply(offset, event);
        }
        both.2 += 1;
    });
    run(&graph(), events).await;
    let (status, health, heard) = put_together.lock().unwrap().clone();
    assert_eq!(status.status, ExecutionStatus::Completed);
    assert_eq!((status.checkpoint, status.steps), (Some(3), 2));
    assert_eq!(status.active.len(), 0);
    assert_eq!(status.offset, Some(heard - 1));
    assert_eq!(status.ended_ms, Some(1_000 + heard - 1));
    let counts: Vec<_> = health
        .nodes
        .iter()
        .map(|(node, health)| (node.as_str(), health.started, health.completed))
        .collect();
    assert_eq!(counts, [("in", 1, 1), ("say", 1, 1), ("sub", 1, 1)]);
}
