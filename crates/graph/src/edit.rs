//! Changing where a graph stands, from outside: updates of its state, and going
//! back to an earlier checkpoint. Records are only ever added.

use rustagents_core::{
    ids::{NodeName, TaskId},
    scope::{Halt, Scope, Write},
};

use crate::{
    builder::END,
    driver::{Driver, Move},
    graph::{Compiled, Graph, OpenError, Position},
    kept::Kept,
    node::NodeOutput,
    record::{Checkpoint, Pending, Snapshot, Source, Task},
    schedule::{Accepted, check_levels},
    snapshot::Growth,
    state::{FindMessage, GraphState},
};

/// A change of the state from outside.
#[derive(Debug)]
pub struct Edit<S: GraphState> {
    output: NodeOutput<S>,
    actor: Option<NodeName>,
}

impl<S: GraphState> Edit<S> {
    /// Writes `update`; what is pending stays pending, with its ids, so that what
    /// was recorded of it is found again. It is no step: what the step before left for
    /// the pending tasks, in channels that last for one step, stays there, and what is
    /// written to these comes to it.
    pub fn new(update: S::Update) -> Self {
        Self {
            output: NodeOutput::of(update),
            actor: None,
        }
    }

    /// Acts as if `node` had run and given back `output`: its pending tasks are
    /// done, and what follows it is pending beside what else is. As [`END`]: nothing
    /// is pending any more.
    pub fn as_node(node: impl Into<NodeName>, output: NodeOutput<S>) -> Self {
        Self {
            output,
            actor: Some(node.into()),
        }
    }

    /// The node as which it acts, if it does.
    pub fn actor(&self) -> Option<&NodeName> {
        self.actor.as_ref()
    }
}

impl<S: GraphState> Graph<S> {
    /// Where the graph stood at `checkpoint`, whose state is that of `snapshot`; `find`
    /// knows the messages. The state went through all declared migrations then.
    ///
    /// # Errors
    /// [`Halt`]: a change does not fit its channel, a message is not known, or the
    /// state cannot be migrated.
    pub fn position_at(
        &self,
        checkpoint: Checkpoint,
        snapshot: &Snapshot,
        find: &mut FindMessage<'_>,
    ) -> Result<Position<S>, Halt> {
        let mut position = Position::new(self.empty_state());
        position.checkpoint = checkpoint.checkpoint;
        position.step = checkpoint.step;
        position.pending = checkpoint.pending;
        position.kept = Kept::of(checkpoint.kept);
        let owed = self.owed(&snapshot.migrations)?;
        if owed.is_empty() {
            position.apply(&snapshot.state, find)?;
            position.migrations.clone_from(&snapshot.migrations);
            return Ok(position);
        }
        self.migrated(position, &snapshot.state, owed, find)
    }

    /// Changes the state of the chain of `scope`: adds one checkpoint for each of
    /// `edits` to `write`, which is the caller's to append, whole or not at all.
    ///
    /// # Errors
    /// [`OpenError`]: an edit does not fit the graph; `write` must be dropped then.
    pub fn update(
        &self,
        scope: &Scope,
        mut at: Position<S>,
        edits: Vec<Edit<S>>,
        write: &mut Write,
    ) -> Result<Position<S>, OpenError> {
        let driver = Driver::new(self.compiled(), scope);
        if !edits.is_empty() {
            driver.migrate(&mut at, write)?;
        }
        for edit in edits {
            driver.edit(&mut at, edit, write)?;
        }
        Ok(at)
    }

    /// Goes back to `then`, an earlier position of the same chain, whose last
    /// position is `at`: adds to `write`, which is the caller's to append, a
    /// checkpoint with the state and the tasks of `then`. The tasks get ids of their
    /// own, so that nothing that was recorded of them is found again: all of it runs
    /// anew. Its steps are counted from there: the recursion limit is that of a run
    /// from its begin.
    ///
    /// # Errors
    /// [`OpenError`]; `write` must be dropped then.
    pub fn rewind(
        &self,
        scope: &Scope,
        at: &Position<S>,
        then: Position<S>,
        write: &mut Write,
    ) -> Result<Position<S>, OpenError> {
        self.check_fits(scope, &then.pending)?;
        Driver::new(self.compiled(), scope).rewind(at, then, write)
    }
}

impl<S: GraphState> Driver<'_, S> {
    fn edit(
        &self,
        at: &mut Position<S>,
        edit: Edit<S>,
        write: &mut Write,
    ) -> Result<(), OpenError> {
        let Edit { output, actor } = edit;
        let node = actor.clone().unwrap_or_else(|| NodeName::from("update"));
        let done = Task {
            task: TaskId::derive(&node, at.checkpoint + 1, 0),
            node: node.clone(),
            argument: None,
        };
        let acts = actor.filter(|node| node.as_str() != END);
        let acts = match acts {
            Some(node) => Some(self.graph.known(&node)?),
            None => None,
        };
        let (accepted, messages): Accepted = match acts {
            Some(node) => node.accept(&at.state, output)?,
            None => Compiled::<S>::accept_writes(&*at.state, &node, output.update.into())?,
        };
        check_levels(&node, &accepted, self.scope.namespace().depth())?;
        let ends = node.as_str() == END;
        let mut accepted = [Some(accepted)];
        let tasks = [done];
        let is_left = |pending: &Task| acts.is_none_or(|acts| pending.node != acts.name);
        let deltas = if !ends && at.pending.next.iter().any(is_left) {
            self.graph
                .reduce_between(&at.state, &tasks, &mut accepted)?
        } else {
            self.graph.reduce(&at.state, &tasks, &mut accepted)?
        };
        let moving = Move {
            source: Source::Update,
            from: None,
            step: at.step,
            done: if acts.is_some() { &tasks } else { &[] },
            writes: Vec::new(),
            untracked: Vec::new(),
            deltas,
            messages: self.unrecorded(messages),
            begins: None,
            taken: Vec::new(),
        };
        self.moved(at, moving, write, |state, before, number| {
            if ends {
                return Ok(Pending::default());
            }
            let Some(node) = acts else {
                return Ok(before);
            };
            let mut kept = before;
            kept.next.retain(|pending| pending.node != node.name);
            kept.deferred.retain(|pending| pending.node != node.name);
            let writes = accepted.iter().flatten();
            let done = writes.map(|write| (node, write));
            let planned = self.planned(number);
            self.graph.follow(state, done, kept, planned)
        })
    }

    fn rewind(
        &self,
        at: &Position<S>,
        then: Position<S>,
        write: &mut Write,
    ) -> Result<Position<S>, OpenError> {
        let from = then.checkpoint;
        let mut rewound = Position {
            checkpoint: at.checkpoint,
            growth: Growth::default(),
            // Its snapshot says it.
            owes: 0,
            ..then
        };
        let moving = Move {
            source: Source::Fork,
            from: Some(from),
            step: 0,
            done: &[],
            writes: Vec::new(),
            untracked: Vec::new(),
            deltas: Vec::new(),
            messages: Vec::new(),
            begins: None,
            taken: Vec::new(),
        };
        self.moved(&mut rewound, moving, write, |_, before, number| {
            Ok(renamed(before, number))
        })?;
        let whole = self.whole(&rewound);
        let bytes = write.commit(whole.kind(), &whole);
        rewound.growth = Growth::after_snapshot(bytes);
        Ok(rewound)
    }
}

/// The same tasks with ids of checkpoint `number`.
fn renamed(mut pending: Pending, number: u64) -> Pending {
    let tasks = pending.next.iter_mut().chain(&mut pending.deferred);
    for (index, task) in tasks.enumerate() {
        task.task = TaskId::derive(&task.node, number, index);
    }
    pending
}
