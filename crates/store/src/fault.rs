//! A journal that dies at a chosen write: for crash tests by enumeration.
//!
//! Compiled only with debug assertions.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use futures::FutureExt;
use rustagents_core::{
    BoxFuture,
    digest::Digest,
    ids::ThreadId,
    journal::{
        Batch, Claim, Compaction, Epoch, Journal, JournalError, Owner, PlacedMessage, Record,
        Select, Seq, ThreadImage, ThreadQuery, ThreadRow,
    },
};

/// On which side of a write's durability point the fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Nothing of the write is durable.
    Before,
    /// The write is durable, and nobody was told.
    After,
}

/// Where the fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultPoint {
    /// Which durable write, from 1; each call that writes counts.
    pub write: u64,
    /// On which side of it.
    pub side: Side,
}

impl FaultPoint {
    /// Reads `before:N` or `after:N`.
    pub fn parse(text: &str) -> Option<Self> {
        let (side, write) = text.split_once(':')?;
        let side = match side {
            "before" => Side::Before,
            "after" => Side::After,
            _ => return None,
        };
        write.parse().ok().map(|write| Self { write, side })
    }
}

/// A journal that strikes at a [`FaultPoint`] and is dead ever after.
pub struct FaultJournal {
    inner: Arc<dyn Journal>,
    point: FaultPoint,
    strike: Box<dyn Fn() + Send + Sync>,
    writes: AtomicU64,
    dead: AtomicBool,
}

impl std::fmt::Debug for FaultJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultJournal")
            .field("point", &self.point)
            .finish_non_exhaustive()
    }
}

impl FaultJournal {
    /// Wraps `inner`. `strike` may end the process; if it returns, each later
    /// call fails, as for a process that is gone.
    pub fn new(
        inner: Arc<dyn Journal>,
        point: FaultPoint,
        strike: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let (writes, dead) = (AtomicU64::new(0), AtomicBool::new(false));
        Self {
            inner,
            point,
            strike: Box::new(strike),
            writes,
            dead,
        }
    }

    /// How many durable writes were begun.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::SeqCst)
    }

    /// Whether the fault struck.
    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    fn alive(&self) -> Result<(), JournalError> {
        if self.is_dead() {
            return Err(JournalError::Unavailable {
                store: "fault".into(),
                reason: format!("struck at write {}", self.point.write),
            });
        }
        Ok(())
    }

    /// Performs `work`, which has not begun before.
    async fn write<'a, T>(
        &self,
        work: impl FnOnce() -> BoxFuture<'a, Result<T, JournalError>>,
    ) -> Result<T, JournalError> {
        self.alive()?;
        let number = self.writes.fetch_add(1, Ordering::SeqCst) + 1;
        let struck = number == self.point.write;
        if struck && self.point.side == Side::Before {
            self.strike_now();
        }
        self.alive()?;
        let result = work().await;
        if struck {
            self.strike_now();
        }
        self.alive()?;
        result
    }

    fn strike_now(&self) {
        self.dead.store(true, Ordering::SeqCst);
        (self.strike)();
    }
}

impl Journal for FaultJournal {
    fn claim<'a>(
        &'a self,
        thread: &'a ThreadId,
        owner: Owner,
    ) -> BoxFuture<'a, Result<Claim, JournalError>> {
        self.write(move || self.inner.claim(thread, owner)).boxed()
    }

    fn take_over<'a>(
        &'a self,
        thread: &'a ThreadId,
        owner: Owner,
    ) -> BoxFuture<'a, Result<Claim, JournalError>> {
        self.write(move || self.inner.take_over(thread, owner))
            .boxed()
    }

    fn owner<'a>(
        &'a self,
        thread: &'a ThreadId,
    ) -> BoxFuture<'a, Result<Option<Owner>, JournalError>> {
        self.inner.owner(thread)
    }

    fn append(&self, batch: Batch) -> BoxFuture<'_, Result<Vec<Seq>, JournalError>> {
        self.write(move || self.inner.append(batch)).boxed()
    }

    fn read<'a>(
        &'a self,
        thread: &'a ThreadId,
        select: Select,
    ) -> BoxFuture<'a, Result<Vec<Record>, JournalError>> {
        self.inner.read(thread, select)
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
        self.write(move || self.inner.copy(from, to, upto)).boxed()
    }

    fn install(&self, image: ThreadImage) -> BoxFuture<'_, Result<(), JournalError>> {
        self.write(move || self.inner.install(image)).boxed()
    }

    fn compact(&self, compaction: Compaction) -> BoxFuture<'_, Result<Vec<Seq>, JournalError>> {
        self.write(move || self.inner.compact(compaction)).boxed()
    }

    fn remove<'a>(
        &'a self,
        thread: &'a ThreadId,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        self.write(move || self.inner.remove(thread, epoch)).boxed()
    }
}
