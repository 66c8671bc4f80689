//! Channels that wait for names.

use std::marker::PhantomData;

use rustagents_core::journal::JournalError;
use serde_json::Value;

use super::{Reduce, list, recorded};
use crate::state::{
    ChannelName, ChannelSpec, Delta, FindMessage, ReduceError, Reducer, TaskWrites, UpdateError,
    Writes, Written, misfit,
    reduce::{self, Held, Known},
};

/// The names that a barrier waits for.
pub trait Awaited: 'static {
    /// The names; at least one.
    const NAMES: &'static [&'static str];
}

/// [`Reducer::Barrier`]: the names of `A` that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Barrier<A>(PhantomData<A>);

/// The names that arrived at a barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrivals {
    awaited: &'static [&'static str],
    arrived: Vec<String>,
}

impl Arrivals {
    /// Whether everybody arrived whom the barrier waits for: in the step after the
    /// last one arrived, and in no other.
    pub fn is_complete(&self) -> bool {
        reduce::is_complete(self.awaited, |name| self.has(name))
    }

    /// Whether `name` arrived.
    pub fn has(&self, name: &str) -> bool {
        self.arrived.iter().any(|other| other == name)
    }

    /// The names that arrived, in that order.
    pub fn names(&self) -> &[String] {
        &self.arrived
    }

    /// The names for which the barrier still waits.
    pub fn missing(&self) -> impl Iterator<Item = &'static str> {
        self.awaited.iter().copied().filter(|name| !self.has(name))
    }

    fn add(&mut self, name: String) {
        if !self.has(&name) {
            self.arrived.push(name);
        }
    }

    fn to_values(&self) -> Vec<Value> {
        self.arrived.iter().cloned().map(Value::from).collect()
    }
}

/// A few names.
impl Known for Vec<String> {
    type Key = String;

    fn key(item: &Value) -> Option<String> {
        item.as_str().map(str::to_owned)
    }

    fn has(&self, key: &String) -> bool {
        self.contains(key)
    }

    fn add(&mut self, key: String) -> bool {
        let is_new = !self.contains(&key);
        if is_new {
            self.push(key);
        }
        is_new
    }
}

impl<A: Awaited> Reduce<Arrivals> for Barrier<A> {
    const REDUCER: Reducer = Reducer::Barrier;

    type Item = String;

    fn spec(name: &'static str) -> ChannelSpec {
        let names = A::NAMES.iter().copied();
        ChannelSpec {
            awaited: names.map(ChannelName::Borrowed).collect(),
            ..ChannelSpec::new(ChannelName::Borrowed(name), Reducer::Barrier)
        }
    }

    fn empty() -> Arrivals {
        Arrivals {
            awaited: A::NAMES,
            arrived: Vec::new(),
        }
    }

    fn check(channel: &str, written: &Written) -> Result<(), UpdateError> {
        reduce::awaited(channel, A::NAMES, written)
    }

    fn reduce(
        value: &Arrivals,
        writes: TaskWrites,
        put: &mut dyn FnMut(Delta),
    ) -> Result<(), ReduceError> {
        let held = Held {
            is_empty: value.arrived.is_empty(),
            is_over: value.is_complete(),
            known: Some(&value.arrived),
        };
        reduce::list(&held, writes, put)
    }

    fn is_over(value: &Arrivals) -> bool {
        value.is_complete()
    }

    fn apply(
        value: &mut Arrivals,
        channel: &str,
        delta: &Delta,
        _: &mut FindMessage<'_>,
    ) -> Result<(), JournalError> {
        match delta {
            Delta::Append(names) => {
                for name in names {
                    value.add(recorded(channel, name)?);
                }
            }
            Delta::Clear => value.arrived.clear(),
            _ => return Err(misfit(channel)),
        }
        Ok(())
    }

    fn delta(value: &Arrivals) -> Option<Delta> {
        let names = value.to_values();
        (!names.is_empty()).then_some(Delta::Append(names))
    }

    fn to_json(value: &Arrivals) -> Value {
        value.to_values().into()
    }

    fn write(value: Arrivals, channel: &'static str, writes: &mut Writes) {
        list::write(value.arrived, channel, writes);
    }
}
