//! The state of a graph whose channels are declared with its builder.

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    sync::Arc,
};

use rustagents_core::{
    canonical::Canonical, digest::Digest, ids::MessageId, journal::JournalError, message::Message,
};
use serde_json::Value;

use super::{
    Applied, ChannelName, ChannelSpec, Delta, FindMessage, Fold, GraphState, Messages, ReduceError,
    Reducer, TaskWrites, UpdateError, Writes, Written, misfit, number,
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
    content: Content,
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}", self.reducer, self.content)
    }
}

impl PartialEq for Channel {
    fn eq(&self, other: &Self) -> bool {
        self.reducer == other.reducer && self.content == other.content
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
            known.extend(items.iter().map(form));
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
            Reducer::Union => Self::List(List {
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
        let Some(Channel { reducer, .. }) = self.channels.get(channel) else {
            return Err(UpdateError::UnknownChannel {
                channel: channel.to_owned(),
            });
        };
        takes(*reducer, written).map_err(|takes| UpdateError::Kind {
            channel: channel.to_owned(),
            takes,
        })
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
        if let Some((_, value)) = replacement(&writes)? {
            replace(&channel.content, value, &mut put);
            return Ok(());
        }
        match (&channel.content, channel.reducer) {
            (Content::Messages(messages), _) => {
                messages.reduce(writes)?.into_iter().for_each(put);
            }
            (Content::List(list), Reducer::Union) => union(list, writes, &mut put),
            (Content::List(list), reducer) => {
                if reducer == Reducer::Topic && !list.items.is_empty() {
                    put(Delta::Clear);
                }
                for (_, written) in writes {
                    items_of(written, &mut put);
                }
            }
            (Content::Value(current), reducer) => {
                channel.fold_values(reducer, current.as_deref(), writes, &mut put)?;
            }
        }
        Ok(())
    }

    fn settle(&self, is_written: &dyn Fn(&str) -> bool, deltas: &mut Vec<(ChannelName, Delta)>) {
        for (name, channel) in &self.channels {
            let fleeting = channel.reducer.is_fleeting() && !channel.content.is_empty();
            if fleeting && !is_written(name) {
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
        let tracked = self.channels.iter();
        let tracked = tracked.filter(|(_, channel)| channel.reducer != Reducer::Untracked);
        let tracked =
            tracked.filter_map(|(name, channel)| Some((name.clone(), channel.content.delta()?)));
        let carried = self.carried.iter();
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

/// Says whether a channel takes such a write; if not, what it takes.
pub(super) fn takes(reducer: Reducer, written: &Written) -> Result<(), &'static str> {
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
        Reducer::Min | Reducer::Max | Reducer::Counter => (
            match written {
                Set(value) | Replace(value) => value.is_number(),
                written => *written == Clear,
            },
            "numbers",
        ),
        _ => (matches!(written, Set(_) | Replace(_) | Clear), "values"),
    };
    if fits { Ok(()) } else { Err(takes) }
}

/// The write that wins over all others of its step, if there is one.
pub(super) fn replacement(
    writes: &[(usize, Written)],
) -> Result<Option<(usize, &Value)>, ReduceError> {
    let mut found: Option<(usize, &Value)> = None;
    for (task, written) in writes {
        if let Written::Replace(value) = written {
            if let Some((other, _)) = found.filter(|(other, _)| other != task) {
                return Err(ReduceError::Concurrent(other, *task));
            }
            found = Some((*task, value));
        }
    }
    Ok(found)
}

fn replace(content: &Content, value: &Value, put: &mut impl FnMut(Delta)) {
    match (content, value) {
        (Content::List(list), Value::Array(new)) => {
            if !list.items.is_empty() {
                put(Delta::Clear);
            }
            put(Delta::Append(new.clone()));
        }
        _ => put(Delta::Set(value.clone())),
    }
}

fn items_of(written: Written, put: &mut impl FnMut(Delta)) {
    match written {
        Written::Set(item) => put(Delta::Append(vec![item])),
        Written::Append(items) => put(Delta::Append(items)),
        Written::Clear => put(Delta::Clear),
        _ => {}
    }
}

/// What is new in the writes, each once.
fn union(list: &List, writes: TaskWrites, put: &mut impl FnMut(Delta)) {
    let mut cleared = false;
    let mut added = HashSet::new();
    for (_, written) in writes {
        if written == Written::Clear {
            cleared = true;
            added.clear();
        }
        let before = list.known.as_ref().filter(|_| !cleared);
        let mut is_new = |item: &Value| {
            let digest = form(item);
            !before.is_some_and(|known| known.contains(&digest)) && added.insert(digest)
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

/// Equal for equal values, and for no others.
fn form(value: &Value) -> Digest {
    Canonical::of(value).digest()
}

impl Channel {
    /// The writes of a step to a channel that holds one value.
    fn fold_values(
        &self,
        reducer: Reducer,
        current: Option<&Value>,
        writes: TaskWrites,
        put: &mut impl FnMut(Delta),
    ) -> Result<(), ReduceError> {
        match reducer {
            Reducer::Min | Reducer::Max | Reducer::Counter => {
                number::fold(reducer, current, writes, put)
            }
            Reducer::Custom => self.fold_custom(current, writes, put),
            _ => last(writes, put),
        }
    }

    fn fold_custom(
        &self,
        current: Option<&Value>,
        writes: TaskWrites,
        put: &mut impl FnMut(Delta),
    ) -> Result<(), ReduceError> {
        let Some(fold) = &self.fold else {
            return last(writes, put);
        };
        let mut value = current.cloned().unwrap_or(Value::Null);
        for (task, written) in writes {
            value = match written {
                Written::Set(new) => {
                    fold(&value, &new).map_err(|reason| ReduceError::Refused { task, reason })?
                }
                _ => Value::Null,
            };
        }
        put(Delta::Set(value));
        Ok(())
    }
}

/// The last write, where one task alone wrote.
pub(super) fn last(writes: TaskWrites, put: &mut impl FnMut(Delta)) -> Result<(), ReduceError> {
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
