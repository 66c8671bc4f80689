//! Versions, expectations and batches.

use super::{Case, Expect, PutOptions, address, all, conflict, json, ms, one, put, removal};

pub(super) async fn reads_back_what_was_put(case: Case) {
    let value = json!({"text": "tea", "n": 1.5, "tags": ["a", null, true]});
    assert_eq!(case.put("users/42:drink", value.clone()).await, 1);
    case.clock.advance(ms(50));
    case.put("users/42:food", json!("soup")).await;
    let item = case.get("users/42:drink").await.expect("it was put");
    assert_eq!(item.address, address("users/42:drink"));
    assert_eq!((item.value, item.version), (value, 1));
    assert_eq!((item.created_at_ms, item.updated_at_ms), (1_000, 1_000));
    assert_eq!((item.expires_at_ms, item.ttl_ms), (None, None));
    let other = case.get("users/42:food").await.expect("it was put");
    assert_eq!((other.version, other.created_at_ms), (1, 1_050));
    assert_eq!(case.get("users:drink").await, None, "namespaces are apart");
}

pub(super) async fn each_write_counts_the_version_up(case: Case) {
    for version in 1..=3 {
        assert_eq!(case.put("a:k", json!(version)).await, version);
        case.clock.advance(ms(10));
    }
    let item = case.get("a:k").await.expect("it was put");
    assert_eq!((item.value, item.version), (json!(3), 3));
    assert_eq!((item.created_at_ms, item.updated_at_ms), (1_000, 1_020));
    assert_eq!(case.put("a:l", one()).await, 1, "each item has its own");
}

pub(super) async fn a_version_never_comes_back(case: Case) {
    case.put("a:k", one()).await;
    case.put("a:k", one()).await;
    assert!(case.delete("a:k", Expect::Any).await.expect("deleted"));
    assert_eq!(case.get("a:k").await, None);
    case.clock.advance(ms(5));
    let again = case.put("a:k", one()).await;
    assert!(again > 2, "version {again} may be that of the removed item");
    let item = case.get("a:k").await.expect("it was put");
    assert_eq!(item.created_at_ms, 1_005, "it is another item");
    assert_eq!(case.put("a:k", one()).await, again + 1);
    let stale = PutOptions::default().at_version(2);
    assert_eq!(
        conflict(case.put_with("a:k", one(), stale).await),
        Some(again + 1)
    );
}

pub(super) async fn expectations_are_checked(case: Case) {
    let absent = PutOptions::default().if_absent();
    let first = PutOptions::default().at_version(1);
    assert_eq!(conflict(case.put_with("a:k", one(), first).await), None);
    assert_eq!(
        case.get("a:k").await,
        None,
        "a refused write writes nothing"
    );
    assert_eq!(case.put_with("a:k", one(), absent).await.expect("put"), 1);
    assert_eq!(
        conflict(case.put_with("a:k", json!(2), absent).await),
        Some(1)
    );
    assert_eq!(case.put_with("a:k", json!(2), first).await.expect("put"), 2);
    assert_eq!(
        conflict(case.put_with("a:k", json!(3), first).await),
        Some(2)
    );
    let item = case.get("a:k").await.expect("it was put");
    assert_eq!((item.value, item.version), (json!(2), 2));
}

pub(super) async fn deletions_expect_too(case: Case) {
    assert!(
        !case
            .delete("a:k", Expect::Any)
            .await
            .expect("nothing is fine")
    );
    assert!(
        !case
            .delete("a:k", Expect::Absent)
            .await
            .expect("as expected")
    );
    assert_eq!(conflict(case.delete("a:k", Expect::Version(1)).await), None);
    case.put("a:k", one()).await;
    assert_eq!(
        conflict(case.delete("a:k", Expect::Version(2)).await),
        Some(1)
    );
    assert_eq!(conflict(case.delete("a:k", Expect::Absent).await), Some(1));
    assert_eq!(case.version("a:k").await, Some(1));
    let deleted = case.delete("a:k", Expect::Version(1)).await;
    assert!(deleted.expect("it is at version 1"));
    assert_eq!(case.version("a:k").await, None);
}

pub(super) async fn a_batch_is_whole_or_absent(case: Case) {
    case.put("a:old", one()).await;
    let doomed = vec![
        put("a:new", one(), Expect::Any),
        removal("a:old", Expect::Any),
        put("b:k", one(), Expect::Version(7)),
    ];
    assert_eq!(conflict(case.store.write(doomed).await), None);
    assert_eq!(case.found(all()).await, ["a:old"], "nothing of it is done");
    let good = vec![
        put("a:new", json!("n"), Expect::Absent),
        removal("a:old", Expect::Version(1)),
        removal("a:none", Expect::Any),
        put("b:k", json!("k"), Expect::Any),
    ];
    let written = case.store.write(good).await.expect("written");
    let [Some(_), Some(1), None, Some(_)] = written.as_slice() else {
        panic!("each write has its answer, not {written:?}");
    };
    assert_eq!(case.found(all()).await, ["a:new", "b:k"]);
    let nothing = case.store.write(Vec::new()).await;
    assert_eq!(nothing.expect("nothing is soon done"), []);
}

pub(super) async fn a_race_has_one_winner(case: Case) {
    case.put("a:k", json!(0)).await;
    let raced = (0..20).map(|n| {
        let options = PutOptions::default().at_version(1);
        case.store.put(address("a:k"), json!(n), options)
    });
    let raced = futures::future::join_all(raced).await;
    let won: Vec<_> = raced.iter().filter_map(|put| put.as_ref().ok()).collect();
    assert_eq!(won, [&2], "one writer finds version 1");
    let free = (0..20).map(|n| {
        let write = case
            .store
            .put(address("a:k"), json!(n), PutOptions::default());
        async move { write.await.expect("put") }
    });
    let mut versions = futures::future::join_all(free).await;
    versions.sort_unstable();
    assert_eq!(versions, (3..=22).collect::<Vec<_>>());
}
