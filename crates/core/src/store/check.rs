//! The rules for writes that need no look at the store.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{StoreError, StoreLimits, Write};
use crate::{canonical::MAX_DEPTH, encode};

/// The most writes that are performed together.
pub const MAX_WRITES: usize = 1_000;

/// The most bytes of values that are written together.
pub const MAX_WRITE_BYTES: usize = 8 << 20;

/// Checks writes, and gives the JSON text of each value that is put, empty for
/// deletions.
///
/// # Errors
/// [`StoreError::TooLarge`]: a value, or all together. [`StoreError::Malformed`]:
/// there are too many writes, two for one address, or a value is nested deeper
/// than [`MAX_DEPTH`].
pub fn texts(writes: &[Write], limits: StoreLimits) -> Result<Vec<Box<str>>, StoreError> {
    if writes.len() > MAX_WRITES {
        let rule = "at most 1000 writes are performed together";
        return Err(StoreError::Malformed { rule });
    }
    let mut addresses = BTreeSet::new();
    if !writes.iter().all(|write| addresses.insert(write.address())) {
        let rule = "writes that are performed together name an address once";
        return Err(StoreError::Malformed { rule });
    }
    let mut texts = Vec::with_capacity(writes.len());
    let mut bytes = 0;
    for write in writes {
        let text = match write {
            Write::Put(put) => text(&put.value, limits.value_bytes)?,
            Write::Delete(_) => Box::default(),
        };
        bytes += text.len();
        at_most(
            "batch of values",
            bytes,
            MAX_WRITE_BYTES.max(limits.value_bytes),
        )?;
        texts.push(text);
    }
    Ok(texts)
}

pub(crate) fn text(value: &Value, limit: usize) -> Result<Box<str>, StoreError> {
    if is_deeper(value, MAX_DEPTH) {
        let rule = "a value is nested at most 64 deep";
        return Err(StoreError::Malformed { rule });
    }
    encode::json(value, |text| {
        at_most("value", text.len(), limit).map(|()| text.into())
    })
    .map_err(|_| StoreError::Malformed {
        rule: "a value is JSON",
    })?
}

pub(crate) fn at_most(what: &'static str, bytes: usize, limit: usize) -> Result<(), StoreError> {
    if bytes > limit {
        return Err(StoreError::TooLarge { what, bytes, limit });
    }
    Ok(())
}

/// Whether there are more than `depth` values around the innermost one.
fn is_deeper(value: &Value, depth: usize) -> bool {
    let Some(inner) = depth.checked_sub(1) else {
        return matches!(value, Value::Array(_) | Value::Object(_));
    };
    match value {
        Value::Array(elements) => elements.iter().any(|value| is_deeper(value, inner)),
        Value::Object(members) => members.values().any(|value| is_deeper(value, inner)),
        _ => false,
    }
}
