//! The configuration through its public interface.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test stops where it fails"
)]

mod bad;
mod file;
mod good;
