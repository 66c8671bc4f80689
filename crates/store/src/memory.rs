//! A journal that lives as long as its process: for tests, and for runs that
//! need no durability.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures::{FutureExt, future::ready};
use rustagents_core::{
    BoxFuture,
    digest::Digest,
    ids::ThreadId,
    journal::{
        Batch, Claim, Compaction, Content, Epoch, Family, Journal, JournalError, Owner,
        PlacedMessage, Record, Select, Seq, ThreadImage, ThreadQuery, ThreadRow,
    },
};
use tokio::sync::Notify;

use crate::thread::Thread;

/// The in-memory journal. Clones share their threads.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    threads: Mutex<Threads>,
    written: Notify,
    /// How many wait for a write.
    watchers: AtomicUsize,
}

#[derive(Debug, Default)]
struct Threads {
    held: BTreeMap<ThreadId, Held>,
    /// The contents of each family, which is named by a number.
    contents: BTreeMap<u64, BTreeMap<Digest, Vec<u8>>>,
    families: u64,
    /// The highest epoch of a thread that was removed.
    floor: Epoch,
}

#[derive(Debug)]
struct Held {
    thread: Thread,
    family: u64,
    /// Who drives it, since which epoch.
    owner: Option<(Epoch, Owner)>,
}

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> Self {
        Self::default()
    }

    fn threads(&self) -> MutexGuard<'_, Threads> {
        self.0
            .threads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells those who wait. Who began to wait before the write is counted here,
    /// since both looked at the threads.
    fn tell(&self) {
        if self.0.watchers.load(Ordering::SeqCst) > 0 {
            self.0.written.notify_waiters();
        }
    }

    fn claim_now(
        &self,
        id: &ThreadId,
        owner: Owner,
        displaces: bool,
    ) -> Result<Claim, JournalError> {
        let mut threads = self.threads();
        let floor = threads.floor;
        if !threads.held.contains_key(id) {
            threads.add(id.clone(), Thread::at(floor), None);
        }
        let held = threads.get_mut(id)?;
        if let (Some((_, owner)), false) = (&held.owner, displaces) {
            return Err(JournalError::Busy {
                thread: id.clone(),
                owner: owner.clone(),
            });
        }
        let epoch = held.thread.epoch + 1;
        held.thread.claimed(epoch, owner.since_ms);
        held.owner = Some((epoch, owner));
        let guard = Guard {
            journal: self.clone(),
            thread: id.clone(),
            epoch,
        };
        Ok(Claim::new(epoch, guard))
    }

    fn append_now(&self, mut batch: Batch) -> Result<Vec<Seq>, JournalError> {
        batch.check()?;
        let mut threads = self.threads();
        let held = threads.get_mut(&batch.thread)?;
        held.thread.check(&batch)?;
        let (family, contents) = (held.family, std::mem::take(&mut batch.contents));
        let seqs = held.thread.write(batch);
        threads.store(family, contents);
        drop(threads);
        self.tell();
        Ok(seqs)
    }

    fn compact_now(&self, mut compaction: Compaction) -> Result<Vec<Seq>, JournalError> {
        let batch = &mut compaction.batch;
        batch.check()?;
        let mut threads = self.threads();
        let held = threads.get_mut(&batch.thread)?;
        held.thread.check(batch)?;
        let family = held.family;
        let mut thread = held.thread.clone();
        let contents = std::mem::take(&mut batch.contents);
        let seqs = thread.write(batch.clone());
        thread.compact(&compaction)?;
        held.thread = thread;
        threads.store(family, contents);
        threads.collect(family)?;
        drop(threads);
        self.tell();
        Ok(seqs)
    }

    fn copy_now(
        &self,
        from: &ThreadId,
        to: &ThreadId,
        upto: Option<Seq>,
    ) -> Result<(), JournalError> {
        let mut threads = self.threads();
        let held = threads.get_mut(from)?;
        let (mut copy, family) = (held.thread.copy(upto)?, held.family);
        threads.free(to)?;
        copy.rise_above(threads.floor);
        threads.add(to.clone(), copy, Some(family));
        Ok(())
    }

    fn install_now(&self, mut image: ThreadImage) -> Result<(), JournalError> {
        image.check()?;
        let (name, contents) = (image.thread.clone(), std::mem::take(&mut image.contents));
        let mut threads = self.threads();
        threads.free(&name)?;
        let family = image.family.take();
        let family = family.map(|family| threads.join(&family)).transpose()?;
        let mut thread = Thread::of(image)?;
        thread.rise_above(threads.floor);
        let family = threads.add(name, thread, family);
        threads.store(family, contents);
        Ok(())
    }

    fn remove_now(&self, name: &ThreadId, epoch: Epoch) -> Result<(), JournalError> {
        let mut threads = self.threads();
        threads.get_mut(name)?.thread.check_epoch(name, epoch)?;
        let removed = threads.held.remove(name);
        threads.floor = threads.floor.max(epoch);
        removed.map_or(Ok(()), |held| threads.collect(held.family))
    }
}

impl Threads {
    fn get_mut(&mut self, thread: &ThreadId) -> Result<&mut Held, JournalError> {
        self.held
            .get_mut(thread)
            .ok_or_else(|| JournalError::UnknownThread {
                thread: thread.clone(),
            })
    }

    fn free(&self, thread: &ThreadId) -> Result<(), JournalError> {
        if self.held.contains_key(thread) {
            return Err(JournalError::ThreadExists {
                thread: thread.clone(),
            });
        }
        Ok(())
    }

    /// The family that an image joins, if it has all that is to be shared.
    fn join(&self, family: &Family) -> Result<u64, JournalError> {
        let held = self.held.get(&family.of);
        let held = held.ok_or_else(|| JournalError::UnknownThread {
            thread: family.of.clone(),
        })?;
        let stored = self.contents.get(&held.family);
        let has = |digest| stored.is_some_and(|stored| stored.contains_key(digest));
        match family.shared.iter().find(|digest| !has(digest)) {
            None => Ok(held.family),
            Some(digest) => Err(JournalError::ContentGone {
                thread: family.of.clone(),
                digest: *digest,
            }),
        }
    }

    /// Adds a thread, to `family` or to a new one.
    fn add(&mut self, name: ThreadId, thread: Thread, family: Option<u64>) -> u64 {
        let family = family.unwrap_or_else(|| {
            self.families += 1;
            self.families
        });
        let held = Held {
            thread,
            family,
            owner: None,
        };
        self.held.insert(name, held);
        family
    }

    fn store(&mut self, family: u64, contents: Vec<Content>) {
        if contents.is_empty() {
            return;
        }
        let stored = self.contents.entry(family).or_default();
        for content in contents {
            stored.entry(content.digest).or_insert(content.bytes);
        }
    }

    /// Removes the contents that no thread of the family mentions.
    fn collect(&mut self, family: u64) -> Result<(), JournalError> {
        let mut mentioned = BTreeSet::new();
        for held in self.held.values().filter(|held| held.family == family) {
            held.thread.mentioned(&mut mentioned)?;
        }
        if let Some(stored) = self.contents.get_mut(&family) {
            stored.retain(|digest, _| mentioned.contains(digest));
        }
        Ok(())
    }
}

/// Somebody who waits for a write.
struct Watcher<'a>(&'a AtomicUsize);

impl<'a> Watcher<'a> {
    fn of(watchers: &'a AtomicUsize) -> Self {
        watchers.fetch_add(1, Ordering::SeqCst);
        Self(watchers)
    }
}

impl Drop for Watcher<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Lets the thread go when the claim is dropped.
struct Guard {
    journal: MemoryJournal,
    thread: ThreadId,
    epoch: Epoch,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut threads = self.journal.threads();
        if let Some(held) = threads.held.get_mut(&self.thread) {
            // Who was displaced lets nothing go.
            held.owner.take_if(|(epoch, _)| *epoch == self.epoch);
        }
    }
}

impl Journal for MemoryJournal {
    fn claim<'a>(
        &'a self,
        thread: &'a ThreadId,
        owner: Owner,
    ) -> BoxFuture<'a, Result<Claim, JournalError>> {
        async move { self.claim_now(thread, owner, false) }.boxed()
    }

    fn take_over<'a>(
        &'a self,
        thread: &'a ThreadId,
        owner: Owner,
    ) -> BoxFuture<'a, Result<Claim, JournalError>> {
        async move { self.claim_now(thread, owner, true) }.boxed()
    }

    fn owner<'a>(
        &'a self,
        thread: &'a ThreadId,
    ) -> BoxFuture<'a, Result<Option<Owner>, JournalError>> {
        async move {
            let threads = self.threads();
            let held = threads.held.get(thread);
            let owner = held.and_then(|held| held.owner.as_ref());
            Ok(owner.map(|(_, owner)| owner.clone()))
        }
        .boxed()
    }

    fn append(&self, batch: Batch) -> BoxFuture<'_, Result<Vec<Seq>, JournalError>> {
        // At once: a future that held the batch would cost more than the write.
        ready(self.append_now(batch)).boxed()
    }

    fn read<'a>(
        &'a self,
        thread: &'a ThreadId,
        select: Select,
    ) -> BoxFuture<'a, Result<Vec<Record>, JournalError>> {
        async move {
            let threads = self.threads();
            let held = threads.held.get(thread);
            Ok(held.map_or_else(Vec::new, |held| held.thread.select(&select)))
        }
        .boxed()
    }

    fn changed<'a>(
        &'a self,
        thread: &'a ThreadId,
        after: Seq,
    ) -> BoxFuture<'a, Result<Seq, JournalError>> {
        async move {
            let _watcher = Watcher::of(&self.0.watchers);
            loop {
                let mut written = std::pin::pin!(self.0.written.notified());
                // From here on no write is missed.
                written.as_mut().enable();
                let last = {
                    let threads = self.threads();
                    let held = threads.held.get(thread);
                    held.map_or(0, |held| held.thread.last_seq())
                };
                if last > after {
                    return Ok(last);
                }
                written.await;
            }
        }
        .boxed()
    }

    fn messages<'a>(
        &'a self,
        thread: &'a ThreadId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<PlacedMessage>, JournalError>> {
        async move {
            let threads = self.threads();
            let held = threads.held.get(thread);
            Ok(held.map_or_else(Vec::new, |held| held.thread.messages(after, limit).to_vec()))
        }
        .boxed()
    }

    fn threads(&self, query: ThreadQuery) -> BoxFuture<'_, Result<Vec<ThreadRow>, JournalError>> {
        async move {
            let threads = self.threads();
            let rows = threads.held.iter();
            let rows = rows.map(|(name, held)| held.thread.row(name));
            let matching = rows.filter(|row| query.matches(row));
            Ok(matching.take(query.limit).collect())
        }
        .boxed()
    }

    fn content<'a>(
        &'a self,
        thread: &'a ThreadId,
        digest: Digest,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, JournalError>> {
        async move {
            let threads = self.threads();
            let family = threads.held.get(thread).map(|held| held.family);
            let contents = family.and_then(|family| threads.contents.get(&family));
            Ok(contents.and_then(|contents| contents.get(&digest).cloned()))
        }
        .boxed()
    }

    fn copy<'a>(
        &'a self,
        from: &'a ThreadId,
        to: &'a ThreadId,
        upto: Option<Seq>,
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        async move { self.copy_now(from, to, upto) }.boxed()
    }

    fn install(&self, image: ThreadImage) -> BoxFuture<'_, Result<(), JournalError>> {
        async move { self.install_now(image) }.boxed()
    }

    fn compact(&self, compaction: Compaction) -> BoxFuture<'_, Result<Vec<Seq>, JournalError>> {
        async move { self.compact_now(compaction) }.boxed()
    }

    fn remove<'a>(
        &'a self,
        thread: &'a ThreadId,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        async move { self.remove_now(thread, epoch) }.boxed()
    }
}
