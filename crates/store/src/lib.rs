//! The in-memory journal with its fault-injecting wrapper, and the application
//! store in memory and in files.
//!
//! Reading order: `thread` (what one thread allows and holds), [`memory`], then (in builds with debug assertions) [`fault`]; [`items`] stands alone.
//!
//! Invariant: this crate knows no machine and no provider, and no file outside of
//! `items::file`.

#[cfg(debug_assertions)]
pub mod fault;
pub mod items;
pub mod memory;
mod thread;

pub use items::{FileStore, MemoryStore};
pub use memory::MemoryJournal;
