//! A row of figures: how it is measured, and how it is printed.

use std::{fmt, time::Instant};

use serde_json::json;
use tokio::runtime::Runtime;

use crate::journal::Figure;

/// How often each side is measured; odd, so that the median is a measurement.
const ROUNDS: usize = 15;

/// Figures of one scenario, per unit of work.
#[derive(Debug)]
pub struct Row {
    unit: &'static str,
    ours: f64,
    limit: f64,
    allocations: Option<f64>,
}

/// Both sides of a scenario.
#[derive(Debug)]
pub struct Sides<'a> {
    pub unit: &'static str,
    pub ours: Side<'a>,
    pub limit: Side<'a>,
}

/// One side of a scenario: does `units` of work per call.
pub struct Side<'a> {
    pub(crate) units: u32,
    pub(crate) work: Box<dyn FnMut() + 'a>,
}

impl fmt::Debug for Side<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Side")
            .field("units", &self.units)
            .finish_non_exhaustive()
    }
}

impl Row {
    /// A row of what was measured once.
    pub fn once(figure: &Figure) -> Self {
        Self {
            unit: figure.unit,
            ours: figure.ours,
            limit: figure.limit,
            allocations: None,
        }
    }

    /// Measures both sides in turn, so that what disturbs one disturbs both.
    pub fn measure(mut sides: Sides<'_>, allocations: Option<f64>) -> Self {
        sides.ours.work();
        sides.limit.work();
        let (mut our_times, mut limit_times) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            our_times.push(sides.ours.time());
            limit_times.push(sides.limit.time());
        }
        Self {
            unit: sides.unit,
            ours: median(our_times),
            limit: median(limit_times),
            allocations,
        }
    }

    pub fn json(&self, scenario: &str) -> String {
        json!({
            "schema": "rag.bench/1",
            "scenario": scenario,
            "unit": self.unit,
            "ours": round(self.ours),
            "limit": round(self.limit),
            "ratio": round(self.ours / self.limit),
            "allocations": self.allocations.map(round),
        })
        .to_string()
    }

    pub fn text(&self, scenario: &str) -> String {
        let (ours, limit, unit) = (self.ours, self.limit, self.unit);
        let ratio = ours / limit;
        let allocations = self.allocations.map_or_else(String::new, |allocations| {
            format!("   {allocations:7.1} allocations")
        });
        format!(
            "{scenario:38} {ours:9.2} {unit}   limit {limit:9.2}   ratio {ratio:6.2}{allocations}"
        )
    }
}

impl Side<'_> {
    /// Does the work once.
    pub fn work(&mut self) {
        (self.work)();
    }

    /// The part of `count` that falls on one unit.
    pub fn per_unit(&self, count: u64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        let count = count as f64;
        count / f64::from(self.units)
    }

    /// Microseconds per unit.
    fn time(&mut self) -> f64 {
        let began = Instant::now();
        (self.work)();
        began.elapsed().as_secs_f64() * 1e6 / f64::from(self.units)
    }
}

/// How often `work` allocates on this thread of execution.
#[cfg(test)]
pub(crate) fn allocations(work: impl FnOnce()) -> u64 {
    allocation_counter::measure(work).count_total
}

/// What drives both sides: one thread of execution.
pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

fn round(figure: f64) -> f64 {
    (figure * 1_000.0).round() / 1_000.0
}
