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
fn compare(a: &Number, b: &Number) -> Option<Ordering> {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64().partial_cmp(&b.as_f64()),
    }
}

/// The writes of a step to a channel of a number.
pub(super) fn fold(
    reducer: Reducer,
    current: Option<&Value>,
    writes: TaskWrites,
    put: &mut (impl FnMut(Delta) + ?Sized),
) -> Result<(), ReduceError> {
    if reducer == Reducer::Counter {
        let plus = |sum: Option<&Value>, number: &Number| add(sum, number).map(Value::from);
        return count(current.cloned(), writes, plus, put);
    }
    let best = current.and_then(Value::as_number).cloned();
    let read = |value: &Value| value.as_number().cloned();
    extreme(wanted(reducer), best, writes, (read, compare), put);
    Ok(())
}

/// How a value stands to the one whose place it takes.
pub(super) fn wanted(reducer: Reducer) -> Ordering {
    match reducer {
        Reducer::Min => Ordering::Less,
        _ => Ordering::Greater,
    }
}

/// What is added, while there is such a sum.
pub(super) fn count<V>(
    mut sum: Option<V>,
    writes: TaskWrites,
    plus: impl Fn(Option<&V>, &Number) -> Result<V, String>,
    put: &mut (impl FnMut(Delta) + ?Sized),
) -> Result<(), ReduceError> {
    for (task, written) in writes {
        match written {
            Written::Set(Value::Number(number)) => {
                let more = plus(sum.as_ref(), &number);
                sum = Some(more.map_err(|reason| ReduceError::Refused { task, reason })?);
                put(Delta::Add(number));
            }
            Written::Clear => {
                sum = None;
                put(Delta::Clear);
            }
            _ => {}
        }
    }
    Ok(())
}

/// What is `wanted` beside the best value so far.
pub(super) fn extreme<V>(
    wanted: Ordering,
    mut best: Option<V>,
    writes: TaskWrites,
    (read, compare): (
        impl Fn(&Value) -> Option<V>,
        impl Fn(&V, &V) -> Option<Ordering>,
    ),
    put: &mut (impl FnMut(Delta) + ?Sized),
) {
    for (_, written) in writes {
        match written {
            Written::Set(value) => {
                let better = read(&value).filter(|new| {
                    let is_better = |old: &V| compare(new, old) == Some(wanted);
                    best.as_ref().is_none_or(is_better)
                });
                if better.is_some() {
                    best = better;
                    put(Delta::Set(value));
                }
            }
            Written::Clear => {
                best = None;
                put(Delta::Clear);
            }
            _ => {}
        }
    }
}
