//! Declared tools: SQL statements as tools.
//!
//! Reading order: [`sql`], the only kind of declared tool so far.
//!
//! Invariant: this crate knows the tool contract of `rustagents-core` and
//! nothing of plans, threads or configuration files.
//!
//! Invariant: making a tool writes nothing; the first call does.

pub mod sql;
