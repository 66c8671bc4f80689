//! Odd, large and wrong requests.

use rustagents_core::store::NamespaceQuery;

use super::{
    Address, Case, Expect, PutOptions, Reading, StoreError, address, all, json, one, path, put,
    removal,
};

pub(super) async fn odd_names_and_values_come_back(case: Case) {
    let long = "é".repeat(127);
    let key = "k".repeat(512);
    let parts = vec![long.as_str(); 16];
    let names = [
        Address::new(parts, &key),
        Address::new(["..", "/", "%2F", " "], "a:b/c\\\"'; --"),
        Address::new(["NUL", "con"], "\u{202e}x\u{10ffff}"),
    ];
    let values = [
        json!({"": {"\u{0}": "\u{1f}\r\n\u{2028}"}, "max": u64::MAX, "min": i64::MIN}),
        json!([0.1, -0.0, 1e300, 5e-324, 123_456_789.123_456_79]),
        json!(null),
    ];
    for (name, value) in names.iter().zip(&values) {
        let name = name.as_ref().expect("valid names");
        let put = case
            .store
            .put(name.clone(), value.clone(), PutOptions::default());
        put.await.expect("put");
        let item = case
            .store
            .get(name, Reading::Plain)
            .await
            .expect("readable");
        assert_eq!(item.expect("it was put").value, *value);
    }
    let found = case.store.search(all()).await.expect("searched").items;
    assert_eq!(found.len(), 3);
    for item in found {
        assert!(names.iter().flatten().any(|name| *name == item.address));
    }
}

pub(super) async fn large_values_are_refused_before_anything_is_written(case: Case) {
    let fits = json!("x".repeat((1 << 20) - 2));
    let large = json!("x".repeat((1 << 20) - 1));
    case.put("a:fits", fits.clone()).await;
    let writes = vec![
        put("a:small", one(), Expect::Any),
        put("a:large", large, Expect::Any),
    ];
    let error = case.store.write(writes).await.expect_err("too large");
    let StoreError::TooLarge { bytes, limit, .. } = error else {
        panic!("expected a limit, found {error:?}");
    };
    assert_eq!((bytes, limit), ((1 << 20) + 1, 1 << 20));
    let many = (0..9).map(|n| put(&format!("a:{n}"), fits.clone(), Expect::Any));
    let error = case.store.write(many.collect()).await;
    let error = error.expect_err("together they are too large");
    assert!(matches!(error, StoreError::TooLarge { .. }), "{error:?}");
    assert_eq!(case.found(all()).await, ["a:fits"]);
}

pub(super) async fn malformed_requests_are_refused(case: Case) {
    let malformed = |error: StoreError| {
        assert!(matches!(error, StoreError::Malformed { .. }), "{error:?}");
    };
    let twice = vec![put("a:k", one(), Expect::Any), removal("a:k", Expect::Any)];
    malformed(case.store.write(twice).await.expect_err("an address twice"));
    let many = (0..1_001).map(|n| put(&format!("a:{n}"), one(), Expect::Any));
    malformed(
        case.store
            .write(many.collect())
            .await
            .expect_err("too many"),
    );
    let deep = |depth| (0..depth).fold(json!(1), |value, _| json!([value]));
    let put = case.put_with("a:deep", deep(65), PutOptions::default());
    malformed(put.await.expect_err("too deep"));
    for limit in [0, 1_001] {
        malformed(
            case.store
                .search(all().limit(limit))
                .await
                .expect_err("a limit"),
        );
        let query = NamespaceQuery::under(path("")).limit(limit);
        malformed(case.store.namespaces(query).await.expect_err("a limit"));
    }
    assert!(case.found(all()).await.is_empty(), "nothing was written");
    case.put("a:deep", deep(64)).await;
}

pub(super) async fn an_empty_store_answers(case: Case) {
    assert_eq!(case.get("a:k").await, None);
    assert!(case.found(all()).await.is_empty());
    let query = NamespaceQuery::under(path(""));
    let page = case.store.namespaces(query).await.expect("listed");
    assert_eq!((page.namespaces.len(), page.next), (0, None));
    assert_eq!(case.store.sweep(10).await.expect("swept"), 0);
    let refreshed = case.store.get(&address("a:k"), Reading::Refresh).await;
    assert_eq!(refreshed.expect("readable"), None);
}
