//! SQL tools through their public interface, on real SQLite files.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod declare;
mod read;
mod rehearse;
mod seed;
mod shop;
mod stop;
mod write;
