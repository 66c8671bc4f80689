//! What tasks ask of channels.

use std::sync::Arc;

use foldhash::HashMap;
use rustagents_core::{ids::MessageId, message::Message};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use smallvec::SmallVec;

use super::{ChannelName, UpdateError};

/// What a node writes to a channel of a [`State`](super::State).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Update {
    /// The new value of a channel that holds one, or one more item of a list.
    Value(Value),
    /// More items of a list.
    Items(Vec<Value>),
    /// The value that the channel has after the step, whatever its reducer is and
    /// others write; one task a step may do this.
    Replace(Value),
    /// More messages.
    Messages(Vec<Arc<Message>>),
    /// Takes messages out of a conversation.
    Remove(Vec<MessageId>),
    /// Puts a message where another one stands.
    Swap(MessageId, Arc<Message>),
    /// Empties the channel before what else the step writes after it.
    Clear,
}

/// What a record keeps of one write, before it is reduced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Written {
    /// A value.
    Set(Value),
    /// More items.
    Append(Vec<Value>),
    /// The value after the step.
    Replace(Value),
    /// More messages.
    Messages(Vec<MessageId>),
    /// Messages to be taken out.
    Remove(Vec<MessageId>),
    /// A message, and the one that takes its place.
    Swap(MessageId, MessageId),
    /// What is in the channel goes.
    Clear,
}

impl Written {
    /// The messages that it names.
    pub fn messages(&self) -> impl Iterator<Item = &MessageId> {
        let (some, two): (&[MessageId], _) = match self {
            Self::Messages(ids) | Self::Remove(ids) => (ids, None),
            Self::Swap(old, new) => (&[], Some([old, new])),
            Self::Set(_) | Self::Append(_) | Self::Replace(_) | Self::Clear => (&[], None),
        };
        some.iter().chain(two.into_iter().flatten())
    }
}

/// What one task writes, in order, with the messages that are in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Writes {
    pub(crate) channels: Vec<(ChannelName, Written)>,
    pub(crate) messages: Vec<Arc<Message>>,
    /// The first write that has no JSON form.
    pub(crate) failed: Option<Box<UpdateError>>,
}

impl Writes {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.channels.is_empty() && self.failed.is_none()
    }

    /// Writes `update` to `channel`.
    pub fn push(&mut self, channel: impl Into<ChannelName>, update: Update) {
        let written = match update {
            Update::Value(value) => Written::Set(value),
            Update::Items(items) => Written::Append(items),
            Update::Replace(value) => Written::Replace(value),
            Update::Messages(messages) => {
                let ids = messages.iter().map(|message| message.id.clone()).collect();
                self.messages.extend(messages);
                Written::Messages(ids)
            }
            Update::Remove(ids) => Written::Remove(ids),
            Update::Swap(old, message) => {
                let new = message.id.clone();
                self.messages.push(message);
                Written::Swap(old, new)
            }
            Update::Clear => Written::Clear,
        };
        self.channels.push((channel.into(), written));
    }

    /// Writes what `value` is in JSON. Where it has no such form, whoever takes
    /// the writes refuses all of them.
    pub fn push_value(&mut self, channel: impl Into<ChannelName>, value: &impl Serialize) {
        self.push_encoded(channel.into(), value, Update::Value);
    }

    /// Writes items of a list; as [`push_value`](Self::push_value).
    pub fn push_items<T: Serialize>(
        &mut self,
        channel: impl Into<ChannelName>,
        items: impl IntoIterator<Item = T>,
    ) {
        let items: Vec<_> = items.into_iter().collect();
        self.push_encoded(channel.into(), &items, |items| match items {
            Value::Array(items) => Update::Items(items),
            other => Update::Value(other),
        });
    }

    /// Writes the value that the channel has after the step; as
    /// [`push_value`](Self::push_value).
    pub fn push_replacement(&mut self, channel: impl Into<ChannelName>, value: &impl Serialize) {
        self.push_encoded(channel.into(), value, Update::Replace);
    }

    fn push_encoded(
        &mut self,
        channel: ChannelName,
        value: &impl Serialize,
        update: impl FnOnce(Value) -> Update,
    ) {
        match serde_json::to_value(value) {
            Ok(value) => self.push(channel, update(value)),
            Err(error) => {
                let failed = UpdateError::Encode {
                    channel: channel.into_owned(),
                    reason: error.to_string(),
                };
                self.failed.get_or_insert(Box::new(failed));
            }
        }
    }

    /// Adds a write as it is recorded.
    pub(crate) fn add(&mut self, channel: ChannelName, written: Written) {
        self.channels.push((channel, written));
    }

    /// Adds all of `other`, after what is there.
    pub fn merge(&mut self, other: Self) {
        self.channels.extend(other.channels);
        self.messages.extend(other.messages);
        self.failed = self.failed.take().or(other.failed);
    }
}

/// What a step writes to one channel, in task order; a task is named by its place.
pub type TaskWrites = SmallVec<[(usize, Written); 1]>;

/// A channel with what a step writes to it.
pub(crate) type ChannelWrites = (ChannelName, TaskWrites);

/// How many channels are compared one by one before a map pays.
const FEW: usize = 16;

/// The writes of a step by channel, in the order in which each was first written.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    channels: SmallVec<[ChannelWrites; 1]>,
    places: HashMap<ChannelName, usize>,
}

impl Gathered {
    pub(crate) fn add(&mut self, task: usize, channel: ChannelName, written: Written) {
        if let Some((_, writes)) = self
            .place(&channel)
            .and_then(|at| self.channels.get_mut(at))
        {
            writes.push((task, written));
            return;
        }
        if self.channels.len() >= FEW {
            self.places.insert(channel.clone(), self.channels.len());
        }
        let mut writes = TaskWrites::new();
        writes.push((task, written));
        self.channels.push((channel, writes));
    }

    fn place(&self, channel: &str) -> Option<usize> {
        let few = self.channels.iter().take(FEW);
        let place = few.into_iter().position(|(name, _)| name == channel);
        place.or_else(|| self.places.get(channel).copied())
    }

    pub(crate) fn has(&self, channel: &str) -> bool {
        self.place(channel).is_some()
    }

    /// All of it, which leaves the names.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = (&ChannelName, TaskWrites)> {
        let channels = self.channels.iter_mut();
        channels.map(|(name, writes)| (&*name, std::mem::take(writes)))
    }
}
