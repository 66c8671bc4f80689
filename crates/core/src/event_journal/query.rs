//! Which events are read, and the pages in which they come.

use std::borrow::Cow;

use super::{Offset, PlacedEvent};
use crate::{
    ids::{Namespace, RunId, ThreadId},
    store::{
        StoreError,
        query::{MAX_SCAN, PAGE_BYTES, check_limit},
    },
};

/// Which events are read.
///
/// ```
/// use rustagents_core::{event_journal::EventQuery, ids::RunId};
/// let query = EventQuery::from(17).of_run(RunId::from("run-1")).limit(50);
/// assert!(query.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventQuery {
    /// Only events at this place or behind it.
    pub from: Offset,
    /// Only events of this thread.
    pub thread: Option<ThreadId>,
    /// Only events of this run.
    pub run: Option<RunId>,
    /// Only events of this run and those that it led to.
    pub root_run: Option<RunId>,
    /// Only events of this kind.
    pub kind: Option<String>,
    /// Only events at this place of their run.
    pub namespace: Option<Namespace>,
    /// How many at the most, from 1 to 1,000.
    pub limit: usize,
}

impl EventQuery {
    /// All events from `offset` on, 100 a page.
    pub fn from(offset: Offset) -> Self {
        Self {
            from: offset,
            thread: None,
            run: None,
            root_run: None,
            kind: None,
            namespace: None,
            limit: 100,
        }
    }

    /// The same from another place on: [`EventPage::next`] of the page before.
    #[must_use]
    pub fn on_from(self, offset: Offset) -> Self {
        Self {
            from: offset,
            ..self
        }
    }

    /// Only events of `thread`.
    #[must_use]
    pub fn of_thread(self, thread: ThreadId) -> Self {
        Self {
            thread: Some(thread),
            ..self
        }
    }

    /// Only events of `run`.
    #[must_use]
    pub fn of_run(self, run: RunId) -> Self {
        Self {
            run: Some(run),
            ..self
        }
    }

    /// Only events of `run` and those that it led to.
    #[must_use]
    pub fn under_run(self, run: RunId) -> Self {
        Self {
            root_run: Some(run),
            ..self
        }
    }

    /// Only events of this kind.
    #[must_use]
    pub fn of_kind(self, kind: impl Into<String>) -> Self {
        Self {
            kind: Some(kind.into()),
            ..self
        }
    }

    /// Only events at this place of their run.
    #[must_use]
    pub fn at(self, namespace: Namespace) -> Self {
        Self {
            namespace: Some(namespace),
            ..self
        }
    }

    /// At most `limit` a page.
    #[must_use]
    pub fn limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Checks what needs no look at the journal.
    ///
    /// # Errors
    /// [`StoreError::Malformed`].
    pub fn check(&self) -> Result<(), StoreError> {
        check_limit(self.limit)
    }

    /// Whether an event is among those that are read, but for its place.
    pub fn matches(&self, placed: &PlacedEvent) -> bool {
        let event = &placed.event;
        self.thread.as_ref().is_none_or(|it| *it == event.thread)
            && self.run.as_ref().is_none_or(|it| *it == event.run)
            && self
                .root_run
                .as_ref()
                .is_none_or(|it| *it == event.root_run)
            && self.kind.as_ref().is_none_or(|it| *it == event.kind)
            && self
                .namespace
                .as_ref()
                .is_none_or(|it| *it == event.namespace)
    }
}

/// Some events, in order.
///
/// A page may be shorter than the limit, and even empty, although more follow.
/// Whoever read up to `next` and got nothing may wait with
/// [`EventJournal::changed`](super::EventJournal::changed) for what stands after
/// the place before it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EventPage {
    /// The events.
    pub events: Vec<PlacedEvent>,
    /// From where on to read the next page.
    pub next: Offset,
    /// The place of the first event that was not dropped. If it is behind where
    /// the page was to begin, what stood in between is gone.
    pub first: Offset,
}

/// Fills a page from events that come in order. For backends.
#[derive(Debug)]
pub struct EventScan {
    query: EventQuery,
    events: Vec<PlacedEvent>,
    next: Offset,
    seen: usize,
    bytes: usize,
}

impl EventScan {
    /// An empty page for `query`.
    ///
    /// # Errors
    /// [`StoreError::Malformed`].
    pub fn new(query: EventQuery) -> Result<Self, StoreError> {
        query.check()?;
        Ok(Self {
            next: query.from.max(1),
            query,
            events: Vec::new(),
            seen: 0,
            bytes: 0,
        })
    }

    /// Whether no more events should be offered.
    pub fn is_full(&self) -> bool {
        let looked = self.seen >= MAX_SCAN;
        looked || self.events.len() >= self.query.limit || self.bytes >= PAGE_BYTES
    }

    /// Takes the event, whose payload has `bytes`, if it is among those read.
    pub fn offer(&mut self, placed: Cow<'_, PlacedEvent>, bytes: usize) {
        self.seen += 1;
        self.next = placed.offset.saturating_add(1);
        if self.query.matches(&placed) {
            self.bytes = self.bytes.saturating_add(bytes);
            self.events.push(placed.into_owned());
        }
    }

    /// The page, of a journal that begins at `first`. All up to `looked` was
    /// looked at, even if it was not offered.
    pub fn finish(self, first: Offset, looked: Offset) -> EventPage {
        EventPage {
            events: self.events,
            next: self.next.max(looked.saturating_add(1)).max(first),
            first,
        }
    }
}
