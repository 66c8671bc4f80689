//! What a scenario is driven on, and how a graph is driven once.

use std::{path::PathBuf, sync::Arc};

use rustagents_core::{
    CancellationToken,
    budget::{Bounds, Budget, Limits, Spent},
    event::Events,
    ids::{Branch, RunId, ThreadId},
    journal::{Claim, Journal, Owner},
    log::ThreadLog,
    message::Message,
    recorder::Durability,
    scope::{RunShared, Scope, Without, Write},
    store::GivenStore,
};
use rustagents_graph::{Frameless, Graph, GraphEnd, Outcome, Update, Writes};
use rustagents_runtime::host::SystemClock;
use rustagents_store::MemoryJournal;
use rustagents_store_sqlite::SqliteJournal;
use tempfile::TempDir;

/// Where runs are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nowhere.
    Nowhere,
    /// In the journal in memory, which takes each batch before the run goes on.
    Memory,
    /// In SQLite, `synchronous = FULL`.
    Sqlite,
}

/// Makes a journal for each run.
pub(crate) struct Journals {
    place: Place,
    folder: TempDir,
    made: u32,
}

impl Journals {
    pub(crate) fn new(place: Place) -> Self {
        Self {
            place,
            folder: tempfile::tempdir().unwrap(),
            made: 0,
        }
    }

    /// A file that does not exist.
    pub(crate) fn file(&mut self) -> PathBuf {
        self.made += 1;
        self.folder.path().join(format!("{}.db", self.made))
    }

    fn next(&mut self) -> (Arc<dyn Journal>, Durability) {
        match self.place {
            Place::Nowhere => (Arc::new(MemoryJournal::new()), Durability::None),
            Place::Memory => (Arc::new(MemoryJournal::new()), Durability::Sync),
            Place::Sqlite => {
                let journal = SqliteJournal::open(self.file()).unwrap();
                (Arc::new(journal), Durability::Sync)
            }
        }
    }
}

/// A new run on a claimed thread, with more of everything than it needs.
pub(crate) async fn scope(
    journal: Arc<dyn Journal>,
    durability: Durability,
    events: Events,
) -> (Scope, Claim) {
    let thread = ThreadId::new("bench").unwrap();
    let claim = journal.claim(&thread, Owner::default()).await.unwrap();
    let limits = Limits {
        steps: u64::MAX,
        model_calls: 1_000,
        tool_calls: 1_000,
        ..Limits::default()
    };
    let scope = Scope::root(RunShared {
        journal,
        thread,
        branch: Branch::main(),
        epoch: claim.epoch,
        run: RunId::from("bench"),
        attempt: 1,
        retried: 0,
        input: None,
        log: ThreadLog::default(),
        budget: Budget::resumed(limits, Spent::default()),
        bounds: Bounds::default(),
        without: Without::default(),
        events,
        clock: Arc::new(SystemClock::new()),
        durability,
        cancel: CancellationToken::new(),
        drain: CancellationToken::new(),
        store: GivenStore::default(),
    });
    (scope, claim)
}

/// Runs `graph` to its end, on `messages` in its channel of that name.
pub(crate) async fn run(graph: &Graph, journals: &mut Journals, messages: usize) -> GraphEnd {
    let (journal, durability) = journals.next();
    let (scope, _claim) = scope(journal, durability, Events::default()).await;
    let at = graph.position(&scope).unwrap();
    let mut input = Writes::new();
    if messages > 0 {
        let one = |_| Arc::new(Message::user(scope.mint_message(), "hello"));
        let messages = (0..messages).map(one).collect();
        input.push("messages", Update::Messages(messages));
    }
    let at = graph.open(&scope, at, input, Write::new()).await.unwrap();
    let end = Box::pin(graph.drive(&scope, at, &Frameless)).await.unwrap();
    assert!(matches!(end.outcome, Outcome::Completed));
    end
}
