//! Channels of sums, and of what is smallest or largest.

use rustagents_core::journal::JournalError;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Number, Value};

use super::{
    Reduce, corrupt, decode, encode,
    value::{changed, check, unless_default},
};
use crate::state::{
    Delta, FindMessage, ReduceError, Reducer, TaskWrites, UpdateError, Writes, Written, number,
    reduce,
};

/// The smallest value that was written, or the largest.
#[derive(Clone, Copy, Debug)]
pub struct Extreme<const LARGEST: bool>;

/// [`Reducer::Min`]: the smallest value that was written.
pub type Min = Extreme<false>;

/// [`Reducer::Max`]: the largest value that was written.
pub type Max = Extreme<true>;

/// [`Reducer::Counter`]: the sum of all numbers that were written.
#[derive(Clone, Copy, Debug)]
pub struct Counter;

/// A number that is a sum of others.
#[diagnostic::on_unimplemented(
    message = "a channel of type `{Self}` cannot be a counter",
    label = "not a number that is counted",
    note = "`counter` is for `i64`, `u64` and `f64`"
)]
pub trait Count: Serialize + DeserializeOwned + Default + Copy {
    /// The sum, if there is one.
    #[must_use]
    fn plus(self, other: Self) -> Option<Self>;
}

impl Count for i64 {
    fn plus(self, other: Self) -> Option<Self> {
        self.checked_add(other)
    }
}

impl Count for u64 {
    fn plus(self, other: Self) -> Option<Self> {
        self.checked_add(other)
    }
}

impl Count for f64 {
    fn plus(self, other: Self) -> Option<Self> {
        Some(self + other).filter(|sum| sum.is_finite())
    }
}

/// The sum of what is there, nothing being 0, and `number`.
fn plus<T: Count>(current: Option<&T>, number: &Number) -> Result<T, String> {
    let current = current.copied().unwrap_or_default();
    let more: T = decode(&Value::Number(number.clone()))?;
    let too_large = || {
        format!(
            "{} and {number} are too large to be added",
            encode(&current)
        )
    };
    current.plus(more).ok_or_else(too_large)
}

impl<T: Count> Reduce<T> for Counter {
    const REDUCER: Reducer = Reducer::Counter;

    type Item = T;

    fn empty() -> T {
        T::default()
    }

    fn check(channel: &str, written: &Written) -> Result<(), UpdateError> {
        check::<T>(channel, Reducer::Counter, written)
    }

    fn reduce(
        value: &T,
        writes: TaskWrites,
        put: &mut dyn FnMut(Delta),
    ) -> Result<(), ReduceError> {
        if reduce::replaced(&writes, put)? {
            return Ok(());
        }
        number::count(Some(*value), writes, plus, put)
    }

    fn apply(
        value: &mut T,
        channel: &str,
        delta: &Delta,
        _: &mut FindMessage<'_>,
    ) -> Result<(), JournalError> {
        *value = match delta {
            Delta::Add(number) => {
                plus(Some(value), number).map_err(|reason| corrupt::<T>(channel, &reason))?
            }
            delta => changed(channel, delta)?.unwrap_or_default(),
        };
        Ok(())
    }

    fn delta(value: &T) -> Option<Delta> {
        unless_default(value)
    }

    fn to_json(value: &T) -> Value {
        encode(value)
    }

    fn write(value: T, channel: &'static str, writes: &mut Writes) {
        writes.push_value(channel, &value);
    }
}

impl<T, const LARGEST: bool> Reduce<Option<T>> for Extreme<LARGEST>
where
    T: Serialize + DeserializeOwned + PartialOrd + Clone,
{
    const REDUCER: Reducer = if LARGEST { Reducer::Max } else { Reducer::Min };

    type Item = T;

    fn empty() -> Option<T> {
        None
    }

    fn check(channel: &str, written: &Written) -> Result<(), UpdateError> {
        check::<T>(channel, Reducer::Overwrite, written)
    }

    fn reduce(
        value: &Option<T>,
        writes: TaskWrites,
        put: &mut dyn FnMut(Delta),
    ) -> Result<(), ReduceError> {
        if reduce::replaced(&writes, put)? {
            return Ok(());
        }
        let how = (|value: &Value| decode(value).ok(), T::partial_cmp);
        let wanted = number::wanted(<Self as Reduce<Option<T>>>::REDUCER);
        number::extreme(wanted, value.clone(), writes, how, put);
        Ok(())
    }

    fn apply(
        value: &mut Option<T>,
        channel: &str,
        delta: &Delta,
        _: &mut FindMessage<'_>,
    ) -> Result<(), JournalError> {
        *value = changed(channel, delta)?;
        Ok(())
    }

    fn delta(value: &Option<T>) -> Option<Delta> {
        value.as_ref().map(|value| Delta::Set(encode(value)))
    }

    fn to_json(value: &Option<T>) -> Value {
        encode(value)
    }

    fn write(value: Option<T>, channel: &'static str, writes: &mut Writes) {
        if let Some(value) = value {
            writes.push_value(channel, &value);
        }
    }
}
