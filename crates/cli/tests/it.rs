//! The `rag` program, as people and scripts meet it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed expectation is a failed test"
)]

mod architecture;
mod bench;
mod contract;
mod doctor;
mod errors;
mod explain;
mod graph_command;
mod hostile;
mod kill;
mod mistakes;
mod new_command;
mod processes;
mod real_http;
mod watching;
