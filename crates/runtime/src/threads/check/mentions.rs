//! What a record of a known kind says, and names.

use rustagents_agent::{
    call::{IntentBody, ResultBody},
    transition::{ModelCall, Transition},
};
use rustagents_core::{
    ask::{Answer, Ask},
    digest::Digest,
    ids::{MessageId, Namespace},
    journal::{JournalError, Record, kind},
    message::{Message, Role},
};
use rustagents_graph::{
    effect::record::{StepResult, StepStart},
    record::{Checkpoint, FailedTry, Snapshot, TaskWrite},
    state::{ChannelName, Delta},
};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::{
    inbox::{CancelBody, ItemBody, TakenBody},
    record::{RunAttempt, RunClosed, RunOpened, RunSuspended},
};

/// What a record names.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    pub(super) messages: Vec<MessageId>,
    pub(super) contents: Vec<Digest>,
    /// It is this checkpoint of the root chain.
    pub(super) checkpoint: Option<u64>,
    /// It is a snapshot of this checkpoint of the root chain.
    pub(super) snapshot: Option<u64>,
    /// It is a move of the agent there, in this turn.
    pub(super) turn: Option<(Namespace, u32)>,
}

impl Mentions {
    /// Decodes the body as its kind; one of an unknown kind has to be JSON.
    pub(super) fn of(record: &Record) -> Result<Self, JournalError> {
        let mut found = Self::default();
        let is_root = record.chain.namespace.is_root();
        if record.is(kind::RUN_OPENED) {
            let opened: RunOpened = record.decode(kind::RUN_OPENED)?;
            found.messages.extend(opened.input);
            found.contents.push(opened.definition);
        } else if record.is(kind::RUN_ATTEMPT) {
            let attempt: RunAttempt = record.decode(kind::RUN_ATTEMPT)?;
            found.contents.extend(attempt.definition);
        } else if record.is(kind::RUN_SUSPENDED) {
            record.decode::<RunSuspended>(kind::RUN_SUSPENDED)?;
        } else if record.is(kind::RUN_CLOSED) {
            record.decode::<RunClosed>(kind::RUN_CLOSED)?;
        } else if record.is(kind::CHECKPOINT) {
            let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT)?;
            found.deltas(&checkpoint.deltas);
            found.checkpoint = is_root.then_some(checkpoint.checkpoint);
        } else if record.is(kind::SNAPSHOT) {
            let snapshot: Snapshot = record.decode(kind::SNAPSHOT)?;
            found.deltas(&snapshot.state);
            found.snapshot = is_root.then_some(snapshot.checkpoint);
        } else if record.is(kind::TASK_WRITE) {
            found.write(&record.decode(kind::TASK_WRITE)?);
        } else if record.is(kind::TRANSITION) {
            found.transition(record.decode(kind::TRANSITION)?, &record.chain.namespace);
        } else {
            found.effect(record)?;
        }
        Ok(found)
    }

    fn deltas(&mut self, deltas: &[(ChannelName, Delta)]) {
        let messages = deltas.iter().flat_map(|(_, delta)| delta.messages());
        self.messages.extend(messages.cloned());
    }

    fn write(&mut self, write: &TaskWrite) {
        let messages = write
            .writes
            .iter()
            .flat_map(|(_, written)| written.messages());
        self.messages.extend(messages.cloned());
    }

    fn transition(&mut self, transition: Transition, namespace: &Namespace) {
        self.turn = Some((namespace.clone(), transition.turn()));
        match transition {
            Transition::Acting { message, .. } | Transition::Completed { message, .. } => {
                self.messages.push(message);
            }
            Transition::Repaired { messages, .. } => self.messages.extend(messages),
            Transition::Observing { results, .. } => self.messages.extend(results),
            _ => {}
        }
    }

    fn effect(&mut self, record: &Record) -> Result<(), JournalError> {
        let key = record.key().map_or("", |key| key.as_str());
        if record.is(kind::RESULT) && key.starts_with("model/") {
            let call: ModelCall = record.decode(kind::RESULT)?;
            self.messages.extend(call.edit.insert);
            self.messages.extend(call.message);
        } else if record.is(kind::RESULT) && key.ends_with("/result") {
            let result: ResultBody = record.decode(kind::RESULT)?;
            self.messages.push(result.message);
        } else if record.is(kind::RESULT) {
            record.decode::<Value>(kind::RESULT)?;
        } else if record.is(kind::INTENT) {
            record.decode::<IntentBody>(kind::INTENT)?;
        } else if record.is(kind::STARTED) {
            record.decode::<Value>(kind::STARTED)?;
        } else {
            other(record)?;
        }
        Ok(())
    }
}

/// Decodes what names nothing.
fn other(record: &Record) -> Result<(), JournalError> {
    if record.is(kind::STEP_INTENT) {
        record.decode::<StepStart<'_>>(kind::STEP_INTENT)?;
    } else if record.is(kind::STEP_RELEASED) {
        record.decode::<StepStart<'_>>(kind::STEP_RELEASED)?;
    } else if record.is(kind::STEP_RESULT) {
        record.decode::<StepResult<'_, IgnoredAny>>(kind::STEP_RESULT)?;
    } else if record.is(kind::FAILED_TRY) {
        record.decode::<FailedTry>(kind::FAILED_TRY)?;
    } else if record.is(kind::ASK) {
        record.decode::<Ask>(kind::ASK)?;
    } else if record.is(kind::ANSWER) {
        record.decode::<Answer>(kind::ANSWER)?;
    } else if record.is(kind::CANCEL) {
        record.decode::<CancelBody>(kind::CANCEL)?;
    } else if record.is(kind::ITEM) {
        record.decode::<ItemBody>(kind::ITEM)?;
    } else if record.is(kind::TAKEN) {
        record.decode::<TakenBody>(kind::TAKEN)?;
    } else {
        let body = serde_json::from_str::<IgnoredAny>(&record.body);
        body.map_err(|error| JournalError::Corrupt {
            place: format!("record {} ({})", record.seq, record.kind),
            reason: error.to_string(),
        })?;
    }
    Ok(())
}

/// The content that stands for the result in a tool's message, where it was too long.
pub(in crate::threads) fn artifact(message: &Message) -> Option<Digest> {
    if message.role() != Role::Tool {
        return None;
    }
    let value: Value = serde_json::from_str(&message.text()).ok()?;
    let is_marker = value.get("truncated") == Some(&Value::Bool(true))
        && value.get("bytes").is_some_and(Value::is_u64)
        && value.get("head").is_some_and(Value::is_string);
    let digest = value.get("artifact").filter(|_| is_marker)?;
    Digest::from_hex(digest.as_str()?)
}
