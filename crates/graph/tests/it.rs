//! Behaviour of the graph machine and its driver.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed expectation is a failed test"
)]

mod alive;
mod asks;
mod bench;
mod builder;
mod called;
mod cases;
mod crash;
mod cut;
mod effects;
mod growth;
mod handled;
mod map_reduce;
mod policies;
mod simulate;
mod snapshots;
mod steps;
mod subgraphs;
mod time;
mod topology;
mod typed;
mod typed_compile;
mod typed_like_json;
mod ways;
