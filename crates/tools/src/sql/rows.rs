//! The rows of a statement as JSON, in bounded memory.

use rusqlite::{Row, Statement, types::ValueRef};
use serde_json::{Map, Number, Value};

use crate::hex::hex;

use super::failure::Failure;

/// The bytes of a result without rows: `{"rows":[]}`.
const FRAME_BYTES: usize = 11;

/// What a statement returned.
#[derive(Debug)]
pub(super) struct Rows {
    /// The rows as objects; incomplete where there are more than expected.
    pub(super) rows: Vec<Value>,
    /// How many there were.
    pub(super) found: u64,
}

/// Runs `statement`, and keeps its rows up to `limit` bytes and `expected` rows.
pub(super) fn collect(
    statement: &mut Statement<'_>,
    limit: usize,
    expected: Option<u64>,
) -> Result<Rows, Failure> {
    let columns = columns(statement)?;
    let mut collected = Rows {
        rows: Vec::new(),
        found: 0,
    };
    let mut bytes = FRAME_BYTES;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        collected.found += 1;
        if expected.is_some_and(|expected| collected.found > expected) {
            continue;
        }
        let object = object(row, &columns, limit.saturating_sub(bytes))?;
        // The comma before it counts, except for the first.
        bytes += object.to_string().len() + usize::from(!collected.rows.is_empty());
        if bytes > limit {
            return Err(Failure::OutputTooLarge { limit });
        }
        collected.rows.push(object);
    }
    Ok(collected)
}

/// The names of the columns, which are the keys of each object.
pub(super) fn columns(statement: &Statement<'_>) -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = Vec::new();
    for name in statement.column_names() {
        if names.iter().any(|known| known == name) {
            return Err(Failure::DuplicateColumn {
                name: name.to_owned(),
            });
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

fn object(row: &Row<'_>, columns: &[String], room: usize) -> Result<Value, Failure> {
    let mut object = Map::new();
    for (index, name) in columns.iter().enumerate() {
        let value = row.get_ref(index)?;
        if size(value) > room {
            return Err(Failure::ValueTooLarge);
        }
        object.insert(name.clone(), json_value(value));
    }
    Ok(Value::Object(object))
}

/// The bytes that a value has at least as JSON, known before it is copied.
fn size(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Text(bytes) => bytes.len(),
        ValueRef::Blob(bytes) => bytes.len().saturating_mul(2),
        _ => 0,
    }
}

/// Bytes, and text that is not UTF-8, are `{"hex": …}`; a REAL that is no number is null.
fn json_value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(integer) => Value::from(integer),
        ValueRef::Real(real) => Number::from_f64(real).map_or(Value::Null, Value::Number),
        ValueRef::Text(bytes) => {
            std::str::from_utf8(bytes).map_or_else(|_| hex(bytes), Value::from)
        }
        ValueRef::Blob(bytes) => hex(bytes),
    }
}
