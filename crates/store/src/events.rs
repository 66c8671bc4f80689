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
    /// Where the next event will stand.
    next: Offset,
    bytes: usize,
}

impl Ring {
    fn first(&self) -> Offset {
        let first = self.events.front();
        first.map_or(self.next, |(placed, _)| placed.offset)
    }

    fn drop_while(&mut self, mut goes: impl FnMut(&PlacedEvent) -> bool) -> u64 {
        let mut count = 0;
        while let Some((_, bytes)) = self.events.pop_front_if(|(placed, _)| goes(placed)) {
            self.bytes -= bytes;
            count += 1;
        }
        count
    }

    fn drop_events(&mut self, retention: Retention) -> u64 {
        let next = self.next;
        self.drop_while(|placed| match retention {
            Retention::Before(offset) => placed.offset < offset,
            Retention::OlderThan { at_ms } => placed.event.at_ms < at_ms,
            Retention::KeepLast(count) => placed.offset.saturating_add(count) < next,
            _ => false,
        })
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
        let mut over = ring.bytes.saturating_sub(KEPT_BYTES);
        while over > 0
            && let Some((_, bytes)) = ring.events.pop_front()
        {
            ring.bytes -= bytes;
            over = over.saturating_sub(bytes);
        }
        drop(ring);
        self.0.written.notify_waiters();
        Ok(offsets)
    }

    fn read_now(&self, query: EventQuery) -> Result<EventPage, StoreError> {
        let from = query.from;
        let mut scan = EventScan::new(query)?;
        let ring = self.ring();
        let first = ring.first();
        let skipped = usize::try_from(from.saturating_sub(first)).unwrap_or(usize::MAX);
        for (placed, bytes) in ring.events.iter().skip(skipped) {
            if scan.is_full() {
                break;
            }
            scan.offer(Cow::Borrowed(placed), *bytes);
        }
        Ok(scan.finish(first, 0))
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
