//! Tools through their public interface: SQL on real SQLite files, HTTP on real
//! servers, commands with real processes.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

#[cfg(feature = "command")]
mod command;
#[cfg(feature = "sql")]
mod declare;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "sql")]
mod read;
#[cfg(feature = "sql")]
mod rehearse;
#[cfg(feature = "sql")]
mod seed;
#[cfg(feature = "sql")]
mod shop;
#[cfg(feature = "sql")]
mod stop;
#[cfg(feature = "sql")]
mod write;
