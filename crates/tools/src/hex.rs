//! Bytes that are no text, in a result.

use serde_json::{Value, json};

/// The bytes as `{"hex": …}`.
pub(crate) fn hex(bytes: &[u8]) -> Value {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble));
    let digits = bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    json!({ "hex": digits.flatten().collect::<String>() })
}
