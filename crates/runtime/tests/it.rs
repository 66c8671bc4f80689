//! Behaviour of runs: starting, refusing, resuming, counting.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed expectation is a failed test"
)]

mod bench;
mod compat;
mod crash;
mod decisions;
mod durability;
mod graphs;
mod growth;
mod inbox;
mod kept;
mod lifecycle;
mod races;
mod secrets;
mod stored;
mod stream;
mod threads;
mod travel;
