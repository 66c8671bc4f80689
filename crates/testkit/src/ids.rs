//! Names that tests can foresee.

use std::sync::atomic::{AtomicU64, Ordering};

use rustagents_core::ids::Ids;

/// Counts: `id-1`, `id-2`, …
#[derive(Debug, Default)]
pub struct CountingIds(AtomicU64);

impl Ids for CountingIds {
    fn fresh(&self) -> String {
        format!("id-{}", self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
