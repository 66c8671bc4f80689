//! A recorded state through migrations, and back to what a record keeps.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
};

use rustagents_core::{
    ids::MessageId, journal::JournalError, migration::MigrationRefused, scope::Halt,
};
use serde_json::Value;

use super::{Channels, Migration, MigrationError};
use crate::{
    graph::{Graph, Position},
    state::{ChannelName, ChannelSpec, Delta, FindMessage, GraphState, Reducer, Written},
};

/// What records keep of a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Value,
    Items,
    Messages,
}

impl Kept {
    fn of(delta: &Delta) -> Self {
        match delta {
            Delta::Append(_) => Self::Items,
            Delta::Messages(_) => Self::Messages,
            _ => Self::Value,
        }
    }

    fn declared(reducer: Reducer) -> Self {
        match reducer {
            Reducer::Messages => Self::Messages,
            reducer if reducer.is_list() => Self::Items,
            _ => Self::Value,
        }
    }

    /// The change that makes `value` of nothing.
    fn delta(self, value: Value) -> Result<Delta, &'static str> {
        match (self, value) {
            (Self::Value, value) => Ok(Delta::Set(value)),
            (Self::Items, Value::Array(items)) => Ok(Delta::Append(items)),
            (Self::Items, _) => Err("it takes a list of items"),
            (Self::Messages, Value::Array(ids)) => {
                let ids = ids.iter().map(|id| id.as_str().map(MessageId::from));
                let ids: Option<Vec<_>> = ids.collect();
                ids.map(Delta::Messages).ok_or(IDS)
            }
            (Self::Messages, _) => Err(IDS),
        }
    }
}

const IDS: &str = "it takes a list of the ids of messages";

/// A recorded state on its way.
struct Carried {
    channels: Channels,
    kept: BTreeMap<String, Kept>,
    /// The last migration that changed each channel.
    changed: BTreeMap<String, String>,
}

impl Carried {
    fn of(deltas: &[(ChannelName, Delta)]) -> Self {
        let kept = deltas.iter();
        let kept = kept.map(|(name, delta)| (name.clone().into_owned(), Kept::of(delta)));
        let channels = deltas.iter();
        let channels = channels.map(|(name, delta)| (name.clone().into_owned(), to_json(delta)));
        Self {
            channels: channels.collect(),
            kept: kept.collect(),
            changed: BTreeMap::new(),
        }
    }

    fn through(&mut self, migration: &Migration) -> Result<(), MigrationRefused> {
        let before = self.channels.clone();
        let apply = || (migration.apply)(&mut self.channels);
        let applied = catch_unwind(AssertUnwindSafe(apply));
        let applied = applied.unwrap_or_else(|_| Err("it panicked".into()));
        applied.map_err(|error| failed(&migration.name, error))?;
        let names: BTreeSet<_> = before.keys().chain(self.channels.keys()).collect();
        for name in names {
            if before.get(name) == self.channels.get(name) {
                continue;
            }
            if !migration.touches(name) {
                let error =
                    MigrationError::in_channel(name, "it changes this, and does not say so");
                return Err(failed(&migration.name, error));
            }
            self.changed.insert(name.clone(), migration.name.clone());
        }
        Ok(())
    }

    /// What records keep of a channel, if it is declared or was recorded.
    fn kept(&self, name: &str, spec: Option<&ChannelSpec>, value: &Value) -> Option<Kept> {
        if let Some(spec) = spec {
            return Some(Kept::declared(spec.reducer));
        }
        let kept = self.kept.get(name)?;
        let was_list = *kept == Kept::Items && !value.is_array();
        Some(if was_list { Kept::Value } else { *kept })
    }

    /// Puts what is in a channel into `position`, a piece of the state as it is now.
    fn put<S: GraphState>(
        &self,
        position: &mut Position<S>,
        name: &str,
        value: Value,
        (specs, find): (&[ChannelSpec], &mut FindMessage<'_>),
    ) -> Result<(), Halt> {
        let changed = self.changed.get(name);
        let refused = |reason: String| match changed {
            Some(migration) => failed(migration, MigrationError::in_channel(name, reason)).into(),
            None => Halt::from(misfit(name, reason)),
        };
        let spec = specs.iter().find(|spec| spec.name == name);
        let Some(kept) = self.kept(name, spec, &value) else {
            return Err(refused("the graph does not declare it".into()));
        };
        if let Some(spec) = spec
            && changed.is_some()
            && !matches!(spec.reducer, Reducer::Messages | Reducer::Barrier)
        {
            let written = Written::Replace(value.clone());
            let checked = position.state.check(name, &written);
            checked.map_err(|error| refused(error.to_string()))?;
        }
        let delta = kept.delta(value).map_err(|reason| refused(reason.into()))?;
        let delta = [(ChannelName::from(name.to_owned()), delta)];
        position.apply(&delta, find).map_err(|error| match changed {
            Some(_) => refused(error.to_string()),
            None => error.into(),
        })
    }
}

fn to_json(delta: &Delta) -> Value {
    match delta {
        Delta::Set(value) => value.clone(),
        Delta::Append(items) => Value::Array(items.clone()),
        Delta::Messages(ids) => ids.iter().map(|id| Value::from(id.as_str())).collect(),
        // What is made of a state has no others.
        _ => Value::Null,
    }
}

fn failed(migration: &str, error: MigrationError) -> MigrationRefused {
    MigrationRefused::Failed {
        migration: migration.to_owned(),
        channel: error.channel,
        reason: error.reason,
    }
}

/// What is said of a channel that no migration changed, and that does not fit.
fn misfit(channel: &str, reason: String) -> JournalError {
    JournalError::Corrupt {
        place: format!("channel `{channel}`"),
        reason,
    }
}

impl<S: GraphState> Graph<S> {
    /// `position` with the state that `owed` makes of the recorded one, and with the
    /// tasks as they are called now.
    pub(crate) fn migrated(
        &self,
        mut position: Position<S>,
        recorded: &[(ChannelName, Delta)],
        owed: &[Migration],
        find: &mut FindMessage<'_>,
    ) -> Result<Position<S>, Halt> {
        let mut carried = Carried::of(recorded);
        for migration in owed {
            carried.through(migration)?;
        }
        for (name, value) in std::mem::take(&mut carried.channels) {
            carried.put(&mut position, &name, value, (self.channels(), &mut *find))?;
        }
        self.rename_tasks(&mut position.pending, owed);
        position.migrations = self.declared();
        position.owes = owed.len();
        Ok(position)
    }
}
