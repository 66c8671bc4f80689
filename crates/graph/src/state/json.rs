//! The state of a graph whose channels are declared with its builder.

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    sync::Arc,
};

use rustagents_core::{digest::Digest, ids::MessageId, journal::JournalError, message::Message};
use serde_json::Value;

use super::{
    Applied, ChannelName, ChannelSpec, Delta, FindMessage, Fold, GraphState, Messages, ReduceError,
    Reducer, TaskWrites, UpdateError, Writes, Written, misfit, number,
    reduce::{self, Held},
};

/// The committed state: named channels of JSON values and messages. Cloning shares
/// the values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    channels: BTreeMap<ChannelName, Channel>,
    /// What the log knows of channels that are not declared any more.
    carried: BTreeMap<String, Content>,
}

/// A declared channel.
#[derive(Clone)]
struct Channel {
    reducer: Reducer,
    fold: Option<Fold>,
    awaited: Vec<ChannelName>,
    content: Content,
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}", self.reducer, self.content)
    }
}

impl PartialEq for Channel {
    fn eq(&self, other: &Self) -> bool {
        (self.reducer, &self.awaited, &self.content)
            == (other.reducer, &other.awaited, &other.content)
    }
}

/// What is in a channel. A recorded change says which of these it is for.
#[derive(Clone, Debug, PartialEq)]
enum Content {
    Value(Option<Arc<Value>>),
    List(List),
    Messages(Messages),
}

/// Items in order; where each may stand once, with a digest of each.
#[derive(Clone, Debug, Default, PartialEq)]
struct List {
    items: Vec<Arc<Value>>,
    known: Option<HashSet<Digest>>,
}

impl List {
    fn extend(&mut self, items: &[Value]) {
        if let Some(known) = &mut self.known {
            known.extend(items.iter().map(reduce::form));
        }
        self.items.extend(items.iter().cloned().map(Arc::new));
    }

    fn clear(&mut self) {
        self.items.clear();
        self.known.iter_mut().for_each(HashSet::clear);
    }
}

impl Content {
    fn of(reducer: Reducer) -> Self {
        match reducer {
            Reducer::Messages => Self::Messages(Messages::default()),
            Reducer::Union | Reducer::Barrier => Self::List(List {
                known: Some(HashSet::new()),
                ..List::default()
            }),
            reducer if reducer.is_list() => Self::List(List::default()),
            _ => Self::Value(None),
        }
    }

    /// Empty, and such that `delta` can be a change of it.
    fn fitting(delta: &Delta) -> Self {
        match delta {
            Delta::Set(_) | Delta::Add(_) | Delta::Clear => Self::Value(None),
            Delta::Append(_) => Self::List(List::default()),
            Delta::Messages(_) | Delta::Remove(_) | Delta::Swap(..) => {
                Self::Messages(Messages::default())
            }
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Value(value) => value.is_none(),
            Self::List(list) => list.items.is_empty(),
            Self::Messages(messages) => messages.is_empty(),
        }
    }

    fn apply(
        &mut self,
        channel: &str,
        delta: &Delta,
        message: &mut FindMessage<'_>,
    ) -> Result<(), JournalError> {
        match (self, delta) {
            (Self::Value(value), Delta::Set(new)) => *value = Some(Arc::new(new.clone())),
            (Self::Value(value), Delta::Add(number)) => {
                let sum = number::add(value.as_deref(), number).map_err(|_| misfit(channel))?;
                *value = Some(Arc::new(sum.into()));
            }
            (Self::Value(value), Delta::Clear) => *value = None,
            (Self::List(list), Delta::Append(new)) => list.extend(new),
            (Self::List(list), Delta::Clear) => list.clear(),
            (Self::Messages(messages), delta) => messages.apply(channel, delta, message)?,
            _ => return Err(misfit(channel)),
        }
        Ok(())
    }

    /// The change that makes it of nothing, if there is anything.
    fn delta(&self) -> Option<Delta> {
        match self {
            _ if self.is_empty() => None,
            Self::Value(value) => value.as_deref().cloned().map(Delta::Set),
            Self::List(list) => {
                let items = list.items.iter().map(|item| (**item).clone());
                Some(Delta::Append(items.collect()))
            }
            Self::Messages(messages) => Some(Delta::Messages(messages.ids())),
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Value(value) => value.as_deref().cloned().unwrap_or(Value::Null),
            Self::List(list) => list.items.iter().map(|item| (**item).clone()).collect(),
            Self::Messages(messages) => messages.to_json(),
        }
    }
}

impl State {
    /// A state with empty channels.
    pub fn new<'a>(channels: impl IntoIterator<Item = (&'a str, Reducer)>) -> Self {
        let specs = channels.into_iter();
        let specs: Vec<_> = specs
            .map(|(name, reducer)| ChannelSpec::new(name.to_owned(), reducer))
            .collect();
        Self::empty(&specs)
    }

    /// The content of a channel that is not declared, such that `delta` fits it.
    fn carry(&mut self, channel: &str, delta: &Delta) -> &mut Content {
        let name = channel.to_owned();
        let carried = self.carried.entry(name).or_insert(Content::Value(None));
        if carried.is_empty() {
            *carried = Content::fitting(delta);
        }
        carried
    }

    fn content(&self, channel: &str) -> Option<&Content> {
        Some(&self.channels.get(channel)?.content)
    }

    /// The value of a channel that holds one, if one was written.
    pub fn value(&self, channel: &str) -> Option<&Value> {
        match self.content(channel)? {
            Content::Value(value) => value.as_deref(),
            _ => None,
        }
    }

    /// The items of a channel that holds a list.
    pub fn list(&self, channel: &str) -> &[Arc<Value>] {
        match self.content(channel) {
            Some(Content::List(list)) => &list.items,
            _ => &[],
        }
    }

    /// The messages of a messages channel.
    pub fn messages(&self, channel: &str) -> &[Arc<Message>] {
        match self.content(channel) {
            Some(Content::Messages(messages)) => messages,
            _ => &[],
        }
    }

    /// The text of the last assistant's message of a messages channel.
    pub fn last_answer(&self, channel: &str) -> Option<String> {
        match self.content(channel)? {
            Content::Messages(messages) => messages.last_answer(),
            _ => None,
        }
    }

    /// Whether everybody arrived whom a barrier waits for.
    pub fn is_complete(&self, channel: &str) -> bool {
        self.channels.get(channel).is_some_and(Channel::is_complete)
    }

    /// Makes a recorded change. A channel that is not declared is carried along,
    /// and seen by nobody.
    ///
    /// # Errors
    /// As [`GraphState::apply`].
    pub fn change(
        &mut self,
        channel: &str,
        delta: &Delta,
        mut message: impl FnMut(&MessageId) -> Result<Arc<Message>, JournalError>,
    ) -> Result<(), JournalError> {
        self.apply(channel, delta, &mut message).map(drop)
    }
}

impl GraphState for State {
    type Update = Writes;

    fn empty(channels: &[ChannelSpec]) -> Self {
        let channel = |spec: &ChannelSpec| Channel {
            reducer: spec.reducer,
            fold: spec.fold.clone(),
            awaited: spec.awaited.clone(),
            content: Content::of(spec.reducer),
        };
        let channels = channels.iter();
        Self {
            channels: channels
                .map(|spec| (spec.name.clone(), channel(spec)))
                .collect(),
            carried: BTreeMap::new(),
        }
    }

    fn adopted(&self, channels: &[ChannelSpec]) -> Self {
        let mut adopted = Self::empty(channels);
        for (name, channel) in &mut adopted.channels {
            if let Some(mine) = self.channels.get(name) {
                channel.content = mine.content.clone();
            }
        }
        adopted
    }

    fn check(&self, channel: &str, written: &Written) -> Result<(), UpdateError> {
        let Some(declared) = self.channels.get(channel) else {
            return Err(UpdateError::UnknownChannel {
                channel: channel.to_owned(),
            });
        };
        match declared.reducer {
            Reducer::Barrier => reduce::awaited(channel, &declared.awaited, written),
            reducer => reduce::kind(channel, reducer, written),
        }
    }

    fn reduce(
        &self,
        name: &ChannelName,
        writes: TaskWrites,
        deltas: &mut Vec<(ChannelName, Delta)>,
    ) -> Result<(), ReduceError> {
        let Some(channel) = self.channels.get(name) else {
            return Ok(());
        };
        let mut put = |delta| deltas.push((name.clone(), delta));
        match &channel.content {
            Content::Messages(messages) => {
                messages.reduce(writes)?.into_iter().for_each(put);
                Ok(())
            }
            Content::List(list) => {
                let held = Held {
                    is_empty: list.items.is_empty(),
                    is_over: channel.is_over(),
                    known: list.known.as_ref(),
                };
                reduce::list(&held, writes, &mut put)
            }
            Content::Value(current) => channel.reduce_value(current.as_deref(), writes, &mut put),
        }
    }

    fn settle(&self, is_written: &dyn Fn(&str) -> bool, deltas: &mut Vec<(ChannelName, Delta)>) {
        for (name, channel) in &self.channels {
            if channel.is_over() && !is_written(name) {
                deltas.push((name.clone(), Delta::Clear));
            }
        }
    }

    fn apply(
        &mut self,
        channel: &str,
        delta: &Delta,
        message: &mut FindMessage<'_>,
    ) -> Result<Applied, JournalError> {
        let content = match self.channels.get_mut(channel) {
            Some(declared) => &mut declared.content,
            None => self.carry(channel, delta),
        };
        content.apply(channel, delta, message)?;
        Ok(Applied::Here)
    }

    fn deltas(&self) -> Vec<(ChannelName, Delta)> {
        self.deltas_of(&|_| true)
    }

    fn deltas_of(&self, wants: &dyn Fn(&str) -> bool) -> Vec<(ChannelName, Delta)> {
        let tracked = self.channels.iter().filter(|(name, _)| wants(name));
        let tracked = tracked.filter(|(_, channel)| channel.reducer != Reducer::Untracked);
        let tracked =
            tracked.filter_map(|(name, channel)| Some((name.clone(), channel.content.delta()?)));
        let carried = self.carried.iter().filter(|(name, _)| wants(name));
        let carried =
            carried.filter_map(|(name, content)| Some((name.clone().into(), content.delta()?)));
        tracked.chain(carried).collect()
    }

    fn to_json(&self) -> Value {
        let channels = self.channels.iter();
        let channels =
            channels.map(|(name, channel)| (name.clone().into_owned(), channel.content.to_json()));
        Value::Object(channels.collect())
    }
}

impl Channel {
    /// Whether what it holds goes with the step that comes now.
    fn is_over(&self) -> bool {
        match self.reducer {
            Reducer::Barrier => self.is_complete(),
            reducer => reducer.is_fleeting() && !self.content.is_empty(),
        }
    }

    /// Whether everybody arrived whom it waits for.
    fn is_complete(&self) -> bool {
        let Content::List(List { items, .. }) = &self.content else {
            return false;
        };
        reduce::is_complete(&self.awaited, |name| {
            items.iter().any(|item| item.as_str() == Some(name))
        })
    }

    /// The writes of a step to a channel that holds one value.
    fn reduce_value(
        &self,
        current: Option<&Value>,
        writes: TaskWrites,
        put: &mut impl FnMut(Delta),
    ) -> Result<(), ReduceError> {
        if reduce::replaced(&writes, put)? {
            return Ok(());
        }
        match (self.reducer, &self.fold) {
            (Reducer::Min | Reducer::Max | Reducer::Counter, _) => {
                number::fold(self.reducer, current, writes, put)
            }
            (Reducer::Custom, Some(fold)) => {
                let current = current.unwrap_or(&Value::Null);
                let made =
                    reduce::fold(current, &Value::Null, writes, |value, new| fold(value, new))?;
                put(made.map_or(Delta::Clear, Delta::Set));
                Ok(())
            }
            _ => reduce::last(writes, put),
        }
    }
}
