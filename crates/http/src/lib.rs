//! What every HTTP client of RustAgents has in common.
//!
//! Reading order: `client` (what a client does by itself, and what it trusts),
//! `secret` (a text that is never shown).
//!
//! Invariant: a client does nothing by itself: it follows no redirect, repeats no
//! request, keeps no cookie, unpacks no body, and takes no proxy from the environment.
//!
//! Invariant: no environment is read here. The certificates that the system
//! trusts are its own affair.

mod client;
mod secret;

pub use client::{Security, SetupError, builder};
pub use secret::Secret;
