//! The stores in memory and in files keep their contract.

use std::{fs, path::Path, sync::Arc};

use proptest::prelude::*;
use rustagents_core::store::{Address, PutOptions, Reading, Store, StoreError, StoreLimits};
use rustagents_store::{FileStore, MemoryStore};
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

async fn put(store: &impl Store, key: &str, n: u64) -> Result<u64, StoreError> {
    let put = store.put(address(key), json!(n), PutOptions::default());
    put.await
}

async fn value(store: &impl Store, key: &str) -> Option<serde_json::Value> {
    let item = store.get(&address(key), Reading::Plain).await.unwrap();
    item.map(|item| item.value)
}

#[tokio::test]
async fn memory_keeps_the_contract() {
    store::suite(async |clock| MemoryStore::new(clock)).await;
}

#[tokio::test]
async fn files_keep_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let mut number = 0;
    store::suite(|clock| {
        number += 1;
        let store = FileStore::new(folder.path().join(number.to_string()), clock);
        async { store }
    })
    .await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn files_agree_with_the_model(numbers in prop::collection::vec(any::<u64>(), 1..60)) {
        let steps: Vec<_> = numbers.into_iter().map(Step::of).collect();
        let folder = tempfile::tempdir().unwrap();
        let open = async |clock| FileStore::new(folder.path(), clock);
        block_on(store_model::run(&steps, open));
    }
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
async fn a_torn_line_is_cut_off_and_a_changed_one_is_corrupt() {
    let folder = tempfile::tempdir().unwrap();
    let open = || FileStore::new(folder.path(), clock());
    put(&open(), "k", 1).await.unwrap();
    let log = folder.path().join("items.log");
    let whole = fs::read(&log).unwrap();
    put(&open(), "k", 2).await.unwrap();
    let both = fs::read(&log).unwrap();
    for cut in (whole.len()..both.len()).step_by(9) {
        fs::write(&log, &both[..cut]).unwrap();
        let store = open();
        assert_eq!(value(&store, "k").await, Some(json!(1)), "cut at {cut}");
        assert_eq!(put(&store, "k", 3).await.unwrap(), 2);
        assert_eq!(value(&open(), "k").await, Some(json!(3)));
    }
    let mut changed = both.clone();
    changed[whole.len() - 3] ^= 1;
    fs::write(&log, changed).unwrap();
    let error = put(&open(), "k", 4).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
}

#[tokio::test]
async fn other_files_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("items.log");
    for (text, newer) in [
        ("shopping list\n", false),
        (
            "{\"store\":\"rustagents.items\",\"format\":2,\"generation\":1}\n",
            true,
        ),
    ] {
        fs::write(&log, text).unwrap();
        let store = FileStore::new(folder.path(), clock());
        let error = put(&store, "k", 1).await.unwrap_err();
        match error {
            StoreError::Newer { found: 2, .. } => assert!(newer),
            StoreError::Foreign { .. } => assert!(!newer),
            other => panic!("{other:?}"),
        }
        assert_eq!(fs::read_to_string(&log).unwrap(), text);
    }
}

#[tokio::test]
async fn reading_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("items");
    let store = FileStore::new(&path, clock());
    assert_eq!(value(&store, "k").await, None);
    assert!(!Path::new(&path).exists());
}

#[tokio::test]
async fn two_openings_see_each_other_also_across_a_rewrite() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (
        FileStore::new(folder.path(), clock()),
        FileStore::new(folder.path(), clock()),
    );
    let text = "x".repeat(100_000);
    let mut longest = 0;
    for n in 0..40 {
        let writer = if n % 3 == 0 { &one } else { &other };
        let expected = PutOptions::default().at_version(n);
        let options = if n == 0 {
            PutOptions::default()
        } else {
            expected
        };
        let put = writer.put(address("k"), json!([n, text]), options);
        assert_eq!(put.await.unwrap(), n + 1);
        let log = fs::metadata(folder.path().join("items.log")).unwrap();
        longest = longest.max(log.len());
    }
    assert!(longest < 2_000_000, "the log grew to {longest} bytes");
    for store in [one, other, FileStore::new(folder.path(), clock())] {
        assert_eq!(value(&store, "k").await, Some(json!([39, text])));
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
