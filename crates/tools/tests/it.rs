//! Declared tools through their public interface: SQL on real SQLite files,
//! commands with real processes.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod command;
mod declare;
mod read;
mod rehearse;
mod seed;
mod shop;
mod stop;
mod write;
