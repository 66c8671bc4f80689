//! Channels that hold one value.

use rustagents_core::journal::JournalError;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{Reduce, encode, fits, recorded};
use crate::state::{
    Delta, FindMessage, ReduceError, Reducer, TaskWrites, UpdateError, Writes, Written, misfit,
    reduce,
};

/// [`Reducer::Overwrite`]: the last value; one task a step may write it.
#[derive(Clone, Copy, Debug)]
pub struct Overwrite;

/// [`Reducer::Untracked`]: as [`Overwrite`], and never recorded.
#[derive(Clone, Copy, Debug)]
pub struct Untracked;

/// [`Reducer::Ephemeral`]: the value of the last step, if it wrote one.
#[derive(Clone, Copy, Debug)]
pub struct Ephemeral;

/// Says whether a write has an `I`, where it has a value.
pub(super) fn check<I: DeserializeOwned>(
    channel: &str,
    reducer: Reducer,
    written: &Written,
) -> Result<(), UpdateError> {
    reduce::kind(channel, reducer, written)?;
    match written {
        Written::Set(value) | Written::Replace(value) => fits::<I>(channel, value),
        _ => Ok(()),
    }
}

fn reduce_last(writes: TaskWrites, put: &mut dyn FnMut(Delta)) -> Result<(), ReduceError> {
    if reduce::replaced(&writes, put)? {
        return Ok(());
    }
    reduce::last(writes, put)
}

/// The new value, or nothing where it is empty now.
pub(super) fn changed<I: DeserializeOwned>(
    channel: &str,
    delta: &Delta,
) -> Result<Option<I>, JournalError> {
    match delta {
        Delta::Set(value) => recorded(channel, value).map(Some),
        Delta::Clear => Ok(None),
        _ => Err(misfit(channel)),
    }
}

/// The change that makes `value` of a default one, if it is no such.
pub(super) fn unless_default<T: Serialize + Default>(value: &T) -> Option<Delta> {
    let value = encode(value);
    (value != encode(&T::default())).then_some(Delta::Set(value))
}

impl<T> Reduce<T> for Overwrite
where
    T: Serialize + DeserializeOwned + Default + Clone,
{
    const REDUCER: Reducer = Reducer::Overwrite;

    type Item = T;

    fn empty() -> T {
        T::default()
    }

    fn check(channel: &str, written: &Written) -> Result<(), UpdateError> {
        check::<T>(channel, Reducer::Overwrite, written)
    }

    fn reduce(_: &T, writes: TaskWrites, put: &mut dyn FnMut(Delta)) -> Result<(), ReduceError> {
        reduce_last(writes, put)
    }

    fn apply(
        value: &mut T,
        channel: &str,
        delta: &Delta,
        _: &mut FindMessage<'_>,
    ) -> Result<(), JournalError> {
        *value = changed(channel, delta)?.unwrap_or_default();
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

impl<T> Reduce<T> for Untracked
where
    T: Serialize + DeserializeOwned + Default + Clone,
{
    const REDUCER: Reducer = Reducer::Untracked;

    type Item = T;

    fn empty() -> T {
        T::default()
    }

    fn check(channel: &str, written: &Written) -> Result<(), UpdateError> {
        check::<T>(channel, Reducer::Untracked, written)
    }

    fn reduce(_: &T, writes: TaskWrites, put: &mut dyn FnMut(Delta)) -> Result<(), ReduceError> {
        reduce_last(writes, put)
    }

    fn apply(
        value: &mut T,
        channel: &str,
        delta: &Delta,
        message: &mut FindMessage<'_>,
    ) -> Result<(), JournalError> {
        Overwrite::apply(value, channel, delta, message)
    }

    fn delta(_: &T) -> Option<Delta> {
        None
    }

    fn to_json(value: &T) -> Value {
        encode(value)
    }

    fn write(value: T, channel: &'static str, writes: &mut Writes) {
        writes.push_value(channel, &value);
    }
}

impl<T> Reduce<Option<T>> for Ephemeral
where
    T: Serialize + DeserializeOwned + Clone,
{
    const REDUCER: Reducer = Reducer::Ephemeral;

    type Item = T;

    fn empty() -> Option<T> {
        None
    }

    fn check(channel: &str, written: &Written) -> Result<(), UpdateError> {
        check::<T>(channel, Reducer::Ephemeral, written)
    }

    fn reduce(
        _: &Option<T>,
        writes: TaskWrites,
        put: &mut dyn FnMut(Delta),
    ) -> Result<(), ReduceError> {
        reduce_last(writes, put)
    }

    fn is_over(value: &Option<T>) -> bool {
        value.is_some()
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
