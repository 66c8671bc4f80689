//! The contract suite, on the journal itself and through the fault wrapper, and a model.

use std::sync::Arc;

use proptest::prelude::*;
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};
use rustagents_store_file::FileJournal;

use crate::support::quick_folder;

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_store_does_what_the_model_does(bytes in proptest::collection::vec(any::<u8>(), 0..160)) {
        let folder = quick_folder();
        let path = folder.path().join("journal");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(rustagents_testkit::agreement::agree(
            &MemoryJournal::new(),
            || FileJournal::open(&path).unwrap(),
            &bytes,
        ));
    }
}
