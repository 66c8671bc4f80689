//! What the projections need of an event, whether it is heard or read.

use std::time::Duration;

use rustagents_core::{
    event::{Event, RunEnd},
    event_journal::RunEvent,
};
use serde::Deserialize;
use serde_json::Value;

/// An event, as far as it counts here.
pub(super) enum Told<'a> {
    RunStarted {
        thread: &'a str,
        attempt: u32,
    },
    NodeStarted {
        node: &'a str,
        task: &'a str,
    },
    NodeCompleted {
        node: &'a str,
        task: &'a str,
        took: Duration,
    },
    NodeSuspended {
        node: &'a str,
        task: &'a str,
        asks: Vec<&'a str>,
    },
    NodeFailed {
        node: &'a str,
        task: &'a str,
        message: &'a str,
    },
    NodeRetried {
        node: &'a str,
        message: &'a str,
    },
    NodeCached {
        node: &'a str,
    },
    /// On the run's own chain.
    CheckpointSaved {
        checkpoint: u64,
        /// Events that an older build kept do not say.
        steps: Option<u64>,
    },
    RunEnded {
        how: RunEnd,
        message: Option<&'a str>,
    },
    /// Nothing that counts here.
    Other,
}

impl<'a> Told<'a> {
    pub(super) fn of(event: &'a Event) -> Self {
        match event {
            Event::RunStarted { thread, attempt } => Self::RunStarted {
                thread: thread.as_str(),
                attempt: *attempt,
            },
            Event::CheckpointSaved {
                namespace,
                checkpoint,
                steps,
                ..
            } if namespace.is_root() => Self::CheckpointSaved {
                checkpoint: *checkpoint,
                steps: Some(*steps),
            },
            Event::RunEnded { how, message } => Self::RunEnded {
                how: *how,
                message: message.as_deref(),
            },
            event => Self::of_node(event),
        }
    }

    fn of_node(event: &'a Event) -> Self {
        match event {
            Event::NodeStarted { node, task } => Self::NodeStarted {
                node: node.as_str(),
                task: task.as_str(),
            },
            Event::NodeCompleted {
                node, task, took, ..
            } => Self::NodeCompleted {
                node: node.as_str(),
                task: task.as_str(),
                took: *took,
            },
            Event::NodeSuspended { node, task, asks } => Self::NodeSuspended {
                node: node.as_str(),
                task: task.as_str(),
                asks: asks.iter().map(|ask| ask.id.as_str()).collect(),
            },
            Event::NodeFailed {
                node,
                task,
                message,
            } => Self::NodeFailed {
                node: node.as_str(),
                task: task.as_str(),
                message,
            },
            Event::NodeRetried { node, message, .. } => Self::NodeRetried {
                node: node.as_str(),
                message,
            },
            Event::NodeCached { node, .. } => Self::NodeCached {
                node: node.as_str(),
            },
            _ => Self::Other,
        }
    }

    /// What a kept event tells. One that lacks something tells nothing: a later
    /// version may have written it.
    pub(super) fn of_kept(event: &'a RunEvent) -> Self {
        Self::read(event).unwrap_or(Self::Other)
    }

    fn read(event: &'a RunEvent) -> Option<Self> {
        let text = |name: &str| event.payload.get(name)?.as_str();
        let number = |name: &str| event.payload.get(name)?.as_u64();
        Some(match event.kind.as_str() {
            "run.started" => Self::RunStarted {
                thread: event.thread.as_str(),
                attempt: u32::try_from(number("attempt")?).ok()?,
            },
            "run.ended" => Self::RunEnded {
                how: RunEnd::deserialize(event.payload.get("how")?).ok()?,
                message: text("message"),
            },
            "checkpoint.saved" if event.namespace.is_root() => Self::CheckpointSaved {
                checkpoint: number("checkpoint")?,
                steps: number("steps"),
            },
            "node.started" => Self::NodeStarted {
                node: text("node")?,
                task: text("task")?,
            },
            "node.completed" => Self::NodeCompleted {
                node: text("node")?,
                task: text("task")?,
                took: Duration::from_millis(number("took_ms")?),
            },
            "node.suspended" => Self::NodeSuspended {
                node: text("node")?,
                task: text("task")?,
                asks: event.payload.get("asks").map(texts).unwrap_or_default(),
            },
            "node.failed" => Self::NodeFailed {
                node: text("node")?,
                task: text("task")?,
                message: text("message").unwrap_or_default(),
            },
            "node.retried" => Self::NodeRetried {
                node: text("node")?,
                message: text("message").unwrap_or_default(),
            },
            "node.cached" => Self::NodeCached {
                node: text("node")?,
            },
            _ => return None,
        })
    }
}

fn texts(list: &Value) -> Vec<&str> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).collect()
}
