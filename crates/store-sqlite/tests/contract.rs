//! The contract of journals, and a model of one.

use proptest::prelude::*;
use rustagents_store::MemoryJournal;
use rustagents_store_sqlite::{SqliteJournal, Synchronous};

#[tokio::test]
async fn keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let mut number = 0;
    rustagents_testkit::contract::journal(|| {
        number += 1;
        let path = folder.path().join(format!("{number}.db"));
        async move { SqliteJournal::open(path).unwrap() }
    })
    .await;
}

#[tokio::test]
async fn a_store_without_fsync_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let mut number = 0;
    rustagents_testkit::contract::journal(|| {
        number += 1;
        let path = folder.path().join(format!("{number}.db"));
        async move { SqliteJournal::open_with(path, Synchronous::Normal).unwrap() }
    })
    .await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_store_does_what_the_model_does(bytes in proptest::collection::vec(any::<u8>(), 0..160)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(rustagents_testkit::agreement::agree(
            &MemoryJournal::new(),
            || SqliteJournal::open_with(&path, Synchronous::Normal).unwrap(),
            &bytes,
        ));
    }
}
