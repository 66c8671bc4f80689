//! How runs stand and how their nodes fare, put together from events: a projection,
//! never what anything depends on.
//!
//! Events are taken as they happen, or as an event journal keeps them
//! (`status/told.rs` is what both have in common). [`ThreadStatus`] goes on from the
//! offset that it has reached.

mod thread;
mod told;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use rustagents_core::{
    event::{Event, RunEnd},
    event_journal::PlacedEvent,
};
use serde::{Deserialize, Serialize};

pub use self::thread::ThreadStatus;
use self::told::Told;

/// The version of the projections' form.
pub const VERSION: u32 = 2;

/// How a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ExecutionStatus {
    /// Nothing was heard of it.
    #[default]
    Pending,
    /// It is being driven.
    Running,
    /// It waits for people.
    Waiting,
    /// A policy stopped it.
    Interrupted,
    /// It was stopped, and a later attempt goes on.
    Stopped,
    /// It is done.
    Completed,
    /// It failed.
    Failed,
}

/// A run, as its events tell it.
///
/// ```
/// use rustagents_core::event::{Event, RunEnd};
/// use rustagents_runtime::status::{ExecutionStatus, GraphRunStatus};
///
/// let mut status = GraphRunStatus::default();
/// let end = Event::RunEnded { how: RunEnd::Completed, message: None };
/// status.apply(7, 1_000, &end);
/// status.apply(7, 2_000, &end);
/// assert_eq!(status.status, ExecutionStatus::Completed);
/// assert_eq!((status.offset, status.ended_ms), (Some(7), Some(1_000)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphRunStatus {
    /// The thread.
    pub thread: Option<String>,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// How it stands.
    pub status: ExecutionStatus,
    /// The last checkpoint of the run's own chain.
    pub checkpoint: Option<u64>,
    /// How many supersteps of its own graph the run has done, without those of graphs
    /// inside, as [`GraphRun::steps`](crate::GraphRun::steps) counts them. Events that
    /// an older build kept do not say it; of these, the checkpoints are counted.
    pub steps: u64,
    /// The tasks at work.
    pub active: BTreeSet<String>,
    /// The questions that it waits for, by their ids.
    pub asks: BTreeSet<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// Milliseconds since the Unix epoch of the first event.
    pub started_ms: Option<u64>,
    /// Of the last event.
    pub updated_ms: Option<u64>,
    /// Of the end.
    pub ended_ms: Option<u64>,
    /// The offset of the last event that it knows of.
    pub offset: Option<u64>,
}

impl GraphRunStatus {
    /// Takes an event of the run. One that it knows of already, by its offset,
    /// changes nothing.
    pub fn apply(&mut self, offset: u64, at_ms: u64, event: &Event) {
        self.take(offset, at_ms, Told::of(event));
    }

    /// Takes an event of the run that an event journal kept.
    pub fn apply_kept(&mut self, placed: &PlacedEvent) {
        let event = &placed.event;
        self.take(placed.offset, event.at_ms, Told::of_kept(event));
    }

    fn take(&mut self, offset: u64, at_ms: u64, told: Told<'_>) {
        if self.offset.is_some_and(|known| offset <= known) {
            return;
        }
        self.offset = Some(offset);
        self.started_ms.get_or_insert(at_ms);
        self.updated_ms = Some(at_ms);
        match told {
            Told::RunStarted { thread, attempt } => {
                *self = Self {
                    thread: Some(thread.to_owned()),
                    attempt,
                    status: ExecutionStatus::Running,
                    checkpoint: self.checkpoint.filter(|_| attempt > 1),
                    steps: if attempt > 1 { self.steps } else { 0 },
                    started_ms: self.started_ms,
                    updated_ms: self.updated_ms,
                    offset: self.offset,
                    ..Self::default()
                };
            }
            Told::NodeStarted { task, .. } => {
                self.active.insert(task.to_owned());
            }
            Told::NodeCompleted { task, .. } | Told::NodeFailed { task, .. } => {
                self.active.remove(task);
            }
            Told::NodeSuspended { task, asks, .. } => {
                self.active.remove(task);
                self.asks.extend(asks.into_iter().map(str::to_owned));
            }
            Told::CheckpointSaved { checkpoint, steps } => {
                // The first attempt begins with the checkpoint of the input.
                let is_input = self.attempt == 1 && self.checkpoint.is_none();
                self.steps = steps.unwrap_or(self.steps + u64::from(!is_input));
                self.checkpoint = Some(checkpoint);
            }
            Told::RunEnded { how, message } => self.end(how, message, at_ms),
            Told::NodeRetried { .. } | Told::NodeCached { .. } | Told::Other => {}
        }
    }

    fn end(&mut self, how: RunEnd, message: Option<&str>, at_ms: u64) {
        self.status = match how {
            RunEnd::Completed => ExecutionStatus::Completed,
            RunEnd::Suspended => ExecutionStatus::Waiting,
            RunEnd::Interrupted => ExecutionStatus::Interrupted,
            RunEnd::Stopped => ExecutionStatus::Stopped,
            _ => ExecutionStatus::Failed,
        };
        self.active.clear();
        if how != RunEnd::Suspended {
            self.asks.clear();
        }
        self.error = message.map(str::to_owned);
        self.ended_ms = Some(at_ms);
    }
}

/// How a node fares, over all runs whose events were taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeHealth {
    /// How often it began.
    pub started: u64,
    /// How often it ended well.
    pub completed: u64,
    /// How often its last try failed.
    pub failed: u64,
    /// How often it was tried again.
    pub retried: u64,
    /// How often it waited for people.
    pub suspended: u64,
    /// How often the output of an earlier task was taken instead.
    pub cached: u64,
    /// How long all that ended well took.
    pub total: Duration,
    /// How long the longest of them took.
    pub longest: Duration,
    /// How it last failed, in one line, a try that another one followed counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
}

impl NodeHealth {
    /// How long a task that ended well took on average; `None` if none did.
    pub fn mean(&self) -> Option<Duration> {
        let completed = u32::try_from(self.completed).unwrap_or(u32::MAX);
        self.total.checked_div(completed)
    }
}

/// How the nodes of a graph fare.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphHealth {
    /// Each node.
    pub nodes: BTreeMap<String, NodeHealth>,
    /// The offset of the last event that it knows of.
    pub offset: Option<u64>,
}

impl GraphHealth {
    /// Takes an event. One that it knows of already, by its offset, changes nothing.
    pub fn apply(&mut self, offset: u64, event: &Event) {
        self.take(offset, &Told::of(event));
    }

    /// Takes an event that an event journal kept.
    pub fn apply_kept(&mut self, placed: &PlacedEvent) {
        self.take(placed.offset, &Told::of_kept(&placed.event));
    }

    fn take(&mut self, offset: u64, told: &Told<'_>) {
        if self.offset.is_some_and(|known| offset <= known) {
            return;
        }
        self.offset = Some(offset);
        match told {
            Told::NodeStarted { node, .. } => self.node(node).started += 1,
            Told::NodeCompleted { node, took, .. } => {
                let health = self.node(node);
                health.completed += 1;
                health.total = health.total.saturating_add(*took);
                health.longest = health.longest.max(*took);
            }
            Told::NodeFailed { node, message, .. } => {
                let health = self.node(node);
                health.failed += 1;
                health.last_failure = Some((*message).to_owned());
            }
            Told::NodeRetried { node, message } => {
                let health = self.node(node);
                health.retried += 1;
                health.last_failure = Some((*message).to_owned());
            }
            Told::NodeSuspended { node, .. } => self.node(node).suspended += 1,
            Told::NodeCached { node } => self.node(node).cached += 1,
            _ => {}
        }
    }

    fn node(&mut self, name: &str) -> &mut NodeHealth {
        self.nodes.entry(name.to_owned()).or_default()
    }
}
