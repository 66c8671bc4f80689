//! Channels that hold a conversation.

use std::sync::Arc;

use rustagents_core::{journal::JournalError, message::Message};
use serde_json::Value;

use super::Reduce;
use crate::state::{
    Delta, FindMessage, Messages, ReduceError, Reducer, TaskWrites, Update, UpdateError, Writes,
    Written, reduce,
};

/// [`Reducer::Messages`]: each message stands once, under its id.
#[derive(Clone, Copy, Debug)]
pub struct MessagesById;

/// One message, or several.
pub trait IntoMessages {
    /// The messages, in order.
    fn into_messages(self) -> Vec<Arc<Message>>;
}

impl IntoMessages for Message {
    fn into_messages(self) -> Vec<Arc<Message>> {
        vec![Arc::new(self)]
    }
}

impl IntoMessages for Arc<Message> {
    fn into_messages(self) -> Vec<Arc<Message>> {
        vec![self]
    }
}

impl<M: Into<Arc<Message>>> IntoMessages for Vec<M> {
    fn into_messages(self) -> Vec<Arc<Message>> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<M: Into<Arc<Message>>, const N: usize> IntoMessages for [M; N] {
    fn into_messages(self) -> Vec<Arc<Message>> {
        self.into_iter().map(Into::into).collect()
    }
}

impl IntoMessages for Messages {
    fn into_messages(self) -> Vec<Arc<Message>> {
        self.to_vec()
    }
}

impl Reduce<Messages> for MessagesById {
    const REDUCER: Reducer = Reducer::Messages;

    type Item = Arc<Message>;

    fn empty() -> Messages {
        Messages::default()
    }

    fn check(channel: &str, written: &Written) -> Result<(), UpdateError> {
        reduce::kind(channel, Reducer::Messages, written)
    }

    fn reduce(
        value: &Messages,
        writes: TaskWrites,
        put: &mut dyn FnMut(Delta),
    ) -> Result<(), ReduceError> {
        value.reduce(writes)?.into_iter().for_each(put);
        Ok(())
    }

    fn apply(
        value: &mut Messages,
        channel: &str,
        delta: &Delta,
        message: &mut FindMessage<'_>,
    ) -> Result<(), JournalError> {
        value.apply(channel, delta, message)
    }

    fn delta(value: &Messages) -> Option<Delta> {
        (!value.is_empty()).then(|| Delta::Messages(value.ids()))
    }

    fn to_json(value: &Messages) -> Value {
        value.to_json()
    }

    fn write(value: Messages, channel: &'static str, writes: &mut Writes) {
        if !value.is_empty() {
            writes.push(channel, Update::Messages(value.to_vec()));
        }
    }
}
