//! Moves what was committed from SQLite's log into its file, beside the writer.
//!
//! Left alone, SQLite does it in the commit that makes the log long, and whoever waits
//! for that commit waits for a thousand pages and two syncs more. Here another thread,
//! with another connection, moves nearly all of it while batches go on. What was written
//! meanwhile, a small rest, is left to the writer, between two transactions: the log
//! begins anew only when all of it was moved, and that, under steady writing, no other
//! thread sees happen.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rusqlite::Connection;
use tokio::runtime::Handle;

use crate::reader::Readers;

/// How many pages the log has before they are moved; as many as SQLite takes.
const LONG: usize = 1_000;

/// With how many the writer sees to it that it gets no longer.
const TOO_LONG: usize = 4 * LONG;

/// How long the writer waits for whoever moves pages: they may not have begun, if the
/// threads that may block are all taken.
const PATIENCE: Duration = Duration::from_secs(1);

/// The log of the connection that writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// How many pages it had after the last commit.
    pages: AtomicUsize,
    state: Mutex<State>,
    rings: Condvar,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Left,
    /// Somebody moves its pages beside the writer.
    Moves,
    /// They have been through, and the rest is the writer's.
    Moved,
}

impl Log {
    /// Takes it over from SQLite.
    pub(crate) fn take(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let log = self.clone();
        connection.wal_hook(Some(move |_: &mut _, pages| {
            let pages = usize::try_from(pages).unwrap_or(0);
            log.0.pages.store(pages, Ordering::Relaxed);
            Ok(())
        }))
    }

    /// Has its pages moved on a thread that may block, if it is long.
    pub(crate) fn shorten_beside(&self, readers: &Readers) {
        if self.pages() < LONG || !self.begins() {
            return;
        }
        let (moving, readers) = (Moving(self.clone()), readers.clone());
        let work = move || {
            let moved = readers.read_now(|_, connection| {
                move_pages(connection);
                Ok(())
            });
            // A store that is gone tells it at a commit.
            drop((moved, readers));
            drop(moving);
        };
        // Where there is nobody else, the writer moves all.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn_blocking(work);
        }
    }

    /// Moves the rest of it, if the rest is small. Called by the writer between two
    /// transactions.
    pub(crate) fn shorten(&self, connection: &Connection) {
        let pages = self.pages();
        if pages >= TOO_LONG {
            // Two cannot move at once.
            self.wait();
        } else if pages < LONG || *self.state() != State::Moved {
            return;
        }
        move_pages(connection);
        *self.state() = State::Left;
    }

    /// Waits until nobody moves pages beside, for no longer than [`PATIENCE`].
    pub(crate) fn wait(&self) {
        let moves = |state: &mut State| *state == State::Moves;
        let waited = self
            .0
            .rings
            .wait_timeout_while(self.state(), PATIENCE, moves);
        drop(waited);
    }

    /// Whether nobody was at it.
    fn begins(&self) -> bool {
        let mut state = self.state();
        let is_left = *state == State::Left;
        if is_left {
            *state = State::Moves;
        }
        is_left
    }

    fn pages(&self) -> usize {
        self.0.pages.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody moves pages, until this is dropped: also where they never begin.
struct Moving(Log);

impl Drop for Moving {
    fn drop(&mut self) {
        *self.0.state() = State::Moved;
        self.0.0.rings.notify_all();
    }
}

/// Moves what nobody reads from the log any more, as far as it goes: what is left is
/// moved the next time.
fn move_pages(connection: &Connection) {
    let moved = connection
        .prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")
        .and_then(|mut moves| moves.query_row([], |_| Ok(())));
    // The log keeps what could not be moved, and a disk that fails tells it at a commit.
    drop(moved);
}
