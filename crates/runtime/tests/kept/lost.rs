//! What an event journal that fails, or is slow, does to a run: nothing.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use futures::{FutureExt, future::pending};
use rustagents_core::{
    BoxFuture,
    event_journal::{EventPage, Offset, RunEvent},
    store::StoreError,
};
use rustagents_runtime::{LostEvents, Report};

use super::*;

/// A journal whose appends do what they are told, one after the other, and then all
/// succeed.
#[derive(Default)]
struct Shaky {
    inner: MemoryEvents,
    does: Mutex<Vec<Does>>,
    appends: AtomicUsize,
}

#[derive(Clone, Copy, PartialEq)]
enum Does {
    Fail,
    /// It never answers.
    Hang,
    /// It is as slow as the clock says.
    Wait(Duration),
}

impl Shaky {
    fn that(does: impl IntoIterator<Item = Does>) -> Arc<Self> {
        let does = does.into_iter().collect::<Vec<_>>();
        Arc::new(Self {
            does: Mutex::new(does.into_iter().rev().collect()),
            ..Self::default()
        })
    }
}

impl EventJournal for Shaky {
    fn append(&self, events: Vec<RunEvent>) -> BoxFuture<'_, Result<Vec<Offset>, StoreError>> {
        self.appends.fetch_add(1, Ordering::SeqCst);
        let does = self.does.lock().unwrap().pop();
        async move {
            match does {
                Some(Does::Fail) => Err(StoreError::Unavailable {
                    store: "events".into(),
                    reason: "the disk is full".into(),
                }),
                Some(Does::Hang) => pending().await,
                Some(Does::Wait(time)) => {
                    tokio::time::sleep(time).await;
                    self.inner.append(events).await
                }
                None => self.inner.append(events).await,
            }
        }
        .boxed()
    }

    fn read(&self, query: EventQuery) -> BoxFuture<'_, Result<EventPage, StoreError>> {
        self.inner.read(query)
    }

    fn drop_events(&self, retention: Retention) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.inner.drop_events(retention)
    }

    fn remove_thread(&self, thread: ThreadId) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.inner.remove_thread(thread)
    }

    fn changed(&self, after: Offset) -> BoxFuture<'_, Result<Offset, StoreError>> {
        self.inner.changed(after)
    }
}

/// A plan with one agent, driven with its events kept in `journal`.
async fn report(journal: &Arc<Shaky>, heard: &EventLog) -> Report {
    let bench = Bench::new();
    let keep = KeepEvents::new(journal.clone());
    let runtime = bench.runtime().keeping(keep);
    let program = bench.program(&HANGING.replace("\"hang\"", "\"last\""));
    let watch = Watch {
        events: heard.bus(),
        ..Watch::default()
    };
    let start = runtime.start(&program, bench.request(), watch);
    start.await.unwrap()
}

/// What was heard of lost events.
fn told(heard: &EventLog) -> Vec<(u64, String)> {
    let events = heard.events().into_iter();
    let told = events.filter_map(|event| match event {
        Event::EventsLost { lost, reason } => Some((lost, reason)),
        _ => None,
    });
    told.collect()
}

#[tokio::test]
async fn a_journal_that_fails_fails_no_run_and_what_is_lost_is_told_once() {
    let heard = EventLog::new();
    let journal = Shaky::that([Does::Fail; 99]);
    let report = report(&journal, &heard).await;
    assert_eq!(report.status, Status::Completed);
    let reason = "the store `events` cannot be used: the disk is full";
    let count = lines(&heard).len() as u64 - 1;
    assert_eq!(
        report.events_lost,
        Some(LostEvents {
            count,
            reason: reason.into()
        })
    );
    assert_eq!(told(&heard), [(count, reason.to_owned())]);
    assert!(matches!(
        heard.events().last(),
        Some(Event::EventsLost { .. })
    ));
    assert_eq!(all(&*journal).await, []);
}

#[tokio::test]
async fn a_gap_is_marked_where_it_is_and_what_follows_is_kept() {
    let heard = EventLog::new();
    let journal = Shaky::that([Does::Fail]);
    let keep = KeepEvents::new(journal.clone());
    // The first batch is on its way when the node goes on.
    let graph = GraphBuilder::new("two")
        .channel("seen", Reducer::Append)
        .function("first", |_, _| async {
            tokio::task::yield_now().await;
            Ok(NodeOutput::new())
        })
        .start(["first"])
        .finish("first")
        .compile()
        .unwrap();
    let runner = runner(heard.bus(), keep);
    runner.run(&graph, "t", Writes::new()).await.unwrap();
    let kept = all(&*journal).await;
    let heard_lines = lines(&heard);
    let (lost, reason) = told(&heard).remove(0);
    let lost = usize::try_from(lost).unwrap();
    assert_eq!(kept[0].event.kind, "events.lost");
    assert_eq!(
        (
            &kept[0].event.payload["lost"],
            &kept[0].event.payload["reason"]
        ),
        (&json!(lost), &json!(reason))
    );
    assert!(lost > 0 && kept.len() > 1, "{kept:?}");
    // All but what the bus itself is told of the loss, which is the last.
    let whole = heard_lines.len() - 1;
    assert_eq!(payloads(&kept)[1..], heard_lines[lost..whole]);
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_never_answers_holds_nobody_up_for_ever() {
    let heard = EventLog::new();
    let journal = Shaky::that([Does::Hang]);
    let report = report(&journal, &heard).await;
    assert_eq!(report.status, Status::Completed);
    let lost = report.events_lost.unwrap();
    assert_eq!(lost.reason, "the event journal did not answer in time");
    assert_eq!(lost.count, lines(&heard).len() as u64 - 1);
    assert_eq!(
        journal.appends.load(Ordering::SeqCst),
        1,
        "one is in flight"
    );
}

#[tokio::test(start_paused = true)]
async fn a_slow_journal_is_waited_for_at_the_end_and_gets_batches() {
    let heard = EventLog::new();
    let journal = Shaky::that([Does::Wait(Duration::from_secs(1)); 2]);
    let report = report(&journal, &heard).await;
    assert_eq!(report.events_lost, None);
    assert_eq!(payloads(&all(&*journal).await), lines(&heard));
    assert_eq!(
        journal.appends.load(Ordering::SeqCst),
        1,
        "all of it together"
    );
}

#[tokio::test(start_paused = true)]
async fn what_waits_is_bounded() {
    let heard = EventLog::new();
    let journal = Shaky::that([Does::Wait(Duration::from_millis(1))]);
    let runner = runner(heard.bus(), KeepEvents::new(journal.clone()));
    let run = runner.run(&talkative(20_000), "t", Writes::new()).await;
    run.unwrap();
    let [(lost, reason)] = &told(&heard)[..] else {
        panic!("{:?}", told(&heard));
    };
    assert_eq!(reason, "the event journal is slower than the run");
    let kept = all(&*journal).await;
    let marks = kept.iter().filter(|e| e.event.kind == "events.lost");
    let marked: u64 = marks
        .clone()
        .map(|mark| mark.event.payload["lost"].as_u64().unwrap())
        .sum();
    assert_eq!(marked, *lost);
    let events = kept.len() - marks.count();
    assert_eq!(
        events + usize::try_from(*lost).unwrap(),
        lines(&heard).len() - 1
    );
    assert!(events >= 16_384, "{events}");
    let largest = journal.appends.load(Ordering::SeqCst);
    assert!(largest >= events / 1_000, "at most 1000 together");
}

#[tokio::test]
async fn an_event_that_cannot_be_kept_is_marked_and_costs_no_other() {
    let heard = EventLog::new();
    let journal = Shaky::that([]);
    let graph = GraphBuilder::new("large")
        .channel("seen", Reducer::Append)
        .function("talk", |_, context: TaskContext| async move {
            context.tell("x".repeat(2 << 20));
            Ok(NodeOutput::new())
        })
        .start(["talk"])
        .finish("talk")
        .compile()
        .unwrap();
    let runner = runner(heard.bus(), KeepEvents::new(journal.clone()));
    runner.run(&graph, "t", Writes::new()).await.unwrap();
    let kept = all(&*journal).await;
    assert_eq!(
        kinds(&kept),
        [
            "run.started",
            "checkpoint.saved",
            "node.started",
            "events.lost",
            "node.completed",
            "checkpoint.saved",
            "run.ended"
        ]
    );
    let told = told(&heard);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].0, 1);
    assert!(told[0].1.contains("over the limit"), "{told:?}");
}
