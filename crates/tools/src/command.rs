//! One program of the system as a tool, in a process group of its own.
//!
//! Reading order: `declaration` (what is declared), `template` (from arguments
//! to words), `environment` and `program` (what it gets, and where it is found),
//! `tool` (the contract), `job` (one call, start to end), and what a job uses:
//! `group` (the processes), `pump` (their pipes), `output` (what came of it).
//! Then what is left after a crash: `system` (what the system tells of
//! processes), `mark` (how they are found again), `reconcile`.
//!
//! Invariant: a word of the declaration is one argument of the program or none,
//! whatever the values in it; no shell reads any of them.
//!
//! Invariant: nothing of the call's process group runs when the call has ended,
//! however it ended; its future may be dropped at any time.
//!
//! Invariant: no signal goes to a process group that is not proven to be the
//! call's own.

mod declaration;
mod environment;
mod group;
mod job;
mod mark;
mod output;
mod program;
mod pump;
mod reconcile;
mod system;
mod template;
mod tool;

pub use declaration::{Declaration, Output, Stdin};
pub use environment::{Environment, IDEMPOTENCY_KEY};
pub use mark::Remains;
pub use template::Word;
pub use tool::CommandTool;
