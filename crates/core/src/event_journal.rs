//! The event journal: what happened in runs, kept for replay. It is optional, and
//! correctness never needs it: a run goes on from the [`journal`](crate::journal).
//!
//! Events stand one behind the other, across threads and runs, each at an
//! [`Offset`]. Only a beginning is ever dropped, so a reader who remembers an
//! offset goes on without a gap, or is told by [`EventPage::first`] that there is
//! one. Only the events of a thread that is deleted go from among others; their
//! places stay empty.
//!
//! A backend passes the suite `contract::events` of `rustagents-testkit`.

mod query;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    BoxFuture,
    ids::{Namespace, RunId, ThreadId},
    store::{StoreError, check},
};

pub use query::{EventPage, EventQuery, EventScan};

/// The place of an event in its journal, from 1, given without gaps. No two events
/// ever have the same one.
pub type Offset = u64;

/// The most events that are appended together.
pub const MAX_EVENTS: usize = 1_000;

/// The most bytes of a payload, as JSON text.
pub const MAX_PAYLOAD_BYTES: usize = 1 << 20;

/// The most bytes of payloads that are appended together.
pub const MAX_APPEND_BYTES: usize = 8 << 20;

/// The longest kind, run or namespace of an event, in bytes.
pub const MAX_NAME_BYTES: usize = 4_096;

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEvent {
    /// The thread.
    pub thread: ThreadId,
    /// The run.
    pub run: RunId,
    /// The run that a person began, and that led to this one; itself, if none did.
    pub root_run: RunId,
    /// What happened: the name of the event, such as `node.started`.
    pub kind: String,
    /// Where in the run: the task, or empty.
    pub namespace: Namespace,
    /// When, in milliseconds since the Unix epoch; nothing is ordered by it.
    pub at_ms: u64,
    /// The public line of the event, `rag.event/1`.
    pub payload: Value,
}

/// An event in its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlacedEvent {
    /// Its place.
    pub offset: Offset,
    /// What happened.
    #[serde(flatten)]
    pub event: RunEvent,
}

/// Which events are dropped: always a beginning of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retention {
    /// Those that stand before an offset.
    Before(Offset),
    /// Those before the first one that happened at this moment or later.
    OlderThan {
        /// The moment, in milliseconds since the Unix epoch.
        at_ms: u64,
    },
    /// All but so many at the end.
    KeepLast(u64),
}

/// A journal of events.
///
/// A backend drops a beginning by itself when it holds more than it was made for.
///
/// Cancellation: an append or a removal that was handed over runs to its end,
/// whoever waits for it. Reads may be dropped at any time.
pub trait EventJournal: Send + Sync {
    /// Appends the events durably, in order and one behind the other, and gives
    /// their places. After a crash, some at the beginning of an append that nobody
    /// heard of may be there.
    ///
    /// [`StoreError::TooLarge`] and [`StoreError::Malformed`] as [`texts`] says.
    fn append(&self, events: Vec<RunEvent>) -> BoxFuture<'_, Result<Vec<Offset>, StoreError>>;

    /// A page of the events that `query` asks for, in order.
    fn read(&self, query: EventQuery) -> BoxFuture<'_, Result<EventPage, StoreError>>;

    /// Drops events, and says how many places that are.
    fn drop_events(&self, retention: Retention) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// Removes all events of a thread, and says how many. Other events keep their
    /// places, and a reader passes over those that are empty now. Done anew after a
    /// crash, it removes what is left.
    fn remove_thread(&self, thread: ThreadId) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// Waits until there is an event after `after`, and gives the last one's place.
    fn changed(&self, after: Offset) -> BoxFuture<'_, Result<Offset, StoreError>>;
}

/// Checks events, and gives the JSON text of each payload. For backends.
///
/// # Errors
/// [`StoreError::TooLarge`]: a payload, all together, or a name.
/// [`StoreError::Malformed`]: there are too many, or a payload is nested too deep.
pub fn texts(events: &[RunEvent]) -> Result<Vec<Box<str>>, StoreError> {
    if events.len() > MAX_EVENTS {
        let rule = "at most 1000 events are appended together";
        return Err(StoreError::Malformed { rule });
    }
    let mut bytes = 0;
    let mut texts = Vec::with_capacity(events.len());
    for event in events {
        let names = [&event.kind, event.run.as_str(), event.root_run.as_str()];
        for name in names.into_iter().chain([event.namespace.as_str()]) {
            check::at_most("name in an event", name.len(), MAX_NAME_BYTES)?;
        }
        let text = check::text(&event.payload, MAX_PAYLOAD_BYTES)?;
        bytes += text.len();
        check::at_most("batch of events", bytes, MAX_APPEND_BYTES)?;
        texts.push(text);
    }
    Ok(texts)
}
