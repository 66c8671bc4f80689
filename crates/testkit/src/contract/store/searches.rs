//! Searches and lists of namespaces.

use rustagents_core::store::{Filter, NamespaceQuery, Test};

use super::{Case, Expect, SearchQuery, address, all, json, path};

/// In the order in which they should come.
const ADDRESSES: [&str; 9] = [
    ":root", "a:B", "a:a", "a:ä", "a/b:k", "a/b/c:k", "a!:k", "ab:k", "ä:k",
];

async fn fill(case: &Case) {
    for at in ADDRESSES.iter().rev() {
        case.put(at, json!({"at": at})).await;
    }
}

pub(super) async fn items_come_by_namespace_and_key(case: Case) {
    fill(&case).await;
    assert_eq!(case.found(all()).await, ADDRESSES, "by bytes, part by part");
    let below = SearchQuery::under(path("a"));
    assert_eq!(
        case.found(below).await,
        ADDRESSES[1..6],
        "not `a!` nor `ab`"
    );
    let deeper = SearchQuery::under(path("a/b"));
    assert_eq!(case.found(deeper).await, ADDRESSES[4..6]);
    let nowhere = SearchQuery::under(path("a/b/c/d"));
    assert!(case.found(nowhere).await.is_empty());
    let item = case.store.search(all().limit(1)).await.expect("searched");
    let item = item.items.first().expect("an item").clone();
    assert_eq!(Some(item), case.get(":root").await, "items come whole");
}

pub(super) async fn pages_meet_without_gap_or_overlap(case: Case) {
    fill(&case).await;
    for limit in 1..=10 {
        assert_eq!(case.found(all().limit(limit)).await, ADDRESSES);
    }
    let page = case.store.search(all().limit(9)).await.expect("searched");
    if let Some(next) = page.next {
        let rest = case.store.search(all().after(Some(next))).await;
        assert_eq!(rest.expect("searched").items, [], "nothing follows");
    }
    let after = |at| SearchQuery::under(path("a")).after(Some(address(at)));
    assert_eq!(case.found(after("a:a")).await, ADDRESSES[3..6]);
    assert_eq!(
        case.found(after("a:none")).await,
        ADDRESSES[3..6],
        "it need not be there"
    );
    assert_eq!(
        case.found(after(":z")).await,
        ADDRESSES[1..6],
        "before the prefix"
    );
    assert!(
        case.found(after("b:a")).await.is_empty(),
        "behind the prefix"
    );
}

pub(super) async fn filters_and_key_prefixes_hold_together(case: Case) {
    for (at, value) in [
        ("n:note-1", json!({"stars": 1, "of": {"kind": "x"}})),
        ("n:note-2", json!({"stars": 3.5, "of": {"kind": "x"}})),
        ("n:note-3", json!({"stars": 5, "of": {"kind": "y"}})),
        ("n:list-1", json!({"stars": 5, "of": {"kind": "x"}})),
        ("n/m:note-4", json!({"of": {"kind": "x"}})),
    ] {
        case.put(at, value).await;
    }
    let filtered = async |conditions: &[(&str, Test)]| {
        let filter = conditions
            .iter()
            .fold(Filter::default(), |filter, (path, test)| {
                filter.and(path, test.clone()).expect("a valid path")
            });
        let query = SearchQuery::under(path("n"))
            .key_prefix("note-")
            .filter(filter);
        let found = case.found(query.limit(1)).await.join(" ");
        found.replace("n:note-", "").replace("n/m:note-", "")
    };
    let kind = |kind: &str| ("/of/kind", Test::Equal(json!(kind)));
    assert_eq!(filtered(&[]).await, "1 2 3 4");
    assert_eq!(filtered(&[kind("x")]).await, "1 2 4");
    assert_eq!(
        filtered(&[("of.kind", Test::NotEqual(json!("x")))]).await,
        "3"
    );
    assert_eq!(filtered(&[("stars", Test::Greater(json!(1)))]).await, "2 3");
    assert_eq!(
        filtered(&[("stars", Test::AtLeast(json!(1.0)))]).await,
        "1 2 3"
    );
    assert_eq!(filtered(&[("stars", Test::Less(json!(5)))]).await, "1 2");
    assert_eq!(
        filtered(&[("stars", Test::AtMost(json!(3.5)))]).await,
        "1 2"
    );
    assert_eq!(filtered(&[("stars", Test::Exists(false))]).await, "4");
    let both = [kind("x"), ("stars", Test::Exists(true))];
    assert_eq!(filtered(&both).await, "1 2", "all conditions must hold");
}

pub(super) async fn a_large_page_ends_early(case: Case) {
    let text = "x".repeat((1 << 20) - 2);
    for n in 0..12 {
        case.put(&format!("big:{n:02}"), json!(text)).await;
    }
    let pages = case.pages(all()).await;
    assert!(pages.len() > 1, "a page of 12 MiB is too much");
    assert_eq!(pages.concat().len(), 12);
}

pub(super) async fn namespaces_are_listed_once(case: Case) {
    fill(&case).await;
    let list = async |mut query: NamespaceQuery| {
        let mut found = Vec::new();
        loop {
            let page = case.store.namespaces(query.clone()).await.expect("listed");
            assert!(
                page.namespaces.len() <= query.limit,
                "a page keeps its limit"
            );
            found.extend(page.namespaces.iter().map(ToString::to_string));
            if page.next.is_none() {
                return found.join(" ");
            }
            query = query.after(page.next);
        }
    };
    for limit in [1, 2, 100] {
        let under = |prefix| NamespaceQuery::under(path(prefix)).limit(limit);
        assert_eq!(list(under("")).await, " a a/b a/b/c a! ab ä");
        assert_eq!(list(under("").depth(1)).await, " a a! ab ä");
        assert_eq!(list(under("a")).await, "a a/b a/b/c");
        assert_eq!(list(under("a").depth(1)).await, "a a/b");
        assert_eq!(list(under("a/b").depth(0)).await, "a/b");
        assert_eq!(list(under("a/c")).await, "");
    }
    case.delete("a:B", Expect::Any).await.expect("deleted");
    case.delete("a/b:k", Expect::Any).await.expect("deleted");
    let left = list(NamespaceQuery::under(path("a"))).await;
    assert_eq!(left, "a a/b/c", "only what holds an item is listed");
}
