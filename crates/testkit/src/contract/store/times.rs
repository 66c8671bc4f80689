//! Times to live.

use super::{
    Case, Duration, Expect, PutOptions, Reading, address, all, conflict, json, living, ms, one,
    path,
};

pub(super) async fn nobody_sees_what_is_over(case: Case) {
    case.put_with("a:k", one(), living(100)).await.expect("put");
    case.put("a:stays", one()).await;
    let item = case.get("a:k").await.expect("it lives");
    assert_eq!((item.expires_at_ms, item.ttl_ms), (Some(1_100), Some(100)));
    case.clock.advance(ms(99));
    assert_eq!(case.version("a:k").await, Some(1));
    case.clock.advance(ms(1));
    assert_eq!(case.version("a:k").await, None);
    assert_eq!(case.found(all()).await, ["a:stays"]);
    case.put_with("b:k", one(), living(0)).await.expect("put");
    assert_eq!(case.version("b:k").await, None, "no time is soon over");
    let query = rustagents_core::store::NamespaceQuery::under(path(""));
    let page = case.store.namespaces(query).await.expect("listed");
    assert_eq!(
        page.namespaces,
        [path("a")],
        "`b` holds nothing that is seen"
    );
    let part = PutOptions::default().live_for(Duration::from_nanos(1));
    case.put_with("c:k", one(), part).await.expect("put");
    assert!(case.version("c:k").await.is_some(), "rounded up");
    let ages = PutOptions::default().live_for(Duration::MAX);
    case.put_with("d:k", one(), ages).await.expect("put");
    assert!(case.version("d:k").await.is_some());
}

pub(super) async fn what_is_over_counts_as_absent(case: Case) {
    let lives = living(10);
    case.put_with("a:k", one(), lives).await.expect("put");
    case.put_with("a:k", one(), lives).await.expect("put");
    case.clock.advance(ms(10));
    let stale = PutOptions::default().at_version(2);
    assert_eq!(conflict(case.put_with("a:k", one(), stale).await), None);
    assert!(
        !case
            .delete("a:k", Expect::Any)
            .await
            .expect("nothing there")
    );
    let again = case.put_with("a:k", json!("new"), lives.if_absent()).await;
    assert_eq!(again.expect("nothing there"), 3, "and counts on");
    let item = case.get("a:k").await.expect("it lives");
    assert_eq!((item.value, item.created_at_ms), (json!("new"), 1_010));
    case.put("a:k", one()).await;
    case.clock.advance(ms(1_000));
    assert_eq!(
        case.version("a:k").await,
        Some(4),
        "a write without a time ends it"
    );
}

pub(super) async fn a_refreshing_read_begins_anew(case: Case) {
    case.put_with("a:k", one(), living(100)).await.expect("put");
    case.put("a:always", one()).await;
    let refresh = async |at: &str| {
        let item = case.store.get(&address(at), Reading::Refresh).await;
        item.expect("readable")
    };
    for _ in 0..3 {
        case.clock.advance(ms(90));
        let item = refresh("a:k").await.expect("it lives on");
        let end = item.expires_at_ms.expect("it has an end");
        assert_eq!((item.version, item.updated_at_ms), (1, 1_000));
        assert_eq!(case.get("a:k").await, Some(item), "{end}");
    }
    assert_eq!(
        case.get("a:k").await.expect("it lives").expires_at_ms,
        Some(1_370)
    );
    let item = refresh("a:always").await.expect("it was put");
    assert_eq!(item.expires_at_ms, None);
    case.clock.advance(ms(100));
    assert_eq!(refresh("a:k").await, None, "it is too late");
    assert_eq!(refresh("a:none").await, None);
}

pub(super) async fn a_sweep_is_bounded_and_changes_nothing_seen(case: Case) {
    for n in 0..5 {
        let at = format!("a:{n}");
        case.put_with(&at, one(), living(10)).await.expect("put");
    }
    case.put_with("a:0", one(), living(10)).await.expect("put");
    case.put("a:stays", one()).await;
    let sweep = async |limit| case.store.sweep(limit).await.expect("swept");
    assert_eq!(sweep(10).await, 0, "nothing is over");
    case.clock.advance(ms(10));
    assert_eq!((sweep(0).await, sweep(3).await), (0, 3));
    assert_eq!((sweep(3).await, sweep(3).await), (2, 0));
    assert_eq!(case.found(all()).await, ["a:stays"]);
    let again = case.put("a:0", one()).await;
    assert!(again > 2, "version {again} may be that of the swept item");
}
