//! The driver: runs the tasks of a superstep, and records what they come to.

mod activation;
mod commit;
mod queue;
mod superstep;

use std::sync::Arc;

use rustagents_core::{
    ask::{Ask, Unanswerable},
    budget::StepBegun,
    code::Coded,
    ids::{NodeName, TaskId},
    journal::{JournalError, kind},
    message::Message,
    recorder::Durability,
    scope::{Halt, Scope, Write},
};

use crate::{
    graph::{Compiled, Frame, GraphEnd, OpenError, Outcome, Position},
    kept::Memory,
    node::{NodeError, NodeFailure},
    record::{Pending, Source, Task, TaskWrite},
    schedule::{Planned, ScheduleError},
    state::{ChannelName, Delta, GraphState, Writes},
    way_out::WayOut,
};
use serde_json::Value;

pub use activation::Failure;
use commit::Advanced;
pub(crate) use commit::Move;
use superstep::{Stop, Superstep};

/// Drives one graph on one chain.
pub(crate) struct Driver<'a, S: GraphState> {
    pub(crate) graph: &'a Compiled<S>,
    pub(crate) scope: &'a Scope,
    /// Of the node that holds the graph.
    out: Option<Arc<WayOut>>,
}

impl<'a, S: GraphState> Driver<'a, S> {
    pub(crate) fn new(graph: &'a Compiled<S>, scope: &'a Scope) -> Self {
        let out = None;
        Self { graph, scope, out }
    }

    /// The same, of a graph that a node holds.
    pub(crate) fn held_by(self, out: Option<Arc<WayOut>>) -> Self {
        Self { out, ..self }
    }

    pub(crate) async fn open(
        &self,
        position: Position<S>,
        input: Writes,
        argument: Option<&Value>,
        mut opening: Write,
    ) -> Result<Position<S>, OpenError> {
        let node = NodeName::from(crate::START);
        let (write, messages) = Compiled::<S>::accept_writes(&*position.state, &node, input)?;
        let deltas = self.first_deltas(&position, write)?;
        let mut position = position;
        let begins = position.begins();
        let mut opened = Position {
            pending: Pending::default(),
            step: 0,
            ..position
        };
        let moving = Move {
            source: Source::Input,
            from: None,
            step: 0,
            done: &[],
            writes: Vec::new(),
            untracked: Vec::new(),
            deltas,
            messages: self.unrecorded(messages),
            begins,
            taken: Vec::new(),
        };
        self.moved(&mut opened, moving, &mut opening, |state, _, number| {
            let planned = self.planned(number);
            self.graph.first(state, planned, argument)
        })?;
        // Whoever opens the run says so first, and of this checkpoint then.
        self.scope.append(opening).await.map_err(Halt::from)?;
        Ok(opened)
    }

    /// What the input changes, and what a call before it left that does not last. A
    /// graph on the state of the one around it begins with all of that.
    fn first_deltas(
        &self,
        at: &Position<S>,
        write: TaskWrite,
    ) -> Result<Vec<(ChannelName, Delta)>, ScheduleError> {
        if at.gained.is_some() && at.keeps.is_none() {
            return Ok(Vec::new());
        }
        let reduced = self.graph.reduce(&at.state, &[], &mut [Some(write)]);
        let mut deltas = reduced?;
        if let (Some(_), Some(keeps)) = (&at.gained, &at.keeps) {
            keeps.around.retain_own(&mut deltas);
        }
        Ok(deltas)
    }

    pub(crate) async fn drive(
        &self,
        mut at: Position<S>,
        frame: &dyn Frame<S>,
    ) -> Result<GraphEnd<S>, Halt> {
        self.settle(&mut at).await?;
        if at.pending.next.is_empty() {
            return self.close(&at, Outcome::Completed, frame).await;
        }
        let mut is_first = true;
        while !at.pending.next.is_empty() {
            self.scope.boundary()?;
            let begun = match self.begin_step(&at, std::mem::take(&mut is_first)) {
                Ok(begun) => begun,
                Err(outcome) => return self.close(&at, outcome, frame).await,
            };
            let mut step = Superstep::new();
            self.run_tasks(&mut step, &at).await;
            if let Some(stop) = step.stop() {
                drop(begun);
                return self.stop(&at, stop, frame).await;
            }
            match self.advance(&mut at, step, frame).await? {
                Advanced::On => begun.recorded(),
                Advanced::Refused(node, error) => {
                    drop(begun);
                    return self.fail(&at, node, &error, frame).await;
                }
            }
        }
        Ok(end(&at, Outcome::Completed))
    }

    /// Begins a step, in the budget of the run. One that an earlier attempt began is
    /// finished, whatever the limits are now.
    fn begin_step(&self, at: &Position<S>, is_first: bool) -> Result<StepBegun<'_>, Outcome> {
        let budget = &self.scope.run().budget;
        let begun = match self.limit(at) {
            None => budget.begin_step().map_err(Outcome::Budget),
            Some(outcome) => Err(outcome),
        };
        match begun {
            Err(_) if is_first && self.has_begun(at) => Ok(budget.continue_step()),
            begun => begun,
        }
    }

    /// Whether an earlier attempt left something of the step that is next. A graph that
    /// ended at its limit began no further one, and nor did one whose process died
    /// before it could say so.
    fn has_begun(&self, at: &Position<S>) -> bool {
        let namespace = self.scope.namespace();
        let mut tasks = at.tasks().iter();
        tasks.any(|task| self.scope.knows_of(&namespace.child(&task.task)))
    }

    /// Why no step more may be taken, whatever the budget has.
    fn limit(&self, at: &Position<S>) -> Option<Outcome> {
        let limit = self.graph.recursion_limit;
        if at.step >= limit {
            return Some(Outcome::RecursionLimit { limit });
        }
        self.scope.time_left().err().map(Outcome::Budget)
    }

    /// Ends a step that is not taken.
    async fn stop(
        &self,
        at: &Position<S>,
        stop: Stop,
        frame: &dyn Frame<S>,
    ) -> Result<GraphEnd<S>, Halt> {
        match stop {
            Stop::Halt(Halt::Budget(exceeded)) => {
                self.close(at, Outcome::Budget(exceeded), frame).await
            }
            Stop::Halt(halt) => Err(halt),
            Stop::Failed(node, error) => self.fail(at, node, &error, frame).await,
            Stop::Asks(asks) => self.close(at, self.waits(asks), frame).await,
        }
    }

    /// The wait for `asks`. A run that records nothing cannot wait: nobody could resume it.
    fn waits(&self, asks: Vec<Ask>) -> Outcome {
        let scope = self.scope;
        let is_recorded = scope.run().durability != Durability::None;
        // A graph inside hands its questions on.
        match Unanswerable::of(&asks) {
            Some(error) if scope.namespace().is_root() && !is_recorded => Outcome::Failed {
                node: error.ask.node.clone(),
                failure: NodeFailure::coded(&error),
            },
            _ => Outcome::Suspended(asks),
        }
    }

    /// The plan of checkpoint `checkpoint`, before it has tasks.
    pub(crate) fn planned(&self, checkpoint: u64) -> Planned {
        let most = self.scope.run().bounds.tasks();
        Planned { checkpoint, most }
    }

    /// The task's id, as people are told: with the tasks around it.
    fn told(&self, task: &Task) -> TaskId {
        let namespace = self.scope.namespace();
        if namespace.is_root() {
            return task.task.clone();
        }
        TaskId::from(namespace.child(&task.task).as_str())
    }

    /// The messages among `messages` that are no rows yet; an agent's are.
    pub(crate) fn unrecorded(&self, mut messages: Vec<Arc<Message>>) -> Vec<Arc<Message>> {
        messages.retain(|message| !self.scope.is_recorded(&message.id));
        messages
    }

    async fn fail(
        &self,
        at: &Position<S>,
        node: NodeName,
        error: &NodeError,
        frame: &dyn Frame<S>,
    ) -> Result<GraphEnd<S>, Halt> {
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
        at: &Position<S>,
        outcome: Outcome,
        frame: &dyn Frame<S>,
    ) -> Result<GraphEnd<S>, Halt> {
        let mut write = self.scope.write();
        if let Outcome::Suspended(asks) = &outcome
            && self.scope.namespace().is_root()
        {
            for ask in asks.iter().filter(|ask| ask.call().is_none()) {
                if self.scope.fact(&ask.key()).is_none() {
                    write.fact(ask.key(), kind::ASK, ask);
                }
            }
        }
        let end = end(at, outcome);
        frame.close(&end, &mut write);
        self.scope.append(write).await?;
        Ok(end)
    }
}

fn end<S: GraphState>(at: &Position<S>, outcome: Outcome) -> GraphEnd<S> {
    GraphEnd {
        outcome,
        state: Arc::clone(&at.state),
        steps: at.step,
        parent: at.pending.parent.clone(),
        gained: at.gained.clone().unwrap_or_default(),
        lost: at.lost.clone(),
        memory: Memory::of(at),
    }
}

/// What is too large or too deep to be recorded is its node's failure; trying again
/// would only make it again.
fn unrecorded(error: JournalError) -> NodeError {
    let hint = match error {
        JournalError::TooLarge { .. } => Some("write less in one step".into()),
        JournalError::TooDeep { .. } => error.hint(),
        error => return NodeError::Halt(error.into()),
    };
    NodeError::Failed(NodeFailure {
        code: error.code(),
        class: error.class(),
        message: error.to_string(),
        hint,
    })
}

fn refused(error: &ScheduleError) -> NodeError {
    NodeError::Failed(NodeFailure {
        code: error.code(),
        class: error.class(),
        message: error.to_string(),
        hint: error.hint(),
    })
}
