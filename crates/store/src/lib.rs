//! The in-memory journal and the fault-injecting journal wrapper.
//!
//! Reading order: `thread` (what one thread allows and holds), [`memory`], then (in builds with debug assertions) [`fault`].
//!
//! Invariant: this crate knows no machine, no provider and no file.

#[cfg(debug_assertions)]
pub mod fault;
pub mod memory;
mod thread;

pub use memory::MemoryJournal;
