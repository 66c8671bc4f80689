//! Two resumes of one thread, the second just behind the first.

use std::sync::{Arc, Mutex};

use rustagents_core::{
    BoxFuture,
    journal::{Journal, kind},
};
use rustagents_runtime::{Status, Watch};
use rustagents_store::MemoryJournal;
use rustagents_testkit::hooked::HookedJournal;

use crate::bench::{Bench, DESK, approve};

/// Lets `first` happen after the thread was looked at and before it is claimed.
pub(crate) fn late(inner: Arc<dyn Journal>, first: BoxFuture<'static, ()>) -> HookedJournal {
    let first = Mutex::new(Some(first));
    HookedJournal::new(inner).before_claim(move |_| {
        let first = first.lock().unwrap().take();
        Box::pin(async move {
            if let Some(first) = first {
                first.await;
            }
            Ok(())
        })
    })
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
    let late = late(inner, to_the_end);
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
