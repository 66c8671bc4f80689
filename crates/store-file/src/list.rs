//! The threads of the store, by the bytes of their names.

use std::{fs::File, time::Duration};

use rustagents_core::{
    ids::ThreadId,
    journal::{JournalError, ThreadQuery, ThreadRow},
};
use rustagents_store::{locks::Patience, names};

use crate::{
    contents,
    disk::present,
    lock,
    log::{self, State},
    store::{Place, Store, refresh},
};

/// How long a listing waits for all the locks that it meets.
const GLANCE: Duration = Duration::from_secs(1);

impl Store {
    /// The threads that the query asks for. One whose lock a process holds that was
    /// stopped is among them, as its log stands.
    pub(crate) fn list(&self, query: &ThreadQuery) -> Result<Vec<ThreadRow>, JournalError> {
        let mut names = self.names()?;
        names.extend(self.nameless(&query.prefix, &names));
        names.retain(|name| {
            query.after.as_ref().is_none_or(|after| name > after)
                && name.as_str().starts_with(&query.prefix)
        });
        names.sort_unstable();
        let patience = Patience::new(self.limit.min(GLANCE));
        let mut rows = Vec::new();
        for name in names {
            if rows.len() >= query.limit {
                break;
            }
            let row = self.row(&name, patience)?;
            rows.extend(row.filter(|row| query.matches(row)));
        }
        Ok(rows)
    }

    /// The names of all threads, in no order.
    pub(crate) fn names(&self) -> Result<Vec<ThreadId>, JournalError> {
        let folders = contents::names(&self.threads())?;
        let mut names = Vec::with_capacity(folders.len());
        for folder in folders {
            names.extend(name(&self.place_named(folder))?);
        }
        Ok(names)
    }

    /// The thread of this whole name, if its log is there and does not tell it, and its
    /// folder neither: it is found by who knows the name.
    fn nameless(&self, name: &str, known: &[ThreadId]) -> Option<ThreadId> {
        let thread = ThreadId::new(name).ok()?;
        let is_new = !known.contains(&thread) && self.place(&thread).log.is_file();
        is_new.then_some(thread)
    }

    /// How a thread stands; up to the damage, if its log is damaged.
    fn row(
        &self,
        thread: &ThreadId,
        patience: Patience,
    ) -> Result<Option<ThreadRow>, JournalError> {
        let place = self.place(thread);
        if let Some(slot) = self.cache.known(&place.name) {
            let mut state = slot.state();
            if refresh(thread, &place, &mut state, patience).is_ok() {
                self.cache.settle(&slot, state.as_ref());
                return Ok(state.as_ref().map(|state| state.thread.row(thread)));
            }
        }
        // A list must not push out what is worked with, so it remembers nothing.
        // Without the lock, a line that is just being written may be missing: the last
        // one counts only if it is whole.
        let _held = lock::shared(&place.lock, patience);
        let Some(mut file) = present(&place.log, File::open(&place.log))? else {
            return Ok(None);
        };
        let mut state = State::outline(thread.clone());
        match state.catch_up(&mut file, &place.log) {
            Err(error @ JournalError::Unavailable { .. }) => Err(error),
            _ => Ok(Some(state.thread.row(thread))),
        }
    }
}

/// Whose folder it is: its log says so. `None` for a folder without a log, for one
/// that nobody finds by its thread's name, and for one with a damaged log and a name
/// that was cut: nothing tells whose it was.
fn name(place: &Place) -> Result<Option<ThreadId>, JournalError> {
    let Some(file) = present(&place.log, File::open(&place.log))? else {
        return Ok(None);
    };
    let thread = match log::head(&file, &place.log) {
        Ok(head) => head.thread,
        // A damaged log is listed as long as its folder tells its name.
        Err(JournalError::Corrupt { .. }) => return Ok(names::thread(&place.name)),
        Err(error) => return Err(error),
    };
    Ok((names::file_name(&thread) == place.name).then_some(thread))
}
