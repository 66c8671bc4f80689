//! The event journal in memory.

use std::{
    borrow::Cow,
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::FutureExt;
use rustagents_core::{
    BoxFuture,
    event_journal::{
        self, EventJournal, EventPage, EventQuery, EventScan, Offset, PlacedEvent, Retention,
        RunEvent,
    },
    ids::ThreadId,
    store::StoreError,
};
use tokio::sync::Notify;

/// The most bytes of payloads that are kept.
const KEPT_BYTES: usize = 64 << 20;

/// An event journal that lives as long as its process. It keeps the last 100,000
/// events, or 64 MiB of payloads. Clones share it.
#[derive(Clone, Debug)]
pub struct MemoryEvents(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    ring: Mutex<Ring>,
    written: Notify,
    kept: u64,
}

#[derive(Debug)]
struct Ring {
    events: VecDeque<(PlacedEvent, usize)>,
    /// The first place that was not dropped.
    first: Offset,
    /// Where the next event will stand.
    next: Offset,
    bytes: usize,
}

impl Ring {
    /// The events from the place `from` on, each with its bytes.
    fn from(&self, from: Offset) -> impl Iterator<Item = &(PlacedEvent, usize)> {
        let before = |(placed, _): &(PlacedEvent, usize)| placed.offset < from;
        self.events.range(self.events.partition_point(before)..)
    }

    fn drop_events(&mut self, retention: Retention) -> u64 {
        self.drop_before(match retention {
            Retention::Before(offset) => offset,
            Retention::OlderThan { at_ms } => {
                let mut events = self.events.iter();
                let young = events.find(|(placed, _)| placed.event.at_ms >= at_ms);
                young.map_or(self.next, |(placed, _)| placed.offset)
            }
            Retention::KeepLast(count) => self.next.saturating_sub(count),
            _ => self.first,
        })
    }

    /// Drops what stands before `first`, and says how many places that are.
    fn drop_before(&mut self, first: Offset) -> u64 {
        let first = first.clamp(self.first, self.next);
        let goes = |(placed, _): &mut (PlacedEvent, usize)| placed.offset < first;
        while let Some((_, bytes)) = self.events.pop_front_if(goes) {
            self.bytes -= bytes;
        }
        let dropped = first - self.first;
        self.first = first;
        dropped
    }

    /// Drops from the beginning what is over the bytes that are kept.
    fn shrink(&mut self) {
        let mut over = self.bytes.saturating_sub(KEPT_BYTES);
        while over > 0
            && let Some((placed, bytes)) = self.events.pop_front()
        {
            self.first = placed.offset + 1;
            self.bytes -= bytes;
            over = over.saturating_sub(bytes);
        }
    }

    fn remove_thread(&mut self, thread: &ThreadId) -> u64 {
        let (mut count, mut freed) = (0, 0);
        self.events.retain(|(placed, bytes)| {
            let goes = placed.event.thread == *thread;
            if goes {
                count += 1;
                freed += bytes;
            }
            !goes
        });
        self.bytes -= freed;
        count
    }
}

impl Default for MemoryEvents {
    fn default() -> Self {
        Self::keeping(100_000)
    }
}

impl MemoryEvents {
    /// An empty journal that keeps the last `kept` events.
    pub fn keeping(kept: u64) -> Self {
        let ring = Ring {
            events: VecDeque::new(),
            first: 1,
            next: 1,
            bytes: 0,
        };
        Self(Arc::new(Shared {
            ring: Mutex::new(ring),
            written: Notify::new(),
            kept,
        }))
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.0.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append_now(&self, events: Vec<RunEvent>) -> Result<Vec<Offset>, StoreError> {
        let texts = event_journal::texts(&events)?;
        let mut ring = self.ring();
        let first = ring.next;
        for (event, text) in events.into_iter().zip(texts) {
            let offset = ring.next;
            ring.events
                .push_back((PlacedEvent { offset, event }, text.len()));
            ring.bytes += text.len();
            ring.next += 1;
        }
        let offsets = (first..ring.next).collect();
        ring.drop_events(Retention::KeepLast(self.0.kept));
        ring.shrink();
        drop(ring);
        self.0.written.notify_waiters();
        Ok(offsets)
    }

    fn read_now(&self, query: EventQuery) -> Result<EventPage, StoreError> {
        let from = query.from;
        let mut scan = EventScan::new(query)?;
        let ring = self.ring();
        for (placed, bytes) in ring.from(from) {
            if scan.is_full() {
                return Ok(scan.finish(ring.first, 0));
            }
            scan.offer(Cow::Borrowed(placed), *bytes);
        }
        Ok(scan.finish(ring.first, ring.next - 1))
    }
}

impl EventJournal for MemoryEvents {
    fn append(&self, events: Vec<RunEvent>) -> BoxFuture<'_, Result<Vec<Offset>, StoreError>> {
        async move { self.append_now(events) }.boxed()
    }

    fn read(&self, query: EventQuery) -> BoxFuture<'_, Result<EventPage, StoreError>> {
        async move { self.read_now(query) }.boxed()
    }

    fn drop_events(&self, retention: Retention) -> BoxFuture<'_, Result<u64, StoreError>> {
        async move { Ok(self.ring().drop_events(retention)) }.boxed()
    }

    fn remove_thread(&self, thread: ThreadId) -> BoxFuture<'_, Result<u64, StoreError>> {
        async move { Ok(self.ring().remove_thread(&thread)) }.boxed()
    }

    fn changed(&self, after: Offset) -> BoxFuture<'_, Result<Offset, StoreError>> {
        async move {
            loop {
                let written = self.0.written.notified();
                let last = self.ring().next - 1;
                if last > after {
                    return Ok(last);
                }
                written.await;
            }
        }
        .boxed()
    }
}
