//! The `rag` program, as people and scripts meet it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed expectation is a failed test"
)]

mod answering;
mod architecture;
mod bench;
mod cancelling;
mod command_tool;
mod compat;
mod contract;
mod doctor;
mod endings;
mod errors;
mod explain;
mod formats;
mod graph_command;
mod guide;
mod hostile;
mod http_tool;
mod kept_events;
mod kill;
mod mistakes;
mod new_command;
mod old_stores;
#[cfg(unix)]
mod places;
mod processes;
mod queueing;
mod real_http;
mod store_command;
mod terminal;
mod travel;
mod travel_kills;
mod two_hundred_kills;
mod watching;
mod whole_threads;
