//! What every backend of the event journal must pass.

use std::{future::Future, sync::Arc, time::Duration};

use rustagents_core::{
    event_journal::{EventJournal, EventPage, EventQuery, Offset, Retention, RunEvent},
    ids::{Namespace, RunId, ThreadId},
    store::StoreError,
};
use serde_json::json;

/// How long a reader may take to hear of an event.
const HEARD: Duration = Duration::from_secs(10);

/// Runs every case on a journal of its own, made by `fresh`, which keeps 1,000
/// events or more.
///
/// # Panics
/// On the first broken promise.
pub async fn suite<J: EventJournal + 'static, F: Future<Output = J>>(mut fresh: impl FnMut() -> F) {
    reads_back_what_was_appended(&fresh().await).await;
    filters_hold_together(&fresh().await).await;
    pages_meet_without_gap_or_overlap(&fresh().await).await;
    a_long_way_comes_in_pages(&fresh().await).await;
    only_a_beginning_is_dropped(&fresh().await).await;
    what_was_dropped_is_told(&fresh().await).await;
    the_events_of_a_thread_go_and_no_others(&fresh().await).await;
    a_reader_passes_over_empty_places(Arc::new(fresh().await)).await;
    wrong_events_are_refused_before_anything_is_written(&fresh().await).await;
    a_reader_hears_of_events(Arc::new(fresh().await)).await;
    concurrent_appends_have_one_order(&fresh().await).await;
}

fn event(number: u64, thread: &str, run: &str, kind: &str) -> RunEvent {
    RunEvent {
        thread: ThreadId::new(thread).expect("a valid name"),
        run: RunId::from(run),
        root_run: RunId::from(run.split('/').next().expect("a first part")),
        kind: kind.to_owned(),
        namespace: Namespace::from(if number.is_multiple_of(2) {
            "even:1.0"
        } else {
            ""
        }),
        at_ms: number * 10,
        payload: json!({"schema": "rag.event/1", "event": kind, "n": number, "text": "é\n\u{2028}"}),
    }
}

fn numbered(count: u64) -> Vec<RunEvent> {
    (1..=count)
        .map(|n| event(n, "t", "r", "step.started"))
        .collect()
}

async fn append(journal: &impl EventJournal, events: Vec<RunEvent>) -> Vec<Offset> {
    journal.append(events).await.expect("appended")
}

async fn page(journal: &impl EventJournal, query: EventQuery) -> EventPage {
    let limit = query.limit;
    let page = journal.read(query).await.expect("readable");
    assert!(page.events.len() <= limit, "a page keeps its limit");
    page
}

/// The places of all events that `query` asks for, page by page.
async fn places(journal: &impl EventJournal, mut query: EventQuery) -> Vec<Offset> {
    let mut found = Vec::new();
    loop {
        let page = page(journal, query.clone()).await;
        found.extend(page.events.iter().map(|placed| placed.offset));
        if page.next == query.from {
            return found;
        }
        query = query.on_from(page.next);
    }
}

async fn reads_back_what_was_appended(journal: &impl EventJournal) {
    let empty = page(journal, EventQuery::from(1)).await;
    assert_eq!((empty.events.len(), empty.next, empty.first), (0, 1, 1));
    let events = numbered(3);
    assert_eq!(append(journal, events.clone()).await, [1, 2, 3]);
    assert!(append(journal, Vec::new()).await.is_empty());
    assert_eq!(append(journal, numbered(1)).await, [4]);
    let page = page(journal, EventQuery::from(1)).await;
    assert_eq!((page.events.len(), page.next, page.first), (4, 5, 1));
    for (placed, event) in page.events.iter().zip(&events) {
        assert_eq!(placed.event, *event);
    }
    let end = journal.read(EventQuery::from(9)).await.expect("readable");
    assert_eq!((end.events.len(), end.next), (0, 9), "nothing is there yet");
    for far in [i64::MAX.unsigned_abs(), 1 << 63, u64::MAX] {
        for query in [
            EventQuery::from(far),
            EventQuery::from(far).of_run("r".into()),
        ] {
            let end = journal.read(query).await.expect("readable");
            assert_eq!((end.events.len(), end.next), (0, far), "nothing is there");
        }
    }
}

async fn filters_hold_together(journal: &impl EventJournal) {
    let events = vec![
        event(1, "t", "r", "run.started"),
        event(2, "t", "r/1", "node.started"),
        event(3, "t", "q", "node.started"),
        event(4, "u", "s", "node.started"),
        event(5, "t", "r", "node.started"),
    ];
    append(journal, events).await;
    let all = || EventQuery::from(1).limit(1);
    let run = |run: &str| RunId::from(run);
    let thread = ThreadId::new("t").expect("a valid name");
    assert_eq!(places(journal, all()).await, [1, 2, 3, 4, 5]);
    let of_thread = all().of_thread(thread);
    assert_eq!(places(journal, of_thread.clone()).await, [1, 2, 3, 5]);
    assert_eq!(places(journal, all().of_run(run("r"))).await, [1, 5]);
    assert_eq!(places(journal, all().under_run(run("r"))).await, [1, 2, 5]);
    assert_eq!(places(journal, all().of_kind("run.started")).await, [1]);
    assert_eq!(
        places(journal, all().at(Namespace::from("even:1.0"))).await,
        [2, 4]
    );
    let both = of_thread.under_run(run("r")).of_kind("node.started");
    assert_eq!(places(journal, both.on_from(2)).await, [2, 5]);
    assert!(places(journal, all().of_run(run("none"))).await.is_empty());
}

async fn pages_meet_without_gap_or_overlap(journal: &impl EventJournal) {
    append(journal, numbered(25)).await;
    for limit in [1, 7, 25, 100] {
        let found = places(journal, EventQuery::from(1).limit(limit)).await;
        assert_eq!(found, (1..=25).collect::<Vec<_>>());
    }
    assert_eq!(places(journal, EventQuery::from(24)).await, [24, 25]);
    assert_eq!(
        places(journal, EventQuery::from(0).limit(1)).await.len(),
        25
    );
}

async fn a_long_way_comes_in_pages(journal: &impl EventJournal) {
    let text = "x".repeat(900_000);
    for n in 0..4 {
        let mut events = numbered(4);
        for event in &mut events {
            event.payload = json!({"n": n, "text": text});
        }
        append(journal, events).await;
    }
    let one = page(journal, EventQuery::from(1)).await;
    assert!(one.events.len() < 16, "a page of 14 MB is too much");
    let found = places(journal, EventQuery::from(1)).await;
    assert_eq!(found, (1..=16).collect::<Vec<_>>());
    let last = EventQuery::from(1).of_kind("none");
    assert!(places(journal, last).await.is_empty());
}

async fn only_a_beginning_is_dropped(journal: &impl EventJournal) {
    append(journal, numbered(10)).await;
    let dropped = async |retention| journal.drop_events(retention).await.expect("dropped");
    let left = async || places(journal, EventQuery::from(1)).await;
    assert_eq!(dropped(Retention::Before(1)).await, 0);
    assert_eq!(dropped(Retention::Before(3)).await, 2);
    assert_eq!(left().await, (3..=10).collect::<Vec<_>>());
    assert_eq!(dropped(Retention::OlderThan { at_ms: 50 }).await, 2);
    assert_eq!(left().await, (5..=10).collect::<Vec<_>>());
    assert_eq!(dropped(Retention::KeepLast(100)).await, 0);
    assert_eq!(dropped(Retention::KeepLast(2)).await, 4);
    assert_eq!(left().await, [9, 10]);
    assert_eq!(dropped(Retention::OlderThan { at_ms: u64::MAX }).await, 2);
    assert!(left().await.is_empty());
    let end = page(journal, EventQuery::from(1)).await;
    assert_eq!((end.next, end.first), (11, 11), "nothing is before 11");
    assert_eq!(
        append(journal, numbered(1)).await,
        [11],
        "no place comes back"
    );
    assert_eq!(dropped(Retention::KeepLast(0)).await, 1);
    assert_eq!(append(journal, numbered(2)).await, [12, 13]);
    assert_eq!(dropped(Retention::Before(u64::MAX)).await, 2);
    assert_eq!(append(journal, numbered(1)).await, [14]);
}

async fn what_was_dropped_is_told(journal: &impl EventJournal) {
    append(journal, numbered(5)).await;
    let dropped = journal.drop_events(Retention::Before(4)).await;
    assert_eq!(dropped.expect("dropped"), 3);
    let gap = page(journal, EventQuery::from(2).limit(1)).await;
    let found: Vec<_> = gap.events.iter().map(|placed| placed.offset).collect();
    assert_eq!((found, gap.next, gap.first), (vec![4], 5, 4));
}

async fn removed(journal: &impl EventJournal, thread: &str) -> u64 {
    let thread = ThreadId::new(thread).expect("a valid name");
    journal.remove_thread(thread).await.expect("removed")
}

/// So many events of two threads in turn, the first one's first.
fn in_turn(count: u64) -> Vec<RunEvent> {
    let thread = |n: u64| if n.is_multiple_of(2) { "u" } else { "t" };
    (1..=count)
        .map(|n| event(n, thread(n), thread(n), "step.started"))
        .collect()
}

async fn the_events_of_a_thread_go_and_no_others(journal: &impl EventJournal) {
    assert_eq!(removed(journal, "t").await, 0, "there is nothing yet");
    append(journal, in_turn(6)).await;
    assert_eq!(removed(journal, "nobody").await, 0);
    assert_eq!(removed(journal, "t").await, 3);
    assert_eq!(removed(journal, "t").await, 0, "they are gone");
    assert_eq!(places(journal, EventQuery::from(1)).await, [2, 4, 6]);
    let one = page(journal, EventQuery::from(1).limit(1)).await;
    assert_eq!((one.next, one.first), (3, 1), "no beginning was dropped");
    assert_eq!(
        append(journal, numbered(1)).await,
        [7],
        "no place is reused"
    );
    let of_run = EventQuery::from(1).of_run(RunId::from("t"));
    assert!(places(journal, of_run).await.is_empty());
    let dropped = async |retention| journal.drop_events(retention).await.expect("dropped");
    assert_eq!(dropped(Retention::Before(4)).await, 3);
    assert_eq!(dropped(Retention::KeepLast(2)).await, 2);
    assert_eq!(places(journal, EventQuery::from(1)).await, [6, 7]);
    assert_eq!(removed(journal, "u").await, 1);
    assert_eq!(removed(journal, "t").await, 1);
    let end = page(journal, EventQuery::from(1)).await;
    assert_eq!((end.events.len(), end.next, end.first), (0, 8, 6));
    assert_eq!(dropped(Retention::OlderThan { at_ms: 1 }).await, 2);
    assert_eq!(append(journal, in_turn(2)).await, [8, 9]);
}

async fn a_reader_passes_over_empty_places<J: EventJournal + 'static>(journal: Arc<J>) {
    append(&*journal, in_turn(5)).await;
    removed(&*journal, "t").await;
    for query in [EventQuery::from(1), EventQuery::from(1).of_kind("none")] {
        let mut next = 1;
        while let read = page(&*journal, query.clone().on_from(next)).await
            && read.next != next
        {
            next = read.next;
        }
        assert_eq!(next, 6, "who waits does not wait for an empty place");
    }
}

async fn wrong_events_are_refused_before_anything_is_written(journal: &impl EventJournal) {
    let mut large = numbered(2);
    large[1].payload = json!("x".repeat(1 << 20));
    let mut named = numbered(2);
    named[1].kind = "k".repeat(4_097);
    for events in [large, named] {
        let error = journal.append(events).await.expect_err("too large");
        assert!(matches!(error, StoreError::TooLarge { .. }), "{error:?}");
    }
    let error = journal.append(numbered(1_001)).await.expect_err("too many");
    assert!(matches!(error, StoreError::Malformed { .. }), "{error:?}");
    for limit in [0, 1_001] {
        let read = journal.read(EventQuery::from(1).limit(limit)).await;
        let error = read.expect_err("a wrong limit");
        assert!(matches!(error, StoreError::Malformed { .. }), "{error:?}");
    }
    assert_eq!(
        append(journal, numbered(1)).await,
        [1],
        "nothing was written"
    );
}

async fn a_reader_hears_of_events<J: EventJournal + 'static>(journal: Arc<J>) {
    let hear = |after| {
        let journal = Arc::clone(&journal);
        tokio::spawn(async move { tokio::time::timeout(HEARD, journal.changed(after)).await })
    };
    let early = hear(0);
    tokio::task::yield_now().await;
    append(&*journal, numbered(2)).await;
    let heard = |heard: Result<Result<_, _>, _>| {
        let heard: Result<Result<Offset, StoreError>, _> = heard.expect("not panicked");
        heard.expect("heard in time").expect("readable")
    };
    assert_eq!(heard(early.await), 2, "before there was an event");
    assert_eq!(heard(hear(1).await), 2, "what is there already");
    let next = hear(2);
    tokio::task::yield_now().await;
    assert!(!next.is_finished(), "nothing stands after 2");
    append(&*journal, numbered(1)).await;
    assert_eq!(heard(next.await), 3);
}

async fn concurrent_appends_have_one_order(journal: &impl EventJournal) {
    let appends = (0..50).map(|_| append(journal, numbered(2)));
    let mut placed = futures::future::join_all(appends).await;
    for pair in &placed {
        assert_eq!(pair[0] + 1, pair[1], "an append stands together");
    }
    placed.sort();
    assert_eq!(placed.concat(), (1..=100).collect::<Vec<_>>());
}
