//! One call: from its arguments to its result, on a thread that may block.

use std::sync::Arc;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use rustagents_core::{
    canonical::Canonical,
    tool::{EffectClass, ToolError},
};
use serde_json::{Value, json};

use super::{
    bind,
    connection::{self, Access},
    database::Database,
    failure::{Failure, commit_failed},
    rehearsal::Rehearsal,
    rows,
    statement::Statement,
    watch::Watch,
};

/// What a tool does in each call.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) database: Arc<Database>,
    pub(super) statement: Statement,
    pub(super) effect: EffectClass,
    pub(super) rows: Option<u64>,
    pub(super) limit: usize,
}

impl Job {
    /// Performs one call; blocks until it is over or `watch` stops it.
    pub(super) fn run(
        &self,
        arguments: &Canonical,
        watch: &Arc<Watch>,
    ) -> Result<Value, ToolError> {
        let failed = |failure: Failure| failure.into_tool_error(watch);
        let connection = self.open(watch).map_err(failed)?;
        if self.access() == Access::Read {
            return self.execute(&connection, arguments).map_err(failed);
        }
        let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Immediate)
            .map_err(|error| failed(error.into()))?;
        // From here on, leaving without a commit rolls back.
        let result = self.execute(&transaction, arguments).map_err(failed)?;
        match watch.stop() {
            Some(stop) => Err(failed(Failure::Stopped(stop))),
            None => transaction
                .commit()
                .map_err(|error| commit_failed(error, watch))
                .map(|()| result),
        }
    }

    /// Prepares the statement on a rehearsed database, as a call would.
    pub(super) fn rehearse(&self, rehearsal: &Rehearsal) -> Result<(), Failure> {
        let Some(connection) = rehearsal.connect(self.access())? else {
            return Ok(());
        };
        let statement = self.prepare(&connection)?;
        rows::columns(&statement).map(drop)
    }

    fn access(&self) -> Access {
        match self.effect {
            EffectClass::Repeatable => Access::Read,
            EffectClass::Idempotent | EffectClass::Once => Access::Write,
        }
    }

    fn open(&self, watch: &Arc<Watch>) -> Result<Connection, Failure> {
        if let Some(stop) = watch.stop() {
            return Err(Failure::Stopped(stop));
        }
        let seeding = Arc::clone(watch);
        self.database
            .ensure_unless(move || seeding.stop().is_some())?;
        Ok(connection::open(
            self.database.file(),
            self.access(),
            watch,
        )?)
    }

    /// Refuses a statement that the tool may not run, whatever the arguments are.
    fn prepare<'a>(&self, connection: &'a Connection) -> Result<rusqlite::Statement<'a>, Failure> {
        let statement = connection.prepare(&self.statement.text)?;
        if self.access() == Access::Read && !statement.readonly() {
            return Err(Failure::Writes);
        }
        Ok(statement)
    }

    /// Runs the statement and checks what it did.
    fn execute(&self, connection: &Connection, arguments: &Canonical) -> Result<Value, Failure> {
        let mut statement = self.prepare(connection)?;
        bind::arguments(&mut statement, arguments.value())?;
        let returns_rows = statement.column_count() > 0;
        let collected = rows::collect(&mut statement, self.limit, self.rows)?;
        // Its changes count once the statement is finished.
        drop(statement);
        if returns_rows {
            self.check_count(collected.found)?;
            return Ok(json!({ "rows": collected.rows }));
        }
        let changes = connection.changes();
        self.check_count(changes)?;
        self.checked_size(json!({ "rows": [], "changes": changes }))
    }

    fn check_count(&self, found: u64) -> Result<(), Failure> {
        match self.rows {
            Some(expected) if expected != found => Err(Failure::Rows { expected, found }),
            _ => Ok(()),
        }
    }

    fn checked_size(&self, result: Value) -> Result<Value, Failure> {
        if result.to_string().len() > self.limit {
            return Err(Failure::OutputTooLarge { limit: self.limit });
        }
        Ok(result)
    }
}
