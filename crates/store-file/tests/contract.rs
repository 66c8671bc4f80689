//! The contract suite, on the journal itself and through the fault wrapper.

use std::sync::Arc;

use rustagents_store::fault::{FaultJournal, FaultPoint, Side};
use rustagents_store_file::FileJournal;

#[tokio::test]
async fn keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let mut number = 0;
    rustagents_testkit::contract::journal(|| {
        number += 1;
        let path = folder.path().join(number.to_string());
        async move { FileJournal::open(path).unwrap() }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keeps_the_contract_behind_a_wrapper_that_never_strikes() {
    let folder = tempfile::tempdir().unwrap();
    let mut number = 0;
    rustagents_testkit::contract::journal(|| {
        number += 1;
        let inner = FileJournal::open(folder.path().join(number.to_string())).unwrap();
        let never = FaultPoint {
            write: u64::MAX,
            side: Side::Before,
        };
        async move { FaultJournal::new(Arc::new(inner), never, || {}) }
    })
    .await;
}
