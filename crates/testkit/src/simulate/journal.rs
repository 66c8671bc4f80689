//! A journal that takes its time, and dies at a chosen append.

use std::{
    fmt,
    future::pending,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use rustagents_core::{
    BoxFuture,
    clock::Clock,
    digest::Digest,
    ids::ThreadId,
    journal::{
        Batch, Claim, Compaction, Epoch, Journal, JournalError, Owner, PlacedMessage, Record,
        Select, Seq, ThreadImage, ThreadQuery, ThreadRow,
    },
};
use tokio::sync::Notify;

use super::{Dice, VirtualClock};

/// How a journal dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// With its process: no call ends any more. Whoever runs the process drops it
    /// when [`StormyJournal::died`] ends.
    WithItsProcess,
    /// Alone: its process goes on, and each call fails.
    Alone,
}

/// What is in the way of one process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Storm {
    /// At which append it dies, from 1, whether that append is durable then, and how.
    pub strike: Option<(u64, bool, Death)>,
    /// How many milliseconds an append may take, on either side of its durability.
    pub latency_ms: u64,
}

/// Hears of each batch that is durable.
type Durable = Box<dyn Fn(&Batch) + Send + Sync>;

/// One process's way to a journal that outlives it.
pub struct StormyJournal {
    inner: Arc<dyn Journal>,
    storm: Storm,
    clock: VirtualClock,
    dice: Mutex<Dice>,
    durable: Durable,
    appends: AtomicU64,
    dead: AtomicBool,
    died: Notify,
}

impl fmt::Debug for StormyJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StormyJournal")
            .field("storm", &self.storm)
            .finish_non_exhaustive()
    }
}

impl StormyJournal {
    /// A way to `inner`; `durable` hears of each batch as soon as it is durable.
    pub fn new(
        inner: Arc<dyn Journal>,
        storm: Storm,
        clock: VirtualClock,
        dice: Dice,
        durable: impl Fn(&Batch) + Send + Sync + 'static,
    ) -> Self {
        Self {
            inner,
            storm,
            clock,
            dice: Mutex::new(dice),
            durable: Box::new(durable),
            appends: AtomicU64::new(0),
            dead: AtomicBool::new(false),
            died: Notify::new(),
        }
    }

    /// How many appends were begun.
    pub fn appends(&self) -> u64 {
        self.appends.load(Ordering::SeqCst)
    }

    /// Whether it died.
    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    /// Whether it died, and its process with it: whatever the process still does,
    /// it did not do.
    pub fn is_gone(&self) -> bool {
        self.death() == Some(Death::WithItsProcess)
    }

    /// Ends when it died with its process.
    pub async fn died(&self) {
        let died = self.died.notified();
        if !self.is_gone() {
            died.await;
        }
    }

    fn death(&self) -> Option<Death> {
        self.is_dead()
            .then(|| self.storm.strike.map(|(.., how)| how))?
    }

    fn die(&self, how: Death) {
        self.dead.store(true, Ordering::SeqCst);
        if how == Death::WithItsProcess {
            self.died.notify_waiters();
        }
    }

    async fn alive(&self) -> Result<(), JournalError> {
        match self.death() {
            None => Ok(()),
            Some(Death::WithItsProcess) => pending().await,
            Some(Death::Alone) => Err(JournalError::Unavailable {
                store: "storm".into(),
                reason: "struck".into(),
            }),
        }
    }

    /// Takes some time, or none.
    async fn dawdle(&self) {
        let ms = {
            let mut dice = self.dice.lock().unwrap_or_else(PoisonError::into_inner);
            dice.below(self.storm.latency_ms + 1)
        };
        if ms > 0 {
            self.clock.sleep(Duration::from_millis(ms)).await;
        }
    }

    /// Strikes, if it is this append's turn on this side of its durability.
    async fn strike(&self, number: u64, is_durable: bool) -> Result<(), JournalError> {
        if let Some((at, after, how)) = self.storm.strike
            && (at, after) == (number, is_durable)
        {
            self.die(how);
        }
        self.alive().await
    }
}

impl Journal for StormyJournal {
    fn claim<'a>(
        &'a self,
        thread: &'a ThreadId,
        owner: Owner,
    ) -> BoxFuture<'a, Result<Claim, JournalError>> {
        self.inner.claim(thread, owner)
    }

    fn take_over<'a>(
        &'a self,
        thread: &'a ThreadId,
        owner: Owner,
    ) -> BoxFuture<'a, Result<Claim, JournalError>> {
        self.inner.take_over(thread, owner)
    }

    fn owner<'a>(
        &'a self,
        thread: &'a ThreadId,
    ) -> BoxFuture<'a, Result<Option<Owner>, JournalError>> {
        self.inner.owner(thread)
    }

    fn append(&self, batch: Batch) -> BoxFuture<'_, Result<Vec<Seq>, JournalError>> {
        Box::pin(async move {
            let number = self.appends.fetch_add(1, Ordering::SeqCst) + 1;
            self.alive().await?;
            self.dawdle().await;
            self.strike(number, false).await?;
            let seqs = self.inner.append(batch.clone()).await?;
            (self.durable)(&batch);
            self.strike(number, true).await?;
            self.dawdle().await;
            self.alive().await?;
            Ok(seqs)
        })
    }

    fn read<'a>(
        &'a self,
        thread: &'a ThreadId,
        select: Select,
    ) -> BoxFuture<'a, Result<Vec<Record>, JournalError>> {
        Box::pin(async move {
            self.alive().await?;
            self.inner.read(thread, select).await
        })
    }

    fn changed<'a>(
        &'a self,
        thread: &'a ThreadId,
        after: Seq,
    ) -> BoxFuture<'a, Result<Seq, JournalError>> {
        self.inner.changed(thread, after)
    }

    fn messages<'a>(
        &'a self,
        thread: &'a ThreadId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<PlacedMessage>, JournalError>> {
        self.inner.messages(thread, after, limit)
    }

    fn threads(&self, query: ThreadQuery) -> BoxFuture<'_, Result<Vec<ThreadRow>, JournalError>> {
        self.inner.threads(query)
    }

    fn content<'a>(
        &'a self,
        thread: &'a ThreadId,
        digest: Digest,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, JournalError>> {
        self.inner.content(thread, digest)
    }

    fn copy<'a>(
        &'a self,
        from: &'a ThreadId,
        to: &'a ThreadId,
        upto: Option<Seq>,
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        self.inner.copy(from, to, upto)
    }

    fn install(&self, image: ThreadImage) -> BoxFuture<'_, Result<(), JournalError>> {
        self.inner.install(image)
    }

    fn compact(&self, compaction: Compaction) -> BoxFuture<'_, Result<Vec<Seq>, JournalError>> {
        self.inner.compact(compaction)
    }

    fn remove<'a>(
        &'a self,
        thread: &'a ThreadId,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        self.inner.remove(thread, epoch)
    }
}
