//! Projections of kept events.

use std::sync::Mutex;

use rustagents_runtime::status::{ExecutionStatus, GraphHealth, GraphRunStatus, ThreadStatus};

use super::*;

#[tokio::test]
async fn a_stored_status_goes_on_from_its_offset_and_is_that_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Arc::new(SqliteEvents::new(folder.path().join("events.db")));
    let keep = KeepEvents::new(journal.clone());
    // What somebody who listens puts together is the same.
    let live = Arc::new(Mutex::new((
        GraphRunStatus::default(),
        GraphHealth::default(),
        0,
    )));
    let listener = Arc::clone(&live);
    let events = Events::listen(move |event| {
        let (status, health, offset) = &mut *listener.lock().unwrap();
        *offset += 1;
        status.apply(*offset, 5, event);
        health.apply(*offset, event);
    });
    let runner = runner(events, keep);
    let mut stored = serde_json::to_string(&ThreadStatus::new()).unwrap();
    for _ in 0..3 {
        runner.run(&failing(), "t", Writes::new()).await.unwrap();
        runner.run(&talkative(2), "u", Writes::new()).await.unwrap();
        let mut status: ThreadStatus = serde_json::from_str(&stored).unwrap();
        assert!(status.catch_up(&*journal, &thread()).await.unwrap() > 0);
        assert_eq!(status.catch_up(&*journal, &thread()).await.unwrap(), 0);
        stored = serde_json::to_string(&status).unwrap();
    }
    let mut whole = ThreadStatus::new();
    whole.catch_up(&*journal, &thread()).await.unwrap();
    let stored: ThreadStatus = serde_json::from_str(&stored).unwrap();
    assert_eq!(stored, whole);
    assert_eq!(whole.status.status, ExecutionStatus::Failed);
    assert!(whole.status.error.unwrap().contains("fell"));
    assert!(!whole.is_partial);
    let stumble = &whole.health.nodes["stumble"];
    assert_eq!(
        (stumble.started, stumble.completed, stumble.retried),
        (3, 3, 3)
    );
    assert_eq!(stumble.last_failure.as_deref(), Some("not yet"));
    let fall = &whole.health.nodes["fall"];
    assert_eq!(
        (fall.failed, fall.last_failure.as_deref()),
        (3, Some("fell"))
    );

    let mut other = ThreadStatus::new();
    let u = ThreadId::new("u").unwrap();
    other.catch_up(&*journal, &u).await.unwrap();
    let (status, health, _) = live.lock().unwrap().clone();
    assert_eq!(other.status.status, status.status);
    assert_eq!(
        (other.status.steps, other.status.checkpoint),
        (status.steps, status.checkpoint)
    );
    let durations = |health: &GraphHealth| {
        let talk = &health.nodes["talk"];
        (talk.started, talk.completed)
    };
    assert_eq!(durations(&other.health), durations(&health));
}

#[tokio::test]
async fn a_run_that_waits_and_what_was_dropped_are_told() {
    let bench = Bench::new();
    let journal = Arc::new(MemoryEvents::default());
    let runtime = bench.runtime().keeping(KeepEvents::new(journal.clone()));
    let program = bench.program(DESK);
    let start = runtime.start(&program, bench.request(), Watch::default());
    let report = start.await.unwrap();
    let mut status = ThreadStatus::new();
    status.catch_up(&*journal, &thread()).await.unwrap();
    assert_eq!(status.run, Some(report.run));
    assert_eq!(status.status.status, ExecutionStatus::Waiting);
    assert_eq!(status.status.asks.len(), 2);
    assert_eq!(status.health.nodes["left"].suspended, 1);
    assert!(!status.is_partial);

    journal.drop_events(Retention::KeepLast(1)).await.unwrap();
    let mut late = ThreadStatus::new();
    late.catch_up(&*journal, &thread()).await.unwrap();
    assert!(late.is_partial);
    assert_eq!(late.status.status, ExecutionStatus::Waiting);
    // One that had read it misses nothing.
    status.catch_up(&*journal, &thread()).await.unwrap();
    assert!(!status.is_partial);
}

/// Asks in its second superstep of three.
fn asking() -> GraphBuilder {
    GraphBuilder::new("asking")
        .channel("seen", Reducer::Append)
        .function("first", |_, _| async { Ok(NodeOutput::new()) })
        .function("ask", |_, context: TaskContext| async move {
            context.ask("on?").await?;
            Ok(NodeOutput::new())
        })
        .function("last", |_, _| async { Ok(NodeOutput::new()) })
        .start(["first"])
        .sequence(["first", "ask", "last", END])
}

/// The same events as a build before wrote them, which did not say the steps.
fn as_of_old(events: Vec<PlacedEvent>) -> Vec<PlacedEvent> {
    let without = |mut placed: PlacedEvent| {
        placed
            .event
            .payload
            .as_object_mut()
            .unwrap()
            .remove("steps");
        placed
    };
    events.into_iter().map(without).collect()
}

#[tokio::test]
async fn the_steps_of_a_status_are_those_that_the_run_reports() {
    let journal = Arc::new(MemoryEvents::default());
    let live = Arc::new(Mutex::new((GraphRunStatus::default(), 0)));
    let listener = Arc::clone(&live);
    let events = Events::listen(move |event| {
        let (status, offset) = &mut *listener.lock().unwrap();
        *offset += 1;
        status.apply(*offset, 5, event);
    });
    let runner = runner(events, KeepEvents::new(journal.clone()));
    let same = async |steps: u64, old: u64| {
        let mut status = ThreadStatus::new();
        status.catch_up(&*journal, &thread()).await.unwrap();
        assert_eq!(status.status.steps, steps);
        assert_eq!(live.lock().unwrap().0.steps, steps);
        let mut status = ThreadStatus::new();
        for placed in as_of_old(all(&*journal).await) {
            status.apply(&placed);
        }
        assert_eq!(status.status.steps, old, "of an older build");
    };
    let graph = asking().compile().unwrap();
    // The second run opens where the first ended.
    for _ in 0..2 {
        let waits = runner.run(&graph, "t", Writes::new()).await.unwrap();
        let ask = waits.asks()[0].id.to_string();
        assert_eq!(waits.steps, 1);
        same(1, 1).await;
        let still = runner.resume(&graph, "t", ()).await.unwrap();
        assert_eq!(still.asks().len(), 1);
        let ended = runner.resume(&graph, "t", [(ask, json!(true))]).await;
        assert_eq!(ended.unwrap().steps, 3);
        same(3, 3).await;
    }
    // A migration is a checkpoint, and no step.
    let waits = runner.run(&graph, "t", Writes::new()).await.unwrap();
    let ask = waits.asks()[0].id.to_string();
    let newer = asking().migration("nothing", |_| Ok(()));
    let newer = newer.compile().unwrap();
    let ended = runner.resume(&newer, "t", [(ask, json!(true))]).await;
    assert_eq!(ended.unwrap().steps, 3);
    same(3, 4).await;
}
