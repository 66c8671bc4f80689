//! The compiled graph, where it stands, and how it ends.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use foldhash::HashMap;
use rustagents_core::{
    ask::Ask,
    budget::BudgetExceeded,
    ids::NodeName,
    journal::kind,
    scope::{Halt, Scope, Write},
};

use crate::{
    builder::GraphFaults,
    driver::Driver,
    node::{Node, NodeFailure},
    record::{Checkpoint, Snapshot, Task},
    snapshot::Growth,
    state::{Reducer, State, Update},
    topology::GraphTopology,
};

/// An immutable graph. Cheap to clone, usable by many runs at once.
#[derive(Clone)]
pub struct Graph(Arc<Compiled>);

pub(crate) struct Compiled {
    pub(crate) name: String,
    pub(crate) start: Vec<Target>,
    pub(crate) nodes: HashMap<NodeName, (Arc<dyn Node>, Way)>,
    pub(crate) channels: Vec<(String, Reducer)>,
    pub(crate) recursion_limit: u64,
    pub(crate) topology: GraphTopology,
}

/// Where a way leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Node(NodeName),
    End,
}

/// How a node goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Next(Vec<Target>),
    Routes(BTreeMap<String, Vec<Target>>),
}

/// Where a graph stands: the committed state and what runs next.
#[derive(Clone, Debug)]
pub struct Position {
    /// The committed state.
    pub state: Arc<State>,
    /// The number of the last checkpoint in the thread; 0 if there is none.
    pub checkpoint: u64,
    /// How many supersteps the run has done.
    pub step: u64,
    /// The tasks of the next superstep.
    pub tasks: Vec<Task>,
    /// What the log gained since the last snapshot.
    pub(crate) growth: Growth,
}

/// How a run of a graph ended, or why it waits.
#[derive(Clone, Debug)]
pub struct GraphEnd {
    /// The outcome.
    pub outcome: Outcome,
    /// The committed state.
    pub state: Arc<State>,
    /// How many supersteps the run has done.
    pub steps: u64,
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
pub trait Frame: Send + Sync {
    /// Adds what is recorded together with the end of the graph, or its wait.
    fn close(&self, end: &GraphEnd, write: &mut Write);
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes: BTreeSet<_> = self.0.nodes.keys().collect();
        f.debug_struct("Graph")
            .field("name", &self.0.name)
            .field("nodes", &nodes)
            .finish()
    }
}

impl Graph {
    pub(crate) fn new(compiled: Compiled) -> Self {
        Self(Arc::new(compiled))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether it has a node of that name.
    pub fn has_node(&self, name: &NodeName) -> bool {
        self.0.nodes.contains_key(name)
    }

    /// Its channels, as declared.
    pub fn channels(&self) -> &[(String, Reducer)] {
        &self.0.channels
    }

    /// Its shape, as declared.
    pub fn topology(&self) -> &GraphTopology {
        &self.0.topology
    }

    /// An empty state of this graph.
    pub fn empty_state(&self) -> State {
        State::new(
            self.0
                .channels
                .iter()
                .map(|(name, reducer)| (name.as_str(), *reducer)),
        )
    }

    /// Where the chain of `scope` stands.
    ///
    /// # Errors
    /// [`Halt`] where the records cannot be read.
    pub fn position(&self, scope: &Scope) -> Result<Position, Halt> {
        let mut state = self.empty_state();
        let mut position = Position {
            state: Arc::default(),
            checkpoint: 0,
            step: 0,
            tasks: Vec::new(),
            growth: Growth::default(),
        };
        let mut known = 0;
        let newest = scope.commits().rfind(|record| record.is(kind::SNAPSHOT));
        if let Some(record) = newest {
            let snapshot: Snapshot = record.decode(kind::SNAPSHOT)?;
            for (channel, delta) in &snapshot.state {
                state.apply(channel, delta, |id| scope.run().log.message(id))?;
            }
            known = snapshot.checkpoint;
            // Its own record may be gone; the count goes on from there all the same.
            position.checkpoint = known;
            position.growth = Growth::after_snapshot(record.body.len());
        }
        for record in scope.commits().filter(|record| record.is(kind::CHECKPOINT)) {
            let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT)?;
            if checkpoint.checkpoint < known {
                continue;
            }
            // That of the snapshot itself still says what runs next.
            let fresh = checkpoint.checkpoint > known;
            if fresh {
                position.growth.add(record.body.len());
            }
            for (channel, delta) in checkpoint.deltas.iter().filter(|_| fresh) {
                state.apply(channel, delta, |id| scope.run().log.message(id))?;
            }
            position.checkpoint = checkpoint.checkpoint;
            position.step = checkpoint.step;
            position.tasks = checkpoint.next;
        }
        position.state = Arc::new(state);
        Ok(position)
    }

    /// Where the chain of `scope` stands, for going on from there.
    ///
    /// # Errors
    /// [`Halt`] where the records cannot be read, or a pending task's node is gone.
    pub fn restore(&self, scope: &Scope) -> Result<Position, Halt> {
        let position = self.position(scope)?;
        match position
            .tasks
            .iter()
            .find(|task| !self.has_node(&task.node))
        {
            Some(task) => Err(Halt::Incompatible {
                what: format!("task {}", task.task),
                difference: format!("there is no node `{}` any more", task.node),
            }),
            None => Ok(position),
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
        position: Position,
        input: Vec<(String, Update)>,
        opening: Write,
    ) -> Result<Position, OpenError> {
        Driver::new(&self.0, scope)
            .open(position, input, opening)
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
        position: Position,
        frame: &dyn Frame,
    ) -> Result<GraphEnd, Halt> {
        Driver::new(&self.0, scope).drive(position, frame).await
    }
}

/// Why a run was not opened.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The input does not fit the graph.
    #[error(transparent)]
    Input(#[from] crate::schedule::ScheduleError),
    /// The graph cannot be compiled.
    #[error(transparent)]
    Faults(#[from] GraphFaults),
    /// The machine stopped.
    #[error(transparent)]
    Halt(#[from] Halt),
}
