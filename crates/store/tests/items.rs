//! The application store in memory keeps its contract.

use std::sync::Arc;

use proptest::prelude::*;
use rustagents_core::store::{Address, PutOptions, Store, StoreError, StoreLimits};
use rustagents_store::MemoryStore;
use rustagents_testkit::{
    clock::ManualClock,
    contract::{
        store,
        store_model::{self, Step},
    },
};
use serde_json::json;

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new())
}

fn address(key: &str) -> Address {
    Address::new(["a"], key).unwrap()
}

fn block_on(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(work);
}

#[tokio::test]
async fn memory_keeps_the_contract() {
    store::suite(async |clock| MemoryStore::new(clock)).await;
}

proptest! {
    #[test]
    fn memory_agrees_with_the_model(numbers in prop::collection::vec(any::<u64>(), 1..80)) {
        let steps: Vec<_> = numbers.into_iter().map(Step::of).collect();
        let mut kept = None;
        let open = |clock| {
            let store = kept.get_or_insert_with(|| MemoryStore::new(clock)).clone();
            async { store }
        };
        block_on(store_model::run(&steps, open));
    }
}

#[tokio::test]
async fn what_is_held_in_memory_is_bounded() {
    let limits = StoreLimits::default().hold_up_to(100);
    let store = MemoryStore::new(clock()).with_limits(limits);
    let text = |bytes| json!("x".repeat(bytes));
    let put = |key, bytes| store.put(address(key), text(bytes), PutOptions::default());
    put("a", 40).await.unwrap();
    put("b", 40).await.unwrap();
    let error = put("c", 40).await.unwrap_err();
    assert!(
        matches!(error, StoreError::TooLarge { what: "store", .. }),
        "{error:?}"
    );
    put("a", 10).await.unwrap();
    put("c", 20).await.unwrap();
}
