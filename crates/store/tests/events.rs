//! The event journal in memory keeps its contract.

use rustagents_core::{
    event_journal::{EventJournal, EventQuery, RunEvent},
    ids::{Namespace, RunId, ThreadId},
};
use rustagents_store::MemoryEvents;
use rustagents_testkit::contract::events;
use serde_json::json;

#[tokio::test]
async fn memory_keeps_the_contract() {
    events::suite(async || MemoryEvents::default()).await;
}

#[tokio::test]
async fn memory_keeps_so_many_events_and_bytes() {
    let event = |bytes| RunEvent {
        thread: ThreadId::new("t").unwrap(),
        run: RunId::from("r"),
        root_run: RunId::from("r"),
        kind: "text.delta".into(),
        namespace: Namespace::from(""),
        at_ms: 1,
        payload: json!("x".repeat(bytes)),
    };
    let journal = MemoryEvents::keeping(3);
    for _ in 0..5 {
        journal.append(vec![event(1)]).await.unwrap();
    }
    let page = journal.read(EventQuery::from(1)).await.unwrap();
    assert_eq!((page.events.len(), page.first), (3, 3));
    let journal = MemoryEvents::default();
    for _ in 0..70 {
        journal.append(vec![event(1_000_000)]).await.unwrap();
    }
    let page = journal.read(EventQuery::from(1)).await.unwrap();
    assert_eq!(page.first, 70 - 67 + 1, "64 MiB are 67 events of this size");
}
