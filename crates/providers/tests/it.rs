//! Behaviour of the providers.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod scripted;
