//! The application store in SQLite keeps its contract.

use std::{fs, path::Path, sync::Arc};

use proptest::prelude::*;
use rusqlite::Connection;
use rustagents_core::store::{Address, PutOptions, Reading, Store, StoreError};
use rustagents_store_sqlite::SqliteStore;
use rustagents_testkit::{
    clock::ManualClock,
    contract::{
        store,
        store_model::{self, Step},
    },
};
use serde_json::json;

fn open(path: &Path) -> SqliteStore {
    SqliteStore::new(path, Arc::new(ManualClock::new()))
}

fn address(key: &str) -> Address {
    Address::new(["a"], key).unwrap()
}

async fn put(store: &SqliteStore, key: &str) -> Result<u64, StoreError> {
    let put = store.put(address(key), json!(1), PutOptions::default());
    put.await
}

#[tokio::test]
async fn sqlite_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let mut number = 0;
    store::suite(|clock| {
        number += 1;
        let store = SqliteStore::new(folder.path().join(format!("{number}.db")), clock);
        async { store }
    })
    .await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn sqlite_agrees_with_the_model(numbers in prop::collection::vec(any::<u64>(), 1..60)) {
        let steps: Vec<_> = numbers.into_iter().map(Step::of).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let open = async |clock| SqliteStore::new(&path, clock);
        runtime.block_on(store_model::run(&steps, open));
    }
}

#[tokio::test]
async fn reading_and_sweeping_make_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("below/store.db");
    let store = open(&path);
    for reading in [Reading::Plain, Reading::Refresh] {
        assert_eq!(store.get(&address("k"), reading).await.unwrap(), None);
    }
    assert_eq!(store.sweep(10).await.unwrap(), 0);
    assert!(!path.parent().unwrap().exists());
    put(&store, "k").await.unwrap();
    assert!(
        store
            .get(&address("k"), Reading::Plain)
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test]
async fn other_databases_and_later_formats_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    fs::write(&path, "shopping list").unwrap();
    let error = put(&open(&path), "k").await.unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
    fs::remove_file(&path).unwrap();
    put(&open(&path), "k").await.unwrap();
    for (pragma, is_foreign) in [("user_version = 2", false), ("application_id = 7", true)] {
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(&format!("PRAGMA {pragma}"))
            .unwrap();
        connection.close().unwrap();
        for error in [
            put(&open(&path), "k").await.unwrap_err(),
            open(&path)
                .get(&address("k"), Reading::Plain)
                .await
                .unwrap_err(),
        ] {
            match error {
                StoreError::Foreign { .. } => assert!(is_foreign),
                StoreError::Newer {
                    found: 2,
                    supported: 1,
                    ..
                } => assert!(!is_foreign),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_corrupt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    put(&open(&path), "k").await.unwrap();
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("UPDATE items SET value = '{'")
        .unwrap();
    let read = open(&path).get(&address("k"), Reading::Plain).await;
    let error = read.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_openings_of_a_new_file_count_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let writers = (0..8).map(|_| {
        let store = open(&path);
        tokio::spawn(async move {
            for _ in 0..5 {
                put(&store, "k").await.unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    assert_eq!(put(&open(&path), "k").await.unwrap(), 41);
}
