//! The tasks of one superstep.

use std::{collections::BTreeMap, future::poll_fn, sync::Arc, task::Poll};

use futures::{StreamExt, stream::FuturesUnordered};
use rustagents_core::{
    BoxFuture,
    ask::Ask,
    event::{Event, Interest},
    ids::{MessageId, NodeName},
    journal::{JournalError, kind},
    message::Message,
    scope::Halt,
};
use serde_json::{Value, json};
use smallvec::SmallVec;

use super::{
    Driver,
    activation::{Activated, Activation},
    queue::Queue,
    refused, unrecorded,
};
use crate::{
    graph::{CompiledNode, Position},
    kept::Memory,
    node::{NodeError, NodeOutput},
    record::{Task, TaskWrite},
    schedule::check_levels,
    state::{GraphState, Written},
    task::TaskEnd,
};

/// How the tasks of a superstep stand. All lists are in task order.
pub(super) struct Superstep<'g, S: GraphState> {
    pub(super) nodes: SmallVec<[&'g CompiledNode<S>; 1]>,
    pub(super) writes: SmallVec<[Option<TaskWrite>; 1]>,
    /// The writes that no record keeps yet, with the messages that are in them.
    fresh: SmallVec<[(usize, Vec<Arc<Message>>); 1]>,
    /// How the calls ended whose state is kept, by the places of their tasks.
    pub(super) memories: BTreeMap<usize, Memory>,
    trouble: Option<Box<Trouble>>,
}

/// What keeps a superstep from being committed.
#[derive(Default)]
struct Trouble {
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

impl<'g, S: GraphState> Superstep<'g, S> {
    pub(super) fn new() -> Self {
        Self {
            nodes: SmallVec::new(),
            writes: SmallVec::new(),
            fresh: SmallVec::new(),
            memories: BTreeMap::new(),
            trouble: None,
        }
    }

    /// Whether every task has a write, and nothing keeps them from being committed.
    fn is_complete(&self) -> bool {
        self.trouble.is_none() && self.writes.iter().all(Option::is_some)
    }

    /// The nodes with what their tasks wrote.
    pub(super) fn done<'s>(
        &'s self,
    ) -> impl Iterator<Item = (&'s CompiledNode<S>, &'s TaskWrite)> + Clone
    where
        'g: 's,
    {
        let pairs = self.nodes.iter().zip(&self.writes);
        pairs.filter_map(|(node, write)| Some((*node, write.as_ref()?)))
    }

    fn trouble(&mut self) -> &mut Trouble {
        self.trouble.get_or_insert_default()
    }

    fn asked(&mut self, at: usize, asks: impl IntoIterator<Item = Ask>) {
        let asks = asks.into_iter().map(|ask| (at, ask));
        self.trouble().asks.extend(asks);
    }

    fn halts(&self) -> bool {
        self.trouble
            .as_ref()
            .is_some_and(|trouble| trouble.halt.is_some())
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
        self.trouble.take().map(|trouble| trouble.stop())
    }

    /// Takes what kept a task from its write; of several failures that of the
    /// first task.
    fn stopped(&mut self, at: usize, node: &NodeName, error: NodeError) {
        let trouble = self.trouble();
        match error {
            NodeError::Halt(halt) => {
                trouble.halt.get_or_insert(halt);
            }
            error => match &trouble.failed {
                Some((first, ..)) if *first < at => {}
                _ => trouble.failed = Some((at, node.clone(), error)),
            },
        }
    }
}

impl Trouble {
    /// Whether nothing more is to be begun.
    fn closes(&self) -> bool {
        self.halt.is_some() || self.failed.is_some()
    }

    fn stop(self) -> Stop {
        let Self {
            mut asks,
            halt,
            failed,
        } = self;
        asks.sort_by_key(|(task, _)| *task);
        let asks: Vec<_> = asks.into_iter().map(|(_, ask)| ask).collect();
        let closes_run = failed.is_some() || matches!(halt, Some(Halt::Budget(_)));
        let in_doubt = |ask: &Ask| ask.subject.is_in_doubt();
        match (halt, failed) {
            // What may have happened is settled before the run is closed over it.
            _ if closes_run && asks.iter().any(in_doubt) => Stop::Asks(asks),
            (Some(halt), _) => Stop::Halt(halt),
            (None, Some((_, node, error))) => Stop::Failed(node, error),
            (None, None) => Stop::Asks(asks),
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

impl<'g, S: GraphState> Driver<'g, S> {
    /// Runs what is not done yet; keeps each finished write.
    pub(super) async fn run_tasks(&self, step: &mut Superstep<'g, S>, at: &Position<S>) {
        self.find(step, at);
        if step.trouble.as_ref().is_some_and(|found| found.closes()) {
            return;
        }
        if let ([task], [node], [None]) = (at.tasks(), &*step.nodes, &*step.writes) {
            let what = Activation {
                index: 0,
                task,
                node,
            };
            let ended = self.activate(at, what).await;
            self.take(step, at, ended);
            return self.keep(step, at).await;
        }
        // Boxed, since most steps have one task.
        Box::pin(self.run_many(step, at)).await;
    }

    async fn run_many(&self, step: &mut Superstep<'g, S>, at: &Position<S>) {
        let mut queue = Queue::new(self.graph, step);
        let mut running = FuturesUnordered::new();
        loop {
            self.begin(step, at, &mut queue, &mut running).await;
            self.keep(step, at).await;
            let Some(ended) = running.next().await else {
                break;
            };
            queue.over(ended.what.index);
            self.take(step, at, ended);
            // What is over by now is kept together.
            while let Poll::Ready(Some(ended)) = futures::poll!(running.next()) {
                queue.over(ended.what.index);
                self.take(step, at, ended);
            }
            if step.halts() || self.scope.is_over() {
                queue = Queue::default();
            }
        }
        self.keep(step, at).await;
    }

    /// Begins as many tasks as may run at the same time. Most nodes are through at
    /// their first poll, and never queue.
    async fn begin<'t>(
        &'t self,
        step: &mut Superstep<'g, S>,
        at: &'t Position<S>,
        queue: &mut Queue<'_>,
        running: &mut FuturesUnordered<BoxFuture<'t, Activated<'t, S>>>,
    ) where
        'g: 't,
    {
        while running.len() < self.graph.concurrency
            && let Some(index) = queue.next()
            && let (Some(task), Some(node)) = (at.tasks().get(index), step.nodes.get(index))
        {
            let mut task = self.boxed_task(at, Activation { index, task, node });
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
        what: Activation<'t, S>,
    ) -> BoxFuture<'t, Activated<'t, S>> {
        Box::pin(self.activate(at, what))
    }

    /// Finds the tasks' nodes, and the writes of those that an earlier attempt
    /// finished.
    fn find(&self, step: &mut Superstep<'g, S>, at: &Position<S>) {
        let is_new = self.scope.log().is_empty();
        for (index, task) in at.tasks().iter().enumerate() {
            let node = match self.graph.known(&task.node) {
                Ok(node) => node,
                Err(error) => return step.stopped(index, &task.node, refused(&error)),
            };
            step.nodes.push(node);
            if is_new {
                step.writes.push(None);
                continue;
            }
            match self.known_write(node, task) {
                Ok(write) => {
                    if write.is_some() {
                        self.ask_after(step, index, node, task);
                    }
                    step.writes.push(write);
                }
                Err(halt) => return step.stopped(index, &task.node, halt.into()),
            }
        }
    }

    fn known_write(&self, node: &CompiledNode<S>, task: &Task) -> Result<Option<TaskWrite>, Halt> {
        let key = TaskWrite::key(self.scope.namespace(), &task.task);
        let Some(record) = self.scope.fact(&key) else {
            return Ok(None);
        };
        let write: TaskWrite = record.decode(kind::TASK_WRITE)?;
        let fits = node.check_way(&write);
        fits.map_err(|error| Halt::Incompatible {
            what: format!("task {}", task.task),
            difference: error.to_string(),
        })?;
        Ok(Some(write))
    }

    /// Takes the end of a task.
    fn take(&self, step: &mut Superstep<'g, S>, at: &Position<S>, ended: Activated<'_, S>) {
        let Activated { what, took, end } = ended;
        let Activation { index, task, .. } = what;
        let taken = match end {
            TaskEnd::Done(output) => self.done(step, at, took, &what, output),
            TaskEnd::Suspended(asked) => {
                self.scope.emit(|| Event::NodeSuspended {
                    node: task.node.clone(),
                    task: self.told(task),
                    asks: asked.untold(),
                });
                self.scope.note_told(&asked.asks);
                step.asked(index, asked.asks);
                Ok(())
            }
            TaskEnd::Failed(error) => Err(error),
        };
        if let Err(error) = taken {
            self.failed(step, index, task, error);
        }
    }

    /// Asks after a task, where that is to be done and nobody has answered.
    fn ask_after(
        &self,
        step: &mut Superstep<'g, S>,
        index: usize,
        node: &CompiledNode<S>,
        task: &Task,
    ) {
        if node.spec.asks.after
            && let Some(ask) = self.question_after(task)
        {
            step.asked(index, [ask]);
        }
    }

    fn failed(&self, step: &mut Superstep<'g, S>, index: usize, task: &Task, error: NodeError) {
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
        step: &mut Superstep<'g, S>,
        at: &Position<S>,
        took: std::time::Duration,
        what: &Activation<'_, S>,
        mut output: NodeOutput<S>,
    ) -> Result<(), NodeError> {
        let &Activation { index, task, node } = what;
        let summary = std::mem::take(&mut output.summary);
        let memory = output.memory.take();
        let accepted = node.accept(&at.state, output);
        let (mut write, messages) = accepted.map_err(|error| refused(&error))?;
        if let Some(memory) = memory {
            write.keeps = true;
            step.memories.insert(index, memory);
        }
        check_levels(&task.node, &write, self.scope.namespace().depth())
            .map_err(|error| refused(&error))?;
        if let Some(out) = &self.out {
            out.check(&write).map_err(|error| refused(&error))?;
        }
        self.scope.emit_to(Interest::Updates, || Event::NodeWrote {
            node: task.node.clone(),
            task: self.told(task),
            writes: told_writes(&write, &messages),
        });
        if let Some(slot) = step.writes.get_mut(index) {
            *slot = Some(write);
        }
        self.scope.forget_doubts(&task.task);
        step.fresh.push((index, self.unrecorded(messages)));
        self.ask_after(step, index, node, task);
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
    async fn keep(&self, step: &mut Superstep<'g, S>, at: &Position<S>) {
        if step.fresh.is_empty() || step.is_complete() {
            return;
        }
        let fresh = std::mem::take(&mut step.fresh);
        let mut parts = vec![fresh.as_slice()];
        while let Some(part) = parts.pop() {
            match self.keep_part(step, at, part).await {
                Ok(()) => {}
                Err(JournalError::TooLarge { .. } | JournalError::TooDeep { .. })
                    if part.len() > 1 =>
                {
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
        step: &Superstep<'g, S>,
        at: &Position<S>,
        part: &[(usize, Vec<Arc<Message>>)],
    ) -> Result<(), JournalError> {
        let mut facts = self.scope.write();
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
                kept.forget(|channel| self.graph.is_tracked(channel));
                facts.fact(key, kind::TASK_WRITE, &kept);
            } else {
                facts.fact(key, kind::TASK_WRITE, write);
            }
        }
        self.scope.append(facts).await
    }
}
