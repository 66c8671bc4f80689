//! Channels that hold a list.

use std::{
    collections::{BTreeSet, HashSet},
    fmt,
    ops::Deref,
};

use rustagents_core::{digest::Digest, journal::JournalError};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{Reduce, decode, encode, fits, recorded};
use crate::state::{
    Delta, FindMessage, ReduceError, Reducer, TaskWrites, UpdateError, Writes, Written, misfit,
    reduce::{self, Held, Known},
};

/// [`Reducer::Append`]: each write adds items.
#[derive(Clone, Copy, Debug)]
pub struct Append;

/// [`Reducer::Topic`]: the items that were written in the last step.
#[derive(Clone, Copy, Debug)]
pub struct Topic;

/// [`Reducer::Union`]: each value stands once.
#[derive(Clone, Copy, Debug)]
pub struct Union;

/// Says whether all items of a write are `I`.
fn check<I: DeserializeOwned>(
    channel: &str,
    reducer: Reducer,
    written: &Written,
) -> Result<(), UpdateError> {
    reduce::kind(channel, reducer, written)?;
    match written {
        Written::Set(item) => fits::<I>(channel, item),
        Written::Append(items) | Written::Replace(Value::Array(items)) => {
            items.iter().try_for_each(|item| fits::<I>(channel, item))
        }
        _ => Ok(()),
    }
}

/// What a recorded change of a list does.
enum Change<I> {
    Add(Vec<I>),
    Clear,
}

fn change<I: DeserializeOwned>(channel: &str, delta: &Delta) -> Result<Change<I>, JournalError> {
    match delta {
        Delta::Append(items) => {
            let items = items.iter().map(|item| recorded(channel, item));
            items.collect::<Result<_, _>>().map(Change::Add)
        }
        Delta::Clear => Ok(Change::Clear),
        _ => Err(misfit(channel)),
    }
}

/// All items as JSON.
fn items<'a, I: Serialize + 'a>(items: impl IntoIterator<Item = &'a I>) -> Vec<Value> {
    items.into_iter().map(encode).collect()
}

/// What makes such a list of an empty one.
fn added(items: Vec<Value>) -> Option<Delta> {
    (!items.is_empty()).then_some(Delta::Append(items))
}

/// Writes the items of an input.
pub(super) fn write<I: Serialize>(
    items: impl IntoIterator<Item = I>,
    channel: &'static str,
    writes: &mut Writes,
) {
    let mut items = items.into_iter().peekable();
    if items.peek().is_some() {
        writes.push_items(channel, items);
    }
}

fn apply<I: DeserializeOwned>(
    value: &mut Vec<I>,
    channel: &str,
    delta: &Delta,
) -> Result<(), JournalError> {
    match change(channel, delta)? {
        Change::Add(items) => value.extend(items),
        Change::Clear => value.clear(),
    }
    Ok(())
}

/// A list in which an item may stand more than once.
fn any<T>(value: &[T], is_over: bool) -> Held<'static, HashSet<Digest>> {
    Held {
        is_empty: value.is_empty(),
        is_over,
        known: None,
    }
}

impl<T> Reduce<Vec<T>> for Append
where
    T: Serialize + DeserializeOwned + Clone,
{
    const REDUCER: Reducer = Reducer::Append;

    type Item = T;

    fn empty() -> Vec<T> {
        Vec::new()
    }

    fn check(channel: &str, written: &Written) -> Result<(), UpdateError> {
        check::<T>(channel, Reducer::Append, written)
    }

    fn reduce(
        value: &Vec<T>,
        writes: TaskWrites,
        put: &mut dyn FnMut(Delta),
    ) -> Result<(), ReduceError> {
        reduce::list(&any(value, false), writes, put)
    }

    fn apply(
        value: &mut Vec<T>,
        channel: &str,
        delta: &Delta,
        _: &mut FindMessage<'_>,
    ) -> Result<(), JournalError> {
        apply(value, channel, delta)
    }

    fn delta(value: &Vec<T>) -> Option<Delta> {
        added(items(value))
    }

    fn to_json(value: &Vec<T>) -> Value {
        items(value).into()
    }

    fn write(value: Vec<T>, channel: &'static str, writes: &mut Writes) {
        write(value, channel, writes);
    }
}

impl<T> Reduce<Vec<T>> for Topic
where
    T: Serialize + DeserializeOwned + Clone,
{
    const REDUCER: Reducer = Reducer::Topic;

    type Item = T;

    fn empty() -> Vec<T> {
        Vec::new()
    }

    fn check(channel: &str, written: &Written) -> Result<(), UpdateError> {
        check::<T>(channel, Reducer::Topic, written)
    }

    fn reduce(
        value: &Vec<T>,
        writes: TaskWrites,
        put: &mut dyn FnMut(Delta),
    ) -> Result<(), ReduceError> {
        reduce::list(&any(value, Self::is_over(value)), writes, put)
    }

    fn is_over(value: &Vec<T>) -> bool {
        !value.is_empty()
    }

    fn apply(
        value: &mut Vec<T>,
        channel: &str,
        delta: &Delta,
        _: &mut FindMessage<'_>,
    ) -> Result<(), JournalError> {
        apply(value, channel, delta)
    }

    fn delta(value: &Vec<T>) -> Option<Delta> {
        added(items(value))
    }

    fn to_json(value: &Vec<T>) -> Value {
        items(value).into()
    }

    fn write(value: Vec<T>, channel: &'static str, writes: &mut Writes) {
        write(value, channel, writes);
    }
}

impl<T: Ord + DeserializeOwned> Known for BTreeSet<T> {
    type Key = T;

    fn key(item: &Value) -> Option<T> {
        decode(item).ok()
    }

    fn has(&self, key: &T) -> bool {
        self.contains(key)
    }

    fn add(&mut self, key: T) -> bool {
        self.insert(key)
    }
}

impl<T> Reduce<BTreeSet<T>> for Union
where
    T: Serialize + DeserializeOwned + Ord + Clone,
{
    const REDUCER: Reducer = Reducer::Union;

    type Item = T;

    fn empty() -> BTreeSet<T> {
        BTreeSet::new()
    }

    fn check(channel: &str, written: &Written) -> Result<(), UpdateError> {
        check::<T>(channel, Reducer::Union, written)
    }

    fn reduce(
        value: &BTreeSet<T>,
        writes: TaskWrites,
        put: &mut dyn FnMut(Delta),
    ) -> Result<(), ReduceError> {
        let held = Held {
            is_empty: value.is_empty(),
            is_over: false,
            known: Some(value),
        };
        reduce::list(&held, writes, put)
    }

    fn apply(
        value: &mut BTreeSet<T>,
        channel: &str,
        delta: &Delta,
        _: &mut FindMessage<'_>,
    ) -> Result<(), JournalError> {
        match change(channel, delta)? {
            Change::Add(items) => value.extend(items),
            Change::Clear => value.clear(),
        }
        Ok(())
    }

    fn delta(value: &BTreeSet<T>) -> Option<Delta> {
        added(items(value))
    }

    fn to_json(value: &BTreeSet<T>) -> Value {
        items(value).into()
    }

    fn write(value: BTreeSet<T>, channel: &'static str, writes: &mut Writes) {
        write(value, channel, writes);
    }
}

/// Items in the order in which they came, each once: those are equal whose JSON
/// forms are. Reads as a slice.
#[derive(Clone, PartialEq)]
pub struct Distinct<T> {
    items: Vec<T>,
    known: HashSet<Digest>,
}

impl<T> Default for Distinct<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            known: HashSet::new(),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Distinct<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
    }
}

impl<T> Deref for Distinct<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T: Serialize> Extend<T> for Distinct<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        for item in items {
            if self.known.insert(reduce::form(&encode(&item))) {
                self.items.push(item);
            }
        }
    }
}

impl<T: Serialize> FromIterator<T> for Distinct<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut distinct = Self::default();
        distinct.extend(items);
        distinct
    }
}

impl<T> Reduce<Distinct<T>> for Union
where
    T: Serialize + DeserializeOwned + Clone,
{
    const REDUCER: Reducer = Reducer::Union;

    type Item = T;

    fn empty() -> Distinct<T> {
        Distinct::default()
    }

    fn check(channel: &str, written: &Written) -> Result<(), UpdateError> {
        check::<T>(channel, Reducer::Union, written)
    }

    fn reduce(
        value: &Distinct<T>,
        writes: TaskWrites,
        put: &mut dyn FnMut(Delta),
    ) -> Result<(), ReduceError> {
        let held = Held {
            is_empty: value.is_empty(),
            is_over: false,
            known: Some(&value.known),
        };
        reduce::list(&held, writes, put)
    }

    fn apply(
        value: &mut Distinct<T>,
        channel: &str,
        delta: &Delta,
        _: &mut FindMessage<'_>,
    ) -> Result<(), JournalError> {
        match change(channel, delta)? {
            Change::Add(items) => value.extend(items),
            Change::Clear => *value = Distinct::default(),
        }
        Ok(())
    }

    fn delta(value: &Distinct<T>) -> Option<Delta> {
        added(items(&value.items))
    }

    fn to_json(value: &Distinct<T>) -> Value {
        items(&value.items).into()
    }

    fn write(value: Distinct<T>, channel: &'static str, writes: &mut Writes) {
        write(value.items, channel, writes);
    }
}
