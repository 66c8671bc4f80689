//! New names, wherever records and messages have the old ones.

use std::{collections::BTreeMap, sync::Arc};

use rustagents_agent::call::IntentBody;
use rustagents_core::{
    ask::Ask,
    encode::{EncodeError, MAX_READ_DEPTH, json_within},
    ids::{AskId, Branch, CallId, FactKey, Namespace, TaskId},
    journal::{JournalError, Kind, Place, Record, kind},
    message::{Message, MessageBody},
};
use rustagents_graph::record::{Checkpoint, Snapshot};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{doubt::around, record::RunSuspended};

/// What is called otherwise from now on.
pub(super) struct Names {
    pub(super) calls: BTreeMap<CallId, CallId>,
    pub(super) tasks: BTreeMap<TaskId, TaskId>,
}

impl Names {
    /// The new name of a task, or of something inside one.
    pub(super) fn inside(&self, name: &str) -> Option<String> {
        around(name).find_map(|task| {
            let now = self.tasks.get(task)?;
            Some(format!("{now}{}", name.get(task.len()..)?))
        })
    }

    /// The new name of a call, or of something of one.
    pub(super) fn of_call(&self, name: &str) -> Option<String> {
        let (call, rest) = name.split_at(name.find('/').unwrap_or(name.len()));
        let now = self.calls.get(call)?;
        Some(format!("{now}{rest}"))
    }

    /// The record with the new names.
    pub(super) fn record(&self, mut record: Record) -> Result<Record, JournalError> {
        if record.chain.branch != Branch::main() {
            return Ok(record);
        }
        self.body(&mut record)?;
        if let Some(namespace) = self.inside(record.chain.namespace.as_str()) {
            record.chain.namespace = Namespace::from(namespace);
        }
        if let Place::Fact(key) = &mut record.place
            && let Some(now) = self.key(key)
        {
            *key = now;
        }
        Ok(record)
    }

    fn key(&self, key: &FactKey) -> Option<FactKey> {
        let (of, name) = key.as_str().split_once('/')?;
        let name = match of {
            "call" => self.of_call(name)?,
            "model" | "step" | "ask" | "answer" | "write" | "try" => self.inside(name)?,
            _ => return None,
        };
        Some(FactKey::from(format!("{of}/{name}")))
    }

    fn body(&self, record: &mut Record) -> Result<(), JournalError> {
        if record.is(kind::CHECKPOINT) {
            let is_root = record.chain.namespace.is_root();
            edit(record, kind::CHECKPOINT, |body| {
                self.checkpoint(body, is_root);
            })
        } else if record.is(kind::SNAPSHOT) {
            edit(record, kind::SNAPSHOT, |body: &mut Snapshot| {
                body.kept.values_mut().for_each(|chain| self.chain(chain));
            })
        } else if record.is(kind::RUN_SUSPENDED) {
            edit(record, kind::RUN_SUSPENDED, |body: &mut RunSuspended| {
                body.asks.iter_mut().for_each(|ask| self.ask(ask));
            })
        } else if record.is(kind::ASK) {
            edit(record, kind::ASK, |body: &mut Ask| self.ask(&mut body.id))
        } else if record.is(kind::INTENT) {
            edit(record, kind::INTENT, |body: &mut IntentBody| {
                self.call(&mut body.call);
            })
        } else if record.is(kind::RESULT) && self.is_release(record) {
            edit(record, kind::RESULT, |body: &mut Value| {
                if let Some(Value::String(call)) = body.get_mut("call")
                    && let Some(now) = self.of_call(call)
                {
                    *call = now;
                }
            })
        } else {
            Ok(())
        }
    }

    /// Whether it says that a try of a renamed call did nothing: such a call has no result.
    fn is_release(&self, record: &Record) -> bool {
        let name = record
            .key()
            .and_then(|key| key.as_str().strip_prefix("call/"));
        name.is_some_and(|name| self.of_call(name).is_some())
    }

    fn checkpoint(&self, body: &mut Checkpoint, is_root: bool) {
        body.kept.values_mut().for_each(|chain| self.chain(chain));
        if let Some(base) = &mut body.base {
            self.chain(&mut base.chain);
        }
        // Those inside a task have names of that one.
        let pending = &mut body.pending;
        let tasks = pending.next.iter_mut().chain(&mut pending.deferred);
        for task in tasks.filter(|_| is_root) {
            if let Some(now) = self.tasks.get(&task.task) {
                task.task = now.clone();
            }
        }
    }

    fn chain(&self, chain: &mut Namespace) {
        if let Some(now) = self.inside(chain.as_str()) {
            *chain = Namespace::from(now);
        }
    }

    fn ask(&self, ask: &mut AskId) {
        if let Some(now) = self.inside(ask.as_str()) {
            *ask = AskId::from(now);
        }
    }

    fn call(&self, call: &mut CallId) {
        if let Some(now) = self.calls.get(call) {
            *call = now.clone();
        }
    }

    /// The message with the new names.
    pub(super) fn message(&self, message: &mut Arc<Message>) {
        let mut named = message.calls().iter();
        if !named.any(|call| self.calls.contains_key(&call.id)) {
            return;
        }
        if let MessageBody::Assistant { calls, .. } = &mut Arc::make_mut(message).body {
            for call in calls {
                self.call(&mut call.id);
            }
        }
    }
}

/// Changes a body, which stays to the letter as it is where nothing is changed.
fn edit<T>(record: &mut Record, kind: Kind, change: impl FnOnce(&mut T)) -> Result<(), JournalError>
where
    T: Serialize + DeserializeOwned + Clone + PartialEq,
{
    let before: T = record.decode(kind)?;
    let mut body = before.clone();
    change(&mut body);
    if body != before {
        record.body =
            json_within(MAX_READ_DEPTH, &body, str::to_owned).map_err(EncodeError::of_record)?;
    }
    Ok(())
}
