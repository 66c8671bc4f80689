//! The event journal in SQLite keeps its contract.

use std::time::Duration;

use rustagents_core::{
    code::Coded as _,
    event_journal::{EventJournal, EventQuery, Retention, RunEvent},
    ids::{Namespace, RunId, ThreadId},
    store::StoreError,
};
use rustagents_store_sqlite::SqliteEvents;
use rustagents_testkit::contract::events;
use serde_json::json;

fn event() -> RunEvent {
    RunEvent {
        thread: ThreadId::new("t").unwrap(),
        run: RunId::from("r"),
        root_run: RunId::from("r"),
        kind: "run.started".into(),
        namespace: Namespace::from(""),
        at_ms: 1,
        payload: json!({"event": "run.started"}),
    }
}

#[tokio::test]
async fn sqlite_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let mut number = 0;
    events::suite(|| {
        number += 1;
        let journal = SqliteEvents::new(folder.path().join(format!("{number}.db")));
        async { journal }
    })
    .await;
}

#[tokio::test]
async fn another_opening_hears_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let (one, other) = (
        SqliteEvents::new(&path).keeping(3),
        SqliteEvents::new(&path),
    );
    let heard = tokio::spawn(async move { other.changed(0).await });
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!path.exists(), "who waits makes nothing");
    one.append(vec![event()]).await.unwrap();
    assert_eq!(heard.await.unwrap().unwrap(), 1);
    for _ in 0..4 {
        SqliteEvents::new(&path)
            .keeping(3)
            .append(vec![event()])
            .await
            .unwrap();
    }
    let page = one.read(EventQuery::from(1)).await.unwrap();
    assert_eq!((page.events.len(), page.first, page.next), (3, 3, 6));
}

#[tokio::test]
async fn a_store_of_items_is_no_event_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    SqliteEvents::new(&path)
        .append(vec![event()])
        .await
        .unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute_batch("PRAGMA application_id = 0x52414749")
        .unwrap();
    connection.close().unwrap();
    let error = SqliteEvents::new(&path)
        .append(vec![event()])
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
}

#[tokio::test]
async fn a_journal_of_a_newer_program_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    SqliteEvents::new(&path)
        .append(vec![event()])
        .await
        .unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA user_version = 2").unwrap();
    connection.close().unwrap();
    let before = std::fs::read(&path).unwrap();
    let journal = SqliteEvents::new(&path);
    for error in [
        journal.append(vec![event()]).await.unwrap_err(),
        journal.read(EventQuery::from(1)).await.unwrap_err(),
        journal
            .drop_events(Retention::KeepLast(0))
            .await
            .unwrap_err(),
        journal.changed(0).await.unwrap_err(),
    ] {
        assert_eq!(error.code().as_str(), "RAG0302");
        assert!(
            matches!(
                error,
                StoreError::Newer {
                    found: 2,
                    supported: 1,
                    ..
                }
            ),
            "{error:?}"
        );
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}
