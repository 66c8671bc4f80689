//! Watching a run while it goes on, in parts of the kinds that one wants.

use rustagents_core::{
    event::{AgentEvent, Event, Events, Interest},
    ids::{Namespace, NodeName},
};
use serde_json::Value;
use tokio::sync::broadcast;

/// A kind of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum StreamMode {
    /// The whole state after each superstep.
    Values,
    /// What each task wrote.
    Updates,
    /// The text of models, as it comes.
    Messages,
    /// Tasks that begin, end, fail, wait or are tried again.
    Tasks,
    /// Checkpoints.
    Checkpoints,
    /// What nodes say of themselves.
    Custom,
    /// Every event, in the words of the program.
    Debug,
    /// Every event.
    Events,
}

/// A part, and where it comes from.
#[derive(Clone, Debug)]
pub struct StreamPart {
    /// The graph inside others that it comes from; the root is the run's own.
    pub namespace: Namespace,
    /// What it says.
    pub body: StreamBody,
}

/// What a part says.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StreamBody {
    /// The state after a superstep.
    Values {
        /// The checkpoint.
        checkpoint: u64,
        /// The state as JSON.
        state: Value,
    },
    /// What a task wrote: each channel with its write.
    Updates {
        /// The node.
        node: NodeName,
        /// The task.
        task: String,
        /// The writes.
        writes: Value,
    },
    /// More text of a model.
    Messages {
        /// The task of the agent.
        task: String,
        /// The text.
        text: String,
    },
    /// A task did something.
    Tasks {
        /// The node.
        node: NodeName,
        /// The task.
        task: String,
        /// What it did.
        did: TaskDid,
    },
    /// A superstep is recorded.
    Checkpoints {
        /// Its number on its chain.
        checkpoint: u64,
        /// Whether it survives a crash already.
        is_durable: bool,
    },
    /// A node says something of itself.
    Custom {
        /// The node.
        node: NodeName,
        /// The task.
        task: String,
        /// What it says.
        value: Value,
    },
    /// An event in words.
    Debug(String),
    /// An event.
    Events(Box<Event>),
    /// So many parts were dropped, since nobody took them in time.
    Missed(u64),
}

/// What a task did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskDid {
    /// It began.
    Start,
    /// It ended well.
    Complete,
    /// The output of an earlier task was taken instead.
    Cache,
    /// It failed.
    Fail(String),
    /// A try failed, and another one follows.
    Retry(String),
    /// It waits for people; the ids of its questions. None where a graph inside it
    /// waits, whose task tells of them: each question is told once in an attempt.
    Suspend(Vec<String>),
}

/// The parts of a run, as they happen.
///
/// A consumer that is slow holds nobody up: what does not fit the buffer is
/// dropped, the oldest first, and counted by [`StreamBody::Missed`]. Dropping the
/// stream does not touch the run.
#[derive(Debug)]
pub struct Stream(broadcast::Receiver<StreamPart>);

impl Stream {
    /// Adds a stream of the parts of `modes` to a bus. At most `buffer` parts, from
    /// 1, wait to be taken. The stream ends when the bus, and each clone of it, is
    /// dropped.
    ///
    /// ```
    /// use rustagents_core::event::Events;
    /// use rustagents_runtime::stream::{Stream, StreamMode};
    ///
    /// let (events, mut stream) =
    ///     Stream::of(Events::default(), [StreamMode::Updates, StreamMode::Custom], 256);
    /// // `events` is what the run is given; meanwhile: `while let Some(part) = stream.next().await { … }`
    /// drop(events);
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// assert!(stream.next().await.is_none());
    /// # });
    /// ```
    pub fn of(
        events: Events,
        modes: impl IntoIterator<Item = StreamMode>,
        buffer: usize,
    ) -> (Events, Self) {
        let modes: Vec<StreamMode> = modes.into_iter().collect();
        let wants = modes.iter().filter_map(|mode| match mode {
            StreamMode::Values => Some(Interest::Values),
            StreamMode::Updates => Some(Interest::Updates),
            _ => None,
        });
        let wants: Vec<_> = wants.collect();
        let (sender, receiver) = broadcast::channel(buffer.max(1));
        let events = events.and(wants, move |event| {
            for mode in &modes {
                if let Some(part) = part(*mode, event) {
                    // Nobody may be there any more to take it.
                    drop(sender.send(part));
                }
            }
        });
        (events, Self(receiver))
    }

    /// The next part; `None` once the run is over and all is taken.
    ///
    /// Cancellation: nothing is lost.
    pub async fn next(&mut self) -> Option<StreamPart> {
        match self.0.recv().await {
            Ok(part) => Some(part),
            Err(broadcast::error::RecvError::Lagged(missed)) => Some(StreamPart {
                namespace: Namespace::root(),
                body: StreamBody::Missed(missed),
            }),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

/// What `event` says in a mode, if anything.
fn part(mode: StreamMode, event: &Event) -> Option<StreamPart> {
    let body = match mode {
        StreamMode::Values => values(event),
        StreamMode::Updates => updates(event),
        StreamMode::Messages => messages(event),
        StreamMode::Tasks => tasks(event),
        StreamMode::Checkpoints => checkpoints(event),
        StreamMode::Custom => custom(event),
        StreamMode::Debug => is_plain(event).then(|| StreamBody::Debug(format!("{event:?}"))),
        StreamMode::Events => is_plain(event).then(|| StreamBody::Events(Box::new(event.clone()))),
    };
    Some(StreamPart {
        namespace: namespace(event),
        body: body?,
    })
}

/// Whether every listener hears of it.
fn is_plain(event: &Event) -> bool {
    !matches!(
        event,
        Event::NodeWrote { .. } | Event::StateCommitted { .. }
    )
}

fn values(event: &Event) -> Option<StreamBody> {
    match event {
        Event::StateCommitted {
            checkpoint, state, ..
        } => Some(StreamBody::Values {
            checkpoint: *checkpoint,
            state: state.clone(),
        }),
        _ => None,
    }
}

fn updates(event: &Event) -> Option<StreamBody> {
    match event {
        Event::NodeWrote { node, task, writes } => Some(StreamBody::Updates {
            node: node.clone(),
            task: task.to_string(),
            writes: writes.clone(),
        }),
        _ => None,
    }
}

fn messages(event: &Event) -> Option<StreamBody> {
    match event {
        Event::Agent {
            task,
            event: AgentEvent::TextDelta { text },
        } => Some(StreamBody::Messages {
            task: task.clone(),
            text: text.clone(),
        }),
        _ => None,
    }
}

fn checkpoints(event: &Event) -> Option<StreamBody> {
    match event {
        Event::CheckpointSaved {
            checkpoint,
            is_durable,
            ..
        } => Some(StreamBody::Checkpoints {
            checkpoint: *checkpoint,
            is_durable: *is_durable,
        }),
        _ => None,
    }
}

fn custom(event: &Event) -> Option<StreamBody> {
    match event {
        Event::Custom { node, task, value } => Some(StreamBody::Custom {
            node: node.clone(),
            task: task.to_string(),
            value: value.clone(),
        }),
        _ => None,
    }
}

fn tasks(event: &Event) -> Option<StreamBody> {
    let (node, task, did) = match event {
        Event::NodeStarted { node, task } => (node, task, TaskDid::Start),
        Event::NodeCompleted { node, task, .. } => (node, task, TaskDid::Complete),
        Event::NodeCached { node, task } => (node, task, TaskDid::Cache),
        Event::NodeFailed {
            node,
            task,
            message,
        } => (node, task, TaskDid::Fail(message.clone())),
        Event::NodeRetried {
            node,
            task,
            message,
            ..
        } => (node, task, TaskDid::Retry(message.clone())),
        Event::NodeSuspended { node, task, asks } => {
            let asks = asks.iter().map(|ask| ask.id.to_string()).collect();
            (node, task, TaskDid::Suspend(asks))
        }
        _ => return None,
    };
    Some(StreamBody::Tasks {
        node: node.clone(),
        task: task.to_string(),
        did,
    })
}

/// The graph that an event comes from.
fn namespace(event: &Event) -> Namespace {
    let task = match event {
        Event::StateCommitted { namespace, .. } | Event::CheckpointSaved { namespace, .. } => {
            return namespace.clone();
        }
        Event::NodeStarted { task, .. }
        | Event::NodeCompleted { task, .. }
        | Event::NodeFailed { task, .. }
        | Event::NodeRetried { task, .. }
        | Event::NodeCached { task, .. }
        | Event::NodeSuspended { task, .. }
        | Event::NodeWrote { task, .. }
        | Event::Custom { task, .. }
        | Event::StepRepeated { task, .. } => task.as_str(),
        Event::Agent { task, .. } => task,
        _ => "",
    };
    Namespace::from(task.rsplit_once('/').map_or("", |(around, _)| around))
}
