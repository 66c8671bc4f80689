//! `rag-bench SCENARIO [--json]`: ours, and hand-written code for the same work,
//! in turn, several times in one run; medians, their ratio, and allocations.
//! `agent-hop/10` is one scenario, `agent-hop` all of that family.

#![allow(
    clippy::print_stdout,
    clippy::exit,
    clippy::expect_used,
    reason = "a program for developers: a scenario that fails ends it"
)]

use std::{
    io::{ErrorKind, Write},
    process::Command,
};

use rustagents_bench::{Row, SCENARIOS, is_meant, journal};

/// The allocator of `rag`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [peak, side] = arguments.as_slice()
        && peak == journal::ARGUMENT
    {
        println!("{}", journal::peak_of(side));
        return;
    }
    let json = arguments.iter().any(|argument| argument == "--json");
    let wanted = arguments
        .iter()
        .find(|argument| !argument.starts_with("--"));
    let is_chosen = |name: &str| wanted.is_none_or(|wanted| is_meant(wanted, name));
    let chosen: Vec<_> = SCENARIOS
        .iter()
        .filter(|(name, _)| is_chosen(name))
        .collect();
    let once: Vec<_> = journal::SCENARIOS
        .iter()
        .filter(|(name, _)| is_chosen(name))
        .collect();
    if chosen.is_empty() && once.is_empty() {
        let names = SCENARIOS.iter().map(|(name, _)| *name);
        let names: Vec<_> = names
            .chain(journal::SCENARIOS.iter().map(|(name, _)| *name))
            .collect();
        eprintln_usage(&names);
        std::process::exit(2);
    }
    for (name, make) in chosen {
        let allocations = allocations(name);
        make(&mut |sides| {
            let row = Row::measure(sides, allocations);
            tell(&if json { row.json(name) } else { row.text(name) });
        });
    }
    for (_, make) in once {
        for figure in make() {
            let (row, name) = (Row::once(&figure), &figure.scenario);
            tell(&if json { row.json(name) } else { row.text(name) });
        }
    }
}

/// Prints a row. Where nobody reads any more, nothing is left to measure.
fn tell(row: &str) {
    let mut stdout = std::io::stdout().lock();
    let told = writeln!(stdout, "{row}").and_then(|()| stdout.flush());
    match told {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        told => told.expect("standard output takes a row"),
    }
}

/// What `rag-count`, beside this program, counts. Without it, no number.
fn allocations(scenario: &str) -> Option<f64> {
    let program = std::env::current_exe().expect("a program has a path");
    let counted = Command::new(program.with_file_name("rag-count"))
        .arg(scenario)
        .output()
        .ok()?;
    String::from_utf8(counted.stdout).ok()?.trim().parse().ok()
}

#[expect(clippy::print_stderr, reason = "usage belongs to standard error")]
fn eprintln_usage(names: &[&str]) {
    eprintln!(
        "usage: rag-bench [all | SCENARIO] [--json]\nscenarios: {}",
        names.join(", ")
    );
}
