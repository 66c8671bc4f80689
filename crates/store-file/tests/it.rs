//! The file journal keeps the contract, and its files are safe from it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed expectation is a failed test"
)]

mod contract;
mod damage;
mod events;
mod families;
mod faults;
mod folder;
mod groups;
mod items;
mod killed;
mod parts;
mod sharing;
#[cfg(unix)]
mod stopped;
mod support;
mod vanished;
mod waiting;
mod workers;
