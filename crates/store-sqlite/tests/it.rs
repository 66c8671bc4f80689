//! The SQLite journal keeps the contract, and its files are safe from it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed expectation is a failed test"
)]

mod contract;
mod costs;
mod damage;
mod events;
mod flips;
mod items;
mod known;
mod log;
mod opening;
#[cfg(target_os = "linux")]
mod posix;
mod scheduled;
mod sharing;
#[cfg(unix)]
mod stopped;
mod support;
mod torn;
mod turns;
mod upgrade;
mod vanished;
mod waiting;
mod workers;
