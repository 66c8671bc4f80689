//! What a task has at work beside its node, and what polls it.

use std::{
    collections::BTreeMap,
    task::{Context, Poll},
};

use futures::{StreamExt, stream::FuturesUnordered};
use rustagents_core::{BoxFuture, ask::Ask, ids::AskId, scope::Halt};

use super::{StepError, name::StepName};
use crate::node::TaskContext;

/// The steps of a task, as its node makes them.
#[derive(Default)]
pub(crate) struct Work {
    names: BTreeMap<StepName, Numbered>,
    made: u32,
    began: Began,
    /// Why the task cannot go on.
    halt: Option<Halt>,
    /// A graph of its own was dropped in the middle.
    cut_graph: bool,
    /// The questions about steps of which nobody knows how they ended.
    doubts: Vec<Ask>,
}

/// The steps of one name.
#[derive(Default)]
struct Numbered {
    last: u32,
    in_flight: bool,
}

/// What the node began in this poll, and nobody polls yet.
#[derive(Default)]
pub(crate) struct Began {
    steps: Vec<BoxFuture<'static, ()>>,
    graphs: Vec<BoxFuture<'static, ()>>,
    spawned: Vec<BoxFuture<'static, ()>>,
}

impl Began {
    fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.graphs.is_empty() && self.spawned.is_empty()
    }
}

/// What a task waits for.
pub(crate) struct Asked {
    pub(crate) asks: Vec<Ask>,
    /// Those among them that a graph inside has told of.
    pub(crate) told: Vec<AskId>,
}

impl Asked {
    /// One question, which nobody was told of.
    pub(crate) fn of(ask: Ask) -> Self {
        Self {
            asks: vec![ask],
            told: Vec::new(),
        }
    }

    /// Those that nobody has been told of.
    pub(crate) fn untold(&self) -> Vec<Ask> {
        let asks = self.asks.iter();
        let untold = asks.filter(|ask| !self.told.contains(&ask.id));
        untold.cloned().collect()
    }
}

/// How a task stands after a poll.
pub(crate) struct Standing {
    /// It asked, or it cannot go on: nothing more begins.
    pub(crate) stops: bool,
    /// What began since the last look.
    pub(crate) began: Option<Began>,
}

impl Work {
    /// Takes one of the steps that the task of `context` may make.
    fn take(&mut self, context: &TaskContext) -> Result<(), StepError> {
        let limit = context.scope().run().bounds.steps();
        if self.made >= limit {
            let task = context.task().clone();
            return Err(StepError::Limit { task, limit });
        }
        self.made += 1;
        Ok(())
    }

    /// The number of the next step of this name.
    fn number(&mut self, name: &StepName) -> Result<u32, StepError> {
        let numbered = self.names.entry(name.clone()).or_default();
        if numbered.in_flight {
            let step = name.to_string();
            return Err(StepError::InFlight { step });
        }
        numbered.last += 1;
        Ok(numbered.last)
    }

    fn fly(&mut self, name: &StepName, in_flight: bool) {
        if let Some(numbered) = self.names.get_mut(name) {
            numbered.in_flight = in_flight;
        }
    }
}

impl TaskContext {
    fn work<R>(&self, with: impl FnOnce(&mut Work) -> R) -> R {
        with(self.held().work.get_or_insert_default())
    }

    /// The number of a step that the node makes now.
    pub(super) fn number(&self, name: &StepName) -> Result<u32, StepError> {
        self.work(|work| {
            work.take(self)?;
            work.number(name)
        })
    }

    /// Hands a step over, to be polled to its end.
    pub(super) fn begin(&self, name: &StepName, step: BoxFuture<'static, ()>) {
        self.work(|work| {
            work.fly(name, true);
            work.began.steps.push(step);
        });
    }

    /// Hands a graph over, to be polled to its end unless its node takes too long.
    pub(super) fn begin_graph(&self, name: &StepName, graph: BoxFuture<'static, ()>) {
        self.work(|work| {
            work.fly(name, true);
            work.began.graphs.push(graph);
        });
    }

    /// Notes that a graph was dropped in the middle.
    pub(crate) fn note_cut_graph(&self) {
        self.work(|work| work.cut_graph = true);
    }

    /// Whether a graph was dropped in the middle: what was on its way to its chain may
    /// still arrive.
    pub(crate) fn has_cut_graph(&self) -> bool {
        let held = self.held();
        held.work.as_ref().is_some_and(|work| work.cut_graph)
    }

    /// Notes that a step ended, and is recorded if it will ever be.
    pub(super) fn land(&self, name: &StepName) {
        self.heartbeat();
        self.work(|work| work.fly(name, false));
    }

    /// Hands work over, to be polled while the task goes on.
    pub(super) fn concur(&self, spawned: BoxFuture<'static, ()>) -> Result<(), StepError> {
        self.work(|work| {
            work.take(self)?;
            work.began.spawned.push(spawned);
            Ok(())
        })
    }

    /// Ends the task with `halt`, whatever its node makes of that.
    pub(crate) fn halt(&self, halt: Halt) {
        self.work(|work| {
            work.halt.get_or_insert(halt);
        });
    }

    /// Whether nothing may begin any more.
    pub(crate) fn stops(&self) -> bool {
        if self.scope().is_over() {
            return true;
        }
        let held = self.held();
        let halts = held.work.as_ref().is_some_and(|work| work.halt.is_some());
        halts || !held.pending.is_empty()
    }

    pub(super) fn add_doubt(&self, ask: Ask) {
        self.scope().note_doubt(&ask);
        self.work(|work| work.doubts.push(ask));
    }

    /// What has to be asked before the task may fail, if there is something: about
    /// its own steps, what a time-out left inside it, and what earlier attempts left.
    pub(crate) fn in_doubt(&self) -> Result<Option<Asked>, Halt> {
        let (mut asks, told) = self.scope().in_doubt();
        let own = self.held().work.as_ref().map(|work| work.doubts.clone());
        for ask in own.unwrap_or_default().into_iter().chain(self.left_open()?) {
            if asks.iter().all(|other| other.id != ask.id) {
                asks.push(ask);
            }
        }
        Ok((!asks.is_empty()).then_some(Asked { asks, told }))
    }

    /// Whether the node asked nothing and began nothing.
    pub(crate) fn is_alone(&self) -> bool {
        if !self.is_held() {
            return true;
        }
        let held = self.held();
        held.work.is_none() && held.pending.is_empty()
    }

    /// How the task stands, and what it began since the last look.
    pub(crate) fn standing(&self) -> Standing {
        let mut held = self.held();
        let asks = !held.pending.is_empty();
        let Some(work) = &mut held.work else {
            return Standing {
                stops: asks,
                began: None,
            };
        };
        let began = !work.began.is_empty();
        Standing {
            stops: asks || work.halt.is_some(),
            began: began.then(|| std::mem::take(&mut work.began)),
        }
    }

    /// Why a task that stops does so.
    pub(crate) fn stopped(&self) -> Result<Asked, Halt> {
        let held = self.held();
        match held.work.as_ref().and_then(|work| work.halt.clone()) {
            Some(halt) => Err(halt),
            None => Ok(Asked {
                asks: held.pending.clone(),
                told: held.told.clone(),
            }),
        }
    }
}

/// What is at work beside a node.
#[derive(Default)]
pub(crate) struct Running {
    steps: FuturesUnordered<BoxFuture<'static, ()>>,
    graphs: FuturesUnordered<BoxFuture<'static, ()>>,
    spawned: FuturesUnordered<BoxFuture<'static, ()>>,
}

impl Running {
    pub(crate) fn extend(&mut self, began: Began) {
        self.steps.extend(began.steps);
        self.graphs.extend(began.graphs);
        self.spawned.extend(began.spawned);
    }

    /// Whether something that is polled to its end is in flight.
    pub(crate) fn has_steps(&self) -> bool {
        !self.steps.is_empty() || !self.graphs.is_empty()
    }

    /// Whether graphs are in flight.
    pub(crate) fn has_graphs(&self) -> bool {
        !self.graphs.is_empty()
    }

    /// Drops the graphs.
    pub(crate) fn cut_graphs(&mut self) {
        if !self.graphs.is_empty() {
            self.graphs = FuturesUnordered::new();
        }
    }

    /// Drops what was spawned.
    pub(crate) fn cancel_spawned(&mut self) {
        if !self.spawned.is_empty() {
            self.spawned = FuturesUnordered::new();
        }
    }

    /// Polls steps and graphs, and what was spawned as a part of its node.
    pub(crate) fn poll(&mut self, context: &TaskContext, cx: &mut Context<'_>) {
        self.poll_steps(cx);
        self.poll_spawned(context, cx);
    }

    /// Polls steps and graphs.
    pub(crate) fn poll_steps(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(Some(())) = self.steps.poll_next_unpin(cx) {}
        while let Poll::Ready(Some(())) = self.graphs.poll_next_unpin(cx) {}
    }

    /// Polls what was spawned.
    pub(crate) fn poll_spawned(&mut self, context: &TaskContext, cx: &mut Context<'_>) {
        context.inside(|| while let Poll::Ready(Some(())) = self.spawned.poll_next_unpin(cx) {});
    }
}
