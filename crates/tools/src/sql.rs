//! One SQL statement as a tool, on a SQLite database that a seed file fills.
//!
//! Reading order: `declaration` (what is declared), `statement` (the scanner), `database` and `seed` (where the data come
//! from), `rehearsal` (the seed in memory, to check statements against), `tool`
//! (the contract), `job` (one call, start to end), and what a job uses: `watch`
//! (when to stop), `connection`, `bind`, `rows`, `failure`.
//!
//! Invariant: arguments are bound by name; no text of theirs is ever parsed.
//!
//! Invariant: a statement and its commit are one transaction. What is reported
//! as not executed changed nothing.
//!
//! Invariant: a rehearsal writes no file.
//!
//! Invariant: a `Repeatable` tool runs on a read-only connection.

mod bind;
mod connection;
mod database;
mod declaration;
mod failure;
mod job;
mod rehearsal;
mod rows;
mod seed;
mod statement;
mod tool;
mod watch;

pub use database::{DataError, Database};
pub use declaration::Declaration;
pub use rehearsal::Rehearsal;
pub(crate) use statement::KEYWORDS;
pub use tool::SqlTool;
