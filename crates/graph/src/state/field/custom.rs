//! Channels with a reducer of their own.

use std::{marker::PhantomData, sync::Arc};

use rustagents_core::journal::JournalError;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{Overwrite, Reduce, decode, encode, fits};
use crate::state::{
    ChannelName, ChannelSpec, Delta, FindMessage, ReduceError, Reducer, TaskWrites, UpdateError,
    Writes, Written, reduce,
};

/// A reducer of one's own, for a channel of type `T`.
pub trait Folds<T>: 'static {
    /// What is written to the channel.
    type Write: Serialize + DeserializeOwned;

    /// The new value; a pure function of both.
    ///
    /// # Errors
    /// Why the write is refused.
    fn fold(current: &T, write: Self::Write) -> Result<T, String>;
}

/// [`Reducer::Custom`]: what `F` makes of the value and of each write.
#[derive(Clone, Copy, Debug)]
pub struct Custom<F>(PhantomData<F>);

fn fold<T, F: Folds<T>>(current: &T, write: &Value) -> Result<T, String> {
    F::fold(current, decode(write)?)
}

/// The JSON form of what a function made, if that is read back.
fn form<T: Serialize + DeserializeOwned>(value: &T) -> Result<Value, String> {
    let form = serde_json::to_value(value).map_err(|error| error.to_string());
    let form = form.and_then(|form| decode::<T>(&form).map(|_| form));
    form.map_err(|reason| format!("what the reducer makes cannot be recorded: {reason}"))
}

/// The same on JSON, for a [`State`](crate::state::State).
fn fold_json<T, F>(current: &Value, write: &Value) -> Result<Value, String>
where
    T: Serialize + DeserializeOwned + Default,
    F: Folds<T>,
{
    let current = match current {
        Value::Null => T::default(),
        current => decode(current)?,
    };
    form(&fold::<T, F>(&current, write)?)
}

impl<T, F> Reduce<T> for Custom<F>
where
    T: Serialize + DeserializeOwned + Default + Clone + 'static,
    F: Folds<T>,
{
    const REDUCER: Reducer = Reducer::Custom;

    type Item = F::Write;

    fn spec(name: &'static str) -> ChannelSpec {
        ChannelSpec {
            fold: Some(Arc::new(fold_json::<T, F>)),
            ..ChannelSpec::new(ChannelName::Borrowed(name), Reducer::Custom)
        }
    }

    fn empty() -> T {
        T::default()
    }

    fn check(channel: &str, written: &Written) -> Result<(), UpdateError> {
        reduce::kind(channel, Reducer::Custom, written)?;
        match written {
            Written::Set(write) => fits::<F::Write>(channel, write),
            Written::Replace(value) => fits::<T>(channel, value),
            _ => Ok(()),
        }
    }

    fn reduce(
        value: &T,
        writes: TaskWrites,
        put: &mut dyn FnMut(Delta),
    ) -> Result<(), ReduceError> {
        if reduce::replaced(&writes, put)? {
            return Ok(());
        }
        let task = writes.last().map_or(0, |(task, _)| *task);
        let delta = match reduce::fold(value, &T::default(), writes, fold::<T, F>)? {
            None => Delta::Clear,
            Some(made) => {
                let refused = |reason| ReduceError::Refused { task, reason };
                Delta::Set(form(&made).map_err(refused)?)
            }
        };
        put(delta);
        Ok(())
    }

    fn apply(
        value: &mut T,
        channel: &str,
        delta: &Delta,
        message: &mut FindMessage<'_>,
    ) -> Result<(), JournalError> {
        Overwrite::apply(value, channel, delta, message)
    }

    fn delta(value: &T) -> Option<Delta> {
        Overwrite::delta(value)
    }

    fn to_json(value: &T) -> Value {
        encode(value)
    }

    fn write(value: T, channel: &'static str, writes: &mut Writes) {
        writes.push_replacement(channel, &value);
    }
}
