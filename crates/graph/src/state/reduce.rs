//! What reducers make of the writes of a step, whatever form a state has.

use std::collections::HashSet;

use rustagents_core::{canonical::Canonical, digest::Digest};
use serde_json::Value;

use super::{Delta, ReduceError, Reducer, TaskWrites, UpdateError, Written};

/// Says whether a write is of a kind that the channel takes.
pub(super) fn kind(channel: &str, reducer: Reducer, written: &Written) -> Result<(), UpdateError> {
    use Written::{Append, Clear, Messages, Remove, Replace, Set, Swap};
    let (fits, takes) = match reducer {
        Reducer::Messages => (
            matches!(written, Messages(_) | Remove(_) | Swap(..) | Clear),
            "messages",
        ),
        Reducer::Append | Reducer::Union | Reducer::Topic => (
            match written {
                Replace(value) => value.is_array(),
                written => matches!(written, Set(_) | Append(_) | Clear),
            },
            "values",
        ),
        Reducer::Barrier => (
            match written {
                Set(name) => name.is_string(),
                Append(names) => names.iter().all(Value::is_string),
                written => *written == Clear,
            },
            "names",
        ),
        Reducer::Min | Reducer::Max | Reducer::Counter => (
            match written {
                Set(value) | Replace(value) => value.is_number(),
                written => *written == Clear,
            },
            "numbers",
        ),
        _ => (matches!(written, Set(_) | Replace(_) | Clear), "values"),
    };
    if fits {
        return Ok(());
    }
    Err(UpdateError::Kind {
        channel: channel.to_owned(),
        takes,
    })
}

/// Says whether all names are awaited that a write has.
pub(super) fn awaited<N: AsRef<str>>(
    channel: &str,
    awaited: &[N],
    written: &Written,
) -> Result<(), UpdateError> {
    kind(channel, Reducer::Barrier, written)?;
    let names = match written {
        Written::Set(name) => std::slice::from_ref(name),
        Written::Append(names) => names,
        _ => &[],
    };
    let is_awaited = |name: &str| awaited.iter().any(|other| other.as_ref() == name);
    let mut names = names.iter().filter_map(Value::as_str);
    match names.find(|name| !is_awaited(name)) {
        None => Ok(()),
        Some(name) => Err(UpdateError::Value {
            channel: channel.to_owned(),
            takes: one_of(awaited),
            reason: format!("nobody waits for `{name}`"),
        }),
    }
}

fn one_of<N: AsRef<str>>(names: &[N]) -> String {
    let names: Vec<_> = names.iter().map(AsRef::as_ref).collect();
    format!("the names `{}`", names.join("`, `"))
}

/// The write that wins over all others of its step, if there is one.
fn replacement(writes: &[(usize, Written)]) -> Result<Option<&Value>, ReduceError> {
    let mut found: Option<(usize, &Value)> = None;
    for (task, written) in writes {
        if let Written::Replace(value) = written {
            if let Some((other, _)) = found.filter(|(other, _)| other != task) {
                return Err(ReduceError::Concurrent(other, *task));
            }
            found = Some((*task, value));
        }
    }
    Ok(found.map(|(_, value)| value))
}

/// Whether one write wins over all others; then it is put.
pub(super) fn replaced(
    writes: &[(usize, Written)],
    put: &mut (impl FnMut(Delta) + ?Sized),
) -> Result<bool, ReduceError> {
    let value = replacement(writes)?;
    if let Some(value) = value {
        put(Delta::Set(value.clone()));
    }
    Ok(value.is_some())
}

/// A list before a step.
pub(super) struct Held<'a, K> {
    pub(super) is_empty: bool,
    /// Whether what is in it goes with this step.
    pub(super) is_over: bool,
    /// What is in it, where each item may stand once.
    pub(super) known: Option<&'a K>,
}

/// The writes of a step to a list.
pub(super) fn list<K: Known>(
    held: &Held<'_, K>,
    mut writes: TaskWrites,
    put: &mut (impl FnMut(Delta) + ?Sized),
) -> Result<(), ReduceError> {
    if let Some(Value::Array(items)) = replacement(&writes)? {
        let items = Written::Append(items.clone());
        writes.clear();
        if !held.is_empty {
            writes.push((0, Written::Clear));
        }
        writes.push((0, items));
    } else if held.is_over {
        put(Delta::Clear);
    }
    match held.known {
        Some(known) => union(Some(known).filter(|_| !held.is_over), writes, put),
        None => writes
            .into_iter()
            .for_each(|(_, written)| items_of(written, put)),
    }
    Ok(())
}

fn items_of(written: Written, put: &mut (impl FnMut(Delta) + ?Sized)) {
    match written {
        Written::Set(item) => put(Delta::Append(vec![item])),
        Written::Append(items) => put(Delta::Append(items)),
        Written::Clear => put(Delta::Clear),
        _ => {}
    }
}

/// What is known of the items of a list in which each stands once.
pub(super) trait Known: Default {
    /// Equal for equal items.
    type Key;

    /// The key of an item; none for what can be no item.
    fn key(item: &Value) -> Option<Self::Key>;

    /// Whether an item of this key is there.
    fn has(&self, key: &Self::Key) -> bool;

    /// Adds a key; whether it is new.
    fn add(&mut self, key: Self::Key) -> bool;
}

impl Known for HashSet<Digest> {
    type Key = Digest;

    fn key(item: &Value) -> Option<Digest> {
        Some(form(item))
    }

    fn has(&self, key: &Digest) -> bool {
        self.contains(key)
    }

    fn add(&mut self, key: Digest) -> bool {
        self.insert(key)
    }
}

/// Equal for equal values, and for no others.
pub(super) fn form(value: &Value) -> Digest {
    Canonical::of(value).digest()
}

/// What is new in the writes, each once.
fn union<K: Known>(
    mut before: Option<&K>,
    writes: TaskWrites,
    put: &mut (impl FnMut(Delta) + ?Sized),
) {
    let mut added = K::default();
    for (_, written) in writes {
        if written == Written::Clear {
            (before, added) = (None, K::default());
        }
        let mut is_new = |item: &Value| {
            let key = K::key(item).filter(|key| !before.is_some_and(|known| known.has(key)));
            key.is_some_and(|key| added.add(key))
        };
        items_of(written, &mut |delta| match delta {
            Delta::Append(mut new) => {
                new.retain(&mut is_new);
                if !new.is_empty() {
                    put(Delta::Append(new));
                }
            }
            other => put(other),
        });
    }
}

/// The last write, where one task alone wrote.
pub(super) fn last(
    writes: TaskWrites,
    put: &mut (impl FnMut(Delta) + ?Sized),
) -> Result<(), ReduceError> {
    if let Some(((first, _), rest)) = writes.split_first()
        && let Some((other, _)) = rest.iter().find(|(task, _)| task != first)
    {
        return Err(ReduceError::Concurrent(*first, *other));
    }
    match writes.into_iter().next_back() {
        Some((_, Written::Set(value))) => put(Delta::Set(value)),
        Some((_, Written::Clear)) => put(Delta::Clear),
        _ => {}
    }
    Ok(())
}

/// What a function makes of what is there and of the writes, one after the other;
/// nothing where they end with nothing in the channel.
pub(super) fn fold<V>(
    current: &V,
    empty: &V,
    writes: TaskWrites,
    fold: impl Fn(&V, &Value) -> Result<V, String>,
) -> Result<Option<V>, ReduceError> {
    let (mut before, mut made) = (current, None);
    for (task, written) in writes {
        made = match written {
            Written::Set(new) => {
                let folded = fold(made.as_ref().unwrap_or(before), &new);
                Some(folded.map_err(|reason| ReduceError::Refused { task, reason })?)
            }
            _ => None,
        };
        before = empty;
    }
    Ok(made)
}

/// Whether everybody arrived whom a barrier waits for.
pub(super) fn is_complete<N: AsRef<str>>(awaited: &[N], has: impl Fn(&str) -> bool) -> bool {
    !awaited.is_empty() && awaited.iter().all(|name| has(name.as_ref()))
}
