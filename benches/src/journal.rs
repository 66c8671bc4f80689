//! The journal beside raw inserts of the same bytes in the same mode.
//!
//! Each figure is one run of 4,000 supersteps, 1,000 threads or 10,000 parked
//! runs, not a median: what grows is seen inside the run.

#![allow(
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    reason = "figures for people, of counts that are known"
)]

mod group;
mod growth;
mod lone;
mod parked;
mod peak;
mod raw;

use rustagents_store_sqlite::Synchronous;

pub use peak::{ARGUMENT, peak_of};

/// What makes the figures of a scenario.
pub type Figures = fn() -> Vec<Figure>;

/// Each scenario with what makes its figures.
pub const SCENARIOS: &[(&str, Figures)] = &[
    ("journal-growth/normal", || {
        growth::growth(Synchronous::Normal)
    }),
    ("journal-growth/full", || growth::growth(Synchronous::Full)),
    ("journal-growth/peak", peak::peak),
    ("journal-lone/normal", || {
        lone::lone(Synchronous::Normal, "normal")
    }),
    ("journal-lone/full", || {
        lone::lone(Synchronous::Full, "full")
    }),
    ("journal-group", group::group),
    ("journal-parked", parked::parked),
];

/// Ours beside the limit, in one unit.
#[derive(Debug)]
pub struct Figure {
    /// What it is a figure of.
    pub scenario: String,
    /// Both sides' unit.
    pub unit: &'static str,
    /// Our side.
    pub ours: f64,
    /// The other one.
    pub limit: f64,
}

impl Figure {
    fn new(scenario: impl Into<String>, unit: &'static str, ours: f64, limit: f64) -> Self {
        Self {
            scenario: scenario.into(),
            unit,
            ours,
            limit,
        }
    }
}

/// What the kernel says of this process's memory, in megabytes.
fn status(field: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field));
    let kilobytes = line.unwrap().split_whitespace().nth(1).unwrap();
    kilobytes.parse::<f64>().unwrap() / 1e3
}
