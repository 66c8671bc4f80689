//! What a step costs, beside hand-written code for the same work.
//!
//! Two programs, because counting allocations takes time of its own: `rag-bench`
//! times both sides and runs `rag-count`, which has an allocator that counts.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    reason = "for developers: a scenario that fails ends the program"
)]

mod agent_hop;
mod drive;
mod graph_fanout;
mod graph_large_state;
mod graph_linear;
mod graph_loop;
pub mod journal;
mod row;

pub use row::{Row, Sides};

/// Makes both sides of a scenario, and hands them to what measures them.
pub type Make = fn(&mut dyn FnMut(Sides<'_>));

/// Each scenario with what makes its sides.
pub const SCENARIOS: &[(&str, Make)] = &[
    ("agent-hop/1", |measure| agent_hop::sides(1, measure)),
    ("agent-hop/10", |measure| agent_hop::sides(10, measure)),
    ("agent-hop/100", |measure| agent_hop::sides(100, measure)),
    ("graph-linear/nowhere", graph_linear::nowhere),
    ("graph-linear/memory", graph_linear::memory),
    ("graph-linear/sqlite", graph_linear::sqlite),
    ("graph-loop/nowhere", graph_loop::nowhere),
    ("graph-loop/memory", graph_loop::memory),
    ("graph-loop/sqlite", graph_loop::sqlite),
    ("graph-fanout/nowhere", graph_fanout::nowhere),
    ("graph-fanout/memory", graph_fanout::memory),
    ("graph-fanout/sqlite", graph_fanout::sqlite),
    ("graph-large-state/nowhere", graph_large_state::nowhere),
    ("graph-large-state/memory", graph_large_state::memory),
    ("graph-large-state/steady", graph_large_state::steady),
    ("graph-large-state/sqlite", graph_large_state::sqlite),
];

/// Whether who asks for `wanted` means the scenario `name`: that very one, or each of a
/// family, which is named by what stands before the slash.
pub fn is_meant(wanted: &str, name: &str) -> bool {
    let rest = name.strip_prefix(wanted);
    wanted == "all" || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(wanted: &str) -> Vec<&'static str> {
        let names = SCENARIOS.iter().map(|(name, _)| *name);
        let names = names.chain(journal::SCENARIOS.iter().map(|(name, _)| *name));
        names.filter(|name| is_meant(wanted, name)).collect()
    }

    #[test]
    fn a_whole_name_is_one_scenario_and_what_stands_before_the_slash_a_family() {
        assert_eq!(meant("agent-hop/1"), ["agent-hop/1"]);
        assert_eq!(
            meant("agent-hop"),
            ["agent-hop/1", "agent-hop/10", "agent-hop/100"]
        );
        assert_eq!(meant("journal-group"), ["journal-group"]);
        assert_eq!(
            meant("all").len(),
            SCENARIOS.len() + journal::SCENARIOS.len()
        );
        for nothing in ["", "agent", "agent-hop/", "agent-hop/1/", "agent-hop/2"] {
            assert_eq!(meant(nothing), [""; 0], "{nothing}");
        }
    }
}
