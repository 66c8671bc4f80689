//! The in-memory journal keeps the contract; the fault wrapper strikes where it is told.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed expectation is a failed test"
)]

mod events;
mod items;

use std::sync::Arc;

use rustagents_core::{
    ids::ThreadId,
    journal::{Journal, JournalError, Owner},
};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};

#[tokio::test]
async fn memory_keeps_the_contract() {
    rustagents_testkit::contract::journal(async || MemoryJournal::new()).await;
}

#[tokio::test]
async fn a_wrapper_that_never_strikes_keeps_the_contract() {
    let never = FaultPoint {
        write: u64::MAX,
        side: Side::Before,
    };
    rustagents_testkit::contract::journal(async || {
        FaultJournal::new(Arc::new(MemoryJournal::new()), never, || {})
    })
    .await;
}

#[tokio::test]
async fn a_fault_strikes_on_its_side_of_the_write_and_stays() {
    let thread = ThreadId::new("t").unwrap();
    for (side, epoch) in [(Side::Before, 1), (Side::After, 2)] {
        let inner = Arc::new(MemoryJournal::new());
        let fault = FaultJournal::new(inner.clone(), FaultPoint { write: 2, side }, || {});
        drop(fault.claim(&thread, Owner::default()).await.unwrap());
        let error = fault.claim(&thread, Owner::default()).await.unwrap_err();
        assert!(matches!(error, JournalError::Unavailable { .. }));
        assert!(fault.is_dead());
        fault.claim(&thread, Owner::default()).await.unwrap_err();
        assert_eq!(
            inner.claim(&thread, Owner::default()).await.unwrap().epoch,
            epoch + 1
        );
    }
}

#[test]
fn points_are_read_from_text() {
    assert_eq!(
        FaultPoint::parse("after:12"),
        Some(FaultPoint {
            write: 12,
            side: Side::After
        })
    );
    for text in ["", "after", "after:", "at:1", "before:x"] {
        assert_eq!(FaultPoint::parse(text), None, "{text}");
    }
}
