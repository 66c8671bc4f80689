//! The lines of a log: a first one that says what it is, then a line for each
//! change, behind the digest of its text.

use rustagents_core::digest::Digest;
use serde::{Deserialize, Serialize};

/// The version of the lines that this build writes.
pub(super) const FORMAT: u32 = 1;

/// What the first line says that the log is of.
pub(super) const STORE: &str = "rustagents.items";

/// How many hexadecimal digits of a line's digest stand before it.
const DIGITS: usize = 16;

/// The longest line.
pub(super) const MAX_LINE: u64 = 256 << 20;

/// The longest first line.
pub(super) const MAX_FIRST: u64 = 1 << 10;

/// The first line.
#[derive(Serialize, Deserialize)]
pub(super) struct First {
    pub(super) store: String,
    pub(super) format: u32,
    /// Another one for each log that took the place of one before.
    pub(super) generation: u64,
}

impl First {
    /// The first line of a new log.
    pub(super) fn line(generation: u64) -> serde_json::Result<Vec<u8>> {
        let mut text = serde_json::to_vec(&Self {
            store: STORE.into(),
            format: FORMAT,
            generation,
        })?;
        text.push(b'\n');
        Ok(text)
    }
}

/// The line of a change.
pub(super) fn of(change: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let text = serde_json::to_vec(change)?;
    let mut line = digits(&text).into_bytes();
    line.reserve_exact(text.len() + 2);
    line.push(b' ');
    line.extend(text);
    line.push(b'\n');
    Ok(line)
}

/// The text of a whole line with the right digest.
pub(super) fn checked(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_suffix(b"\n")?;
    let (digest, text) = line.split_at_checked(DIGITS)?;
    let text = text.strip_prefix(b" ")?;
    (digest == digits(text).as_bytes()).then_some(text)
}

fn digits(text: &[u8]) -> String {
    let mut digits = Digest::of(text).to_string();
    digits.truncate(DIGITS);
    digits
}

pub(super) fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
