//! The state of a graph: named channels of JSON values and messages.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use rustagents_core::{
    ids::MessageId,
    journal::JournalError,
    message::{Message, Role},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a channel takes writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reducer {
    /// The last value; one write a step.
    Overwrite,
    /// A list; each write adds an item.
    Append,
    /// A conversation; each message stands in it once.
    Messages,
}

/// What a node writes to a channel.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Update {
    /// The new value of an overwrite channel, or one more item of an append channel.
    Value(Value),
    /// More messages.
    Messages(Vec<Arc<Message>>),
}

/// What a record keeps of a change: made by the engine, never reduced again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Delta {
    /// The value is now this one.
    Set(Value),
    /// These items were added.
    Append(Vec<Value>),
    /// These messages were added.
    Messages(Vec<MessageId>),
}

/// The content of a channel.
#[derive(Clone, Debug, PartialEq)]
enum Channel {
    Value(Option<Arc<Value>>),
    List(Vec<Arc<Value>>),
    Messages(Conversation),
}

impl Channel {
    /// An empty channel that takes such changes.
    fn of(delta: &Delta) -> Self {
        match delta {
            Delta::Set(_) => Self::Value(None),
            Delta::Append(_) => Self::List(Vec::new()),
            Delta::Messages(_) => Self::Messages(Conversation::default()),
        }
    }

    /// The change that makes its content, if it has any.
    fn delta(&self) -> Option<Delta> {
        match self {
            Self::Value(value) => value.as_deref().cloned().map(Delta::Set),
            Self::List(items) if items.is_empty() => None,
            Self::List(items) => {
                let items = items.iter().map(|item| (**item).clone());
                Some(Delta::Append(items.collect()))
            }
            Self::Messages(conversation) if conversation.messages.is_empty() => None,
            Self::Messages(conversation) => {
                let ids = conversation
                    .messages
                    .iter()
                    .map(|message| message.id.clone());
                Some(Delta::Messages(ids.collect()))
            }
        }
    }
}

/// Messages in order, each once.
#[derive(Clone, Debug, Default, PartialEq)]
struct Conversation {
    messages: Vec<Arc<Message>>,
    known: HashSet<MessageId>,
}

/// The committed state. Cloning shares the values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    channels: BTreeMap<String, Channel>,
    /// What the log knows of channels that are not declared any more.
    carried: BTreeMap<String, Channel>,
}

/// Why a write does not fit its channel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// There is no such channel.
    #[error("there is no channel `{channel}`")]
    UnknownChannel {
        /// The name.
        channel: String,
    },
    /// The channel takes something else.
    #[error("channel `{channel}` takes {takes}")]
    Kind {
        /// The channel.
        channel: String,
        /// What it takes.
        takes: &'static str,
    },
}

impl State {
    /// A state with empty channels.
    pub fn new<'a>(channels: impl IntoIterator<Item = (&'a str, Reducer)>) -> Self {
        let empty = |reducer| match reducer {
            Reducer::Overwrite => Channel::Value(None),
            Reducer::Append => Channel::List(Vec::new()),
            Reducer::Messages => Channel::Messages(Conversation::default()),
        };
        let channels = channels.into_iter();
        Self {
            channels: channels
                .map(|(name, reducer)| (name.to_owned(), empty(reducer)))
                .collect(),
            carried: BTreeMap::new(),
        }
    }

    /// The value of an overwrite channel, if one was written.
    pub fn value(&self, channel: &str) -> Option<&Value> {
        match self.channels.get(channel)? {
            Channel::Value(value) => value.as_deref(),
            _ => None,
        }
    }

    /// The items of an append channel.
    pub fn list(&self, channel: &str) -> &[Arc<Value>] {
        match self.channels.get(channel) {
            Some(Channel::List(items)) => items,
            _ => &[],
        }
    }

    /// The messages of a messages channel.
    pub fn messages(&self, channel: &str) -> &[Arc<Message>] {
        match self.channels.get(channel) {
            Some(Channel::Messages(conversation)) => &conversation.messages,
            _ => &[],
        }
    }

    /// The text of the last assistant's message of a messages channel.
    pub fn last_answer(&self, channel: &str) -> Option<String> {
        let messages = self.messages(channel).iter().rev();
        let mut answers = messages.filter(|message| message.role() == Role::Assistant);
        answers.next().map(|message| message.text())
    }

    /// The delta that `update` makes on `channel`.
    ///
    /// # Errors
    /// [`UpdateError`]: there is no such channel, or it takes something else.
    pub fn delta(&self, channel: &str, update: Update) -> Result<Delta, UpdateError> {
        let Some(content) = self.channels.get(channel) else {
            return Err(UpdateError::UnknownChannel {
                channel: channel.to_owned(),
            });
        };
        let kind = |takes| UpdateError::Kind {
            channel: channel.to_owned(),
            takes,
        };
        match (content, update) {
            (Channel::Value(_), Update::Value(value)) => Ok(Delta::Set(value)),
            (Channel::List(_), Update::Value(item)) => Ok(Delta::Append(vec![item])),
            (Channel::Messages(_), Update::Messages(messages)) => Ok(Delta::Messages(
                messages.iter().map(|message| message.id.clone()).collect(),
            )),
            (Channel::Messages(_), Update::Value(_)) => Err(kind("messages")),
            (_, Update::Messages(_)) => Err(kind("values")),
        }
    }

    /// Makes a recorded change; the only way in which a state changes. A channel
    /// that is not declared any more is carried along, and seen by nobody.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`]: the change is not one of the channel's, or
    /// `message` does not know a message.
    pub fn apply(
        &mut self,
        channel: &str,
        delta: &Delta,
        mut message: impl FnMut(&MessageId) -> Result<Arc<Message>, JournalError>,
    ) -> Result<(), JournalError> {
        let content = match self.channels.get_mut(channel) {
            Some(content) => content,
            None => self
                .carried
                .entry(channel.to_owned())
                .or_insert_with(|| Channel::of(delta)),
        };
        match (content, delta) {
            (Channel::Value(value), Delta::Set(new)) => *value = Some(Arc::new(new.clone())),
            (Channel::List(items), Delta::Append(new)) => {
                items.extend(new.iter().cloned().map(Arc::new));
            }
            (Channel::Messages(conversation), Delta::Messages(ids)) => {
                for id in ids {
                    if conversation.known.insert(id.clone()) {
                        conversation.messages.push(message(id)?);
                    }
                }
            }
            _ => {
                return Err(JournalError::Corrupt {
                    place: format!("channel `{channel}`"),
                    reason: "a recorded change does not fit its reducer".into(),
                });
            }
        }
        Ok(())
    }

    /// The changes that make this state of an empty one.
    pub fn deltas(&self) -> Vec<(String, Delta)> {
        let all = self.channels.iter().chain(&self.carried);
        let deltas = all.filter_map(|(name, channel)| Some((name.clone(), channel.delta()?)));
        deltas.collect()
    }

    /// The whole state as JSON: messages in full, unwritten values as null.
    pub fn to_json(&self) -> Value {
        let channel = |content: &Channel| match content {
            Channel::Value(value) => value.as_deref().cloned().unwrap_or(Value::Null),
            Channel::List(items) => items.iter().map(|item| (**item).clone()).collect(),
            Channel::Messages(conversation) => conversation
                .messages
                .iter()
                .map(|m| serde_json::to_value(&**m).unwrap_or_default())
                .collect(),
        };
        let channels = self.channels.iter();
        Value::Object(
            channels
                .map(|(name, content)| (name.clone(), channel(content)))
                .collect(),
        )
    }
}
