//! Keeping the events of runs in an event journal.
//!
//! Reading order: [`KeepEvents`] (what a program says), [`Keeping`] (one attempt:
//! who drives it appends meanwhile, and waits at its end), `keep/queue.rs` (what
//! waits, and what is lost).
//!
//! A run never depends on it: what cannot be kept is counted, and told when the
//! attempt is over.

mod queue;

use std::{
    fmt,
    pin::pin,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures::future::{Either, select};
use rustagents_core::{
    clock::Clock,
    event::{AgentEvent, Event, Events},
    event_journal::{EventJournal, EventQuery, Offset, PlacedEvent, Retention, RunEvent},
    ids::{RunId, ThreadId},
};
use tokio::sync::broadcast;

use self::queue::{Batch, Queue};
use crate::{public_event, replay::Subscription};

/// How long an attempt that is over waits for its events.
const LAST: Duration = Duration::from_secs(5);

/// Where the events of runs are kept, and which.
///
/// Events are appended while a run goes on, in order and in batches; the text of
/// models as it comes is left out unless asked for. When an attempt ends, however it
/// does, what waits is appended before anybody hears of the end. Neither a failure
/// nor a slow journal fails or holds up a run: what is missing is counted, told by
/// [`Event::EventsLost`], and marked in the journal by an event `events.lost` where it
/// is missing. A run that is dropped, or whose process is killed, leaves a beginning
/// of its events.
///
/// ```
/// use std::{sync::Arc, time::Duration};
///
/// use rustagents_runtime::{GraphRunner, KeepEvents};
/// use rustagents_store::{MemoryEvents, MemoryJournal};
///
/// let events = Arc::new(MemoryEvents::default());
/// let keep = KeepEvents::new(events).dropping_after(Duration::from_hours(720));
/// let runner = GraphRunner::new(Arc::new(MemoryJournal::new())).keeping(keep);
/// # let _ = runner;
/// ```
#[derive(Clone)]
pub struct KeepEvents {
    journal: Arc<dyn EventJournal>,
    deltas: bool,
    age: Option<Duration>,
    /// Made by the first who subscribes.
    live: Arc<OnceLock<broadcast::Sender<PlacedEvent>>>,
}

impl fmt::Debug for KeepEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeepEvents")
            .field("deltas", &self.deltas)
            .field("age", &self.age)
            .finish_non_exhaustive()
    }
}

impl KeepEvents {
    /// Keeps events in `journal`.
    pub fn new(journal: Arc<dyn EventJournal>) -> Self {
        Self {
            journal,
            deltas: false,
            age: None,
            live: Arc::default(),
        }
    }

    /// The same, with the text of models as it comes, if `deltas` says so.
    #[must_use]
    pub fn with_deltas(self, deltas: bool) -> Self {
        Self { deltas, ..self }
    }

    /// The same, dropping at the end of each attempt what is older than `age`,
    /// whichever thread it is of.
    #[must_use]
    pub fn dropping_after(self, age: Duration) -> Self {
        let age = Some(age);
        Self { age, ..self }
    }

    /// The journal.
    pub fn journal(&self) -> &Arc<dyn EventJournal> {
        &self.journal
    }

    /// The events that `query` asks for, from its offset on, and on as they are kept.
    /// At most `buffer` of them, from 1, wait to be taken; the first subscriber of
    /// this and its clones says how many. One who is too slow is told so, and reads
    /// what it missed in the journal.
    pub fn subscribe(&self, query: EventQuery, buffer: usize) -> Subscription {
        let live = self
            .live
            .get_or_init(|| broadcast::Sender::new(buffer.max(1)));
        Subscription::of(Arc::clone(&self.journal), query, live.subscribe())
    }

    /// Tells subscribers of what was appended at `offsets`.
    fn tell(&self, events: Option<Vec<RunEvent>>, offsets: &[Offset]) {
        let (Some(live), Some(events)) = (self.live.get(), events) else {
            return;
        };
        for (offset, event) in offsets.iter().zip(events) {
            let offset = *offset;
            // Nobody may be there any more to take it.
            drop(live.send(PlacedEvent { offset, event }));
        }
    }

    fn is_subscribed(&self) -> bool {
        let live = self.live.get();
        live.is_some_and(|live| live.receiver_count() > 0)
    }
}

/// Events of an attempt that are missing in the event journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostEvents {
    /// How many.
    pub count: u64,
    /// Why the first of them is, in one line.
    pub reason: String,
}

/// The events of one attempt, on their way; nothing where they are not kept.
pub(crate) struct Keeping(Option<Kept>);

struct Kept {
    keep: KeepEvents,
    clock: Arc<dyn Clock>,
    queue: Arc<Queue>,
    /// Who else hears of the attempt.
    others: Events,
}

impl Keeping {
    /// Keeps the events of an attempt at `run`: what `events` hears, and the bus that
    /// it is to have instead.
    pub(crate) fn of(
        keep: Option<&KeepEvents>,
        clock: &Arc<dyn Clock>,
        (thread, run): (&ThreadId, &RunId),
        events: Events,
    ) -> (Self, Events) {
        let Some(keep) = keep else {
            return (Self(None), events);
        };
        let queue = Arc::new(Queue::of(thread.clone(), run.clone()));
        let others = events.clone();
        let (hears, time, deltas) = (Arc::clone(&queue), Arc::clone(clock), keep.deltas);
        let events = events.and([], move |event| {
            if deltas || !is_delta(event) {
                let (kind, payload) = public_event::line(event);
                hears.push(kind, public_event::place(event), time.now_ms(), payload);
            }
        });
        let kept = Kept {
            keep: keep.clone(),
            clock: Arc::clone(clock),
            queue,
            others,
        };
        (Self(Some(kept)), events)
    }

    /// Does `work`, and meanwhile appends what is heard. However it ends, what was
    /// heard is kept or counted as lost when this returns.
    ///
    /// Cancellation: dropped, it leaves a beginning of what was heard.
    pub(crate) async fn through<T>(&self, work: impl Future<Output = T>) -> T {
        match &self.0 {
            Some(kept) => kept.through(work).await,
            None => work.await,
        }
    }

    /// What is missing so far.
    pub(crate) fn lost(&self) -> Option<LostEvents> {
        self.0.as_ref().and_then(|kept| kept.queue.lost())
    }
}

impl Kept {
    async fn through<T>(&self, work: impl Future<Output = T>) -> T {
        let (work, appending) = (pin!(work), pin!(self.append_all()));
        let (done, appending) = match select(work, appending).await {
            Either::Left((done, appending)) => (done, Some(appending)),
            // It ends once the queue is closed, so this is never before the work.
            Either::Right(((), work)) => (work.await, None),
        };
        self.queue.close();
        if let Some(appending) = appending
            && let Either::Right(_) = select(appending, self.clock.sleep(LAST)).await
        {
            self.queue
                .give_up("the event journal did not answer in time");
        }
        if let Some(LostEvents { count, reason }) = self.queue.lost() {
            let lost = count;
            self.others.emit(|| Event::EventsLost { lost, reason });
        }
        done
    }

    /// Appends what is heard until no more will be.
    async fn append_all(&self) {
        while let Some(batch) = self.queue.next(&*self.clock).await {
            self.append(batch).await;
        }
        if let Some(age) = self.keep.age {
            let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
            let at_ms = self.clock.now_ms().saturating_sub(age);
            let dropped = self
                .keep
                .journal
                .drop_events(Retention::OlderThan { at_ms });
            // What is not dropped now is when the next attempt ends.
            drop(dropped.await);
        }
    }

    async fn append(&self, batch: Batch) {
        let told = self.keep.is_subscribed().then(|| batch.events.clone());
        match self.keep.journal.append(batch.events).await {
            Ok(offsets) => {
                self.queue.landed();
                self.keep.tell(told, &offsets);
            }
            Err(error) => self.queue.failed(&error.to_string()),
        }
    }
}

fn is_delta(event: &Event) -> bool {
    let delta = |event: &AgentEvent| matches!(event, AgentEvent::TextDelta { .. });
    matches!(event, Event::Agent { event, .. } if delta(event))
}
