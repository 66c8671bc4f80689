//! Declared tools: SQL statements and HTTP requests as tools.
//!
//! Reading order: `declaration` (what every tool declares, and what can be wrong
//! with it), `question` (what a person is asked), then the kinds, each behind
//! a feature of its name, on by default: `sql` and `http`.
//!
//! Invariant: this crate knows the tool contract of `rustagents-core` and
//! nothing of plans, threads or configuration files.
//!
//! Invariant: making a tool writes nothing and opens no connection; the first
//! call does.

#![cfg_attr(
    not(any(feature = "http", feature = "sql")),
    allow(dead_code, reason = "without any kind, nobody uses what kinds share")
)]

mod declaration;
#[cfg(feature = "http")]
pub mod http;
mod question;
#[cfg(feature = "sql")]
pub mod sql;

pub use declaration::DeclarationError;
