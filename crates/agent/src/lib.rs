//! The agent machine: typestate loop, evidence, tools, approval, driver.
//!
//! Reading order: [`runtime`] (the phases and the legal moves between them),
//! [`evidence`] (what makes a move on a model's output legal), [`transition`]
//! (what is recorded of a move, and how it is read back), [`policy`] and
//! [`error`] (what a failure means), [`tools`] and [`typed`] (what a model may
//! call), [`call`] (what is to be done about one call), [`unfit`] (calls that are
//! settled because nobody takes them any more), and [`agent`] with its driver.
//!
//! Invariant: everything that decides is a pure function of the conversation,
//! the model's answer and the records of a call. Only the driver does something.
//!
//! Invariant: this crate knows no graph, no provider and no store.

pub mod agent;
pub mod call;
mod driver;
pub mod error;
pub mod evidence;
pub mod policy;
pub mod runtime;
pub mod state;
pub mod tools;
pub mod transition;
pub mod typed;
pub mod unfit;

pub use agent::{Agent, AgentBuilder, AgentEnd, AgentInput};
pub use error::AgentError;
pub use policy::{FailFast, PolicyDecision, PolicyEngine, Reprompt, RepromptStrategy};
pub use runtime::AgentRuntime;
pub use tools::{ToolSet, ToolSetError};
pub use typed::TypedTool;
