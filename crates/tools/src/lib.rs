//! Declared tools: SQL statements and commands as tools.
//!
//! Reading order: `declaration` (what every tool declares, and what can be wrong
//! with it), `question` (what a person is asked), then the kinds: [`sql`],
//! [`command`].
//!
//! Invariant: this crate knows the tool contract of `rustagents-core` and
//! nothing of plans, threads or configuration files.
//!
//! Invariant: making a tool writes nothing; the first call does.

pub mod command;
mod declaration;
mod hex;
mod question;
pub mod sql;

pub use declaration::DeclarationError;
