//! The pure half of a superstep: what the tasks' writes come to, and what is next.

mod between;
mod error;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use rustagents_core::{
    ids::{NodeName, TaskId},
    message::Message,
};
use serde_json::Value;

use crate::{
    graph::{Compiled, CompiledNode, Target, Way},
    node::NodeOutput,
    record::{Goto, Pending, Task, TaskWrite, Waiting},
    state::{ChannelName, Delta, Gathered, GraphState, ReduceError, TaskWrites, Writes, Written},
};

pub use error::ScheduleError;
pub(crate) use error::way_beyond;

/// A task's write, as it is recorded, with the messages that are in it.
pub(crate) type Accepted = (TaskWrite, Vec<Arc<Message>>);

impl<S: GraphState> Compiled<S> {
    /// What is recorded of writes from outside any node.
    ///
    /// # Errors
    /// [`ScheduleError::Update`]: a write does not fit its channel.
    pub(crate) fn accept_writes(
        state: &S,
        node: &NodeName,
        writes: Writes,
    ) -> Result<Accepted, ScheduleError> {
        let refused = |source| ScheduleError::Update {
            node: node.clone(),
            source,
        };
        if let Some(failed) = writes.failed {
            return Err(refused(*failed));
        }
        for (channel, written) in &writes.channels {
            state.check(channel, written).map_err(refused)?;
        }
        let write = TaskWrite {
            writes: writes.channels,
            ..TaskWrite::default()
        };
        Ok((write, writes.messages))
    }

    /// Puts the writes of a step together, channel by channel and in task order.
    ///
    /// # Errors
    /// [`ScheduleError`]: they exclude each other, or a reducer refused one.
    pub(crate) fn reduce(
        &self,
        state: &S,
        tasks: &[Task],
        writes: &mut [Option<TaskWrite>],
    ) -> Result<Vec<(ChannelName, Delta)>, ScheduleError> {
        let mut deltas = Vec::with_capacity(writes.len().min(FEW));
        if let [
            Some(TaskWrite {
                writes, untracked, ..
            }),
        ] = writes
            && writes.len() == 1
            && untracked.is_empty()
            && !self.has_fleeting
            && let Some((channel, written)) = writes.pop()
        {
            let mut one = TaskWrites::new();
            one.push((0, written));
            let reduced = state.reduce(&channel, one, &mut deltas);
            return match reduced {
                Ok(()) => Ok(deltas),
                Err(error) => Err(conflict(tasks, &channel, error)),
            };
        }
        let mut gathered = Gathered::default();
        // Writes whose values nobody knows any more still exclude others.
        let mut lost = Vec::new();
        for (task, write) in writes.iter_mut().enumerate() {
            for (channel, unkept) in write.iter_mut().flat_map(|write| &write.untracked) {
                gathered.add(task, channel.clone(), unkept.stand_in());
                lost.push((task, channel.clone()));
            }
            let writes = write.iter_mut().flat_map(|write| write.writes.drain(..));
            for (channel, written) in writes {
                gathered.add(task, channel, written);
            }
        }
        for (channel, writes) in gathered.take() {
            let before = deltas.len();
            let is_lost = !lost.is_empty() && is_lost(channel, &writes, &lost);
            let reduced = state.reduce(channel, writes, &mut deltas);
            reduced.map_err(|error| conflict(tasks, channel, error))?;
            if is_lost {
                // The channel is empty, as it is behind any resume.
                deltas.truncate(before);
            }
        }
        if self.has_fleeting {
            state.settle(&|channel| gathered.has(channel), &mut deltas);
        }
        Ok(deltas)
    }

    /// What follows the writes of a step, once `state` has them. A node that
    /// several lead to runs once; one that is sent to, once for each.
    ///
    /// # Errors
    /// [`ScheduleError`]: a router took no route, or there are too many tasks.
    pub(crate) fn follow<'n>(
        &'n self,
        state: &S,
        done: impl Iterator<Item = (&'n CompiledNode<S>, &'n TaskWrite)> + Clone,
        before: Pending,
        planned: Planned,
    ) -> Result<Pending, ScheduleError> {
        let mut plan = Plan::new(self, before, planned);
        for (_, write) in done.clone() {
            plan.send(write.goto.as_deref().unwrap_or_default());
        }
        for (node, write) in done {
            if let Some(parent) = &write.parent {
                plan.parent(parent);
            }
            match (&node.way, &write.goto) {
                (_, Some(gotos)) => plan.go(gotos),
                (Way::Next(targets), None) => plan.activate(targets),
                (Way::Routes(routes), None) => {
                    let targets = write.route.as_ref().and_then(|label| routes.get(label));
                    plan.activate(targets.map_or(&[][..], Vec::as_slice));
                }
                (Way::Branch(branch), None) => plan.activate(branch.take(&node.name, state)?),
                (Way::Commands(_), None) => {}
            }
            if write.goto.is_none() || !node.is_handled(write) {
                plan.arrive(&node.name, &node.joins);
            }
        }
        plan.finish()
    }

    /// What runs first, each task with `argument`, where there is one.
    ///
    /// # Errors
    /// [`ScheduleError`]: the router at the start took no route, or there are too
    /// many tasks.
    pub(crate) fn first(
        &self,
        state: &S,
        planned: Planned,
        argument: Option<&Value>,
    ) -> Result<Pending, ScheduleError> {
        let mut plan = Plan::new(self, Pending::default(), planned);
        plan.activate(&self.start);
        if let Some(branch) = &self.entry {
            plan.activate(branch.take(&NodeName::from(crate::START), state)?);
        }
        let mut pending = plan.finish()?;
        for task in &mut pending.next {
            task.argument = argument.cloned();
        }
        Ok(pending)
    }
}

impl<S: GraphState> Compiled<S> {
    /// Says whether a node that keeps the state of its graph has one task of a step
    /// at the most.
    ///
    /// # Errors
    /// [`ScheduleError::KeptTwice`].
    pub(crate) fn check_calls(&self, pending: &Pending) -> Result<(), ScheduleError> {
        if self.keeping.is_empty() {
            return Ok(());
        }
        // Deferred tasks run together, once nothing else is left.
        for step in [&pending.next, &pending.deferred] {
            let mut calls = BTreeMap::new();
            let keeps = |task: &&Task| self.keeping.contains(&task.node);
            for task in step.iter().filter(keeps) {
                if let Some(first) = calls.insert(&task.node, &task.task) {
                    return Err(ScheduleError::KeptTwice {
                        node: task.node.clone(),
                        tasks: (first.clone(), task.task.clone()),
                    });
                }
            }
        }
        Ok(())
    }
}

impl<S: GraphState> CompiledNode<S> {
    /// What is recorded of a task's output.
    ///
    /// # Errors
    /// [`ScheduleError`]: a write, or where it goes on, does not fit the graph.
    pub(crate) fn accept(
        &self,
        state: &S,
        output: NodeOutput<S>,
    ) -> Result<Accepted, ScheduleError> {
        let NodeOutput {
            update,
            written,
            route,
            goto,
            parent,
            lost,
            is_handled,
            ..
        } = output;
        let mut writes: Writes = update.into();
        if let Some(more) = written {
            writes.merge(*more);
        }
        let (mut write, messages) = Compiled::<S>::accept_writes(state, &self.name, writes)?;
        write.route = route;
        write.goto = goto;
        // Also of a node that has no handler now, and may have one when the step is taken.
        let may_be = matches!(write.goto.as_deref(), Some([Goto::Send { .. }]));
        write.handled = may_be.then_some(is_handled);
        write.parent = parent;
        write.untracked = lost;
        self.check_way(&write)?;
        Ok((write, messages))
    }

    /// Says whether the node has the way that `write` takes.
    pub(crate) fn check_way(&self, write: &TaskWrite) -> Result<(), ScheduleError> {
        if self.is_handled(write) {
            return Ok(());
        }
        let node = &self.name;
        match (&self.way, &write.route, &write.goto) {
            (Way::Routes(routes), label, _) => match label {
                Some(label) if routes.contains_key(label) => Ok(()),
                taken => Err(ScheduleError::Route {
                    node: node.clone(),
                    taken: taken.clone(),
                    known: routes.keys().cloned().collect(),
                }),
            },
            (Way::Commands(targets), _, Some(gotos)) => {
                let is_declared = |goto: &&Goto| {
                    goto.levels() == 0 && targets.iter().any(|to| to.is(goto.target()))
                };
                match gotos.iter().find(|goto| !is_declared(goto)) {
                    None => Ok(()),
                    Some(goto) => Err(ScheduleError::Goto {
                        node: node.clone(),
                        target: Some(goto.target().to_owned()),
                        known: targets.iter().map(Target::to_string).collect(),
                    }),
                }
            }
            (Way::Commands(targets), _, None) if write.parent.is_none() => {
                Err(ScheduleError::Goto {
                    node: node.clone(),
                    target: None,
                    known: targets.iter().map(Target::to_string).collect(),
                })
            }
            (Way::Next(_) | Way::Branch(_), _, Some(_)) => Err(ScheduleError::Goto {
                node: node.clone(),
                target: write
                    .goto
                    .iter()
                    .flatten()
                    .map(|to| to.target().to_owned())
                    .next(),
                known: Vec::new(),
            }),
            _ => Ok(()),
        }
    }

    /// Whether `write` hands the node's failure to its error handler.
    fn is_handled(&self, write: &TaskWrite) -> bool {
        write.handled.unwrap_or(true) && self.may_hand_over(write)
    }

    /// Whether `write` sends something to the node's error handler, and to nothing else.
    fn may_hand_over(&self, write: &TaskWrite) -> bool {
        let goto = write.goto.as_deref();
        self.spec.on_error.as_ref().is_some_and(
            |handler| matches!(goto, Some([Goto::Send { node, .. }]) if node == handler),
        )
    }
}

/// Says whether there are as many graphs around one at `depth` as `node` goes out of.
///
/// # Errors
/// [`ScheduleError::NoParent`], [`ScheduleError::TooFarOut`].
pub(crate) fn check_levels(
    node: &NodeName,
    write: &TaskWrite,
    depth: usize,
) -> Result<(), ScheduleError> {
    let Some(gotos) = &write.parent else {
        return Ok(());
    };
    let node = || node.clone();
    let further = gotos.iter().map(Goto::levels).max().unwrap_or_default();
    match depth.checked_sub(1) {
        None => Err(ScheduleError::NoParent { node: node() }),
        Some(around) if further > around => Err(ScheduleError::TooFarOut {
            node: node(),
            levels: further.saturating_add(1),
            depth,
        }),
        Some(_) => Ok(()),
    }
}

/// Whether what counts of `writes` is among the lost ones, if any counts.
fn is_lost(channel: &ChannelName, writes: &TaskWrites, lost: &[(usize, ChannelName)]) -> bool {
    let mut lost = lost.iter().filter(|(_, other)| other == channel);
    let Some((task, _)) = lost.next() else {
        return false;
    };
    let replaces = |(_, written): &&(usize, Written)| matches!(written, Written::Replace(_));
    let winner = writes.iter().find(replaces);
    winner.is_none_or(|(winner, _)| winner == task || lost.any(|(task, _)| task == winner))
}

fn conflict(tasks: &[Task], channel: &str, error: ReduceError) -> ScheduleError {
    let task = |at: usize| tasks.get(at);
    let id = |at| task(at).map_or_else(|| TaskId::from(crate::START), |task| task.task.clone());
    match error {
        ReduceError::Concurrent(a, b) => ScheduleError::ConcurrentUpdate {
            channel: channel.to_owned(),
            tasks: (id(a), id(b)),
        },
        ReduceError::Refused { task: at, reason } => ScheduleError::Refused {
            node: task(at).map_or_else(|| NodeName::from(crate::START), |task| task.node.clone()),
            channel: channel.to_owned(),
            reason,
        },
    }
}

/// For which checkpoint tasks are planned, and how many there may be.
#[derive(Clone, Copy)]
pub(crate) struct Planned {
    pub(crate) checkpoint: u64,
    pub(crate) most: usize,
}

/// What comes next, while it is put together.
struct Plan<'a, S: GraphState> {
    graph: &'a Compiled<S>,
    checkpoint: u64,
    pending: Pending,
    /// The nodes that are activated once.
    seen: Seen<'a>,
    /// How many tasks got an id.
    numbered: usize,
    /// How many of the next tasks were there before.
    kept: usize,
    /// How many tasks there may be.
    most: usize,
}

impl<'a, S: GraphState> Plan<'a, S> {
    fn new(graph: &'a Compiled<S>, before: Pending, planned: Planned) -> Self {
        let Planned { checkpoint, most } = planned;
        Self {
            graph,
            checkpoint,
            kept: before.next.len(),
            pending: Pending {
                parent: None,
                ..before
            },
            seen: Seen::default(),
            numbered: 0,
            most,
        }
    }

    fn task(&mut self, node: &NodeName, argument: Option<Value>) {
        let task = Task {
            task: TaskId::derive(node, self.checkpoint, self.numbered),
            node: node.clone(),
            argument,
        };
        self.numbered += 1;
        if self.graph.is_deferred(node) {
            self.pending.deferred.push(task);
        } else {
            if self.pending.next.capacity() == 0 {
                // Most steps have one task.
                self.pending.next.reserve_exact(1);
            }
            self.pending.next.push(task);
        }
    }

    /// The tasks that were there before.
    fn kept(&self) -> &[Task] {
        self.pending.next.get(..self.kept).unwrap_or_default()
    }

    /// A node that runs once, however many lead to it.
    fn once(&mut self, node: &'a NodeName) {
        let waits = |task: &Task| task.node == *node && task.argument.is_none();
        let is_new = self.seen.insert(node);
        if is_new && !self.kept().iter().any(waits) && !self.pending.deferred.iter().any(waits) {
            self.task(node, None);
        }
    }

    fn activate(&mut self, targets: &'a [Target]) {
        for target in targets {
            if let Target::Node(node) = target {
                self.once(node);
            }
        }
    }

    /// The sends come first.
    fn send(&mut self, gotos: &[Goto]) {
        for goto in gotos {
            if let Goto::Send { node, argument } = goto {
                self.task(node, Some(argument.clone()));
            }
        }
    }

    fn go(&mut self, gotos: &[Goto]) {
        for goto in gotos {
            if let Goto::Node(node) = goto
                && let Some((node, _)) = self.graph.nodes.get_key_value(node)
            {
                self.once(node);
            }
        }
    }

    fn parent(&mut self, gotos: &[Goto]) {
        let parent = self.pending.parent.get_or_insert_default();
        parent.extend(gotos.iter().cloned());
    }

    /// `node` is done, and reaches the joins that wait for it.
    fn arrive(&mut self, node: &NodeName, joins: &[usize]) {
        for join in joins.iter().filter_map(|at| self.graph.joins.get(*at)) {
            let waiting = &mut self.pending.waiting;
            let place = waiting.iter().position(|waiting| waiting.join == join.name);
            let place = place.unwrap_or_else(|| {
                waiting.push(Waiting {
                    join: join.name.clone(),
                    reached: Vec::new(),
                });
                waiting.len() - 1
            });
            let Some(reached) = waiting.get_mut(place).map(|waiting| &mut waiting.reached) else {
                continue;
            };
            if !reached.contains(node) {
                reached.push(node.clone());
            }
            if reached.len() == join.sources.len() {
                waiting.remove(place);
                if let Target::Node(target) = &join.target {
                    self.once(target);
                }
            }
        }
    }

    fn finish(mut self) -> Result<Pending, ScheduleError> {
        if self.pending.parent.is_some() {
            // The graph around it goes on; what is left here is not done any more.
            self.pending.next.clear();
            self.pending.deferred.clear();
        }
        if self.pending.next.is_empty() {
            self.pending.next = std::mem::take(&mut self.pending.deferred);
        }
        let tasks = self.pending.next.len() + self.pending.deferred.len();
        let limit = self.most;
        if tasks > limit {
            return Err(ScheduleError::FanOut { tasks, limit });
        }
        self.graph.check_calls(&self.pending)?;
        Ok(self.pending)
    }
}

/// How many nodes are compared one by one before a set pays.
const FEW: usize = 16;

/// Nodes, each once.
#[derive(Default)]
struct Seen<'a> {
    few: smallvec::SmallVec<[&'a NodeName; 4]>,
    many: BTreeSet<&'a NodeName>,
}

impl<'a> Seen<'a> {
    /// Whether `node` was not there yet.
    fn insert(&mut self, node: &'a NodeName) -> bool {
        if self.few.contains(&node) {
            return false;
        }
        if self.few.len() < FEW {
            self.few.push(node);
            return true;
        }
        self.many.insert(node)
    }
}
