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
    ("graph-large-state/sqlite", graph_large_state::sqlite),
];
