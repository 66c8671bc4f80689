//! When a run's writes become durable: between the scopes of a run and its journal.
//!
//! Writes that need not be durable at once wait in order. One batch is in flight
//! at a time, and what was queued meanwhile goes as one batch behind it. Nothing
//! runs by itself: whoever appends, flushes or attends moves the queue on. The batch in
//! flight was handed to the journal, and ends whoever waits for it.

use std::{
    collections::VecDeque,
    convert::Infallible,
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
};

use foldhash::HashMap;
use futures::{FutureExt, future::Shared, task::AtomicWaker};
use serde::{Deserialize, Serialize};

use crate::{
    BoxFuture,
    journal::{Batch, Chain, Journal, JournalError, Kind, MAX_BATCH_BYTES, Place, Seq, kind},
};

/// When the writes of a run are durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Never: nothing of the run is recorded, however large it is, and it cannot be
    /// resumed. One that comes to wait for a person fails, as
    /// [`Unanswerable`](crate::ask::Unanswerable). Its thread is claimed all the same.
    None,
    /// When the run ends or waits, and before an effect that must not happen
    /// twice. A crash in between loses what happened since.
    Exit,
    /// Soon: the next step may begin while the last one is being written. A crash
    /// loses the last few writes, never one before another.
    Async,
    /// Before the run goes on.
    #[default]
    Sync,
}

impl Durability {
    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Exit => "exit",
            Self::Async => "async",
            Self::Sync => "sync",
        }
    }

    /// The one of that name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::None, Self::Exit, Self::Async, Self::Sync]
            .into_iter()
            .find(|durability| durability.as_str() == name)
    }
}

/// The most writes that wait behind the one in flight.
const MAX_WAITING: usize = 64;

/// The bytes that may wait; more are sent, whatever the durability.
const MAX_WAITING_BYTES: usize = MAX_BATCH_BYTES / 4;

type Flight = Shared<BoxFuture<'static, Result<Vec<Seq>, JournalError>>>;

/// Writes in the order in which they were made, each durable when it has to be.
pub(crate) struct Recorder {
    journal: Arc<dyn Journal>,
    durability: Durability,
    queue: Mutex<Queue>,
    /// Who moves the queue on while the run does something else.
    attendant: AtomicWaker,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    flying: Option<Flying>,
    /// Where each chain ends once all that was acknowledged is counted.
    heads: HashMap<Chain, Option<Seq>>,
    /// The last checkpoint that is durable.
    durable: Option<u64>,
    failed: Option<JournalError>,
}

struct Waiting {
    batch: Batch,
    bytes: usize,
    checkpoint: Option<u64>,
}

struct Flying {
    flight: Flight,
    /// The last commit of each chain, by its place in the batch.
    commits: Vec<(Chain, usize)>,
    checkpoint: Option<u64>,
}

/// What must be durable before the run goes on, whatever else may wait: what an
/// effect is about to do, and how a run stands when nobody drives it.
const AWAITED: [Kind; 5] = [
    kind::INTENT,
    kind::STEP_INTENT,
    kind::STARTED,
    kind::RUN_SUSPENDED,
    kind::RUN_CLOSED,
];

impl Recorder {
    pub(crate) fn new(journal: Arc<dyn Journal>, durability: Durability) -> Self {
        Self {
            journal,
            durability,
            queue: Mutex::default(),
            attendant: AtomicWaker::new(),
        }
    }

    /// Whether each write is awaited, so that nothing ever waits here.
    pub(crate) fn is_immediate(&self) -> bool {
        self.durability == Durability::Sync
    }

    /// Takes a batch, whose writer is at `checkpoint` when it is durable. Its heads
    /// count only where nothing was written to their chain before.
    pub(crate) async fn append(
        &self,
        batch: Batch,
        checkpoint: Option<u64>,
    ) -> Result<(), JournalError> {
        batch.check()?;
        if self.durability == Durability::None {
            return Ok(());
        }
        let awaited = |kind: Kind| AWAITED.contains(&kind);
        let awaited = batch.entries.iter().any(|entry| awaited(entry.kind));
        self.queue().push(batch, checkpoint)?;
        self.attendant.wake();
        if awaited {
            return self.flush().await;
        }
        let eager = self.durability == Durability::Async;
        self.until(|queue| eager || queue.is_full(), |queue| !queue.is_full())
            .await
    }

    /// Moves the queue on while the run does something else. Never ends.
    pub(crate) async fn attend(&self) -> Infallible {
        let mut waiting: Option<Flight> = None;
        poll_fn(|context| {
            self.attendant.register(context.waker());
            loop {
                let flight = match waiting.take() {
                    Some(flight) => Some(flight),
                    None => self.sent(),
                };
                // A failure waits in the queue for the run's next write.
                let Some(mut flight) = flight else {
                    return Poll::Pending;
                };
                if flight.poll_unpin(context).is_pending() {
                    waiting = Some(flight);
                    return Poll::Pending;
                }
            }
        })
        .await
    }

    /// What is in flight once what may go has been sent.
    fn sent(&self) -> Option<Flight> {
        let eager = self.durability == Durability::Async;
        let mut queue = self.queue();
        queue.advance(&self.journal, |queue| eager || queue.is_full());
        queue.flying.as_ref().map(|flying| flying.flight.clone())
    }

    /// Waits until everything that was appended is durable.
    pub(crate) async fn flush(&self) -> Result<(), JournalError> {
        self.until(|_| true, Queue::is_idle).await
    }

    /// Moves the queue on, sending while `sends`, until it `is_done`.
    async fn until(
        &self,
        sends: impl Fn(&Queue) -> bool,
        is_done: impl Fn(&Queue) -> bool,
    ) -> Result<(), JournalError> {
        loop {
            let flight = {
                let mut queue = self.queue();
                queue.advance(&self.journal, &sends);
                match (&queue.failed, &queue.flying) {
                    (Some(failed), _) => return Err(failed.clone()),
                    (None, Some(flying)) if !is_done(&queue) => flying.flight.clone(),
                    _ => return Ok(()),
                }
            };
            // A clone of its own, so that each waiter is woken.
            let _ = flight.await;
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn push(&mut self, batch: Batch, checkpoint: Option<u64>) -> Result<(), JournalError> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        for (chain, head) in &batch.heads {
            self.heads.entry(chain.clone()).or_insert(*head);
        }
        let bytes = batch.bytes();
        self.bytes += bytes;
        self.waiting.push_back(Waiting {
            batch,
            bytes,
            checkpoint,
        });
        Ok(())
    }

    fn is_idle(&self) -> bool {
        self.flying.is_none() && self.waiting.is_empty()
    }

    fn is_full(&self) -> bool {
        self.waiting.len() >= MAX_WAITING || self.bytes >= MAX_WAITING_BYTES
    }

    /// Takes what came back, and sends what waits while `sends`. Waits for nothing.
    fn advance(&mut self, journal: &Arc<dyn Journal>, sends: impl Fn(&Self) -> bool) {
        loop {
            if let Some(flying) = &self.flying {
                let Some(result) = flying.flight.clone().now_or_never() else {
                    return;
                };
                self.land(result);
            }
            if self.waiting.is_empty() || !sends(self) {
                return;
            }
            self.send(Arc::clone(journal));
        }
    }

    fn land(&mut self, result: Result<Vec<Seq>, JournalError>) {
        let Some(flying) = self.flying.take() else {
            return;
        };
        match result {
            Ok(seqs) => {
                for (chain, index) in flying.commits {
                    self.heads.insert(chain, seqs.get(index).copied());
                }
                self.durable = flying.checkpoint.or(self.durable);
            }
            Err(error) => {
                self.waiting.clear();
                self.bytes = 0;
                self.failed = Some(JournalError::Behind {
                    checkpoint: self.durable,
                    error: Box::new(error),
                });
            }
        }
    }

    /// Sends as much as fits into one batch, from the front.
    fn send(&mut self, journal: Arc<dyn Journal>) {
        let Some(first) = self.waiting.pop_front() else {
            return;
        };
        let mut bytes = first.bytes;
        let (mut batch, mut checkpoint) = (first.batch, first.checkpoint);
        while let Some(next) = self.waiting.front() {
            if bytes + next.bytes > MAX_BATCH_BYTES || batch.author != next.batch.author {
                break;
            }
            let Some(next) = self.waiting.pop_front() else {
                break;
            };
            bytes += next.bytes;
            checkpoint = next.checkpoint.or(checkpoint);
            batch.extend(next.batch);
        }
        self.bytes = self.bytes.saturating_sub(bytes);
        let mut commits: Vec<(Chain, usize)> = Vec::new();
        for (index, entry) in batch.entries.iter().enumerate() {
            if entry.place != Place::Commit {
                continue;
            }
            match commits.iter_mut().find(|(chain, _)| *chain == entry.chain) {
                Some((_, last)) => *last = index,
                None => commits.push((entry.chain.clone(), index)),
            }
        }
        let head = |chain: &Chain| self.heads.get(chain).copied().flatten();
        batch.heads = commits
            .iter()
            .map(|(chain, _)| (chain.clone(), head(chain)))
            .collect();
        let flight = async move { journal.append(batch).await };
        self.flying = Some(Flying {
            flight: flight.boxed().shared(),
            commits,
            checkpoint,
        });
    }
}
