//! Going on without tasks that nobody can run any more.

use rustagents_core::{
    ids::{NodeName, TaskId},
    journal::kind,
    scope::{Halt, Scope, Write},
};

use crate::{
    driver::{Driver, Move},
    graph::{Graph, OpenError, Position},
    record::{Pending, Source, Task, TaskWrite},
    state::GraphState,
};

/// What is pending in graphs inside a graph and does not fit them any more. Names have
/// the tasks around them.
#[derive(Debug, Default)]
pub struct Lost {
    /// Tasks whose node is gone, with its name.
    pub tasks: Vec<(TaskId, NodeName)>,
    /// Joins that are gone.
    pub joins: Vec<String>,
}

impl Lost {
    /// Takes what is lost of `graph`, and of those inside it, if it has begun; `begin`
    /// says where it stands.
    pub(crate) fn look_at<S: GraphState>(
        &mut self,
        graph: &Graph<S>,
        scope: &Scope,
        begin: impl FnOnce() -> Result<Position<S>, Halt>,
    ) -> Result<(), Halt> {
        if !scope.commits().any(|record| record.is(kind::CHECKPOINT)) {
            return Ok(());
        }
        let at = begin()?;
        let namespace = scope.namespace();
        for task in at.pending.next.iter().chain(&at.pending.deferred) {
            if !graph.has_node(&task.node) {
                let name = TaskId::from(namespace.child(&task.task).as_str());
                self.tasks.push((name, task.node.clone()));
            }
        }
        let joins = graph.lost_joins(&at.pending).into_iter();
        self.joins
            .extend(joins.map(|join| format!("{namespace}/{join}")));
        graph.look_for_lost(scope, &at, self)
    }
}

impl<S: GraphState> Graph<S> {
    /// What the graphs inside cannot go on with that the pending tasks at `at` run.
    ///
    /// # Errors
    /// [`Halt`] where the records cannot be read.
    pub fn lost_inside(&self, scope: &Scope, at: &Position<S>) -> Result<Lost, Halt> {
        let mut lost = Lost::default();
        self.look_for_lost(scope, at, &mut lost)?;
        Ok(lost)
    }

    fn look_for_lost(&self, scope: &Scope, at: &Position<S>, lost: &mut Lost) -> Result<(), Halt> {
        for task in at.tasks() {
            let write = TaskWrite::key(scope.namespace(), &task.task);
            if let Some(node) = self.compiled().node(&task.node)
                && scope.fact(&write).is_none()
            {
                node.node
                    .lost_inside(&at.state, &scope.child(&task.task), lost)?;
            }
        }
        Ok(())
    }

    /// The joins that `pending` waits for and that are gone.
    pub fn lost_joins<'p>(&self, pending: &'p Pending) -> Vec<&'p str> {
        let joins = &self.compiled().joins;
        let waiting = pending.waiting.iter().map(|waiting| &*waiting.join);
        waiting
            .filter(|name| !joins.iter().any(|join| *join.name == **name))
            .collect()
    }

    /// Drops the pending tasks that `is_dropped` names, and the joins that are gone:
    /// adds to `write`, which is the caller's to append, a checkpoint where the others
    /// are left, with their ids. Deferred tasks are next where nothing else is.
    ///
    /// # Errors
    /// [`OpenError`]: the records cannot be read; `write` must be dropped then.
    pub fn drop_tasks(
        &self,
        scope: &Scope,
        mut at: Position<S>,
        is_dropped: impl Fn(&Task) -> bool,
        write: &mut Write,
    ) -> Result<Position<S>, OpenError> {
        let moving = Move {
            source: Source::Update,
            from: None,
            step: at.step,
            done: &[],
            writes: Vec::new(),
            untracked: Vec::new(),
            deltas: Vec::new(),
            messages: Vec::new(),
            begins: None,
            taken: Vec::new(),
        };
        let driver = Driver::new(self.compiled(), scope);
        driver.moved(&mut at, moving, write, |_, mut left, _| {
            left.next.retain(|task| !is_dropped(task));
            left.deferred.retain(|task| !is_dropped(task));
            let joins = &self.compiled().joins;
            left.waiting
                .retain(|waiting| joins.iter().any(|join| join.name == waiting.join));
            if left.next.is_empty() {
                left.next = std::mem::take(&mut left.deferred);
            }
            Ok(left)
        })?;
        Ok(at)
    }
}
