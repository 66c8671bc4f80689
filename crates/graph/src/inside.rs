//! Where the graphs inside a graph stand. Nothing is written.

use std::collections::BTreeMap;

use rustagents_core::{
    ask::Ask,
    budget::Bounds,
    ids::{Namespace, NodeName, TaskId},
    journal::{JournalError, kind},
    scope::{Halt, Scope},
};
use serde_json::Value;

use crate::{
    graph::{Graph, Position},
    kept::Around,
    record::{Checkpoint, Task},
    state::{ChannelSpec, Delta, GraphState, Reducer, State},
};

/// The most graphs inside a graph that are looked at in one go.
pub const MAX_CHILDREN: usize = 1_000;

/// A graph inside another one, as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildState {
    /// The tasks around it, from the outermost to the one that runs it. Graphs inside
    /// it have longer ones.
    pub namespace: Namespace,
    /// The number of the last checkpoint of its own chain.
    pub checkpoint: u64,
    /// How many supersteps it has done.
    pub steps: u64,
    /// Its committed state: an object of channels, messages in full.
    pub state: Value,
    /// The tasks of its next superstep; none if it is done, and its task is not yet.
    pub next: Vec<Task>,
    /// The questions of its tasks that wait for an answer. Those of a graph inside it
    /// are with that one.
    pub asks: Vec<Ask>,
    /// What its nodes keep of the graphs inside it.
    pub kept: Vec<KeptState>,
}

/// What a node keeps of its graph: how the last call ended whose step was taken. The
/// next one begins there.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptState {
    /// The node.
    pub node: NodeName,
    /// The tasks of the call, from the outermost to that of the node.
    pub namespace: Namespace,
    /// The number of the last checkpoint of the call.
    pub checkpoint: u64,
    /// What is kept: an object of channels, messages in full. Of a graph on the state
    /// of the one around it, only the channels of its own are here.
    pub state: Value,
    /// What the nodes of the graph keep themselves.
    pub kept: Vec<Self>,
}

/// The graphs inside a graph, each after the one around it and in the order of the
/// tasks.
#[derive(Debug, Default)]
pub struct Children {
    found: Vec<ChildState>,
    is_cut: bool,
}

impl Children {
    /// The graphs that were found.
    pub fn found(&self) -> &[ChildState] {
        &self.found
    }

    /// Whether there are more than [`MAX_CHILDREN`].
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The graphs that were found.
    pub fn into_found(self) -> Vec<ChildState> {
        self.found
    }

    /// Gives each question to the innermost graph that it comes from. A question
    /// comes with its asker: a namespace, or a name that begins with one.
    #[must_use]
    pub fn asking<'a>(mut self, asks: impl IntoIterator<Item = (&'a str, &'a Ask)>) -> Self {
        let places = self.found.iter().enumerate();
        let places: BTreeMap<_, _> = places
            .map(|(place, child)| (child.namespace.clone(), place))
            .collect();
        for (asker, ask) in asks {
            let ends = asker.rmatch_indices('/').map(|(end, _)| end);
            let mut around = std::iter::once(asker.len()).chain(ends);
            let innermost = around.find_map(|end| places.get(asker.get(..end)?));
            if let Some(child) = innermost.and_then(|place| self.found.get_mut(*place)) {
                child.asks.push(ask.clone());
            }
        }
        self
    }

    /// Whether there is room for one more.
    fn has_room(&mut self) -> bool {
        self.is_cut |= self.found.len() >= MAX_CHILDREN;
        !self.is_cut
    }

    /// Takes the child of `scope`, and what is inside it, if it began and all of its
    /// records are there. `begin` says where it stands.
    pub(crate) fn look_at<S: GraphState>(
        &mut self,
        graph: &Graph<S>,
        scope: &Scope,
        begin: impl FnOnce() -> Result<Position<S>, Halt>,
    ) -> Result<(), Halt> {
        if scope.namespace().depth() > Bounds::MOST.depth() || !is_whole(scope)? || !self.has_room()
        {
            return Ok(());
        }
        let at = begin()?;
        self.add(scope, &at, at.state.to_json(), graph.kept(scope, &at)?);
        graph.look_inside(scope, &at, self)
    }

    /// Takes the graphs that the node of `scope` itself began. Only their records are
    /// known, so that channels that nobody wrote are missing, and so are graphs
    /// inside them.
    fn look_at_called(&mut self, scope: &Scope) -> Result<(), Halt> {
        let called = scope
            .log()
            .chains_in(&scope.run().branch, scope.namespace());
        for name in called {
            let scope = scope.child(&TaskId::from(name));
            if !is_whole(&scope)? {
                continue;
            }
            if !self.has_room() {
                return Ok(());
            }
            let at = Position::on(State::default(), &scope, false)?;
            let state = known(&at.state, &scope)?;
            self.add(&scope, &at, state.to_json(), Vec::new());
        }
        Ok(())
    }

    fn add<S: GraphState>(
        &mut self,
        scope: &Scope,
        at: &Position<S>,
        state: Value,
        kept: Vec<KeptState>,
    ) {
        self.found.push(ChildState {
            namespace: scope.namespace().clone(),
            checkpoint: at.checkpoint,
            steps: at.step,
            state,
            next: at.pending.next.clone(),
            asks: Vec::new(),
            kept,
        });
    }
}

/// Whether a graph began on the chain of `scope`, and nothing of it was pruned.
fn is_whole(scope: &Scope) -> Result<bool, JournalError> {
    let mut commits = scope.commits();
    let told = commits.find(|record| record.is(kind::CHECKPOINT) || record.is(kind::SNAPSHOT));
    match told {
        Some(first) if first.is(kind::CHECKPOINT) => {
            let first: Checkpoint = first.decode(kind::CHECKPOINT)?;
            Ok(first.checkpoint == 1)
        }
        told => Ok(told.is_some()),
    }
}

/// The state with all the channels that its changes are for.
fn known(state: &State, scope: &Scope) -> Result<State, JournalError> {
    let deltas = state.deltas();
    let specs = deltas.iter().map(|(channel, delta)| {
        let reducer = match delta {
            Delta::Append(_) => Reducer::Append,
            Delta::Messages(_) => Reducer::Messages,
            _ => Reducer::Overwrite,
        };
        ChannelSpec::new(channel.clone(), reducer)
    });
    let mut known = State::empty(&specs.collect::<Vec<_>>());
    for (channel, delta) in &deltas {
        known.change(channel, delta, |id| scope.log().message(id))?;
    }
    Ok(known)
}

impl<S: GraphState> Graph<S> {
    /// Where the graphs stand that the pending tasks at `at` run, and those inside
    /// them. `scope` is that of this graph's chain, and is only read. A graph of a
    /// task that has not begun is not there.
    ///
    /// # Errors
    /// [`Halt`] where the records cannot be read.
    pub fn children(&self, scope: &Scope, at: &Position<S>) -> Result<Children, Halt> {
        let mut children = Children::default();
        self.look_inside(scope, at, &mut children)?;
        Ok(children)
    }

    /// What the nodes keep of their graphs, at `at`: by the names of the nodes. `scope`
    /// is that of this graph's chain, and is only read.
    ///
    /// # Errors
    /// [`Halt`] where the records cannot be read.
    pub fn kept(&self, scope: &Scope, at: &Position<S>) -> Result<Vec<KeptState>, Halt> {
        let mut states = Vec::new();
        for (name, chain) in &at.kept.chains {
            let node = self.compiled().node(name);
            let node = node.filter(|node| node.spec.keeps_state);
            if let Some(node) = node
                && let Some(kept) = node.node.look_back(chain, scope)?
            {
                let node = name.clone();
                states.push(KeptState { node, ..kept });
            }
        }
        Ok(states)
    }

    /// What is kept of this graph since the call on `chain`.
    pub(crate) fn kept_on(
        &self,
        chain: &Namespace,
        around: &Around,
        scope: &Scope,
    ) -> Result<KeptState, Halt> {
        let at = Position::new(self.empty_state());
        let (mut at, checkpoint) = self.left_by(at, chain, around, scope)?;
        at.checkpoint = checkpoint;
        let mut state = at.state.to_json();
        if let Some(channels) = state.as_object_mut() {
            channels.retain(|channel, _| around.is_own(channel));
        }
        Ok(KeptState {
            node: NodeName::from(self.name()),
            namespace: chain.clone(),
            checkpoint: at.checkpoint,
            state,
            kept: self.kept(scope, &at)?,
        })
    }

    fn look_inside(
        &self,
        scope: &Scope,
        at: &Position<S>,
        children: &mut Children,
    ) -> Result<(), Halt> {
        for task in at.tasks() {
            // A node that is gone has nothing that could be read.
            let Some(node) = self.compiled().node(&task.node) else {
                continue;
            };
            // What it changed of the state of before nobody knows of the state now.
            if at.owes > 0 && node.node.shares_state() {
                continue;
            }
            let scope = scope.child(&task.task);
            node.node.look(&at.state, &scope, children)?;
            if node.node.graph().is_none() {
                children.look_at_called(&scope)?;
            }
        }
        Ok(())
    }
}
