//! The application store in a folder keeps its contract, and its log is safe from it.

use std::{fs, path::Path, sync::Arc};

use proptest::prelude::*;
use rustagents_core::store::{Address, Expect, PutOptions, Reading, Store, StoreError};
use rustagents_store_file::{
    FileStore,
    fault::{DiskFault, Failure},
};
use rustagents_testkit::{
    clock::ManualClock,
    contract::{
        store,
        store_model::{self, Step},
    },
};
use serde_json::json;

use crate::support::quick_folder;

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
async fn files_keep_the_contract() {
    let folder = quick_folder();
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
        let folder = quick_folder();
        let open = async |clock| FileStore::new(folder.path(), clock);
        block_on(store_model::run(&steps, open));
    }
}

#[tokio::test]
async fn a_torn_line_is_cut_off_and_a_changed_one_is_corrupt() {
    let folder = quick_folder();
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
    let folder = quick_folder();
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
    let folder = quick_folder();
    let path = folder.path().join("items");
    let store = FileStore::new(&path, clock());
    assert_eq!(value(&store, "k").await, None);
    assert!(!Path::new(&path).exists());
}

#[tokio::test]
async fn two_openings_see_each_other_also_across_a_rewrite() {
    let folder = quick_folder();
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
    assert!(longest < 700_000, "the log grew to {longest} bytes");
    for store in [one, other, FileStore::new(folder.path(), clock())] {
        assert_eq!(value(&store, "k").await, Some(json!([39, text])));
    }
}

/// One write of the scenario below; the second makes the log be written anew.
async fn go(store: &FileStore, at: u64) -> Result<(), StoreError> {
    let put = |bytes| {
        let value = json!([at, "x".repeat(bytes)]);
        store.put(address("k"), value, PutOptions::default())
    };
    match at {
        1 => drop(put(65_500).await?),
        4 => drop(store.delete(address("k"), Expect::Any).await?),
        _ => drop(put(10).await?),
    }
    Ok(())
}

/// Which write of the scenario the store stands after.
async fn stands(store: &impl Store, before: u64) -> u64 {
    match value(store, "k").await {
        Some(value) => value[0].as_u64().unwrap(),
        None if before >= 3 => 4,
        None => 0,
    }
}

/// Performs the scenario on a disk that fails at `step`, and says whether it had
/// so many steps.
async fn fails_at(step: u64, failure: Failure) -> bool {
    let root = quick_folder();
    let folder = root.path().join("items");
    let open = || FileStore::new(&folder, clock());
    let fault = Arc::new(DiskFault::new(step, failure));
    let store = FileStore::with_fault(&folder, clock(), Arc::clone(&fault));
    let (mut told, mut open_end) = (0, 0);
    for at in 1..=5 {
        if go(&store, at).await.is_err() {
            open_end = 1;
            break;
        }
        told = at;
    }
    let place = format!("{failure:?} at step {step}, {told} writes told");
    let stood = stands(&open(), told).await;
    assert!(
        (told..=told + open_end).contains(&stood),
        "{place}: {stood}"
    );
    if open_end == 1 && go(&store, told + 1).await.is_ok() {
        (told, open_end) = (told + 1, 0);
    }
    drop(store);
    fault.lose_power(&folder).unwrap();
    let stood = stands(&open(), told).await;
    assert!(
        (told..=told + open_end).contains(&stood),
        "{place}: {stood}"
    );
    go(&open(), 9).await.unwrap();
    assert_eq!(stands(&open(), 9).await, 9, "{place}");
    step <= fault.steps()
}

#[tokio::test]
async fn a_disk_that_fails_anywhere_loses_nothing_that_was_told() {
    for failure in [
        Failure::Stop,
        Failure::Torn,
        Failure::Once,
        Failure::OnceTorn,
    ] {
        let mut step = 1;
        while fails_at(step, failure).await {
            step += 1;
        }
        assert!(step > 20, "the scenario has steps");
    }
}
