//! Behaviour of the agent machine and its driver.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed expectation is a failed test"
)]

mod approval;
mod bench;
mod crash;
mod endings;
mod growth;
mod hostile;
mod in_doubt;
mod limits;
mod loops;
mod policy;
mod retry;
mod retry_after;
mod traces;
mod typestate;
