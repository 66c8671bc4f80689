//! Contract suites, event validators and fakes for tests.
//!
//! Reading order: [`contract`] (what every backend must pass), [`agreement`]
//! (whether a journal does what a model does), [`batch`] (small ones, for a backend's
//! own tests), [`drive`] (a machine on a journal), [`trajectory`] (what a run of a
//! graph did, recorded and asserted),
//! [`clock`] and [`ids`] (time and names that tests control), [`hooked`] (a
//! journal with something in the way), [`simulate`] (chance, time and crashes from one
//! seed), `stopped` (a process that holds a lock and is of no help), [`workers`] (several
//! processes on one journal), [`waiting`] (whether others go on while a call waits), [`numbered`] (application stores and
//! event journals, as one), [`vanishing`] (whether those tell that they were taken away), [`events`] (the
//! rules that the events of every run must keep), [`model`] and [`tool`] (a
//! model and tools that do as they are told).
//!
//! Invariant: depends on `rustagents-core` alone, so that anybody can test their
//! own backend, tool or model with it.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a broken promise is a failed test"
)]

pub mod agreement;
pub mod batch;
pub mod clock;
pub mod contract;
pub mod drive;
pub mod events;
pub mod hooked;
pub mod ids;
pub mod model;
pub mod numbered;
pub mod simulate;
#[cfg(unix)]
pub mod stopped;
pub mod tool;
pub mod trajectory;
pub mod vanishing;
pub mod waiting;
pub mod workers;
