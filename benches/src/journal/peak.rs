//! How much memory a growing thread takes at the most, beside the bare inserts.

use std::process::Command;

use rustagents_store_sqlite::Synchronous;

use super::{Figure, growth, raw::Raw};

/// The argument under which this program is one side of the scenario.
pub const ARGUMENT: &str = "--peak-of";

/// The bytes of the state: what the messages say.
const STATE_MB: f64 = growth::STEPS as f64 * growth::TEXT_BYTES as f64 / 1e6;

/// Both sides, each in a process of its own. The limit is the writer's own peak
/// and twice the state.
pub(super) fn peak() -> Vec<Figure> {
    let limit = of("raw") + 2.0 * STATE_MB;
    vec![Figure::new("journal-growth/peak", "MB", of("ours"), limit)]
}

fn of(side: &str) -> f64 {
    let program = std::env::current_exe().unwrap();
    let told = Command::new(program).args([ARGUMENT, side]).output();
    let told = String::from_utf8(told.unwrap().stdout).unwrap();
    told.trim().parse().unwrap()
}

/// Does one side's work, and says how many megabytes this process had at the most.
pub fn peak_of(side: &str) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    if side == "ours" {
        let run = growth::run(&path, Synchronous::Normal, growth::STEPS);
        crate::row::runtime().block_on(run);
    } else {
        let raw = Raw::open(&path, Synchronous::Normal);
        let body = "x".repeat(growth::TEXT_BYTES);
        for _ in 0..growth::STEPS {
            raw.insert(&[(1, body.as_bytes()), (1, &body.as_bytes()[..200])]);
        }
    }
    super::status("VmHWM:")
}
