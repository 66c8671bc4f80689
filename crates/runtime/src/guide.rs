//! The chapters of the guide about graphs, and pages of the reference with programs
//! in them. Their examples are tests of the documentation, and nothing of this is in
//! the crate.

#[doc = include_str!("../../../docs/guide/graphs/01-first-graph.md")]
mod first_graph {}

#[doc = include_str!("../../../docs/guide/graphs/02-branching.md")]
mod branching {}

#[doc = include_str!("../../../docs/guide/graphs/03-loops.md")]
mod loops {}

#[doc = include_str!("../../../docs/guide/graphs/04-parallel.md")]
mod parallel {}

#[doc = include_str!("../../../docs/guide/graphs/05-people.md")]
mod people {}

#[doc = include_str!("../../../docs/guide/graphs/06-time-travel.md")]
mod time_travel {}

#[doc = include_str!("../../../docs/guide/graphs/07-subgraphs.md")]
mod subgraphs {}

#[doc = include_str!("../../../docs/guide/graphs/08-never-twice.md")]
mod never_twice {}

#[doc = include_str!("../../../docs/guide/graphs/09-tries-and-time.md")]
mod tries_and_time {}

#[doc = include_str!("../../../docs/guide/graphs/10-testing.md")]
mod testing {}

#[doc = include_str!("../../../docs/guide/graphs/11-new-versions.md")]
mod new_versions {}

#[doc = include_str!("../../../docs/guide/graphs/12-agents.md")]
mod agents {}

#[doc = include_str!("../../../docs/reference/backends.md")]
mod backends {}
