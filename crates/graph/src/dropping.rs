//! Going on without tasks that nobody can run any more.

use rustagents_core::scope::{Scope, Write};

use crate::{
    driver::{Driver, Move},
    graph::{Graph, OpenError, Position},
    record::{Pending, Source, Task},
    state::GraphState,
};

impl<S: GraphState> Graph<S> {
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
