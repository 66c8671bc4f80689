//! `rag-count SCENARIO`: how often our side allocates per unit of work. Its
//! allocator counts, so it is a program of its own: `rag-bench` runs it.

#![allow(
    clippy::print_stdout,
    clippy::exit,
    reason = "a program for developers"
)]

use rustagents_bench::SCENARIOS;

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let Some((_, make)) = SCENARIOS.iter().find(|(name, _)| *name == wanted) else {
        std::process::exit(2);
    };
    make(&mut |mut sides| {
        // What is made once and kept is made before counting.
        sides.ours.work();
        let counted = allocation_counter::measure(|| sides.ours.work());
        println!("{}", sides.ours.per_unit(counted.count_total));
    });
}
