//! The graph machine: channels, builder, supersteps, asks, driver.
//!
//! Reading order: [`state`] (channels, updates and the deltas that records
//! keep), [`builder`] (what a graph is made of, and every fault that it can
//! have), [`node`] (what a node is given and gives back), [`question`], [`effect`] (what a task
//! does once, over all its attempts), [`schedule`] (the pure
//! half of a superstep), [`record`], `snapshot` (when a chain gets one), [`graph`] with its driver, and [`topology`]
//! (what a graph looks like from outside).
//!
//! All tasks of a superstep see the same committed state; their writes are
//! reduced in task order when all are done, and recorded as one checkpoint. A
//! task that finished keeps its write as a fact, so that it is not run again
//! when a sibling fails, asks or crashes.
//!
//! Invariant: this crate knows no agent, no provider and no store.

pub mod builder;
mod driver;
pub mod edit;
pub mod effect;
pub mod graph;
pub mod node;
pub mod policy;
pub mod question;
pub mod record;
pub mod schedule;
mod snapshot;
pub mod state;
pub mod subgraph;
mod task;
pub mod topology;

pub use builder::{END, GraphBuilder, GraphFault, GraphFaults, START};
pub use driver::Failure;
pub use edit::Edit;
pub use effect::{Spawned, StepContext, StepError, StepOptions};
pub use graph::{Frame, Frameless, Graph, GraphEnd, Outcome, Position};
pub use node::{Node, NodeError, NodeFailure, NodeOutput, TaskContext, node_fn};
pub use policy::{NodeSpec, RetryPolicy, Timeout};
pub use question::{AskOptions, Asked};
pub use record::Goto;
pub use state::{GraphState, Messages, Reducer, State, Update, Writes};
pub use topology::{GraphTopology, TopologyChannel, TopologyEdge, TopologyEdgeKind, TopologyNode};
