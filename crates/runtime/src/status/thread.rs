//! How a thread stands, as its kept events tell it.

use rustagents_core::{
    event_journal::{EventJournal, EventQuery, Offset, PlacedEvent},
    ids::{RunId, ThreadId},
    store::StoreError,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{GraphHealth, GraphRunStatus, VERSION};

/// How many events are read together.
const PAGE: usize = 1_000;

/// How the last run of a thread stands and how its nodes fare, folded from an event
/// journal. It can be stored as it is; [`catch_up`](Self::catch_up) goes on from
/// where it is. It knows what was kept: a thread that was driven elsewhere stands as
/// its [journal](crate::ThreadView) says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadStatus {
    version: u32,
    next: Offset,
    /// The run that was last begun or gone on with.
    pub run: Option<RunId>,
    /// How it stands.
    pub status: GraphRunStatus,
    /// How the nodes of all runs of the thread fare.
    pub health: GraphHealth,
    /// How many events could not be kept.
    pub lost: u64,
    /// Whether the journal dropped events before they were read here.
    pub is_partial: bool,
}

impl ThreadStatus {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            version: VERSION,
            next: 1,
            ..Self::default()
        }
    }

    /// From where on no event was taken yet.
    pub const fn offset(&self) -> Offset {
        self.next
    }

    /// Takes what `journal` has of `thread` and was not taken yet, and says how many
    /// events that are. What another version of this stored begins anew.
    ///
    /// Cancellation: the events of whole pages were taken.
    ///
    /// # Errors
    /// Whatever the journal says.
    pub async fn catch_up(
        &mut self,
        journal: &dyn EventJournal,
        thread: &ThreadId,
    ) -> Result<u64, StoreError> {
        if self.version != VERSION {
            *self = Self::new();
        }
        let mut taken = 0;
        loop {
            let from = self.next.max(1);
            let query = EventQuery::from(from).of_thread(thread.clone());
            let page = journal.read(query.limit(PAGE)).await?;
            self.is_partial |= page.first > from;
            for placed in &page.events {
                self.apply(placed);
                taken += 1;
            }
            let is_last = page.events.is_empty() && page.next <= from;
            self.next = self.next.max(page.next);
            if is_last {
                return Ok(taken);
            }
        }
    }

    /// Takes an event of the thread. One that it knows of already changes nothing.
    pub fn apply(&mut self, placed: &PlacedEvent) {
        if placed.offset < self.next {
            return;
        }
        self.next = placed.offset.saturating_add(1);
        let event = &placed.event;
        if self.run.as_ref() != Some(&event.run) {
            self.run = Some(event.run.clone());
            self.status = GraphRunStatus::default();
        }
        if event.kind == "events.lost" {
            let lost = event.payload.get("lost").and_then(Value::as_u64);
            self.lost = self.lost.saturating_add(lost.unwrap_or_default());
        }
        self.status.apply_kept(placed);
        self.health.apply_kept(placed);
    }
}
