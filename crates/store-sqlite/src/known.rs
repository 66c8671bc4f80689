//! What the writer knows of the threads that it writes to, so that it need not look
//! again for each batch.
//!
//! It holds as long as nobody else writes: SQLite says when another connection did,
//! and what this one does beside claims and batches forgets the thread that it is about.

use std::{collections::HashMap, path::Path};

use rusqlite::Connection;
use rustagents_core::{ids::ThreadId, journal::JournalError};

use crate::{
    schema,
    spans::Tails,
    target::{self, Statements, Target, Thread},
};

/// How many threads are remembered.
const MAX_THREADS: usize = 4_096;

/// How many chains of each.
const MAX_CHAINS: usize = 64;

/// The threads that were written to lately, and where the next rows go.
#[derive(Default)]
pub(crate) struct Known {
    /// SQLite's number for what other connections wrote.
    version: i64,
    threads: HashMap<ThreadId, Thread>,
    tails: Tails,
}

impl Known {
    /// Forgets all, if anybody else wrote since the last look. The connection is in
    /// a transaction that writes.
    pub(crate) fn check(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let version = connection
            .prepare_cached("PRAGMA data_version")?
            .query_row([], |row| row.get(0))?;
        if version != self.version {
            self.forget_all();
            self.version = version;
        }
        Ok(())
    }

    pub(crate) fn forget_all(&mut self) {
        self.threads.clear();
        self.tails = Tails::default();
    }

    /// Forgets what may have changed by something else than a batch to `thread`.
    pub(crate) fn forget(&mut self, thread: &ThreadId) {
        self.threads.remove(thread);
        self.tails = Tails::default();
    }

    /// Keeps what was just read of a thread, or written.
    pub(crate) fn remember(&mut self, thread: &ThreadId, known: Thread) {
        self.make_room();
        self.threads.insert(thread.clone(), known);
    }

    fn make_room(&mut self) {
        if self.threads.len() >= MAX_THREADS {
            self.threads.clear();
        }
    }

    fn get(
        &mut self,
        path: &Path,
        connection: &Connection,
        thread: &ThreadId,
    ) -> Result<(&mut Thread, &mut Tails), JournalError> {
        self.make_room();
        let tails = &mut self.tails;
        let mut look = || -> Result<Thread, JournalError> {
            let fail = |error: rusqlite::Error| schema::failed(path, &error);
            tails.store(connection).map_err(fail)?;
            let mut row = target::known(path, connection, thread)?;
            row.settle(connection).map_err(fail)?;
            Ok(Thread::new(row))
        };
        let known = self.threads.get(thread);
        if known.is_none_or(|known| known.chains.len() > MAX_CHAINS) {
            self.threads.insert(thread.clone(), look()?);
        }
        let known = self.threads.get_mut(thread);
        let known = known.ok_or_else(|| JournalError::UnknownThread {
            thread: thread.clone(),
        })?;
        Ok((known, tails))
    }
}

/// The batches that are written in one transaction.
pub(crate) struct Group<'g, 'c> {
    pub(crate) path: &'g Path,
    pub(crate) connection: &'c Connection,
    pub(crate) known: &'g mut Known,
    statements: Statements<'c>,
}

impl<'g, 'c> Group<'g, 'c> {
    pub(crate) fn new(path: &'g Path, connection: &'c Connection, known: &'g mut Known) -> Self {
        Self {
            path,
            connection,
            known,
            statements: Statements::default(),
        }
    }

    /// A thread to write to.
    ///
    /// # Errors
    /// [`JournalError::UnknownThread`] if there is none.
    pub(crate) fn target(&mut self, thread: &ThreadId) -> Result<Target<'_, 'c>, JournalError> {
        let (thread, tails) = self.known.get(self.path, self.connection, thread)?;
        Ok(Target {
            path: self.path,
            connection: self.connection,
            thread,
            tails,
            statements: &mut self.statements,
        })
    }

    /// The tables' ends.
    pub(crate) fn tails(&mut self) -> &mut Tails {
        &mut self.known.tails
    }

    /// A thread that is being made.
    pub(crate) fn new_target<'t>(&'t mut self, thread: &'t mut Thread) -> Target<'t, 'c> {
        Target {
            path: self.path,
            connection: self.connection,
            thread,
            tails: &mut self.known.tails,
            statements: &mut self.statements,
        }
    }
}
