//! A conversation.

use std::{collections::HashSet, ops::Deref, sync::Arc};

use rustagents_core::{
    ids::MessageId,
    journal::JournalError,
    message::{Message, Role},
};
use serde_json::Value;

use super::{Delta, FindMessage, ReduceError, TaskWrites, Written, misfit};

/// Messages in order, each id once. Reads as a slice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Messages {
    messages: Vec<Arc<Message>>,
    known: HashSet<MessageId>,
}

impl Deref for Messages {
    type Target = [Arc<Message>];

    fn deref(&self) -> &Self::Target {
        &self.messages
    }
}

impl<M: Into<Arc<Message>>> FromIterator<M> for Messages {
    /// Of messages with the same id, the first.
    fn from_iter<I: IntoIterator<Item = M>>(messages: I) -> Self {
        let mut all = Self::default();
        for message in messages.into_iter().map(Into::into) {
            all.add(message);
        }
        all
    }
}

impl Messages {
    /// Adds a message that is not there yet.
    fn add(&mut self, message: Arc<Message>) {
        if self.known.insert(message.id.clone()) {
            self.messages.push(message);
        }
    }

    /// The text of the last assistant's message.
    pub fn last_answer(&self) -> Option<String> {
        let messages = self.messages.iter().rev();
        let mut answers = messages.filter(|message| message.role() == Role::Assistant);
        answers.next().map(|message| message.text())
    }

    /// Whether a message of this id is in it.
    pub fn has(&self, id: &MessageId) -> bool {
        self.known.contains(id)
    }

    pub(crate) fn ids(&self) -> Vec<MessageId> {
        let messages = self.messages.iter();
        messages.map(|message| message.id.clone()).collect()
    }

    pub(crate) fn to_json(&self) -> Value {
        let messages = self.messages.iter();
        messages
            .map(|message| serde_json::to_value(&**message).unwrap_or_default())
            .collect()
    }

    /// What the writes of a step come to: the same, in order, once each message
    /// that they take out is known to be there.
    pub(crate) fn reduce(&self, writes: TaskWrites) -> Result<Vec<Delta>, ReduceError> {
        let mut there = Presence {
            before: self,
            cleared: false,
            added: HashSet::new(),
            removed: HashSet::new(),
        };
        let needs_a_look =
            |(_, written): &(usize, Written)| !matches!(written, Written::Messages(_));
        let looks = writes.iter().any(needs_a_look);
        let mut deltas = Vec::with_capacity(writes.len());
        for (task, written) in writes {
            if looks {
                there.follow(task, &written)?;
            }
            deltas.push(match written {
                Written::Messages(ids) => Delta::Messages(ids),
                Written::Remove(ids) => Delta::Remove(ids),
                Written::Swap(old, new) => Delta::Swap(old, new),
                Written::Clear => Delta::Clear,
                Written::Set(_) | Written::Append(_) | Written::Replace(_) => continue,
            });
        }
        Ok(deltas)
    }

    pub(crate) fn apply(
        &mut self,
        channel: &str,
        delta: &Delta,
        message: &mut FindMessage<'_>,
    ) -> Result<(), JournalError> {
        match delta {
            Delta::Messages(ids) => {
                for id in ids {
                    if !self.known.contains(id) {
                        self.add(message(id)?);
                    }
                }
            }
            Delta::Remove(ids) => {
                let gone: HashSet<_> = ids.iter().collect();
                self.messages.retain(|message| !gone.contains(&message.id));
                self.known.retain(|id| !gone.contains(id));
            }
            Delta::Swap(old, new) => self.swap(channel, old, message(new)?)?,
            Delta::Clear => *self = Self::default(),
            Delta::Set(_) | Delta::Add(_) | Delta::Append(_) => return Err(misfit(channel)),
        }
        Ok(())
    }

    fn swap(
        &mut self,
        channel: &str,
        old: &MessageId,
        new: Arc<Message>,
    ) -> Result<(), JournalError> {
        let mut messages = self.messages.iter_mut();
        let place = messages
            .find(|message| message.id == *old)
            .ok_or_else(|| misfit(channel))?;
        self.known.remove(old);
        self.known.insert(new.id.clone());
        *place = new;
        Ok(())
    }
}

/// Which messages are there while the writes of a step are followed.
struct Presence<'a> {
    before: &'a Messages,
    cleared: bool,
    added: HashSet<MessageId>,
    removed: HashSet<MessageId>,
}

impl Presence<'_> {
    fn has(&self, id: &MessageId) -> bool {
        let stood = !self.cleared && self.before.has(id) && !self.removed.contains(id);
        stood || self.added.contains(id)
    }

    fn add(&mut self, id: &MessageId) {
        self.added.insert(id.clone());
    }

    fn remove(&mut self, task: usize, id: &MessageId) -> Result<(), ReduceError> {
        if !self.has(id) {
            return Err(ReduceError::Refused {
                task,
                reason: format!("there is no message `{id}` to take out"),
            });
        }
        self.added.remove(id);
        self.removed.insert(id.clone());
        Ok(())
    }

    fn follow(&mut self, task: usize, written: &Written) -> Result<(), ReduceError> {
        match written {
            Written::Messages(ids) => ids.iter().for_each(|id| self.add(id)),
            Written::Remove(ids) => {
                for id in ids {
                    self.remove(task, id)?;
                }
            }
            Written::Swap(old, new) => {
                if self.has(new) {
                    return Err(ReduceError::Refused {
                        task,
                        reason: format!("message `{new}` is there already"),
                    });
                }
                self.remove(task, old)?;
                self.add(new);
            }
            Written::Clear => {
                self.cleared = true;
                self.added.clear();
            }
            Written::Set(_) | Written::Append(_) | Written::Replace(_) => {}
        }
        Ok(())
    }
}
