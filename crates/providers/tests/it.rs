//! Behaviour of the providers.
#![cfg_attr(
    any(feature = "openai", feature = "scripted"),
    expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")
)]

#[cfg(feature = "openai")]
mod openai;
#[cfg(feature = "scripted")]
mod scripted;
