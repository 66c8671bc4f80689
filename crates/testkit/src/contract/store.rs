//! What every backend of the application store must pass.

mod limits;
mod searches;
mod times;
mod writes;

use std::{future::Future, sync::Arc, time::Duration};

use rustagents_core::{
    clock::Clock,
    store::{
        Address, Delete, Expect, Item, NamespacePath, Put, PutOptions, Reading, SearchQuery, Store,
        StoreError, Version, Write,
    },
};
use serde_json::{Value, json};

use crate::clock::ManualClock;

/// Runs every case on a store of its own, made by `fresh` on the clock that it
/// is given, with the default limits.
///
/// # Panics
/// On the first broken promise.
pub async fn suite<S, F>(mut fresh: impl FnMut(Arc<dyn Clock>) -> F)
where
    S: Store + 'static,
    F: Future<Output = S>,
{
    let mut case = async || {
        let clock = ManualClock::new();
        let store: Arc<dyn Store> = Arc::new(fresh(Arc::new(clock.clone())).await);
        Case { store, clock }
    };
    writes::reads_back_what_was_put(case().await).await;
    writes::each_write_counts_the_version_up(case().await).await;
    writes::a_version_never_comes_back(case().await).await;
    writes::expectations_are_checked(case().await).await;
    writes::deletions_expect_too(case().await).await;
    writes::a_batch_is_whole_or_absent(case().await).await;
    writes::a_race_has_one_winner(case().await).await;
    times::nobody_sees_what_is_over(case().await).await;
    times::what_is_over_counts_as_absent(case().await).await;
    times::a_refreshing_read_begins_anew(case().await).await;
    times::a_sweep_is_bounded_and_changes_nothing_seen(case().await).await;
    searches::items_come_by_namespace_and_key(case().await).await;
    searches::pages_meet_without_gap_or_overlap(case().await).await;
    searches::filters_and_key_prefixes_hold_together(case().await).await;
    searches::a_large_page_ends_early(case().await).await;
    searches::namespaces_are_listed_once(case().await).await;
    limits::odd_names_and_values_come_back(case().await).await;
    limits::large_values_are_refused_before_anything_is_written(case().await).await;
    limits::malformed_requests_are_refused(case().await).await;
    limits::an_empty_store_answers(case().await).await;
}

/// A store that nobody wrote to, and its clock.
struct Case {
    store: Arc<dyn Store>,
    clock: ManualClock,
}

impl Case {
    async fn put(&self, at: &str, value: Value) -> Version {
        self.put_with(at, value, PutOptions::default())
            .await
            .expect("put")
    }

    async fn put_with(
        &self,
        at: &str,
        value: Value,
        options: PutOptions,
    ) -> Result<Version, StoreError> {
        self.store.put(address(at), value, options).await
    }

    async fn get(&self, at: &str) -> Option<Item> {
        let item = self.store.get(&address(at), Reading::Plain).await;
        item.expect("readable")
    }

    async fn version(&self, at: &str) -> Option<Version> {
        self.get(at).await.map(|item| item.version)
    }

    async fn delete(&self, at: &str, expect: Expect) -> Result<bool, StoreError> {
        self.store.delete(address(at), expect).await
    }

    /// The addresses on all pages, each page on its own.
    async fn pages(&self, mut query: SearchQuery) -> Vec<Vec<String>> {
        let mut pages = Vec::new();
        loop {
            let page = self.store.search(query.clone()).await.expect("searched");
            let items = page.items.iter();
            pages.push(items.map(|item| item.address.to_string()).collect());
            assert!(page.items.len() <= query.limit, "a page keeps its limit");
            if page.next.is_none() {
                return pages;
            }
            query = query.after(page.next);
        }
    }

    async fn found(&self, query: SearchQuery) -> Vec<String> {
        self.pages(query).await.concat()
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn living(ttl: u64) -> PutOptions {
    PutOptions::default().live_for(ms(ttl))
}

fn path(text: &str) -> NamespacePath {
    let parts = text.split('/').filter(|part| !part.is_empty());
    NamespacePath::new(parts).expect("a valid namespace")
}

/// Reads `part/part:key`.
fn address(text: &str) -> Address {
    let (namespace, key) = text.split_once(':').expect("a namespace and a key");
    Address::new(namespace.split('/').filter(|part| !part.is_empty()), key).expect("valid names")
}

fn put(at: &str, value: Value, expect: Expect) -> Write {
    Write::Put(Put {
        address: address(at),
        value,
        options: PutOptions::default().expecting(expect),
    })
}

fn removal(at: &str, expect: Expect) -> Write {
    let address = address(at);
    Write::Delete(Delete { address, expect })
}

fn all() -> SearchQuery {
    SearchQuery::under(NamespacePath::root())
}

/// The version that a conflict says is there.
fn conflict<T: std::fmt::Debug>(result: Result<T, StoreError>) -> Option<Version> {
    match result.expect_err("the expectation does not hold") {
        StoreError::Conflict { current, .. } => current,
        other => panic!("expected a conflict, found {other:?}"),
    }
}

fn one() -> Value {
    json!({"n": 1})
}
