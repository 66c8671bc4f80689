//! Events that wait for the event journal, and how many of them it will never have.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{Mutex, MutexGuard, PoisonError},
    task::Poll,
};

use futures::task::AtomicWaker;
use rustagents_core::{
    clock::Clock,
    event::Event,
    event_journal::{MAX_APPEND_BYTES, MAX_EVENTS, RunEvent, texts},
    ids::{Namespace, RunId, ThreadId},
};
use serde_json::Value;

use super::LostEvents;
use crate::public_event;

/// The most events that wait.
const MAX_WAITING: usize = 16_384;

/// The most bytes of payloads that wait.
const MAX_WAITING_BYTES: usize = 32 << 20;

/// The bytes of a batch that its mark of what is missing may take.
const MARK_BYTES: usize = 8 << 10;

/// The longest reason that is told, in characters.
const MAX_REASON: usize = 1_000;

/// The events of one attempt that wait. Whoever hears pushes; one takes.
pub(super) struct Queue {
    thread: ThreadId,
    run: RunId,
    state: Mutex<State>,
    taker: AtomicWaker,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// How many of them are events.
    events: usize,
    bytes: usize,
    /// What the batch in flight is made of: so many events, and so many that are
    /// missing before them.
    flying: (u64, u64),
    is_closed: bool,
    lost: u64,
    reason: Option<String>,
}

enum Waiting {
    Event(Box<RunEvent>, usize),
    /// So many are missing here.
    Missing(u64),
}

/// What is appended together.
pub(super) struct Batch {
    pub(super) events: Vec<RunEvent>,
}

impl Queue {
    pub(super) fn of(thread: ThreadId, run: RunId) -> Self {
        Self {
            thread,
            run,
            state: Mutex::default(),
            taker: AtomicWaker::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an event in, if there is room for it, and it is one that can be kept.
    pub(super) fn push(&self, kind: &str, namespace: Namespace, at_ms: u64, payload: Value) {
        let event = [self.event(kind, namespace, at_ms, payload)];
        let texts = texts(&event);
        let [event] = event;
        let mut state = self.state();
        match texts {
            Err(error) => state.miss_last(&error.to_string()),
            Ok(texts) => state.push(event, texts.iter().map(|text| text.len()).sum()),
        }
        drop(state);
        self.taker.wake();
    }

    fn event(&self, kind: &str, namespace: Namespace, at_ms: u64, payload: Value) -> RunEvent {
        RunEvent {
            thread: self.thread.clone(),
            run: self.run.clone(),
            root_run: self.run.clone(),
            kind: kind.to_owned(),
            namespace,
            at_ms,
            payload,
        }
    }

    /// Says that nothing more will be pushed.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.taker.wake();
    }

    /// What is appended next; `None` once the queue is closed and empty.
    ///
    /// Cancellation: nothing is taken.
    pub(super) async fn next(&self, clock: &dyn Clock) -> Option<Batch> {
        let taken = poll_fn(|context| {
            self.taker.register(context.waker());
            let mut state = self.state();
            match (state.events, state.is_closed) {
                (0, false) => Poll::Pending,
                (0, true) if state.waiting.is_empty() => Poll::Ready(None),
                _ => Poll::Ready(Some(state.take())),
            }
        });
        let events = taken.await?.into_iter().map(|waiting| match waiting {
            Waiting::Event(event, _) => *event,
            Waiting::Missing(lost) => self.mark(lost, clock.now_ms()),
        });
        Some(Batch {
            events: events.collect(),
        })
    }

    /// The event that stands where `lost` others are missing.
    fn mark(&self, lost: u64, at_ms: u64) -> RunEvent {
        let reason = self.state().reason.clone().unwrap_or_default();
        let (kind, payload) = public_event::line(&Event::EventsLost { lost, reason });
        self.event(kind, Namespace::root(), at_ms, payload)
    }

    /// The batch that was taken is kept.
    pub(super) fn landed(&self) {
        self.state().flying = (0, 0);
    }

    /// The batch that was taken is not kept.
    pub(super) fn failed(&self, reason: &str) {
        let mut state = self.state();
        let (events, missing) = std::mem::take(&mut state.flying);
        state.lose(events, reason);
        // A mark that could not even be kept by itself is not tried again.
        if events > 0 {
            state.miss_first(events + missing);
        }
    }

    /// Nothing that waits will be kept, and perhaps not what is in flight.
    pub(super) fn give_up(&self, reason: &str) {
        let mut state = self.state();
        let (flying, _) = std::mem::take(&mut state.flying);
        let waiting = u64::try_from(state.events).unwrap_or(u64::MAX);
        state.lose(flying.saturating_add(waiting), reason);
        state.waiting.clear();
        state.events = 0;
    }

    pub(super) fn lost(&self) -> Option<LostEvents> {
        let state = self.state();
        let reason = state.reason.clone().filter(|_| state.lost > 0)?;
        let count = state.lost;
        Some(LostEvents { count, reason })
    }
}

impl State {
    fn push(&mut self, event: RunEvent, bytes: usize) {
        if self.events >= MAX_WAITING || self.bytes.saturating_add(bytes) > MAX_WAITING_BYTES {
            return self.miss_last("the event journal is slower than the run");
        }
        self.bytes += bytes;
        self.events += 1;
        self.waiting
            .push_back(Waiting::Event(Box::new(event), bytes));
    }

    /// What may go together, from the front.
    fn take(&mut self) -> Vec<Waiting> {
        let (mut taken, mut bytes) = (Vec::new(), 0);
        while taken.len() < MAX_EVENTS
            && let Some(next) = self.waiting.front()
        {
            let more = match next {
                Waiting::Event(_, more) => *more,
                Waiting::Missing(_) => MARK_BYTES,
            };
            if bytes + more > MAX_APPEND_BYTES {
                break;
            }
            bytes += more;
            match next {
                Waiting::Event(..) => {
                    self.bytes -= more;
                    self.events -= 1;
                    self.flying.0 += 1;
                }
                Waiting::Missing(missing) => self.flying.1 += missing,
            }
            taken.extend(self.waiting.pop_front());
        }
        taken
    }

    fn lose(&mut self, count: u64, reason: &str) {
        self.lost = self.lost.saturating_add(count);
        self.reason
            .get_or_insert_with(|| reason.chars().take(MAX_REASON).collect());
    }

    /// The event that would come last is missing.
    fn miss_last(&mut self, reason: &str) {
        self.lose(1, reason);
        match self.waiting.back_mut() {
            Some(Waiting::Missing(missing)) => *missing += 1,
            _ => self.waiting.push_back(Waiting::Missing(1)),
        }
    }

    /// So many are missing before all that waits.
    fn miss_first(&mut self, count: u64) {
        match self.waiting.front_mut() {
            Some(Waiting::Missing(missing)) => *missing += count,
            _ => self.waiting.push_front(Waiting::Missing(count)),
        }
    }
}
