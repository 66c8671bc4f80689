//! Keeping the events of runs in an event journal, and reading them again.

mod fold;
mod lost;
mod subscribed;

use std::{sync::Arc, time::Duration};

use rustagents_core::{
    CancellationToken,
    event::{AgentEvent, Event, Events},
    event_journal::{EventJournal, EventQuery, PlacedEvent, Retention},
    ids::ThreadId,
    recorder::Durability,
};
use rustagents_graph::{
    END, Graph, GraphBuilder, NodeError, NodeOutput, NodeSpec, Reducer, RetryPolicy, TaskContext,
    Update, Writes,
};
use rustagents_runtime::{
    GraphRunner, KeepEvents, Status, Watch, public_event,
    status::{ExecutionStatus, ThreadStatus},
};
use rustagents_store::{MemoryEvents, MemoryJournal};
use rustagents_store_sqlite::{SqliteEvents, SqliteJournal};
use rustagents_testkit::{clock::TestClock, events::EventLog, ids::CountingIds};
use serde_json::{Value, json};

use crate::bench::{Bench, DESK, approve};

const BROKEN: &str = r#"graph broken {
  channel messages messages
  start talk
  node talk { kind agent  model "broken"  prompt "Talk."  next END }
}"#;

const HANGING: &str = r#"graph hanging {
  channel messages messages
  start talk
  node talk { kind agent  model "hang"  prompt "Talk."  next END }
}"#;

/// All that a journal has.
async fn all(journal: &dyn EventJournal) -> Vec<PlacedEvent> {
    let (mut events, mut from) = (Vec::new(), 1);
    loop {
        let page = journal.read(EventQuery::from(from).limit(1_000)).await;
        let page = page.unwrap();
        if page.events.is_empty() && page.next <= from {
            return events;
        }
        from = page.next;
        events.extend(page.events);
    }
}

/// The lines of what was heard, without the text of models.
fn lines(heard: &EventLog) -> Vec<Value> {
    let events = heard.events().into_iter();
    let kept = events.filter(|event| {
        !matches!(
            event,
            Event::Agent {
                event: AgentEvent::TextDelta { .. },
                ..
            }
        )
    });
    kept.map(|event| public_event::line(&event).1).collect()
}

fn payloads(events: &[PlacedEvent]) -> Vec<Value> {
    let events = events.iter();
    events.map(|placed| placed.event.payload.clone()).collect()
}

fn kinds(events: &[PlacedEvent]) -> Vec<&str> {
    events.iter().map(|placed| &*placed.event.kind).collect()
}

fn thread() -> ThreadId {
    ThreadId::new("t").unwrap()
}

/// A node that says `count` things of itself.
fn talkative(count: usize) -> Graph {
    GraphBuilder::new("talkative")
        .channel("seen", Reducer::Append)
        .function("talk", move |_, context: TaskContext| async move {
            (0..count).for_each(|n| context.tell(n));
            Ok(NodeOutput::new().write("seen", Update::Value(json!(count))))
        })
        .start(["talk"])
        .finish("talk")
        .compile()
        .unwrap()
}

fn runner(events: Events, keep: KeepEvents) -> GraphRunner {
    let (clock, ids) = (Arc::new(TestClock::new()), Arc::new(CountingIds::default()));
    let watch = Watch {
        events,
        ..Watch::default()
    };
    GraphRunner::on(Arc::new(MemoryJournal::new()), clock, ids)
        .watched(watch)
        .keeping(keep)
}

#[tokio::test]
async fn what_was_heard_is_kept_in_order_over_all_attempts() {
    let bench = Bench::new();
    let journal = Arc::new(MemoryEvents::default());
    let keep = KeepEvents::new(journal.clone());
    let runtime = bench.runtime().keeping(keep);
    let (heard, program) = (EventLog::new(), bench.program(DESK));
    let watch = Watch {
        events: heard.bus(),
        ..Watch::default()
    };
    let start = runtime.start(&program, bench.request(), watch.clone());
    let report = start.await.unwrap();
    assert_eq!(report.status, Status::Suspended);
    assert_eq!(payloads(&all(&*journal).await), lines(&heard));
    for call in ["c-1", "c-2"] {
        let resume = rustagents_runtime::Resume {
            thread: Bench::thread(),
            decisions: vec![approve(call)],
        };
        let report = runtime.resume(&program, resume, watch.clone()).await;
        assert_eq!(report.unwrap().events_lost, None);
    }
    let kept = all(&*journal).await;
    assert_eq!(payloads(&kept), lines(&heard));
    assert_eq!(kinds(&kept).first(), Some(&"run.started"));
    assert_eq!(kinds(&kept).last(), Some(&"run.ended"));
    assert!(kept.iter().all(|placed| placed.event.run == report.run));
    assert!(
        kept.iter()
            .all(|placed| placed.event.root_run == report.run)
    );
    let ends = kinds(&kept);
    assert_eq!(ends.iter().filter(|kind| **kind == "run.ended").count(), 3);
    let dispatched = EventQuery::from(1).of_kind("tool.dispatched");
    let page = journal.read(dispatched).await.unwrap();
    let places = page.events.iter().map(|e| e.event.namespace.as_str());
    let places: Vec<_> = places.collect();
    assert_eq!(places, ["left:1.0", "right:1.1"]);
}

#[tokio::test]
async fn the_text_of_models_is_kept_only_if_that_is_asked_for() {
    let plan = HANGING.replace("\"hang\"", "\"last\"");
    for deltas in [false, true] {
        let bench = Bench::new();
        let journal = Arc::new(MemoryEvents::default());
        let keep = KeepEvents::new(journal.clone()).with_deltas(deltas);
        let runtime = bench.runtime().keeping(keep);
        let program = bench.program(&plan);
        let start = runtime.start(&program, bench.request(), Watch::default());
        start.await.unwrap();
        let kept = all(&*journal).await;
        assert_eq!(kinds(&kept).contains(&"text.delta"), deltas, "{kept:?}");
    }
}

#[tokio::test]
async fn a_failed_and_a_refused_attempt_are_kept_too() {
    let bench = Bench::new();
    let journal = Arc::new(MemoryEvents::default());
    let keep = KeepEvents::new(journal.clone());
    let runtime = bench.runtime().keeping(keep);
    let program = bench.program(BROKEN);
    let start = runtime.start(&program, bench.request(), Watch::default());
    assert_eq!(start.await.unwrap().status, Status::Failed);
    let kept = all(&*journal).await;
    assert_eq!(kept.last().unwrap().event.payload["how"], "failed");
    assert!(kinds(&kept).contains(&"node.failed"));
    // A call that is refused tells of nothing.
    let before = kept.len();
    let resume = rustagents_runtime::Resume {
        thread: ThreadId::new("nobody").unwrap(),
        decisions: Vec::new(),
    };
    let refused = runtime.resume(&program, resume, Watch::default()).await;
    assert!(refused.is_err());
    assert_eq!(all(&*journal).await.len(), before);
}

#[tokio::test]
async fn a_cancelled_run_keeps_all_that_it_told() {
    let bench = Bench::new();
    let journal = Arc::new(MemoryEvents::default());
    let keep = KeepEvents::new(journal.clone());
    let runtime = bench.runtime().keeping(keep);
    let (heard, cancel) = (EventLog::new(), CancellationToken::new());
    let stop = cancel.clone();
    let events = heard.bus().and([], move |event| {
        if matches!(event, Event::Agent { .. }) {
            stop.cancel();
        }
    });
    let watch = Watch {
        events,
        cancel,
        ..Watch::default()
    };
    let program = bench.program(HANGING);
    let report = runtime.start(&program, bench.request(), watch).await;
    assert_eq!(report.unwrap().status, Status::Cancelled);
    let kept = all(&*journal).await;
    assert_eq!(payloads(&kept), lines(&heard));
    assert_eq!(kept.last().unwrap().event.payload["how"], "stopped");
}

/// How the last run of the thread stands, by what was kept.
async fn stands(journal: &dyn EventJournal) -> ThreadStatus {
    let mut status = ThreadStatus::new();
    status.catch_up(journal, &thread()).await.unwrap();
    status
}

#[tokio::test]
async fn the_end_of_a_run_that_nobody_drives_is_kept_as_that_of_a_driven_one() {
    for asked in [false, true] {
        let bench = Bench::new();
        let journal = Arc::new(MemoryEvents::default());
        let runtime = bench.runtime().keeping(KeepEvents::new(journal.clone()));
        let program = bench.program(DESK);
        let start = runtime.start(&program, bench.request(), Watch::default());
        let started = start.await.unwrap();
        let before = stands(&*journal).await.status;
        assert_eq!(
            (before.status, before.asks.len()),
            (ExecutionStatus::Waiting, 2)
        );
        let ended = if asked {
            let request = runtime.request_cancel(&thread(), None).await;
            assert!(!request.unwrap().is_repeated);
            let resume = rustagents_runtime::Resume {
                thread: thread(),
                decisions: Vec::new(),
            };
            runtime.resume(&program, resume, Watch::default()).await
        } else {
            runtime.cancel(&thread()).await
        };
        let ended = ended.unwrap();
        assert_eq!((ended.status, ended.is_closed), (Status::Cancelled, true));
        let after = stands(&*journal).await;
        assert_eq!(after.run, Some(started.run));
        assert_eq!(after.status.status, ExecutionStatus::Stopped);
        assert!(after.status.asks.is_empty(), "its questions are void");
        let kept = all(&*journal).await;
        assert_eq!(kinds(&kept).last(), Some(&"run.ended"));
        // It is over, and told once.
        runtime.cancel(&thread()).await.unwrap();
        assert_eq!(all(&*journal).await.len(), kept.len());
    }
}

#[tokio::test]
async fn the_end_of_a_graph_that_nobody_drives_is_kept_too() {
    let journal = Arc::new(MemoryEvents::default());
    let graph = GraphBuilder::new("asking")
        .channel("seen", Reducer::Append)
        .function("ask", |_, context: TaskContext| async move {
            context.ask("Ship?").await?;
            Ok(NodeOutput::new())
        })
        .start(["ask"])
        .finish("ask")
        .compile()
        .unwrap();
    let runner = runner(Events::default(), KeepEvents::new(journal.clone()));
    runner.run(&graph, "t", Writes::new()).await.unwrap();
    runner.cancel("t").await.unwrap();
    let after = stands(&*journal).await.status;
    assert_eq!(after.status, ExecutionStatus::Stopped);
}

#[tokio::test]
async fn a_dropped_run_leaves_a_beginning_of_its_events() {
    let bench = Bench::new();
    let journal = Arc::new(MemoryEvents::default());
    let keep = KeepEvents::new(journal.clone());
    let runtime = bench.runtime().keeping(keep);
    let (heard, program) = (EventLog::new(), bench.program(HANGING));
    let watch = Watch {
        events: heard.bus(),
        ..Watch::default()
    };
    let mut run = Box::pin(runtime.start(&program, bench.request(), watch));
    assert!(futures::poll!(&mut run).is_pending());
    drop(run);
    let (kept, heard) = (payloads(&all(&*journal).await), lines(&heard));
    assert!(heard.starts_with(&kept), "{kept:?} beside {heard:?}");
    assert!(!kept.is_empty());
}

#[tokio::test]
async fn graphs_inside_and_all_durabilities_are_kept_alike() {
    let inner = talkative(1);
    let outer = || {
        GraphBuilder::new("outer")
            .channel("seen", Reducer::Append)
            .subgraph("sub", inner.clone())
            .start(["sub"])
            .sequence(["sub", END])
            .compile()
            .unwrap()
    };
    let mut seen = Vec::new();
    for durability in [
        Durability::None,
        Durability::Exit,
        Durability::Async,
        Durability::Sync,
    ] {
        let journal = Arc::new(MemoryEvents::default());
        let keep = KeepEvents::new(journal.clone());
        let watch = Watch {
            durability,
            ..Watch::default()
        };
        let runner = runner(Events::default(), keep).watched(watch);
        let run = runner.run(&outer(), "t", Writes::new()).await;
        run.unwrap();
        let kept = all(&*journal).await;
        let places = kept.iter().map(|placed| {
            let event = &placed.event;
            format!("{} {}", event.kind, event.namespace)
        });
        seen.push(places.collect::<Vec<_>>());
    }
    assert_eq!(
        seen[3],
        [
            "run.started ",
            "checkpoint.saved ",
            "node.started sub:1.0",
            "node.started sub:1.0/talk:1.0",
            "node.custom sub:1.0/talk:1.0",
            "node.completed sub:1.0/talk:1.0",
            "checkpoint.saved sub:1.0",
            "node.completed sub:1.0",
            "checkpoint.saved ",
            "run.ended ",
        ]
    );
    assert!(seen.iter().all(|kept| *kept == seen[3]), "{seen:?}");
}

#[tokio::test]
async fn without_who_keeps_or_hears_nothing_is_built() {
    let graph = |expected: bool| {
        GraphBuilder::new("quiet")
            .channel("seen", Reducer::Append)
            .function("look", move |_, context: TaskContext| async move {
                assert_eq!(context.scope().run().events.are_heard(), expected);
                Ok(NodeOutput::new())
            })
            .start(["look"])
            .finish("look")
            .compile()
            .unwrap()
    };
    let quiet = GraphRunner::new(Arc::new(MemoryJournal::new()));
    let run = quiet.run(&graph(false), "t", Writes::new()).await.unwrap();
    assert!(run.asks().is_empty());
    let keep = KeepEvents::new(Arc::new(MemoryEvents::default()));
    let kept = GraphRunner::new(Arc::new(MemoryJournal::new())).keeping(keep);
    kept.run(&graph(true), "t", Writes::new()).await.unwrap();
}

#[tokio::test]
async fn old_events_are_dropped_when_an_attempt_ends() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Arc::new(SqliteEvents::new(folder.path().join("events.db")));
    let keep = KeepEvents::new(journal.clone()).dropping_after(Duration::from_hours(1));
    let threads = SqliteJournal::open(folder.path().join("journal.db")).unwrap();
    let runner = GraphRunner::new(Arc::new(threads)).keeping(keep);
    let graph = talkative(1);
    runner.run(&graph, "t", Writes::new()).await.unwrap();
    let young = all(&*journal).await;
    assert_eq!(young.len(), 7, "{young:?}");
    // Two hours ago, by what it says.
    let mut old = young[0].event.clone();
    old.at_ms -= 7_200_000;
    let dropped = journal.drop_events(Retention::KeepLast(0)).await.unwrap();
    assert_eq!(dropped, 7);
    journal.append(vec![old]).await.unwrap();
    runner.run(&graph, "u", Writes::new()).await.unwrap();
    let kept = all(&*journal).await;
    assert!(
        kept.iter()
            .all(|placed| placed.event.thread.as_str() == "u")
    );
    assert_eq!(kept.len(), 7);
}

/// A graph whose first node fails once and then goes on, and whose second fails.
fn failing() -> Graph {
    let again = NodeSpec::new().retry(RetryPolicy::new().pause(Duration::ZERO, 1.0));
    let stumble = |_, context: TaskContext| async move {
        match context.tries() {
            1 => Err(NodeError::failed("not yet")),
            _ => Ok(NodeOutput::new()),
        }
    };
    GraphBuilder::new("failing")
        .channel("seen", Reducer::Append)
        .function("stumble", stumble)
        .spec("stumble", again)
        .function("fall", |_, _| async { Err(NodeError::failed("fell")) })
        .start(["stumble"])
        .sequence(["stumble", "fall", END])
        .compile()
        .unwrap()
}
