//! What stands beside a thread's journal, in the same store: its event journal, and
//! what agents remember across threads.
//! Nothing is opened or made before it is used.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustagents_core::{
    event_journal::{EventJournal, EventQuery},
    ids::RunId,
    store::Store,
};
use rustagents_runtime::{
    host::SystemClock,
    replay::{Replay, Replayed},
};
use rustagents_store_file::{FileEvents, FileStore};
use rustagents_store_sqlite::{SqliteEvents, SqliteStore};

use crate::{failure::Failure, store::Address};

/// The journal's file where nobody names one; what stands beside it has plain names.
const JOURNAL: &str = "journal.db";

impl Address {
    /// The event journal of the store, which keeps the last `last` events. A store in
    /// memory has none that anybody could read.
    pub(crate) fn events(&self, last: Option<u64>) -> Option<Arc<dyn EventJournal>> {
        let path = self.beside("events")?;
        Some(match (self, last) {
            (Self::File(_), None) => Arc::new(FileEvents::new(path)),
            (Self::File(_), Some(last)) => Arc::new(FileEvents::new(path).keeping(last)),
            (_, None) => Arc::new(SqliteEvents::new(path)),
            (_, Some(last)) => Arc::new(SqliteEvents::new(path).keeping(last)),
        })
    }

    /// The event journal of the store, if there is one to read.
    pub(crate) fn kept_events(&self) -> Option<Arc<dyn EventJournal>> {
        let path = self.beside("events")?;
        path.exists().then(|| self.events(None)).flatten()
    }

    /// The event journal of the store, if it has events of `run`: what is done to the
    /// run is kept there, whoever does it.
    pub(crate) async fn events_of(
        &self,
        run: &RunId,
    ) -> Result<Option<Arc<dyn EventJournal>>, Failure> {
        let Some(events) = self.kept_events() else {
            return Ok(None);
        };
        let of_run = EventQuery::from(1).of_run(run.clone()).limit(1);
        let mut replay = Replay::of(Arc::clone(&events), of_run);
        Ok(has_event(&mut replay).await?.then_some(events))
    }

    /// What agents remember across threads, beside the journal. A store in memory has
    /// nothing that lasts longer than a thread.
    pub(crate) fn items(&self) -> Option<Arc<dyn Store>> {
        let path = self.beside("store")?;
        let clock = Arc::new(SystemClock::new());
        Some(match self {
            Self::File(_) => Arc::new(FileStore::new(path, clock)),
            _ => Arc::new(SqliteStore::new(path, clock)),
        })
    }

    /// Where what is called `name` stands beside the journal.
    pub(crate) fn beside(&self, name: &str) -> Option<PathBuf> {
        match self {
            Self::Sqlite(path, _) => Some(sibling(path, name)),
            Self::File(folder) => Some(folder.join(name)),
            Self::Memory => None,
        }
    }

    /// The store, for people.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Sqlite(path, _) | Self::File(path) => path.display().to_string(),
            Self::Memory => "memory:".to_owned(),
        }
    }
}

/// Whether `replay` has an event to give.
pub(crate) async fn has_event(replay: &mut Replay) -> Result<bool, Failure> {
    while let Some(replayed) = replay.next().await? {
        if matches!(replayed, Replayed::Event(_)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `events.db` beside `journal.db`, and `x.events.db` beside `x.db`.
fn sibling(journal: &Path, name: &str) -> PathBuf {
    if journal.file_name().is_some_and(|file| file == JOURNAL) {
        return journal.with_file_name(format!("{name}.db"));
    }
    let mut file = journal.file_stem().unwrap_or_default().to_owned();
    file.push(".");
    file.push(name);
    if let Some(ending) = journal.extension() {
        file.push(".");
        file.push(ending);
    }
    journal.with_file_name(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_beside_a_journal_is_named_after_it() {
        for (journal, events) in [
            (".rustagents/journal.db", ".rustagents/events.db"),
            ("a/desk.db", "a/desk.events.db"),
            ("desk", "desk.events"),
            ("a.b/x.y.z", "a.b/x.y.events.z"),
        ] {
            assert_eq!(sibling(Path::new(journal), "events"), Path::new(events));
        }
    }
}
