//! The compiled graph, where it stands, and how it ends.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use foldhash::HashMap;
use rustagents_core::{
    ask::Ask,
    budget::BudgetExceeded,
    event::{Event, RunEnd},
    ids::{NodeName, TaskId},
    journal::{JournalError, kind},
    scope::{Halt, Scope, Write},
};
use serde_json::Value;

use crate::{
    builder::END,
    cache::CacheRule,
    driver::Driver,
    kept::{Around, Keeps, Kept, Memory},
    migration::Migration,
    node::{Node, NodeFailure},
    policy::NodeSpec,
    record::{Checkpoint, Goto, Pending, Snapshot, Task, Unkept},
    schedule::ScheduleError,
    snapshot::Growth,
    state::{Applied, ChannelName, ChannelSpec, Delta, FindMessage, GraphState, State, Written},
    topology::GraphTopology,
};

/// An immutable graph. Cheap to clone, usable by many runs at once.
pub struct Graph<S: GraphState = State>(Arc<Compiled<S>>);

impl<S: GraphState> Clone for Graph<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

pub(crate) struct Compiled<S: GraphState> {
    pub(crate) name: String,
    pub(crate) start: Vec<Target>,
    /// What chooses, beside `start`, what runs first.
    pub(crate) entry: Option<Branch<S>>,
    pub(crate) nodes: HashMap<NodeName, CompiledNode<S>>,
    pub(crate) joins: Vec<Join>,
    pub(crate) channels: Vec<ChannelSpec>,
    /// Whether a channel loses at the end of a step what the one before wrote.
    pub(crate) has_fleeting: bool,
    pub(crate) has_untracked: bool,
    /// Whether a node waits until nothing else is left.
    pub(crate) has_deferred: bool,
    /// The nodes that keep the state of their graphs.
    pub(crate) keeping: BTreeSet<NodeName>,
    pub(crate) groups: BTreeMap<String, usize>,
    pub(crate) recursion_limit: u64,
    pub(crate) concurrency: usize,
    pub(crate) topology: GraphTopology,
    pub(crate) migrations: Vec<Migration>,
}

impl<S: GraphState> Compiled<S> {
    pub(crate) fn node(&self, name: &NodeName) -> Option<&CompiledNode<S>> {
        self.nodes.get(name)
    }

    /// The node of that name.
    ///
    /// # Errors
    /// [`ScheduleError::NoNode`].
    pub(crate) fn known(&self, name: &NodeName) -> Result<&CompiledNode<S>, ScheduleError> {
        let none = || ScheduleError::NoNode { node: name.clone() };
        self.node(name).ok_or_else(none)
    }

    pub(crate) fn is_deferred(&self, name: &NodeName) -> bool {
        self.has_deferred && self.node(name).is_some_and(|node| node.spec.is_deferred)
    }

    /// Whether records keep what is written to the channel.
    pub(crate) fn is_tracked(&self, channel: &str) -> bool {
        let untracked = |spec: &ChannelSpec| {
            spec.name == channel && spec.reducer == crate::state::Reducer::Untracked
        };
        !self.has_untracked || !self.channels.iter().any(untracked)
    }
}

/// A node with what surrounds it.
pub(crate) struct CompiledNode<S: GraphState> {
    pub(crate) name: NodeName,
    pub(crate) node: Arc<dyn Node<S>>,
    pub(crate) way: Way<S>,
    /// Where the joins stand that wait for it.
    pub(crate) joins: Vec<usize>,
    pub(crate) spec: NodeSpec,
    pub(crate) cache: Option<CacheRule<S>>,
}

impl<S: GraphState> CompiledNode<S> {
    /// Whether a task of it is anything but run once.
    pub(crate) fn is_plain(&self) -> bool {
        self.cache.is_none() && self.spec.is_plain()
    }
}

/// Where a way leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Node(NodeName),
    End,
}

impl Target {
    pub(crate) fn named(name: &str) -> Self {
        if name == END {
            Self::End
        } else {
            Self::Node(NodeName::from(name))
        }
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        match self {
            Self::Node(node) => node.as_str() == name,
            Self::End => name == END,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => node.fmt(f),
            Self::End => f.write_str(END),
        }
    }
}

/// How a node goes on.
pub(crate) enum Way<S: GraphState> {
    /// At all of these.
    Next(Vec<Target>),
    /// At what belongs to the label that the node gives back.
    Routes(BTreeMap<String, Vec<Target>>),
    /// At what belongs to the label that a function makes of the state.
    Branch(Branch<S>),
    /// At those of these that the node names.
    Commands(Vec<Target>),
}

/// A function of the state that chooses a route.
pub(crate) struct Branch<S: GraphState> {
    pub(crate) router: Arc<dyn Fn(&S) -> String + Send + Sync>,
    pub(crate) routes: BTreeMap<String, Vec<Target>>,
}

impl<S: GraphState> Branch<S> {
    /// Where `state` leads from `node`.
    ///
    /// # Errors
    /// [`ScheduleError::Route`]: nothing belongs to the label.
    pub(crate) fn take(&self, node: &NodeName, state: &S) -> Result<&[Target], ScheduleError> {
        let label = (self.router)(state);
        match self.routes.get(&label) {
            Some(targets) => Ok(targets),
            None => Err(ScheduleError::Route {
                node: node.clone(),
                taken: Some(label),
                known: self.routes.keys().cloned().collect(),
            }),
        }
    }
}

/// A node that waits for several.
pub(crate) struct Join {
    /// Its sources and its target, as records know it.
    pub(crate) name: String,
    pub(crate) sources: Vec<NodeName>,
    pub(crate) target: Target,
}

impl Join {
    pub(crate) fn new(sources: &[String], target: &str) -> Self {
        let names: BTreeSet<&str> = sources.iter().map(String::as_str).collect();
        let joined: Vec<&str> = names.iter().copied().collect();
        Self {
            name: format!("{}:{target}", joined.join("+")),
            sources: names.into_iter().map(NodeName::from).collect(),
            target: Target::named(target),
        }
    }
}

/// Where a graph stands: the committed state and what runs next.
#[derive(Clone, Debug)]
pub struct Position<S: GraphState = State> {
    /// The committed state.
    pub state: Arc<S>,
    /// The number of the last checkpoint in the thread; 0 if there is none.
    pub checkpoint: u64,
    /// How many supersteps the run has done.
    pub step: u64,
    /// What is left to do.
    pub pending: Pending,
    /// What the log knows of channels that the state has not.
    pub(crate) carried: State,
    /// What the log gained since the last snapshot.
    pub(crate) growth: Growth,
    /// All writes since the begin, where somebody wants them. Such a chain has no
    /// snapshots.
    pub(crate) gained: Option<Vec<(ChannelName, Written)>>,
    /// Writes that are not among those, since no record kept what they wrote.
    pub(crate) lost: Vec<(ChannelName, Unkept)>,
    /// What its nodes keep.
    pub(crate) kept: Kept,
    /// Of a call whose state is kept.
    pub(crate) keeps: Option<Keeps>,
    /// The migrations that the state went through.
    pub(crate) migrations: Vec<String>,
    /// How many of them, at the end, are on no record yet.
    pub(crate) owes: usize,
}

impl<S: GraphState> Position<S> {
    /// Before anything.
    pub(crate) fn new(state: S) -> Self {
        Self {
            state: Arc::new(state),
            checkpoint: 0,
            step: 0,
            pending: Pending::default(),
            carried: State::default(),
            growth: Growth::default(),
            gained: None,
            lost: Vec::new(),
            kept: Kept::default(),
            keeps: None,
            migrations: Vec::new(),
            owes: 0,
        }
    }

    /// Where the chain of `scope` stands, when it began with `state`.
    pub(crate) fn on(state: S, scope: &Scope, collects: bool) -> Result<Self, Halt> {
        Self::on_around(state, scope, collects, &Around::default())
    }

    /// As [`on`](Self::on), in a graph with the channels `around`.
    pub(crate) fn on_around(
        state: S,
        scope: &Scope,
        collects: bool,
        around: &Around,
    ) -> Result<Self, Halt> {
        let mut position = Self::new(state);
        position.gained = collects.then(Vec::new);
        let find = &mut |id: &_| scope.log().message(id);
        let mut known = 0;
        let newest = scope.commits().rfind(|record| record.is(kind::SNAPSHOT));
        if let Some(record) = newest {
            let snapshot: Snapshot = record.decode(kind::SNAPSHOT)?;
            position.apply(&snapshot.state, find)?;
            position.migrations = snapshot.migrations;
            known = snapshot.checkpoint;
            // Its own record may be gone; the count goes on from there all the same.
            position.checkpoint = known;
            position.kept = Kept::of(snapshot.kept);
            position.growth = Growth::after_snapshot(record.body.len());
        }
        for record in scope.commits().filter(|record| record.is(kind::CHECKPOINT)) {
            let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT)?;
            if checkpoint.checkpoint < known {
                continue;
            }
            // That of the snapshot itself still says what runs next.
            if checkpoint.checkpoint > known {
                if let Some(base) = &checkpoint.base {
                    position.read_back(&base.chain, around, scope)?;
                    position.growth.goes_on();
                }
                position.growth.add(record.body.len());
                position.apply(&checkpoint.deltas, find)?;
            }
            if let Some(gained) = &mut position.gained {
                gained.extend(checkpoint.writes);
                position.lost.extend(checkpoint.untracked);
            }
            if !checkpoint.migrations.is_empty() {
                position.migrations = checkpoint.migrations;
            }
            position.checkpoint = checkpoint.checkpoint;
            position.step = checkpoint.step;
            position.pending = checkpoint.pending;
            position.kept = Kept::of(checkpoint.kept);
        }
        Ok(position)
    }

    /// The tasks of the next superstep.
    pub fn tasks(&self) -> &[Task] {
        &self.pending.next
    }

    /// Makes recorded changes. The state is changed in place where nobody else
    /// holds it.
    pub(crate) fn apply(
        &mut self,
        deltas: &[(ChannelName, Delta)],
        find: &mut FindMessage<'_>,
    ) -> Result<(), JournalError> {
        let state = Arc::make_mut(&mut self.state);
        for (channel, delta) in deltas {
            if state.apply(channel, delta, find)? == Applied::Unknown {
                self.carried.apply(channel, delta, find)?;
            }
        }
        Ok(())
    }

    /// The changes that make what is here of nothing.
    pub(crate) fn deltas(&self) -> Vec<(ChannelName, Delta)> {
        let mut deltas = self.state.deltas();
        deltas.extend(self.carried.deltas());
        deltas
    }
}

/// How a run of a graph ended, or why it waits.
#[derive(Clone, Debug)]
pub struct GraphEnd<S: GraphState = State> {
    /// The outcome.
    pub outcome: Outcome,
    /// The committed state.
    pub state: Arc<S>,
    /// How many supersteps the run has done.
    pub steps: u64,
    /// Where the graph around it goes on, where a node said so.
    pub parent: Option<Vec<Goto>>,
    /// All writes since its begin, where somebody wants them.
    pub(crate) gained: Vec<(ChannelName, Written)>,
    /// Writes that are not among those, since no record kept what they wrote.
    pub(crate) lost: Vec<(ChannelName, Unkept)>,
    /// What the next call needs, where the state is kept.
    pub(crate) memory: Option<Memory>,
}

/// The outcome of a run of a graph.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// Nothing is left to do.
    Completed,
    /// It waits for people.
    Suspended(Vec<Ask>),
    /// A policy stopped it.
    Interrupted {
        /// The node.
        node: NodeName,
        /// Why.
        reason: String,
    },
    /// A task failed.
    Failed {
        /// The node.
        node: NodeName,
        /// How.
        failure: NodeFailure,
    },
    /// It took as many supersteps as it may.
    RecursionLimit {
        /// How many.
        limit: u64,
    },
    /// The budget is used up.
    Budget(BudgetExceeded),
}

/// The records around a graph's own: what opens and what closes a run.
pub trait Frame<S: GraphState = State>: Send + Sync {
    /// Adds what is recorded together with the end of the graph, or its wait.
    fn close(&self, end: &GraphEnd<S>, write: &mut Write);
}

/// Adds nothing: for a graph inside another one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frameless;

impl<S: GraphState> Frame<S> for Frameless {
    fn close(&self, _: &GraphEnd<S>, _: &mut Write) {}
}

impl<S: GraphState> fmt::Debug for Graph<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes: BTreeSet<_> = self.0.nodes.keys().collect();
        f.debug_struct("Graph")
            .field("name", &self.0.name)
            .field("nodes", &nodes)
            .finish()
    }
}

impl<S: GraphState> Graph<S> {
    pub(crate) fn new(compiled: Compiled<S>) -> Self {
        Self(Arc::new(compiled))
    }

    pub(crate) fn compiled(&self) -> &Compiled<S> {
        &self.0
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether it has a node of that name.
    pub fn has_node(&self, name: &NodeName) -> bool {
        self.0.nodes.contains_key(name)
    }

    /// What does the work of a node, where the node [says so](Node::worker).
    pub fn worker(&self, node: &NodeName) -> Option<&(dyn Any + Send + Sync)> {
        self.0.node(node)?.node.worker()
    }

    /// Its channels, as declared.
    pub fn channels(&self) -> &[ChannelSpec] {
        &self.0.channels
    }

    /// The names of its migrations, in order.
    pub fn migrations(&self) -> impl Iterator<Item = &str> {
        self.0.migrations.iter().map(Migration::name)
    }

    /// How many supersteps a run of it may take.
    pub fn recursion_limit(&self) -> u64 {
        self.0.recursion_limit
    }

    /// Its shape, as declared.
    pub fn topology(&self) -> &GraphTopology {
        &self.0.topology
    }

    /// An empty state of this graph.
    pub fn empty_state(&self) -> S {
        S::empty(&self.0.channels)
    }

    /// Where the chain of `scope` stands, for going on from there.
    ///
    /// # Errors
    /// [`Halt`] where the records cannot be read, a pending task's node is gone, or
    /// the step that is not over has something of the state before a migration; here,
    /// or in a graph inside it.
    pub fn restore(&self, scope: &Scope) -> Result<Position<S>, Halt> {
        let position = self.position(scope)?;
        self.check_going_on(scope, &position)?;
        Ok(position)
    }

    /// Says whether all nodes are there that `pending` names.
    pub(crate) fn check_fits(&self, scope: &Scope, pending: &Pending) -> Result<(), Halt> {
        let inside = !scope.namespace().is_root();
        let without = |name: &TaskId| {
            let name = scope.namespace().child(name);
            inside && scope.run().without.has(name.as_str())
        };
        let mut tasks = pending.next.iter().chain(&pending.deferred);
        if let Some(task) = tasks.find(|task| !self.has_node(&task.node) && !without(&task.task)) {
            return Err(Halt::Incompatible {
                what: format!("task {}", task.task),
                difference: format!("there is no node `{}` any more", task.node),
            });
        }
        let is_gone = |waiting: &&crate::record::Waiting| {
            let known = self.0.joins.iter().any(|join| join.name == waiting.join);
            !known && !without(&TaskId::from(&*waiting.join))
        };
        if let Err(error) = self.0.check_calls(pending) {
            return Err(Halt::Incompatible {
                what: "the next step".into(),
                difference: error.to_string(),
            });
        }
        match pending.waiting.iter().find(is_gone) {
            Some(waiting) => Err(Halt::Incompatible {
                what: format!("join {}", waiting.join),
                difference: "there is no such join any more".into(),
            }),
            None => Ok(()),
        }
    }

    /// Opens a run: takes the input, together with the records in `opening`. Emits
    /// nothing: what was opened is the caller's to tell.
    ///
    /// # Errors
    /// [`OpenError`]; nothing is recorded then.
    pub async fn open(
        &self,
        scope: &Scope,
        position: Position<S>,
        input: S::Update,
        opening: Write,
    ) -> Result<Position<S>, OpenError> {
        self.open_sent(scope, position, input, None, opening).await
    }

    /// As [`open`](Self::open), for a graph whose node was sent `argument`: so are the
    /// tasks of its first step.
    pub(crate) async fn open_sent(
        &self,
        scope: &Scope,
        position: Position<S>,
        input: S::Update,
        argument: Option<&Value>,
        opening: Write,
    ) -> Result<Position<S>, OpenError> {
        Driver::new(&self.0, scope)
            .open(position, input.into(), argument, opening)
            .await
    }

    /// Drives the graph from `position` until it ends or waits.
    ///
    /// Cancellation: [`Halt::Cancelled`] as soon as its tasks have stopped, after
    /// the run's token fired.
    ///
    /// # Errors
    /// [`Halt`]: the machine stopped without an outcome.
    pub async fn drive(
        &self,
        scope: &Scope,
        position: Position<S>,
        frame: &dyn Frame<S>,
    ) -> Result<GraphEnd<S>, Halt> {
        let end = Driver::new(&self.0, scope).drive(position, frame).await;
        if scope.namespace().is_root() {
            scope.emit(|| ended(&end));
        }
        end
    }
}

/// What watchers are told of the end of an attempt.
fn ended<S: GraphState>(end: &Result<GraphEnd<S>, Halt>) -> Event {
    let (how, message) = match end {
        Ok(end) => match &end.outcome {
            Outcome::Completed => (RunEnd::Completed, None),
            Outcome::Suspended(_) => (RunEnd::Suspended, None),
            Outcome::Interrupted { reason, .. } => (RunEnd::Interrupted, Some(reason.clone())),
            Outcome::Failed { failure, .. } => (RunEnd::Failed, Some(failure.message.clone())),
            Outcome::RecursionLimit { limit } => {
                let message = format!("the recursion limit of {limit} steps is reached");
                (RunEnd::Exhausted, Some(message))
            }
            Outcome::Budget(exceeded) => (RunEnd::Exhausted, Some(exceeded.to_string())),
        },
        Err(halt @ (Halt::Cancelled | Halt::Drained)) => (RunEnd::Stopped, Some(halt.to_string())),
        Err(halt) => (RunEnd::Failed, Some(halt.to_string())),
    };
    Event::RunEnded { how, message }
}

/// Why a run was not opened.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The input does not fit the graph.
    #[error(transparent)]
    Input(#[from] ScheduleError),
    /// The machine stopped.
    #[error(transparent)]
    Halt(#[from] Halt),
}
