//! The pure half of a superstep: what the tasks' writes come to, and what is next.

use std::collections::{BTreeMap, BTreeSet};

use rustagents_core::{
    code::{Code, Coded},
    ids::{NodeName, TaskId},
};

use crate::{
    graph::{Compiled, Target, Way},
    record::{Task, TaskWrite},
    state::{Delta, State, Update, UpdateError},
};

/// The most tasks of one superstep.
pub const MAX_FAN_OUT: usize = 10_000;

/// Why writes or routes of a step cannot be taken. Nothing of them is recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// A write does not fit its channel.
    #[error("node `{node}`: {source}")]
    Update {
        /// The node.
        node: NodeName,
        /// Why.
        #[source]
        source: UpdateError,
    },
    /// A node with routes took none, or one that it does not have.
    #[error("node `{node}` took {}, and has {}", taken.as_ref().map_or("no route".into(), |label| format!("route `{label}`")), known.join(", "))]
    Route {
        /// The node.
        node: NodeName,
        /// The label that it took.
        taken: Option<String>,
        /// The labels that it has.
        known: Vec<String>,
    },
    /// Two tasks wrote one overwrite channel.
    #[error("tasks {} and {} both wrote channel `{channel}` in one step", tasks.0, tasks.1)]
    ConcurrentUpdate {
        /// The channel.
        channel: String,
        /// The tasks.
        tasks: (TaskId, TaskId),
    },
    /// A step would have more than [`MAX_FAN_OUT`] tasks.
    #[error("the next step would have {tasks} tasks, more than {MAX_FAN_OUT}")]
    FanOut {
        /// How many.
        tasks: usize,
    },
}

impl Coded for ScheduleError {
    fn code(&self) -> Code {
        match self {
            Self::Update { .. } => Code::ValueForChannel,
            Self::Route { .. } => Code::UnknownRoute,
            Self::ConcurrentUpdate { .. } => Code::ConcurrentUpdate,
            Self::FanOut { .. } => Code::FanOut,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::ConcurrentUpdate { channel, .. } => Some(format!(
                "make `{channel}` an append channel, or let one of the nodes write it"
            )),
            _ => None,
        }
    }
}

impl Compiled {
    /// What is recorded of a task's output.
    ///
    /// # Errors
    /// [`ScheduleError`]: a write or the route does not fit the graph.
    pub(crate) fn accept(
        &self,
        state: &State,
        node: &NodeName,
        writes: Vec<(String, Update)>,
        route: Option<String>,
    ) -> Result<TaskWrite, ScheduleError> {
        if let Some((_, Way::Routes(routes))) = self.nodes.get(node)
            && !route
                .as_ref()
                .is_some_and(|label| routes.contains_key(label))
        {
            return Err(ScheduleError::Route {
                node: node.clone(),
                taken: route,
                known: routes.keys().cloned().collect(),
            });
        }
        let deltas = writes.into_iter().map(|(channel, update)| {
            let delta = state.delta(&channel, update);
            delta.map(|delta| (channel, delta))
        });
        let deltas = deltas
            .collect::<Result<_, _>>()
            .map_err(|source| ScheduleError::Update {
                node: node.clone(),
                source,
            })?;
        Ok(TaskWrite { deltas, route })
    }

    /// Whether the node still has the way that a recorded write took.
    pub(crate) fn knows_way(&self, node: &NodeName, write: &TaskWrite) -> bool {
        match (self.nodes.get(node).map(|(_, way)| way), &write.route) {
            (Some(Way::Routes(routes)), Some(label)) => routes.contains_key(label),
            (Some(Way::Routes(_)), None) | (None, _) => false,
            (Some(Way::Next(_)), _) => true,
        }
    }

    /// Puts the writes of a step together, in task order.
    ///
    /// # Errors
    /// [`ScheduleError::ConcurrentUpdate`].
    pub(crate) fn reduce(
        tasks: &[Task],
        writes: &mut [Option<TaskWrite>],
    ) -> Result<Vec<(String, Delta)>, ScheduleError> {
        if let [Some(write)] = writes {
            return Ok(std::mem::take(&mut write.deltas));
        }
        let mut setters: BTreeMap<&str, &TaskId> = BTreeMap::new();
        let mut deltas = Vec::new();
        for (task, write) in written(tasks, writes) {
            for (channel, delta) in &write.deltas {
                if let Delta::Set(_) = delta
                    && let Some(other) = setters.insert(channel, &task.task)
                    && *other != task.task
                {
                    return Err(ScheduleError::ConcurrentUpdate {
                        channel: channel.clone(),
                        tasks: (other.clone(), task.task.clone()),
                    });
                }
                deltas.push((channel.clone(), delta.clone()));
            }
        }
        Ok(deltas)
    }

    /// The tasks that follow the writes of a step. A node that several lead to
    /// runs once.
    ///
    /// # Errors
    /// [`ScheduleError::FanOut`].
    pub(crate) fn follow(
        &self,
        done: &[Task],
        writes: &[Option<TaskWrite>],
        checkpoint: u64,
    ) -> Result<Vec<Task>, ScheduleError> {
        let targets = written(done, writes).flat_map(|(task, write)| {
            let way = self.nodes.get(&task.node).map(|(_, way)| way);
            match (way, &write.route) {
                (Some(Way::Next(targets)), _) => targets.as_slice(),
                (Some(Way::Routes(routes)), Some(label)) => {
                    routes.get(label).map_or(&[][..], Vec::as_slice)
                }
                _ => &[],
            }
        });
        tasks(targets, checkpoint)
    }

    /// The tasks of a run's first superstep.
    ///
    /// # Errors
    /// [`ScheduleError::FanOut`].
    pub(crate) fn first(&self, checkpoint: u64) -> Result<Vec<Task>, ScheduleError> {
        tasks(self.start.iter(), checkpoint)
    }
}

/// Each task that has a write, with it.
fn written<'a>(
    tasks: &'a [Task],
    writes: &'a [Option<TaskWrite>],
) -> impl Iterator<Item = (&'a Task, &'a TaskWrite)> {
    let pairs = tasks.iter().zip(writes);
    pairs.filter_map(|(task, write)| Some((task, write.as_ref()?)))
}

/// How many tasks are compared one by one before a set pays.
const FEW: usize = 16;

/// Whether `node` has no task yet.
fn is_new<'a>(tasks: &[Task], seen: &mut BTreeSet<&'a NodeName>, node: &'a NodeName) -> bool {
    if tasks.len() < FEW {
        return !tasks.iter().any(|task| task.node == *node);
    }
    !tasks.iter().take(FEW).any(|task| task.node == *node) && seen.insert(node)
}

fn tasks<'a>(
    targets: impl Iterator<Item = &'a Target>,
    checkpoint: u64,
) -> Result<Vec<Task>, ScheduleError> {
    let mut seen = BTreeSet::new();
    let mut tasks: Vec<Task> = Vec::new();
    for target in targets {
        if let Target::Node(node) = target
            && is_new(&tasks, &mut seen, node)
        {
            let task = TaskId::derive(node, checkpoint, tasks.len());
            tasks.push(Task {
                task,
                node: node.clone(),
            });
        }
    }
    if tasks.len() > MAX_FAN_OUT {
        return Err(ScheduleError::FanOut { tasks: tasks.len() });
    }
    Ok(tasks)
}
