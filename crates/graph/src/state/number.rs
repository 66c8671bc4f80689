//! Channels of numbers.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::{Delta, ReduceError, Reducer, TaskWrites, Written};

/// The sum of what is there, nothing being 0, and `number`.
///
/// Whole numbers stay whole; with a fraction on either side the sum is one of
/// binary floating point (IEEE 754, double).
///
/// # Errors
/// Why there is no such number.
pub(super) fn add(current: Option<&Value>, number: &Number) -> Result<Number, String> {
    let Some(current) = current.and_then(Value::as_number) else {
        return Ok(number.clone());
    };
    if let (Some(a), Some(b)) = (current.as_i128(), number.as_i128()) {
        return a
            .checked_add(b)
            .and_then(Number::from_i128)
            .ok_or_else(|| format!("{a} and {b} are too large to be added"));
    }
    let sum = current.as_f64().zip(number.as_f64()).map(|(a, b)| a + b);
    sum.and_then(Number::from_f64)
        .ok_or_else(|| format!("{current} and {number} are too large to be added"))
}

/// How two numbers stand to each other.
fn compare(a: &Number, b: &Number) -> Ordering {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a
            .as_f64()
            .partial_cmp(&b.as_f64())
            .unwrap_or(Ordering::Equal),
    }
}

/// The writes of a step to a channel of a number.
pub(super) fn fold(
    reducer: Reducer,
    current: Option<&Value>,
    writes: TaskWrites,
    put: &mut impl FnMut(Delta),
) -> Result<(), ReduceError> {
    let mut value = current.cloned();
    for (task, written) in writes {
        match written {
            Written::Set(Value::Number(number)) if reducer == Reducer::Counter => {
                let sum = add(value.as_ref(), &number);
                let sum = sum.map_err(|reason| ReduceError::Refused { task, reason })?;
                value = Some(sum.into());
                put(Delta::Add(number));
            }
            Written::Set(Value::Number(number)) => {
                let wanted = match reducer {
                    Reducer::Min => Ordering::Less,
                    _ => Ordering::Greater,
                };
                let old = value.as_ref().and_then(Value::as_number);
                if old.is_none_or(|old| compare(&number, old) == wanted) {
                    value = Some(number.clone().into());
                    put(Delta::Set(number.into()));
                }
            }
            Written::Clear => {
                value = None;
                put(Delta::Clear);
            }
            _ => {}
        }
    }
    Ok(())
}
