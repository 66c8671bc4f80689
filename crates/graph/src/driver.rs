//! The driver: runs the tasks of a superstep, and records what they come to.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use rustagents_core::{
    BoxFuture,
    ask::Ask,
    budget::Resource,
    code::Coded,
    event::Event,
    ids::NodeName,
    journal::{JournalError, kind},
    message::Message,
    scope::{Halt, Scope, Write},
};
use smallvec::SmallVec;

use crate::{
    graph::{Compiled, Frame, GraphEnd, OpenError, Outcome, Position},
    node::{NodeError, NodeFailure, NodeOutput, TaskContext},
    record::{Checkpoint, Snapshot, Source, Task, TaskWrite},
    schedule::ScheduleError,
    state::Update,
    task::{TaskEnd, TaskFuture},
};

/// The most tasks of a superstep that run at the same time.
const CONCURRENCY: usize = 64;

/// Drives one graph on one chain.
pub(crate) struct Driver<'a> {
    graph: &'a Compiled,
    scope: &'a Scope,
}

/// How the tasks of a superstep stand. All vectors are in task order.
#[derive(Default)]
struct Superstep {
    writes: SmallVec<[Option<TaskWrite>; 1]>,
    /// Messages of the last task, whose write goes with the checkpoint.
    messages: Vec<Arc<Message>>,
    asks: Vec<Ask>,
    halt: Option<Halt>,
    failed: Option<(NodeName, NodeError)>,
}

impl<'a> Driver<'a> {
    pub(crate) fn new(graph: &'a Compiled, scope: &'a Scope) -> Self {
        Self { graph, scope }
    }

    pub(crate) async fn open(
        &self,
        position: Position,
        input: Vec<(String, Update)>,
        mut opening: Write,
    ) -> Result<Position, OpenError> {
        let number = position.checkpoint + 1;
        let node = NodeName::from("START");
        let messages = self.unrecorded(&input);
        let write = self.graph.accept(&position.state, &node, input, None)?;
        let checkpoint = Checkpoint {
            checkpoint: number,
            step: 0,
            source: Source::Input,
            deltas: write.deltas,
            done: Vec::new(),
            next: self.graph.first(number)?,
        };
        let bytes = write_checkpoint(&checkpoint, &messages, &mut opening);
        let mut opened = self.moved(position, checkpoint, &messages)?;
        self.snapshot(&mut opened, bytes, &mut opening);
        // Whoever opens the run says so first, and of this checkpoint then.
        self.scope.append(opening).await.map_err(Halt::from)?;
        Ok(opened)
    }

    pub(crate) async fn drive(
        &self,
        mut at: Position,
        frame: &dyn Frame,
    ) -> Result<GraphEnd, Halt> {
        if at.tasks.is_empty() {
            return self.close(&at, Outcome::Completed, frame).await;
        }
        // A step that an earlier attempt began is finished, whatever the limits are now.
        let mut begun = self.scope.run().attempt > 1;
        while !at.tasks.is_empty() {
            self.scope.boundary()?;
            let begun = std::mem::take(&mut begun);
            if !begun && at.step >= self.graph.recursion_limit {
                let limit = self.graph.recursion_limit;
                return self
                    .close(&at, Outcome::RecursionLimit { limit }, frame)
                    .await;
            }
            if let (Err(exceeded), false) = (self.scope.run().budget.take(Resource::Steps), begun) {
                return self.close(&at, Outcome::Budget(exceeded), frame).await;
            }
            let mut step = self.run_tasks(&at).await;
            at = match step.stop() {
                None => match self.advance(at, step, frame).await? {
                    Advanced::To(next) => next,
                    Advanced::Refused(at, node, error) => {
                        return self.fail(&at, node, &error, frame).await;
                    }
                },
                Some(Stop::Halt(Halt::Budget(exceeded))) => {
                    return self.close(&at, Outcome::Budget(exceeded), frame).await;
                }
                Some(Stop::Halt(halt)) => return Err(halt),
                Some(Stop::Failed(node, error)) => {
                    return self.fail(&at, node, &error, frame).await;
                }
                Some(Stop::Asks(asks)) => {
                    return self.close(&at, Outcome::Suspended(asks), frame).await;
                }
            };
        }
        Ok(GraphEnd {
            outcome: Outcome::Completed,
            state: at.state,
            steps: at.step,
        })
    }

    /// Runs what is not done yet; keeps each finished write.
    async fn run_tasks(&self, at: &Position) -> Superstep {
        let mut step = Superstep::default();
        let fresh = self.scope.run().log.is_empty();
        for task in &at.tasks {
            if fresh {
                step.writes.push(None);
                continue;
            }
            let key = TaskWrite::key(self.scope.namespace(), &task.task);
            let known = self
                .scope
                .fact(&key)
                .map(|record| record.decode(kind::TASK_WRITE));
            match known.transpose() {
                Ok(Some(write)) if !self.graph.knows_way(&task.node, &write) => {
                    step.halt = Some(Halt::Incompatible {
                        what: format!("task {}", task.task),
                        difference: "the route that it took is not there any more".into(),
                    });
                }
                Ok(write) => step.writes.push(write),
                Err(error) => step.halt = Some(error.into()),
            }
        }
        if step.halt.is_some() {
            return step;
        }
        if let [task] = at.tasks.as_slice()
            && matches!(step.writes.as_slice(), [None])
        {
            let ended = self.run_task(at, 0, task).await;
            self.take(&mut step, at, ended, true).await;
            return step;
        }
        let open = step
            .writes
            .iter()
            .enumerate()
            .filter(|(_, write)| write.is_none());
        let open: Vec<usize> = open.map(|(index, _)| index).collect();
        let mut left = open.len();
        let tasks = open
            .into_iter()
            .filter_map(|index| Some((index, at.tasks.get(index)?)));
        let runs: Vec<_> = tasks
            .map(|(index, task)| self.boxed_task(at, index, task))
            .collect();
        let mut runs = stream::iter(runs).buffer_unordered(CONCURRENCY);
        while let Some((index, task, took, end)) = runs.next().await {
            left -= 1;
            let alone = left == 0 && step.is_clean();
            self.take(&mut step, at, (index, task, took, end), alone)
                .await;
        }
        step.asks
            .sort_by_key(|ask| at.tasks.iter().position(|task| task.node == ask.node));
        step
    }

    /// Boxed, so that a run can be sent to another thread of execution.
    fn boxed_task<'t>(
        &'t self,
        at: &'t Position,
        index: usize,
        task: &'t Task,
    ) -> BoxFuture<'t, (usize, &'t Task, Duration, TaskEnd)> {
        Box::pin(self.run_task(at, index, task))
    }

    async fn run_task<'t>(
        &self,
        at: &Position,
        index: usize,
        task: &'t Task,
    ) -> (usize, &'t Task, Duration, TaskEnd) {
        let began = self.watch();
        self.scope.emit(|| Event::NodeStarted {
            node: task.node.clone(),
            task: task.task.clone(),
        });
        let context = TaskContext::new(self.scope, task.node.clone(), task.task.clone(), 1);
        let end = match self.graph.nodes.get(&task.node) {
            Some((node, _)) => TaskFuture::new(&**node, Arc::clone(&at.state), context).await,
            None => TaskEnd::Failed(NodeError::failed("the node does not exist")),
        };
        (index, task, self.watch().saturating_sub(began), end)
    }

    /// The time, where somebody hears how long a task took.
    fn watch(&self) -> Duration {
        let run = self.scope.run();
        if run.events.are_heard() {
            run.clock.elapsed()
        } else {
            Duration::ZERO
        }
    }

    /// Takes the end of a task. The last write of a clean step waits for the
    /// checkpoint; each other one is a fact of its own, at once.
    async fn take(
        &self,
        step: &mut Superstep,
        at: &Position,
        (index, task, took, end): (usize, &Task, Duration, TaskEnd),
        alone: bool,
    ) {
        let taken = match end {
            TaskEnd::Done(output) => {
                self.done(step, at, (index, task, took), output, alone)
                    .await
            }
            TaskEnd::Suspended(asks) => {
                self.scope.emit(|| Event::NodeSuspended {
                    node: task.node.clone(),
                    task: task.task.clone(),
                    asks: asks.clone(),
                });
                step.asks.extend(asks);
                Ok(())
            }
            TaskEnd::Failed(error) => Err(error),
        };
        match taken {
            Ok(()) => {}
            Err(NodeError::Halt(halt)) => step.halt = step.halt.take().or(Some(halt)),
            Err(error) => {
                self.scope.emit(|| Event::NodeFailed {
                    node: task.node.clone(),
                    task: task.task.clone(),
                    message: error.to_string(),
                });
                step.failed = step.failed.take().or(Some((task.node.clone(), error)));
            }
        }
    }

    async fn done(
        &self,
        step: &mut Superstep,
        at: &Position,
        (index, task, took): (usize, &Task, Duration),
        output: NodeOutput,
        alone: bool,
    ) -> Result<(), NodeError> {
        let NodeOutput {
            writes,
            route,
            summary,
        } = output;
        let messages = self.unrecorded(&writes);
        let write = self
            .graph
            .accept(&at.state, &task.node, writes, route)
            .map_err(|e| refused(&e))?;
        if alone {
            step.messages = messages;
        } else {
            let mut fact = Write::new();
            for message in messages {
                fact.message(message);
            }
            let key = TaskWrite::key(self.scope.namespace(), &task.task);
            fact.fact(key, kind::TASK_WRITE, &write);
            self.scope.append(fact).await.map_err(unrecorded)?;
        }
        if let Some(slot) = step.writes.get_mut(index) {
            *slot = Some(write);
        }
        self.scope.emit(|| Event::NodeCompleted {
            node: task.node.clone(),
            task: task.task.clone(),
            took,
            summary,
        });
        Ok(())
    }

    /// Commits the step, and what closes the run where nothing follows.
    async fn advance(
        &self,
        mut at: Position,
        mut step: Superstep,
        frame: &dyn Frame,
    ) -> Result<Advanced, Halt> {
        let number = at.checkpoint + 1;
        let last = at.tasks.last().map(|task| task.node.clone());
        let node = last.unwrap_or_else(|| NodeName::from(""));
        let decided = self
            .graph
            .follow(&at.tasks, &step.writes, number)
            .and_then(|next| Ok((Compiled::reduce(&at.tasks, &mut step.writes)?, next)));
        let (deltas, next) = match decided {
            Ok(decided) => decided,
            Err(error) => return Ok(Advanced::Refused(at, node, refused(&error))),
        };
        let done = std::mem::take(&mut at.tasks);
        let checkpoint = Checkpoint {
            checkpoint: number,
            step: at.step + 1,
            source: Source::Step,
            deltas,
            done: done.into_iter().map(|task| task.task).collect(),
            next,
        };
        let mut write = Write::new();
        let bytes = write_checkpoint(&checkpoint, &step.messages, &mut write);
        let mut next = self.moved(at, checkpoint, &step.messages)?;
        self.snapshot(&mut next, bytes, &mut write);
        if next.tasks.is_empty() {
            let (outcome, state) = (Outcome::Completed, Arc::clone(&next.state));
            frame.close(
                &GraphEnd {
                    outcome,
                    state,
                    steps: next.step,
                },
                &mut write,
            );
        }
        match self.record(write, &next).await.map_err(unrecorded) {
            Ok(()) => Ok(Advanced::To(next)),
            Err(NodeError::Halt(halt)) => Err(halt),
            Err(error) => Ok(Advanced::Refused(next, node, error)),
        }
    }

    /// The messages in `writes` that are no rows yet; an agent's are.
    fn unrecorded(&self, writes: &[(String, Update)]) -> Vec<Arc<Message>> {
        let messages = writes.iter().filter_map(|(_, update)| match update {
            Update::Messages(messages) => Some(messages.as_slice()),
            Update::Value(_) => None,
        });
        messages
            .flatten()
            .filter(|message| !self.scope.is_recorded(&message.id))
            .cloned()
            .collect()
    }

    async fn record(&self, write: Write, at: &Position) -> Result<(), JournalError> {
        self.scope.append(write).await?;
        self.scope.emit(|| Event::CheckpointSaved {
            checkpoint: at.checkpoint,
            is_durable: !self.scope.is_behind(),
        });
        Ok(())
    }

    /// Where the graph stands after `checkpoint`. The same `apply` that reads a
    /// log back; the state is changed in place, since no task holds it any more.
    fn moved(
        &self,
        mut at: Position,
        checkpoint: Checkpoint,
        messages: &[Arc<Message>],
    ) -> Result<Position, Halt> {
        let state = Arc::make_mut(&mut at.state);
        for (channel, delta) in &checkpoint.deltas {
            state.apply(channel, delta, |id| {
                let fresh = messages.iter().find(|message| message.id == *id).cloned();
                fresh.map_or_else(|| self.scope.message(id), Ok)
            })?;
        }
        Ok(Position {
            state: at.state,
            checkpoint: checkpoint.checkpoint,
            step: checkpoint.step,
            tasks: checkpoint.next,
            growth: at.growth,
        })
    }

    /// Adds a snapshot of where a checkpoint of `bytes` led, if one is due.
    fn snapshot(&self, at: &mut Position, bytes: usize, write: &mut Write) {
        at.growth.add(bytes);
        let checkpoint = at.checkpoint;
        let due = at.growth.due(&at.state, |state| {
            let (messages, calls) = self.scope.minted();
            Snapshot {
                checkpoint,
                at: None,
                messages,
                calls,
                state: state.deltas(),
            }
        });
        if let Some(snapshot) = due {
            write.commit(kind::SNAPSHOT, &snapshot);
        }
    }

    async fn fail(
        &self,
        at: &Position,
        node: NodeName,
        error: &NodeError,
        frame: &dyn Frame,
    ) -> Result<GraphEnd, Halt> {
        let outcome = match error {
            NodeError::Interrupted { reason } => Outcome::Interrupted {
                node,
                reason: reason.clone(),
            },
            NodeError::Failed(failure) => Outcome::Failed {
                node,
                failure: failure.clone(),
            },
            NodeError::Halt(halt) => return Err(halt.clone()),
        };
        self.close(at, outcome, frame).await
    }

    /// Records an end, or a wait, that comes without a checkpoint.
    async fn close(
        &self,
        at: &Position,
        outcome: Outcome,
        frame: &dyn Frame,
    ) -> Result<GraphEnd, Halt> {
        let mut write = Write::new();
        if let Outcome::Suspended(asks) = &outcome {
            for ask in asks.iter().filter(|ask| ask.call().is_none()) {
                if self.scope.fact(&ask.key()).is_none() {
                    write.fact(ask.key(), kind::ASK, ask);
                }
            }
        }
        let end = GraphEnd {
            outcome,
            state: Arc::clone(&at.state),
            steps: at.step,
        };
        frame.close(&end, &mut write);
        self.scope.append(write).await?;
        Ok(end)
    }
}

/// Where a finished superstep led.
enum Advanced {
    To(Position),
    /// Its writes cannot be taken; nothing of them is recorded.
    Refused(Position, NodeName, NodeError),
}

/// Why a superstep is not committed.
enum Stop {
    Halt(Halt),
    Failed(NodeName, NodeError),
    Asks(Vec<Ask>),
}

impl Superstep {
    fn is_clean(&self) -> bool {
        self.halt.is_none() && self.failed.is_none() && self.asks.is_empty()
    }

    fn stop(&mut self) -> Option<Stop> {
        let closes = self.failed.is_some() || matches!(self.halt, Some(Halt::Budget(_)));
        let in_doubt = |ask: &Ask| ask.subject.is_in_doubt();
        if closes && self.asks.iter().any(in_doubt) {
            // What may have happened is settled before the run is closed over it.
            return Some(Stop::Asks(std::mem::take(&mut self.asks)));
        }
        if let Some(halt) = self.halt.take() {
            return Some(Stop::Halt(halt));
        }
        if let Some((node, error)) = self.failed.take() {
            return Some(Stop::Failed(node, error));
        }
        let asks = std::mem::take(&mut self.asks);
        (!asks.is_empty()).then_some(Stop::Asks(asks))
    }
}

fn write_checkpoint(
    checkpoint: &Checkpoint,
    messages: &[Arc<Message>],
    write: &mut Write,
) -> usize {
    for message in messages {
        write.message(Arc::clone(message));
    }
    write.reaches(checkpoint.checkpoint);
    write.commit(kind::CHECKPOINT, checkpoint)
}

/// What is too large to be recorded is its node's failure; trying again would
/// only make it again.
fn unrecorded(error: JournalError) -> NodeError {
    match error {
        JournalError::TooLarge { .. } => NodeError::Failed(NodeFailure {
            code: error.code(),
            message: error.to_string(),
            hint: Some("write less in one step".into()),
        }),
        error => NodeError::Halt(error.into()),
    }
}

fn refused(error: &ScheduleError) -> NodeError {
    NodeError::Failed(NodeFailure {
        code: error.code(),
        message: error.to_string(),
        hint: error.hint(),
    })
}
