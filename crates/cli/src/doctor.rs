//! What `rag doctor` looks at: configuration, models, tools, the store.
//!
//! Each part says what it found as [`Check`]s, whatever it meets, so that one
//! thing that is broken hides no other.
//!
//! Invariant: nothing is made or changed, and nothing takes without limit: probes
//! have a time limit, and so has whatever grows with the store.

mod check;
pub(crate) mod configuration;
pub(crate) mod declared;
pub(crate) mod models;
pub(crate) mod store;
mod threads;
mod writable;

pub(crate) use check::{Check, Status};
