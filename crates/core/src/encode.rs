//! JSON text in a buffer that each thread of execution keeps.

use std::cell::Cell;

use serde::Serialize;

/// The largest buffer that is kept.
const KEPT: usize = 64 << 10;

thread_local! {
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Encodes `value`, and hands its text to `take`: what is kept of it is then
/// allocated once, at its size.
///
/// # Errors
/// What the encoder says.
pub(crate) fn json<R>(value: &impl Serialize, take: impl FnOnce(&str) -> R) -> Result<R, String> {
    // Taken, not borrowed: what is encoded may itself encode something.
    let mut bytes = BUFFER.take();
    bytes.clear();
    let taken = match serde_json::to_writer(&mut bytes, value) {
        Ok(()) => std::str::from_utf8(&bytes)
            .map(take)
            .map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if bytes.capacity() <= KEPT {
        BUFFER.set(bytes);
    }
    taken
}
