//! The state of a graph: named channels, what nodes write to them, and what
//! records keep of that.
//!
//! A node gives back *writes*: what it asks of channels. At the end of a
//! superstep the writes of all tasks are reduced, channel by channel and in task
//! order, to *deltas*: what then changed. Records keep both, and a delta is never
//! reduced again. [`State`] is the state of a graph whose channels are declared
//! with its builder, in JSON; any other type becomes one by [`GraphState`].

mod error;
pub mod field;
mod json;
mod messages;
mod number;
mod reduce;
mod write;

use std::{borrow::Cow, fmt, sync::Arc};

use rustagents_core::{ids::MessageId, journal::JournalError, message::Message};
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

pub use error::{ReduceError, UpdateError};
pub use json::State;
pub use messages::Messages;
pub(crate) use write::Gathered;
pub use write::{TaskWrites, Update, Writes, Written};

/// The name of a channel.
pub type ChannelName = Cow<'static, str>;

/// How a channel takes writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reducer {
    /// The last value; one task a step may write it.
    Overwrite,
    /// A list; each write adds items.
    Append,
    /// A conversation; each message stands in it once, under its id.
    Messages,
    /// A list in which each value stands once.
    Union,
    /// The smallest number that was written.
    Min,
    /// The largest number that was written.
    Max,
    /// The sum of all numbers that were written.
    Counter,
    /// The items that were written in the last step.
    Topic,
    /// The value of the last step, if it wrote one.
    Ephemeral,
    /// As [`Overwrite`](Self::Overwrite), and never recorded: gone after a resume.
    Untracked,
    /// The names that arrived, of those that it waits for: complete for the step
    /// after the last one, then empty again.
    Barrier,
    /// What a function makes of the current value and a write.
    Custom,
}

impl Reducer {
    /// Whether of several writes of one task only the last one counts.
    pub(crate) fn holds_last(self) -> bool {
        matches!(self, Self::Overwrite | Self::Ephemeral | Self::Untracked)
    }

    /// Whether the channel holds a list.
    pub(crate) fn is_list(self) -> bool {
        matches!(
            self,
            Self::Append | Self::Union | Self::Topic | Self::Barrier
        )
    }

    /// Whether a step can end what is in the channel without a write.
    pub(crate) fn is_fleeting(self) -> bool {
        matches!(self, Self::Topic | Self::Ephemeral | Self::Barrier)
    }
}

/// What a custom reducer does: makes the new value of the current one, null where
/// nothing was written, and of a write. It must be a pure function of both.
pub type Fold = Arc<dyn Fn(&Value, &Value) -> Result<Value, String> + Send + Sync>;

/// A channel, as declared.
#[derive(Clone)]
pub struct ChannelSpec {
    /// Its name.
    pub name: ChannelName,
    /// How it takes writes.
    pub reducer: Reducer,
    /// What its reducer does, where that is [`Reducer::Custom`].
    pub fold: Option<Fold>,
    /// The names that it waits for, where its reducer is [`Reducer::Barrier`].
    pub awaited: Vec<ChannelName>,
}

impl ChannelSpec {
    /// A channel with one of the reducers that there are.
    pub fn new(name: impl Into<ChannelName>, reducer: Reducer) -> Self {
        Self {
            name: name.into(),
            reducer,
            fold: None,
            awaited: Vec::new(),
        }
    }
}

impl fmt::Debug for ChannelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.name, self.reducer)
    }
}

/// What a record keeps of a change: made by the engine, never reduced again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Delta {
    /// The value is now this one.
    Set(Value),
    /// This number was added.
    Add(Number),
    /// These items were added.
    Append(Vec<Value>),
    /// These messages were added.
    Messages(Vec<MessageId>),
    /// These messages were taken out.
    Remove(Vec<MessageId>),
    /// The second message stands where the first stood.
    Swap(MessageId, MessageId),
    /// Nothing is in it any more.
    Clear,
}

impl Delta {
    /// The messages that are there then, or were until then.
    pub fn messages(&self) -> impl Iterator<Item = &MessageId> {
        let (some, two): (&[MessageId], _) = match self {
            Self::Messages(ids) | Self::Remove(ids) => (ids, None),
            Self::Swap(old, new) => (&[], Some([old, new])),
            Self::Set(_) | Self::Add(_) | Self::Append(_) | Self::Clear => (&[], None),
        };
        some.iter().chain(two.into_iter().flatten())
    }
}

/// Finds a recorded message.
pub type FindMessage<'a> = dyn FnMut(&MessageId) -> Result<Arc<Message>, JournalError> + 'a;

/// Whether a state has the channel that a change is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It has, and was changed.
    Here,
    /// It does not know the channel; nothing was changed.
    Unknown,
}

/// The state of a graph, in a type of one's own. `#[derive(GraphState)]` writes
/// this for a struct.
///
/// Its channels must be the same each time, and what `deltas` gives must make an
/// equal state of an empty one.
pub trait GraphState: Clone + fmt::Debug + Send + Sync + 'static {
    /// What a node writes.
    type Update: Default + Into<Writes> + fmt::Debug + Send + 'static;

    /// The channels that the type declares; those of the builder come after them.
    fn declared() -> Vec<ChannelSpec> {
        Vec::new()
    }

    /// A state in which nothing was written.
    fn empty(channels: &[ChannelSpec]) -> Self;

    /// The same state for a graph with these channels: what it has of them.
    #[must_use]
    fn adopted(&self, channels: &[ChannelSpec]) -> Self {
        let _ = channels;
        self.clone()
    }

    /// Says whether a write fits its channel.
    ///
    /// # Errors
    /// [`UpdateError`]: there is no such channel, or it takes something else.
    fn check(&self, channel: &str, written: &Written) -> Result<(), UpdateError>;

    /// Puts the writes of a step to one channel together, and adds what changes.
    /// The state itself stays as it is.
    ///
    /// # Errors
    /// [`ReduceError`]: the writes exclude each other, or the reducer refused.
    fn reduce(
        &self,
        channel: &ChannelName,
        writes: TaskWrites,
        deltas: &mut Vec<(ChannelName, Delta)>,
    ) -> Result<(), ReduceError>;

    /// Adds what changes at the end of a step in channels that nobody wrote.
    fn settle(&self, is_written: &dyn Fn(&str) -> bool, deltas: &mut Vec<(ChannelName, Delta)>);

    /// Makes a recorded change; the only way in which a state changes.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`]: the change is not one of the channel's, or
    /// `message` does not know a message.
    fn apply(
        &mut self,
        channel: &str,
        delta: &Delta,
        message: &mut FindMessage<'_>,
    ) -> Result<Applied, JournalError>;

    /// The changes that make this state of an empty one, without untracked channels.
    fn deltas(&self) -> Vec<(ChannelName, Delta)>;

    /// Those of [`deltas`](Self::deltas) that are for channels that `wants` names. A
    /// type can spare itself the others.
    fn deltas_of(&self, wants: &dyn Fn(&str) -> bool) -> Vec<(ChannelName, Delta)> {
        let mut deltas = self.deltas();
        deltas.retain(|(channel, _)| wants(channel));
        deltas
    }

    /// The whole state as JSON: messages in full, unwritten values as null, or as
    /// what their type has at first.
    fn to_json(&self) -> Value;
}

/// A recorded change that the channel cannot have had.
pub(crate) fn misfit(channel: &str) -> JournalError {
    JournalError::Corrupt {
        place: format!("channel `{channel}`"),
        reason: "a recorded change does not fit its reducer".into(),
    }
}
