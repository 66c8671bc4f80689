//! Stopping: deadlines, cancellation, locks, and futures that are dropped.

use std::{
    task::{Context, Waker},
    thread,
    time::{Duration, Instant},
};

use rustagents_core::{
    CancellationToken,
    canonical::Canonical,
    tool::{Tool, ToolContext, ToolErrorKind},
};
use rustagents_tools::sql::SqlTool;
use serde_json::json;

use crate::shop::{ENDLESS, Shop, call, context, not_executed, spec};

const SHORT: Duration = Duration::from_millis(150);

/// An update that never ends and never commits.
fn endless_update() -> String {
    format!("UPDATE orders SET claim = ({ENDLESS}), status = 'refunded'")
}

#[tokio::test]
async fn a_statement_stops_at_its_deadline() {
    let shop = Shop::new();
    shop.database.ensure().unwrap();
    let started = Instant::now();
    let reads = spec(shop.reads(ENDLESS), |spec| spec.timeout = SHORT);
    let message = not_executed(call(reads, json!({})).await, ToolErrorKind::Timeout);
    assert_eq!(message, "the statement took longer than 150ms");

    let writes = spec(shop.writes(&endless_update()), |spec| spec.timeout = SHORT);
    not_executed(call(writes, json!({})).await, ToolErrorKind::Timeout);
    assert!(
        started.elapsed() < Duration::from_secs(3),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(shop.status(), "paid");
}

#[tokio::test]
async fn the_callers_deadline_counts_where_it_is_shorter() {
    let shop = Shop::new();
    let tool = SqlTool::new(shop.reads(ENDLESS)).unwrap();
    let context = ToolContext {
        timeout: SHORT,
        ..context()
    };
    let result = tool.call(Canonical::of(&json!({})), context).await;
    not_executed(result, ToolErrorKind::Timeout);
}

#[tokio::test]
async fn cancelling_rolls_back() {
    let shop = Shop::new();
    shop.database.ensure().unwrap();
    let tool = SqlTool::new(shop.writes(&endless_update())).unwrap();
    let cancel = CancellationToken::new();
    let context = ToolContext {
        cancel: cancel.clone(),
        ..context()
    };
    let call = tool.call(Canonical::of(&json!({})), context);
    let (result, ()) = tokio::join!(call, async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        cancel.cancel();
    });
    let message = not_executed(result, ToolErrorKind::Cancelled);
    assert_eq!(message, "the statement was cancelled");
    assert_eq!(shop.status(), "paid");
}

#[tokio::test]
async fn a_cancelled_call_does_not_start() {
    let shop = Shop::new();
    let tool = SqlTool::new(shop.writes("DELETE FROM orders")).unwrap();
    let context = context();
    context.cancel.cancel();
    let result = tool.call(Canonical::of(&json!({})), context).await;
    not_executed(result, ToolErrorKind::Cancelled);
    assert!(!shop.folder.path().join(".rustagents").exists());
}

#[tokio::test]
async fn a_dropped_future_stops_its_statement() {
    let shop = Shop::new();
    let outside = shop.outside();
    outside.busy_timeout(Duration::ZERO).unwrap();
    let tool = SqlTool::new(shop.writes(&endless_update())).unwrap();
    let mut call = tool.call(Canonical::of(&json!({})), context());
    assert!(
        call.as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );

    let locked = || outside.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_err();
    until("the statement runs", locked);
    drop(call);
    until("the statement is gone", || !locked());
    assert_eq!(shop.status(), "paid");
}

#[tokio::test]
async fn seeding_stops_at_the_deadline_and_leaves_nothing() {
    let shop = Shop::seeded(format!("CREATE TABLE a (x); INSERT INTO a {ENDLESS};"));
    let reads = spec(shop.reads("SELECT 1"), |spec| spec.timeout = SHORT);
    not_executed(call(reads, json!({})).await, ToolErrorKind::Timeout);
    assert!(shop.data_files().is_empty());
}

#[tokio::test]
async fn a_lock_that_stays_makes_the_database_unavailable() {
    let shop = Shop::new();
    let outside = shop.outside();
    outside.execute_batch("BEGIN IMMEDIATE").unwrap();
    let writes = spec(shop.writes("DELETE FROM orders"), |spec| {
        spec.timeout = SHORT;
    });
    let message = not_executed(call(writes, json!({})).await, ToolErrorKind::Unavailable);
    assert_eq!(message, "the database is locked");

    let count = call(shop.reads("SELECT count(*) AS n FROM orders"), json!({})).await;
    assert_eq!(
        count.unwrap(),
        json!({"rows": [{"n": 3}]}),
        "readers do not wait"
    );
}

#[tokio::test]
async fn cancelling_ends_the_wait_for_a_lock() {
    let shop = Shop::new();
    let outside = shop.outside();
    outside.execute_batch("BEGIN IMMEDIATE").unwrap();
    let tool = SqlTool::new(shop.writes("DELETE FROM orders")).unwrap();
    let cancel = CancellationToken::new();
    let context = ToolContext {
        cancel: cancel.clone(),
        ..context()
    };
    let call = tool.call(Canonical::of(&json!({})), context);
    let (result, ()) = tokio::join!(call, async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        cancel.cancel();
    });
    not_executed(result, ToolErrorKind::Cancelled);
}

#[tokio::test]
async fn a_lock_that_goes_is_waited_for() {
    let shop = Shop::new();
    let outside = shop.outside();
    outside.execute_batch("BEGIN IMMEDIATE").unwrap();
    let release = thread::spawn(move || {
        thread::sleep(Duration::from_millis(80));
        outside.execute_batch("COMMIT").unwrap();
    });
    let done = call(shop.writes("DELETE FROM orders"), json!({}))
        .await
        .unwrap();
    assert_eq!(done, json!({"rows": [], "changes": 3}));
    release.join().unwrap();
}

/// Waits until `condition` holds, for two seconds at most.
#[track_caller]
fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(2);
    while !condition() {
        assert!(Instant::now() < deadline, "never: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}
