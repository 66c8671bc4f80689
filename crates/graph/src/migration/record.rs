//! Which migrations a chain of records went through, and the record of those that it
//! owes.

use rustagents_core::{
    journal::kind,
    migration::MigrationRefused,
    scope::{Halt, Scope, Write},
};
use serde::Deserialize;

use super::Migration;
use crate::{
    driver::Driver,
    graph::{CompiledNode, Graph, Position},
    record::{Body, Source, Task, TaskWrite},
    snapshot::Growth,
    state::{GraphState, State},
};

/// What a checkpoint or a snapshot says of migrations.
#[derive(Deserialize)]
struct Mark {
    checkpoint: u64,
    #[serde(default)]
    migrations: Vec<String>,
}

/// The migrations that the state on the chain of `scope` went through.
fn recorded(scope: &Scope) -> Result<Vec<String>, Halt> {
    let (mut known, mut migrations) = (0, Vec::new());
    if let Some(newest) = scope.commits().rfind(|record| record.is(kind::SNAPSHOT)) {
        let mark: Mark = newest.decode(kind::SNAPSHOT)?;
        (known, migrations) = (mark.checkpoint, mark.migrations);
    }
    for record in scope.commits().filter(|record| record.is(kind::CHECKPOINT)) {
        let mark: Mark = record.decode(kind::CHECKPOINT)?;
        if mark.checkpoint > known && !mark.migrations.is_empty() {
            migrations = mark.migrations;
        }
    }
    Ok(migrations)
}

impl<S: GraphState> Graph<S> {
    /// The names of its migrations, in order.
    pub(crate) fn declared(&self) -> Vec<String> {
        self.migrations().map(str::to_owned).collect()
    }

    fn declares(&self, recorded: &[String]) -> bool {
        self.migrations().eq(recorded.iter().map(String::as_str))
    }

    /// The migrations that a state has not been through that went through `recorded`.
    pub(crate) fn owed(&self, recorded: &[String]) -> Result<&[Migration], MigrationRefused> {
        let declared = &self.compiled().migrations;
        match declared.split_at_checked(recorded.len()) {
            Some((begin, owed)) if begin.iter().map(Migration::name).eq(recorded) => Ok(owed),
            _ => Err(MigrationRefused::Order {
                recorded: recorded.to_vec(),
                declared: self.declared(),
            }),
        }
    }

    /// Where the chain of `scope` stands, with the state that it has after all
    /// migrations. Nothing of them is recorded before the chain is moved on.
    ///
    /// # Errors
    /// [`Halt`] where the records cannot be read; [`Halt::Migration`] where the state
    /// cannot be brought to what the graph declares.
    pub fn position(&self, scope: &Scope) -> Result<Position<S>, Halt> {
        let typed = Position::on(self.empty_state(), scope, false);
        let recorded = match typed {
            Ok(at) if at.checkpoint == 0 => {
                return Ok(Position {
                    migrations: self.declared(),
                    ..at
                });
            }
            Ok(at) if self.declares(&at.migrations) => return Ok(at),
            Ok(at) => at.migrations,
            Err(error) => {
                let recorded = recorded(scope)?;
                if self.owed(&recorded)?.is_empty() {
                    return Err(error);
                }
                recorded
            }
        };
        let owed = self.owed(&recorded)?;
        let Position {
            state,
            checkpoint,
            step,
            pending,
            ..
        } = Position::on(State::default(), scope, false)?;
        let at = Position {
            checkpoint,
            step,
            pending,
            ..Position::new(self.empty_state())
        };
        let find = &mut |id: &_| scope.log().message(id);
        self.migrated(at, &state.deltas(), owed, find)
    }

    /// Adds to `write` what is owed at `at`: a checkpoint with a snapshot of the
    /// migrated state. Whatever else is recorded of it stands behind.
    ///
    /// # Errors
    /// [`Halt::Migration`]: the step that is not over has something of the state of
    /// before; `write` must be dropped then.
    pub fn migrate(
        &self,
        scope: &Scope,
        mut at: Position<S>,
        write: &mut Write,
    ) -> Result<Position<S>, Halt> {
        Driver::new(self.compiled(), scope).migrate(&mut at, write)?;
        Ok(at)
    }

    /// `at`, for a graph inside another one to go on from.
    ///
    /// # Errors
    /// [`Halt`]: it began on a state of the graph around it that was migrated since.
    pub(crate) fn inside(&self, mut at: Position<S>) -> Result<Position<S>, Halt> {
        if at.checkpoint == 0 {
            at.migrations = self.declared();
        }
        if at.gained.is_none() || self.declares(&at.migrations) {
            return Ok(at);
        }
        self.owed(&at.migrations)?;
        Err(Halt::Incompatible {
            what: format!("graph {}", self.name()),
            difference: "it began before a migration, on the state of the graph around it".into(),
        })
    }

    /// Says whether a graph inside another one can go on, where it has begun; `begin`
    /// says where it stands.
    pub(crate) fn check_begun(
        &self,
        scope: &Scope,
        begin: impl FnOnce() -> Result<Position<S>, Halt>,
    ) -> Result<(), Halt> {
        if !scope.commits().any(|record| record.is(kind::CHECKPOINT)) {
            return Ok(());
        }
        let at = self.inside(begin()?)?;
        self.check_going_on(scope, &at)
    }

    /// Says whether the graph, and those inside it, can go on at `at`.
    ///
    /// # Errors
    /// [`Halt`] as for [`restore`](Self::restore).
    pub fn check_going_on(&self, scope: &Scope, at: &Position<S>) -> Result<(), Halt> {
        self.check_fits(scope, &at.pending)?;
        Driver::new(self.compiled(), scope).check_owed(at)?;
        for task in at.tasks() {
            let node = self.compiled().node(&task.node);
            let runs_graph = node.filter(|node| node.node.graph().is_some());
            let write = TaskWrite::key(scope.namespace(), &task.task);
            if let Some(node) = runs_graph.filter(|_| scope.fact(&write).is_none()) {
                let inside = scope.child(&task.task);
                node.node.check_inside(&at.state, &inside)?;
            }
        }
        Ok(())
    }
}

impl<S: GraphState> Driver<'_, S> {
    /// Records what is owed at `at`, alone.
    pub(crate) async fn settle(&self, at: &mut Position<S>) -> Result<(), Halt> {
        if at.owes == 0 {
            return Ok(());
        }
        let mut write = self.scope.write();
        self.migrate(at, &mut write)?;
        Ok(self.scope.append(write).await?)
    }

    /// As [`Graph::migrate`].
    pub(crate) fn migrate(&self, at: &mut Position<S>, write: &mut Write) -> Result<(), Halt> {
        if at.owes == 0 {
            return Ok(());
        }
        self.check_owed(at)?;
        let number = at.checkpoint + 1;
        let body = Body {
            checkpoint: number,
            step: at.step,
            source: Source::Migration,
            from: None,
            base: None,
            deltas: &[],
            writes: &[],
            untracked: &[],
            done: std::iter::empty(),
            kept: &at.kept.chains,
            migrations: &at.migrations,
            pending: &at.pending,
        };
        if self.scope.namespace().is_root() {
            write.reaches(number);
        }
        write.commit(body.kind(), &body);
        at.checkpoint = number;
        at.owes = 0;
        let whole = self.whole(at);
        let bytes = write.commit(whole.kind(), &whole);
        at.growth = Growth::after_snapshot(bytes);
        Ok(())
    }

    fn check_owed(&self, at: &Position<S>) -> Result<(), Halt> {
        let owed = self.graph.migrations.iter().rev().take(at.owes).rev();
        let owed: Vec<_> = owed.collect();
        if owed.is_empty() {
            return Ok(());
        }
        for task in at.tasks() {
            if let Some(node) = self.graph.node(&task.node) {
                self.check_task(node, task, &owed)?;
            }
        }
        Ok(())
    }

    fn check_task(
        &self,
        node: &CompiledNode<S>,
        task: &Task,
        owed: &[&Migration],
    ) -> Result<(), Halt> {
        let key = TaskWrite::key(self.scope.namespace(), &task.task);
        match self.scope.fact(&key) {
            Some(record) => check_write(node, task, &record.decode(kind::TASK_WRITE)?, owed),
            None => self.check_begun_in(node, task, owed),
        }
    }

    /// Refuses a graph on the same state that has begun inside `task`, which is not done.
    fn check_begun_in(
        &self,
        node: &CompiledNode<S>,
        task: &Task,
        owed: &[&Migration],
    ) -> Result<(), Halt> {
        let mut about = owed.iter().filter(|migration| migration.touches_any());
        let inside = self.scope.child(&task.task);
        let has_begun = || inside.commits().any(|record| record.is(kind::CHECKPOINT));
        match about.next() {
            Some(migration) if node.node.shares_state() && has_begun() => {
                let reason = "runs a graph on the same state, which has begun";
                Err(waits(migration, task, reason.into()))
            }
            _ => Ok(()),
        }
    }
}

/// Refuses the write of a task that is done, where it belongs to the state of before.
fn check_write<S: GraphState>(
    node: &CompiledNode<S>,
    task: &Task,
    write: &TaskWrite,
    owed: &[&Migration],
) -> Result<(), Halt> {
    for (channel, _) in &write.writes {
        let mut about = owed.iter().filter(|migration| migration.touches(channel));
        if let Some(migration) = about.next() {
            let reason = format!("is done, and writes channel `{channel}`, which it changes");
            return Err(waits(migration, task, reason));
        }
    }
    let renaming = owed.iter().find(|migration| migration.node.is_some());
    match (renaming, node.check_way(write)) {
        (Some(migration), Err(error)) => {
            let reason = format!("is done, and goes on so: {error}");
            Err(waits(migration, task, reason))
        }
        _ => Ok(()),
    }
}

fn waits(migration: &Migration, task: &Task, reason: String) -> Halt {
    Halt::from(MigrationRefused::Pending {
        migration: migration.name.clone(),
        task: task.task.clone(),
        reason,
    })
}
