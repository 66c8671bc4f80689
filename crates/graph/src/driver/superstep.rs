//! The tasks of one superstep.

use std::{future::poll_fn, sync::Arc, task::Poll};

use futures::{StreamExt, stream::FuturesUnordered};
use rustagents_core::{
    BoxFuture,
    ask::Ask,
    event::{Event, Interest},
    ids::{MessageId, NodeName},
    journal::{JournalError, kind},
    message::Message,
    scope::{Halt, Write},
};
use serde_json::{Value, json};
use smallvec::SmallVec;

use super::{Driver, activation::Activated, queue::Queue, refused, unrecorded};
use crate::{
    graph::Position,
    node::{NodeError, NodeOutput},
    record::{Task, TaskWrite},
    schedule::ScheduleError,
    state::{GraphState, Written},
    task::TaskEnd,
};

/// How the tasks of a superstep stand. All vectors are in task order.
#[derive(Default)]
pub(super) struct Superstep {
    pub(super) writes: SmallVec<[Option<TaskWrite>; 1]>,
    /// The writes that no record keeps yet, with the messages that are in them.
    fresh: SmallVec<[(usize, Vec<Arc<Message>>); 1]>,
    asks: Vec<(usize, Ask)>,
    halt: Option<Halt>,
    failed: Option<(usize, NodeName, NodeError)>,
}

/// Why a superstep is not committed.
pub(super) enum Stop {
    Halt(Halt),
    Failed(NodeName, NodeError),
    Asks(Vec<Ask>),
}

impl Superstep {
    fn is_clean(&self) -> bool {
        self.halt.is_none() && self.failed.is_none() && self.asks.is_empty()
    }

    /// Whether every task has a write, and nothing keeps them from being committed.
    fn is_complete(&self) -> bool {
        self.is_clean() && self.writes.iter().all(Option::is_some)
    }

    /// The messages in the writes that go with the checkpoint.
    pub(super) fn take_messages(&mut self) -> Vec<Arc<Message>> {
        let mut fresh = std::mem::take(&mut self.fresh);
        if let [(_, messages)] = fresh.as_mut_slice() {
            return std::mem::take(messages);
        }
        fresh.sort_by_key(|(task, _)| *task);
        fresh
            .into_iter()
            .flat_map(|(_, messages)| messages)
            .collect()
    }

    pub(super) fn stop(&mut self) -> Option<Stop> {
        if self.is_clean() {
            return None;
        }
        self.asks.sort_by_key(|(task, _)| *task);
        let asks = std::mem::take(&mut self.asks);
        let asks: Vec<_> = asks.into_iter().map(|(_, ask)| ask).collect();
        let closes = self.failed.is_some() || matches!(self.halt, Some(Halt::Budget(_)));
        let in_doubt = |ask: &Ask| ask.subject.is_in_doubt();
        if closes && asks.iter().any(in_doubt) {
            // What may have happened is settled before the run is closed over it.
            return Some(Stop::Asks(asks));
        }
        if let Some(halt) = self.halt.take() {
            return Some(Stop::Halt(halt));
        }
        match self.failed.take() {
            Some((_, node, error)) => Some(Stop::Failed(node, error)),
            None => Some(Stop::Asks(asks)),
        }
    }

    /// Takes what kept a task from its write; of several failures that of the
    /// first task.
    fn stopped(&mut self, at: usize, node: &NodeName, error: NodeError) {
        match error {
            NodeError::Halt(halt) => {
                self.halt.get_or_insert(halt);
            }
            error => match &self.failed {
                Some((first, ..)) if *first < at => {}
                _ => self.failed = Some((at, node.clone(), error)),
            },
        }
    }
}

/// The writes of a task as JSON: as recorded, messages in full.
fn told_writes(write: &TaskWrite, messages: &[Arc<Message>]) -> Value {
    let full = |id: &MessageId| {
        let found = messages.iter().find(|message| message.id == *id);
        found.map_or_else(|| json!(id), |message| json!(**message))
    };
    let writes = write.writes.iter();
    writes
        .map(|(channel, written)| match written {
            Written::Messages(ids) => {
                let messages: Vec<_> = ids.iter().map(full).collect();
                json!([channel, { "messages": messages }])
            }
            other => json!([channel, other]),
        })
        .collect()
}

impl<S: GraphState> Driver<'_, S> {
    /// Runs what is not done yet; keeps each finished write.
    pub(super) async fn run_tasks(&self, at: &Position<S>) -> Superstep {
        let mut step = self.known_writes(at);
        if step.halt.is_some() {
            return step;
        }
        if let [task] = at.tasks()
            && matches!(step.writes.as_slice(), [None])
        {
            let ended = self.activate(at, 0, task).await;
            self.take(&mut step, at, ended);
            self.keep(&mut step, at).await;
            return step;
        }
        let mut queue = Queue::new(self.graph, at, &step);
        let mut running = FuturesUnordered::new();
        loop {
            self.begin(&mut step, at, &mut queue, &mut running).await;
            self.keep(&mut step, at).await;
            let Some(ended) = running.next().await else {
                break;
            };
            queue.over(ended.index);
            self.take(&mut step, at, ended);
            // What is over by now is kept together.
            while let Poll::Ready(Some(ended)) = futures::poll!(running.next()) {
                queue.over(ended.index);
                self.take(&mut step, at, ended);
            }
            if step.halt.is_some() {
                queue = Queue::default();
            }
        }
        self.keep(&mut step, at).await;
        step
    }

    /// Begins as many tasks as may run at the same time. Most nodes are through at
    /// their first poll, and never queue.
    async fn begin<'t>(
        &'t self,
        step: &mut Superstep,
        at: &'t Position<S>,
        queue: &mut Queue<'_>,
        running: &mut FuturesUnordered<BoxFuture<'t, Activated<'t, S>>>,
    ) {
        while running.len() < self.graph.concurrency
            && let Some(index) = queue.next()
            && let Some(task) = at.tasks().get(index)
        {
            let mut task = self.boxed_task(at, index, task);
            match poll_fn(|cx| Poll::Ready(task.as_mut().poll(cx))).await {
                Poll::Ready(ended) => {
                    queue.over(index);
                    self.take(step, at, ended);
                }
                Poll::Pending => running.push(task),
            }
        }
    }

    /// Boxed, so that a run can be sent to another thread of execution.
    fn boxed_task<'t>(
        &'t self,
        at: &'t Position<S>,
        index: usize,
        task: &'t Task,
    ) -> BoxFuture<'t, Activated<'t, S>> {
        Box::pin(self.activate(at, index, task))
    }

    /// The writes of tasks that an earlier attempt finished.
    fn known_writes(&self, at: &Position<S>) -> Superstep {
        let mut step = Superstep::default();
        if self.scope.log().is_empty() {
            step.writes.resize(at.tasks().len(), None);
            return step;
        }
        for (index, task) in at.tasks().iter().enumerate() {
            match self.known_write(task) {
                Ok(Some(write)) => {
                    step.asks
                        .extend(self.ask_after(task).map(|ask| (index, ask)));
                    step.writes.push(Some(write));
                }
                Ok(None) => step.writes.push(None),
                Err(halt) => step.halt = Some(halt),
            }
        }
        step
    }

    fn known_write(&self, task: &Task) -> Result<Option<TaskWrite>, Halt> {
        let key = TaskWrite::key(self.scope.namespace(), &task.task);
        let Some(record) = self.scope.fact(&key) else {
            return Ok(None);
        };
        let write: TaskWrite = record.decode(kind::TASK_WRITE)?;
        let fits = self.graph.check_way(&task.node, &write);
        fits.map_err(|error| Halt::Incompatible {
            what: format!("task {}", task.task),
            difference: error.to_string(),
        })?;
        Ok(Some(write))
    }

    /// Takes the end of a task.
    fn take(&self, step: &mut Superstep, at: &Position<S>, ended: Activated<'_, S>) {
        let Activated {
            index, task, end, ..
        } = ended;
        let taken = match end {
            TaskEnd::Done(output) => self.done(step, at, ended.took, (index, task), output),
            TaskEnd::Suspended(asks) => {
                self.scope.emit(|| Event::NodeSuspended {
                    node: task.node.clone(),
                    task: self.told(task),
                    asks: asks.clone(),
                });
                step.asks.extend(asks.into_iter().map(|ask| (index, ask)));
                Ok(())
            }
            TaskEnd::Failed(error) => Err(error),
        };
        if let Err(error) = taken {
            self.failed(step, index, task, error);
        }
    }

    fn failed(&self, step: &mut Superstep, index: usize, task: &Task, error: NodeError) {
        if !matches!(error, NodeError::Halt(_)) {
            self.scope.emit(|| Event::NodeFailed {
                node: task.node.clone(),
                task: self.told(task),
                message: error.to_string(),
            });
        }
        step.stopped(index, &task.node, error);
    }

    fn done(
        &self,
        step: &mut Superstep,
        at: &Position<S>,
        took: std::time::Duration,
        (index, task): (usize, &Task),
        mut output: NodeOutput<S>,
    ) -> Result<(), NodeError> {
        let summary = std::mem::take(&mut output.summary);
        let accepted = self.graph.accept(&at.state, &task.node, output);
        let (write, messages) = accepted.map_err(|error| refused(&error))?;
        if write.parent.is_some() && self.scope.namespace().is_root() {
            return Err(refused(&ScheduleError::NoParent {
                node: task.node.clone(),
            }));
        }
        self.scope.emit_to(Interest::Updates, || Event::NodeWrote {
            node: task.node.clone(),
            task: self.told(task),
            writes: told_writes(&write, &messages),
        });
        if let Some(slot) = step.writes.get_mut(index) {
            *slot = Some(write);
        }
        step.fresh.push((index, self.unrecorded(messages)));
        step.asks
            .extend(self.ask_after(task).map(|ask| (index, ask)));
        self.scope.emit(|| Event::NodeCompleted {
            node: task.node.clone(),
            task: self.told(task),
            took,
            summary,
        });
        Ok(())
    }

    /// Records the writes that stand alone: those of a step that is not over, or
    /// that does not end well. Those of a step that is, go with its checkpoint.
    async fn keep(&self, step: &mut Superstep, at: &Position<S>) {
        if step.fresh.is_empty() || step.is_complete() {
            return;
        }
        let fresh = std::mem::take(&mut step.fresh);
        let mut parts = vec![fresh.as_slice()];
        while let Some(part) = parts.pop() {
            match self.keep_part(step, at, part).await {
                Ok(()) => {}
                Err(JournalError::TooLarge { .. }) if part.len() > 1 => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
                Err(error) => {
                    let failed = part.iter().filter_map(|(index, _)| {
                        let task = at.tasks().get(*index)?;
                        Some((*index, task))
                    });
                    for (index, task) in failed {
                        if let Some(slot) = step.writes.get_mut(index) {
                            *slot = None;
                        }
                        self.failed(step, index, task, unrecorded(error.clone()));
                    }
                }
            }
        }
    }

    async fn keep_part(
        &self,
        step: &Superstep,
        at: &Position<S>,
        part: &[(usize, Vec<Arc<Message>>)],
    ) -> Result<(), JournalError> {
        let mut facts = Write::new();
        for (index, messages) in part {
            let task = at.tasks().get(*index);
            let write = step.writes.get(*index).and_then(Option::as_ref);
            let (Some(task), Some(write)) = (task, write) else {
                continue;
            };
            for message in messages {
                facts.message(Arc::clone(message));
            }
            let key = TaskWrite::key(self.scope.namespace(), &task.task);
            if self.graph.has_untracked {
                let mut kept = write.clone();
                kept.writes
                    .retain(|(channel, _)| self.graph.is_tracked(channel));
                facts.fact(key, kind::TASK_WRITE, &kept);
            } else {
                facts.fact(key, kind::TASK_WRITE, write);
            }
        }
        self.scope.append(facts).await
    }
}
