//! `rag-bench SCENARIO [--json]`: ours, and hand-written code for the same work,
//! in turn, several times in one run; medians, their ratio, and allocations.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::exit,
    missing_docs,
    reason = "a program for developers: a scenario that fails ends it"
)]

mod agent_hop;
mod graph_linear;
mod row;

use row::Row;

/// What makes a scenario's row.
type Make = fn() -> Row;

/// Each scenario with what makes its row.
const SCENARIOS: &[(&str, Make)] = &[
    ("agent-hop/1", || agent_hop::row(1)),
    ("agent-hop/10", || agent_hop::row(10)),
    ("agent-hop/100", || agent_hop::row(100)),
    ("graph-linear/memory", graph_linear::memory),
    ("graph-linear/sqlite", graph_linear::sqlite),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments.iter().any(|argument| argument == "--json");
    let wanted = arguments
        .iter()
        .find(|argument| !argument.starts_with("--"));
    let chosen: Vec<_> = SCENARIOS
        .iter()
        .filter(|(name, _)| wanted.is_none_or(|wanted| wanted == "all" || name.starts_with(wanted)))
        .collect();
    if chosen.is_empty() {
        let names: Vec<_> = SCENARIOS.iter().map(|(name, _)| *name).collect();
        eprintln_usage(&names);
        std::process::exit(2);
    }
    for (name, make) in chosen {
        println!(
            "{}",
            if json {
                make().json(name)
            } else {
                make().text(name)
            }
        );
    }
}

#[expect(clippy::print_stderr, reason = "usage belongs to standard error")]
fn eprintln_usage(names: &[&str]) {
    eprintln!(
        "usage: rag-bench [all | SCENARIO] [--json]\nscenarios: {}",
        names.join(", ")
    );
}
