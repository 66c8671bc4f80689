//! Events: for watching. Correctness never needs them.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    ask::Ask,
    digest::Digest,
    ids::{CallId, Namespace, NodeName, TaskId, ThreadId},
    message::Usage,
};

/// Something that happened, said when the fact that it reports is recorded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// An attempt at the run began.
    RunStarted {
        /// The thread.
        thread: ThreadId,
        /// Which attempt, from 1.
        attempt: u32,
    },
    /// What the attempt executes is not what the one before did.
    DefinitionChanged {
        /// The definition that it goes on with.
        definition: Digest,
    },
    /// The attempt goes on without something that was pending and fits no more, as a
    /// person forced it to.
    Forced {
        /// The task, call or join, such as `call c-3`.
        what: String,
        /// What does not fit.
        why: String,
    },
    /// A task of a superstep began.
    NodeStarted {
        /// The node.
        node: NodeName,
        /// The task.
        task: TaskId,
    },
    /// A task ended well.
    NodeCompleted {
        /// The node.
        node: NodeName,
        /// The task.
        task: TaskId,
        /// How long it took.
        took: Duration,
        /// Its last words, where it has some.
        summary: String,
    },
    /// A task waits for people.
    NodeSuspended {
        /// The node.
        node: NodeName,
        /// The task.
        task: TaskId,
        /// What it asks. Nothing where a graph inside it asks: the task there tells
        /// of that, so that each question is told once in an attempt.
        asks: Vec<Ask>,
    },
    /// A task failed.
    NodeFailed {
        /// The node.
        node: NodeName,
        /// The task.
        task: TaskId,
        /// One line.
        message: String,
    },
    /// The output of an earlier task was taken instead of running this one.
    NodeCached {
        /// The node.
        node: NodeName,
        /// The task.
        task: TaskId,
    },
    /// A try of a task failed, and another one follows.
    NodeRetried {
        /// The node.
        node: NodeName,
        /// The task.
        task: TaskId,
        /// How often it was tried.
        tries: u32,
        /// How the last try failed, in one line.
        message: String,
    },
    /// A step inside a task runs again, since its input is another one than that of
    /// the recorded result.
    StepRepeated {
        /// The node.
        node: NodeName,
        /// The task.
        task: TaskId,
        /// The step, with its number inside the task.
        step: String,
        /// The digest of the recorded input.
        recorded: Digest,
        /// The digest of the input now.
        now: Digest,
    },
    /// What a node says of itself, by its context.
    Custom {
        /// The node.
        node: NodeName,
        /// The task.
        task: TaskId,
        /// What it says.
        value: Value,
    },
    /// What a task wrote: for listeners that ask for it ([`Interest::Updates`]).
    NodeWrote {
        /// The node.
        node: NodeName,
        /// The task.
        task: TaskId,
        /// Each channel with its write, as recorded, messages in full.
        writes: Value,
    },
    /// The state after a superstep: for listeners that ask for it
    /// ([`Interest::Values`]).
    StateCommitted {
        /// The graph inside others that it is of; the root is the run's own.
        namespace: Namespace,
        /// The checkpoint.
        checkpoint: u64,
        /// The state as JSON.
        state: Value,
    },
    /// A checkpoint is recorded: of a superstep, of the input, or of a migration.
    CheckpointSaved {
        /// The graph inside others that it is of; the root is the run's own.
        namespace: Namespace,
        /// Its number on its chain; on the root, in the thread.
        checkpoint: u64,
        /// How many supersteps of its graph the run has done by then, without those of
        /// graphs inside; the checkpoint of an input adds none.
        steps: u64,
        /// Whether it survives a crash now; if not, it will with the end of the run
        /// at the latest.
        is_durable: bool,
    },
    /// The attempt is over.
    RunEnded {
        /// How.
        how: RunEnd,
        /// What went wrong, in one line.
        message: Option<String>,
    },
    /// Events of the attempt are missing in the event journal. Told once, when the
    /// attempt is over; nothing else depends on it.
    EventsLost {
        /// How many.
        lost: u64,
        /// Why, in one line.
        reason: String,
    },
    /// An event of the agent inside a task.
    Agent {
        /// The task; empty for an agent that stands alone.
        task: String,
        /// What happened.
        event: AgentEvent,
    },
}

/// How an attempt at a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunEnd {
    /// Nothing is left to do.
    Completed,
    /// It waits for people.
    Suspended,
    /// A policy stopped it.
    Interrupted,
    /// It failed.
    Failed,
    /// A limit is reached.
    Exhausted,
    /// It was cancelled, or stopped at a boundary; a later attempt goes on.
    Stopped,
}

impl RunEnd {
    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Suspended => "suspended",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Exhausted => "exhausted",
            Self::Stopped => "stopped",
        }
    }
}

/// What happens inside an agent.
///
/// Per attempt and agent: each [`StepStarted`](AgentEvent::StepStarted) precedes
/// the one end of its step, and each dispatched call has one end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentEvent {
    /// A step, that is a turn of the model and its tools, begins or goes on.
    StepStarted {
        /// The turn, from 1.
        step: u32,
    },
    /// More text of the model; never recorded.
    TextDelta {
        /// The text.
        text: String,
    },
    /// The model's answer is recorded.
    ModelResponded {
        /// The turn.
        step: u32,
        /// What it consumed.
        usage: Option<Usage>,
    },
    /// A call starts.
    ToolDispatched {
        /// The turn.
        step: u32,
        /// The call.
        call: CallId,
        /// The tool.
        tool: String,
    },
    /// A call's result is recorded, or its outcome is known to be lost.
    ToolCompleted {
        /// The turn.
        step: u32,
        /// The call.
        call: CallId,
        /// Whether it did what was asked.
        ok: bool,
    },
    /// A step ended and another follows.
    StepCompleted {
        /// The turn.
        step: u32,
    },
    /// A step ended in failure, in interruption or by cancellation.
    StepFailed {
        /// The turn.
        step: u32,
        /// One line.
        message: String,
    },
    /// A step waits for people.
    StepSuspended {
        /// The turn.
        step: u32,
    },
    /// The agent has its answer.
    Completed {
        /// The turn that gave it.
        step: u32,
    },
}

/// What a listener wants beside what every listener hears: it costs more to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Interest {
    /// What each task wrote.
    Updates,
    /// The whole state after each superstep.
    Values,
}

type Heard = dyn Fn(&Event) + Send + Sync;

struct Listener {
    wants: Vec<Interest>,
    hears: Box<Heard>,
}

/// The bus of one run. An event that nobody hears is not built.
#[derive(Clone, Default)]
pub struct Events(Option<Arc<Vec<Arc<Listener>>>>);

impl Listener {
    fn tell(&self, event: &Event) {
        let heard = AssertUnwindSafe(|| (self.hears)(event));
        drop(catch_unwind(heard));
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Events").field(&self.0.is_some()).finish()
    }
}

impl Events {
    /// A bus with one listener, called in order on the driver's own task.
    ///
    /// The listener must be quick: it holds the run up. Its panics are caught
    /// and dropped; they never reach the run.
    pub fn listen(listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        Self::default().and([], listener)
    }

    /// This bus with one more listener, which also hears of what it `wants`.
    #[must_use]
    pub fn and(
        self,
        wants: impl IntoIterator<Item = Interest>,
        listener: impl Fn(&Event) + Send + Sync + 'static,
    ) -> Self {
        let mut listeners = self.0.map(Arc::unwrap_or_clone).unwrap_or_default();
        listeners.push(Arc::new(Listener {
            wants: wants.into_iter().collect(),
            hears: Box::new(listener),
        }));
        Self(Some(Arc::new(listeners)))
    }

    /// Whether somebody listens.
    pub fn are_heard(&self) -> bool {
        self.0.is_some()
    }

    /// Emits what `build` makes, if somebody listens.
    pub fn emit(&self, build: impl FnOnce() -> Event) {
        if let Some(listeners) = &self.0 {
            let event = build();
            listeners.iter().for_each(|listener| listener.tell(&event));
        }
    }

    /// Emits what `build` makes to those who want it.
    pub fn emit_to(&self, interest: Interest, build: impl FnOnce() -> Event) {
        let listeners = self.0.iter().flat_map(|listeners| listeners.iter());
        let wants = |listener: &&Arc<Listener>| listener.wants.contains(&interest);
        let mut wanting = listeners.filter(wants).peekable();
        if wanting.peek().is_some() {
            let event = build();
            wanting.for_each(|listener| listener.tell(&event));
        }
    }
}
