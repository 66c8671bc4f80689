//! Named capabilities that agent plans are resolved against.
//!
//! A [`Registry`] collects what a host offers; [`Registry::freeze`] makes it a
//! [`Snapshot`] that a plan is checked and driven with. Nothing is found by
//! anything but its name.
//!
//! Reading order: [`Registry`], [`Snapshot`], [`nearest()`].
//!
//! Invariant: this crate holds declarations only. It never opens a model or
//! calls a tool, and it reads no file.
//!
//! Invariant: a snapshot never changes; names are unique in it.

mod nearest;
mod registry;
mod snapshot;

pub use nearest::nearest;
pub use registry::{RegisterError, Registry};
pub use snapshot::Snapshot;
