//! A journal with something in the way, to put a test's own timing into it.

use std::sync::Arc;

use rustagents_core::{
    BoxFuture,
    digest::Digest,
    ids::ThreadId,
    journal::{
        Batch, Claim, Compaction, Epoch, Journal, JournalError, Owner, PlacedMessage, Record,
        Select, Seq, ThreadImage, ThreadQuery, ThreadRow,
    },
};

type Hook<T> = Box<dyn Fn(&T) -> BoxFuture<'static, Result<(), JournalError>> + Send + Sync>;

/// A journal that waits for a hook before a claim, an append, a copy, an installed
/// thread, or a look at records; an error of the hook is the journal's.
pub struct HookedJournal {
    inner: Arc<dyn Journal>,
    before_claim: Option<Hook<ThreadId>>,
    before_append: Option<Hook<Batch>>,
    before_copy: Option<Hook<ThreadId>>,
    before_install: Option<Hook<ThreadId>>,
    before_read: Option<Hook<ThreadId>>,
}

impl std::fmt::Debug for HookedJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookedJournal").finish_non_exhaustive()
    }
}

impl HookedJournal {
    /// `inner`, with nothing in its way yet.
    pub fn new(inner: Arc<dyn Journal>) -> Self {
        Self {
            inner,
            before_claim: None,
            before_append: None,
            before_copy: None,
            before_install: None,
            before_read: None,
        }
    }

    /// Waits for `hook` before each claim.
    #[must_use]
    pub fn before_claim(
        mut self,
        hook: impl Fn(&ThreadId) -> BoxFuture<'static, Result<(), JournalError>> + Send + Sync + 'static,
    ) -> Self {
        self.before_claim = Some(Box::new(hook));
        self
    }

    /// Waits for `hook` before each append.
    #[must_use]
    pub fn before_append(
        mut self,
        hook: impl Fn(&Batch) -> BoxFuture<'static, Result<(), JournalError>> + Send + Sync + 'static,
    ) -> Self {
        self.before_append = Some(Box::new(hook));
        self
    }
}

impl HookedJournal {
    /// Waits for `hook` before each copy; it is given the source.
    #[must_use]
    pub fn before_copy(
        mut self,
        hook: impl Fn(&ThreadId) -> BoxFuture<'static, Result<(), JournalError>> + Send + Sync + 'static,
    ) -> Self {
        self.before_copy = Some(Box::new(hook));
        self
    }

    /// Waits for `hook` before each thread that is installed; it is given its name.
    #[must_use]
    pub fn before_install(
        mut self,
        hook: impl Fn(&ThreadId) -> BoxFuture<'static, Result<(), JournalError>> + Send + Sync + 'static,
    ) -> Self {
        self.before_install = Some(Box::new(hook));
        self
    }

    /// Waits for `hook` before each look at a thread's records.
    #[must_use]
    pub fn before_read(
        mut self,
        hook: impl Fn(&ThreadId) -> BoxFuture<'static, Result<(), JournalError>> + Send + Sync + 'static,
    ) -> Self {
        self.before_read = Some(Box::new(hook));
        self
    }
}

impl Journal for HookedJournal {
    fn claim<'a>(
        &'a self,
        thread: &'a ThreadId,
        owner: Owner,
    ) -> BoxFuture<'a, Result<Claim, JournalError>> {
        Box::pin(async move {
            if let Some(hook) = &self.before_claim {
                hook(thread).await?;
            }
            self.inner.claim(thread, owner).await
        })
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
            if let Some(hook) = &self.before_append {
                hook(&batch).await?;
            }
            self.inner.append(batch).await
        })
    }

    fn read<'a>(
        &'a self,
        thread: &'a ThreadId,
        select: Select,
    ) -> BoxFuture<'a, Result<Vec<Record>, JournalError>> {
        Box::pin(async move {
            if let Some(hook) = &self.before_read {
                hook(thread).await?;
            }
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
        Box::pin(async move {
            if let Some(hook) = &self.before_copy {
                hook(from).await?;
            }
            self.inner.copy(from, to, upto).await
        })
    }

    fn install(&self, image: ThreadImage) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(async move {
            if let Some(hook) = &self.before_install {
                hook(&image.thread).await?;
            }
            self.inner.install(image).await
        })
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
