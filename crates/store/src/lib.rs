//! The journal and the application store in memory, the fault-injecting journal
//! wrapper, and what other backends are made of.
//!
//! Reading order: [`thread`] (what one thread allows and holds), [`memory`], then (in builds with debug assertions) [`fault`]; [`items`] and [`events`] stand alone; [`names`], [`parts`], [`locks`] and [`told`] for backends that keep files.
//!
//! Invariant: this crate knows no machine and no provider, and of files only locks and why
//! they are refused.

pub mod events;
#[cfg(debug_assertions)]
pub mod fault;
pub mod items;
pub mod locks;
pub mod memory;
pub mod names;
pub mod parts;
mod pieces;
pub mod thread;
pub mod told;

pub use events::MemoryEvents;
pub use items::MemoryStore;
pub use memory::MemoryJournal;
pub use thread::Thread;
