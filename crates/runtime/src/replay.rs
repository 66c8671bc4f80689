//! Kept events, read again and on as they come.

use std::{collections::VecDeque, fmt, sync::Arc};

use rustagents_core::{
    event_journal::{EventJournal, EventQuery, Offset, PlacedEvent},
    store::StoreError,
};
use tokio::sync::broadcast::{Receiver, error::RecvError};

/// What comes out of an event journal.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Replayed {
    /// An event.
    Event(PlacedEvent),
    /// Who subscribed was too slow, and so many events passed, of any kind. They
    /// follow, as far as the journal still has them.
    Lagged(u64),
    /// The journal dropped what stood from the first of these places up to before
    /// the second, before it was read.
    Dropped {
        /// The first that is gone.
        from: Offset,
        /// The first that is not.
        to: Offset,
    },
}

/// The events that a query asks for, in order, from the query's offset on.
///
/// ```
/// use std::sync::Arc;
///
/// use rustagents_core::event_journal::EventQuery;
/// use rustagents_runtime::replay::Replay;
/// use rustagents_store::MemoryEvents;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let journal = Arc::new(MemoryEvents::default());
/// let mut replay = Replay::of(journal, EventQuery::from(1));
/// assert_eq!(replay.next().await?, None);
/// # Ok::<(), rustagents_core::store::StoreError>(())
/// # }).unwrap();
/// ```
pub struct Replay {
    journal: Arc<dyn EventJournal>,
    query: EventQuery,
    page: VecDeque<PlacedEvent>,
    /// From where on nothing was given out yet.
    next: Offset,
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay")
            .field("query", &self.query)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

impl Replay {
    /// Reads what `query` asks for.
    pub fn of(journal: Arc<dyn EventJournal>, query: EventQuery) -> Self {
        Self {
            journal,
            next: query.from.max(1),
            query,
            page: VecDeque::new(),
        }
    }

    /// From where on to read what was not given out yet: the offset to remember.
    pub const fn offset(&self) -> Offset {
        self.next
    }

    /// The next event; `None` if there is none now.
    ///
    /// Cancellation: nothing is lost.
    ///
    /// # Errors
    /// Whatever the journal says.
    pub async fn next(&mut self) -> Result<Option<Replayed>, StoreError> {
        loop {
            if let Some(placed) = self.page.pop_front() {
                self.next = placed.offset + 1;
                return Ok(Some(Replayed::Event(placed)));
            }
            let from = self.query.from.max(1);
            let page = self.journal.read(self.query.clone()).await?;
            self.query.from = page.next.max(from);
            if page.events.is_empty() {
                self.next = self.query.from;
            }
            let is_last = page.events.is_empty() && page.next <= from;
            self.page = page.events.into();
            if page.first > from {
                let to = page.first;
                self.next = to;
                return Ok(Some(Replayed::Dropped { from, to }));
            }
            if is_last {
                return Ok(None);
            }
        }
    }

    /// The next event, waited for if there is none now.
    ///
    /// Cancellation: nothing is lost.
    ///
    /// # Errors
    /// Whatever the journal says.
    pub async fn follow(&mut self) -> Result<Replayed, StoreError> {
        loop {
            if let Some(replayed) = self.next().await? {
                return Ok(replayed);
            }
            self.journal.changed(self.next - 1).await?;
        }
    }

    /// Passes over what stands before `offset`.
    fn skip_to(&mut self, offset: Offset) {
        self.page.clear();
        self.next = offset;
        self.query.from = offset;
    }
}

/// The events that a query asks for, and on as a [`KeepEvents`](crate::KeepEvents)
/// and its clones append them. It ends once those are gone and all is taken.
#[derive(Debug)]
pub struct Subscription {
    replay: Replay,
    live: Receiver<PlacedEvent>,
    /// Whether what is wanted next is read in the journal.
    is_behind: bool,
    /// How many live events passed that were not told of as missed.
    passed: u64,
    /// What was read already, and is given out next.
    held: Option<Replayed>,
}

impl Subscription {
    pub(crate) fn of(
        journal: Arc<dyn EventJournal>,
        query: EventQuery,
        live: Receiver<PlacedEvent>,
    ) -> Self {
        Self {
            replay: Replay::of(journal, query),
            live,
            is_behind: true,
            passed: 0,
            held: None,
        }
    }

    /// From where on nothing was given out yet: the offset to remember.
    pub const fn offset(&self) -> Offset {
        match &self.held {
            Some(Replayed::Event(placed)) => placed.offset,
            Some(Replayed::Dropped { from, .. }) => *from,
            _ => self.replay.offset(),
        }
    }

    /// The next event; `None` if there will be none.
    ///
    /// Cancellation: nothing is lost.
    ///
    /// # Errors
    /// Whatever the journal says.
    pub async fn next(&mut self) -> Result<Option<Replayed>, StoreError> {
        loop {
            if let Some(held) = self.held.take() {
                return Ok(Some(held));
            }
            if self.is_behind {
                let replayed = self.replay.next().await?;
                self.is_behind = replayed.is_some();
                // Where all that passed was read already, nothing was missed.
                let passed = std::mem::take(&mut self.passed);
                if replayed.is_some() && passed > 0 {
                    self.held = replayed;
                    return Ok(Some(Replayed::Lagged(passed)));
                }
                if replayed.is_some() {
                    return Ok(replayed);
                }
            }
            match self.live.recv().await {
                Ok(placed) if placed.offset < self.replay.offset() => {}
                Ok(placed) if placed.offset == self.replay.offset() => {
                    self.replay.skip_to(placed.offset + 1);
                    if self.replay.query.matches(&placed) {
                        return Ok(Some(Replayed::Event(placed)));
                    }
                }
                // Somebody else appended in between.
                Ok(_) => self.is_behind = true,
                Err(RecvError::Lagged(passed)) => {
                    self.passed = passed;
                    self.is_behind = true;
                }
                Err(RecvError::Closed) => return self.replay.next().await,
            }
        }
    }
}
