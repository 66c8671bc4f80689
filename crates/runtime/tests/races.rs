//! Two resumes of one thread, the second just behind the first.

use std::sync::{Arc, Mutex};

use rustagents_core::{
    BoxFuture,
    digest::Digest,
    ids::ThreadId,
    journal::{
        Batch, Claim, Compaction, Epoch, Journal, JournalError, Owner, PlacedMessage, Record,
        Select, Seq, ThreadImage, ThreadQuery, ThreadRow, kind,
    },
};
use rustagents_runtime::{Status, Watch};
use rustagents_store::MemoryJournal;

use crate::bench::{Bench, DESK, approve};

/// Lets `first` happen after the thread was looked at and before it is claimed.
struct Late {
    inner: Arc<dyn Journal>,
    first: Mutex<Option<BoxFuture<'static, ()>>>,
}

impl Journal for Late {
    fn claim<'a>(
        &'a self,
        thread: &'a ThreadId,
        owner: Owner,
    ) -> BoxFuture<'a, Result<Claim, JournalError>> {
        let first = self.first.lock().unwrap().take();
        Box::pin(async move {
            if let Some(first) = first {
                first.await;
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
        self.inner.append(batch)
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

#[tokio::test]
async fn a_resume_behind_another_reopens_nothing_and_the_thread_takes_new_input() {
    let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let first = Arc::new(Bench::on(inner.clone()));
    // A run that was opened and left.
    let watch = Watch::default();
    watch.cancel.cancel();
    let program = first.program(DESK);
    first
        .runtime()
        .start(&program, first.request(), watch)
        .await
        .unwrap();

    let ahead = Arc::clone(&first);
    let to_the_end = Box::pin(async move {
        ahead.resume(DESK, vec![]).await.unwrap();
        let report = ahead
            .resume(DESK, vec![approve("c-1"), approve("c-2")])
            .await
            .unwrap();
        assert_eq!(report.status, Status::Completed);
    });
    let late = Late {
        inner,
        first: Mutex::new(Some(to_the_end)),
    };
    let second = Bench {
        world: first.world.clone(),
        ..Bench::on(Arc::new(late))
    };
    let report = second.resume(DESK, vec![]).await.unwrap();
    assert_eq!(
        (report.status, report.output.as_deref()),
        (Status::Completed, Some("goodbye"))
    );
    assert_eq!(
        first.count(kind::RUN_ATTEMPT).await,
        2,
        "the late one writes nothing"
    );
    assert_eq!(first.world.changes().len(), 2);
    first.start(DESK).await.unwrap();
    assert_eq!(
        first.count(kind::RUN_OPENED).await,
        2,
        "a new input opens a new run"
    );
}
