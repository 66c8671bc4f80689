//! Declared tools: SQL statements, HTTP requests and commands as tools.
//!
//! Reading order: `declaration` (what every tool declares, and what can be wrong
//! with it), `question` (what a person is asked), then the kinds, each behind
//! a feature of its name, on by default: `sql`, `http` and `command`.
//!
//! Invariant: this crate knows the tool contract of `rustagents-core` and
//! nothing of plans, threads or configuration files.
//!
//! Invariant: making a tool writes nothing and opens no connection; the first
//! call does.

#![cfg_attr(
    not(any(feature = "command", feature = "http", feature = "sql")),
    allow(dead_code, reason = "without any kind, nobody uses what kinds share")
)]

#[cfg(feature = "command")]
pub mod command;
mod declaration;
#[cfg(any(feature = "command", feature = "sql"))]
mod hex;
#[cfg(feature = "http")]
pub mod http;
mod question;
#[cfg(feature = "sql")]
pub mod sql;

pub use declaration::DeclarationError;
