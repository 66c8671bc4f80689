//! Answers to a run that somebody else drives.

use std::sync::Arc;

use rustagents_core::{
    code::Coded,
    journal::{Author, JournalError, Owner, kind},
};
use rustagents_runtime::{Answered, Decision, RunError, Status, threads::check};
use rustagents_testkit::hooked::HookedJournal;

use super::{started, until};
use crate::bench::{Bench, approve};

/// A clerk who asks at once, and one whose call takes its time.
const UNEVEN: &str = r#"graph uneven {
  channel messages messages
  start left, right
  node left { kind agent  model "clerk"  prompt "Left."  tools ["pay"]  next END }
  node right { kind agent  model "dawdling"  prompt "Right."  tools ["dawdle"]  next END }
}"#;

#[tokio::test(start_paused = true)]
async fn the_driver_goes_on_with_an_answer_instead_of_waiting() {
    let bench = Arc::new(Bench::new());
    let run = started(&bench, UNEVEN, kind::ASK).await;
    let (runtime, thread) = (bench.runtime(), Bench::thread());
    let heard = runtime.answer(&thread, &[approve("c-1")]).await.unwrap();
    assert!(matches!(heard, Answered::Heard(_)), "{heard:?}");
    let report = run.await.unwrap().unwrap();
    assert_eq!(report.status, Status::Completed);
    assert_eq!(bench.world.changes().len(), 1);
    let counts = (
        bench.count(kind::RUN_SUSPENDED).await,
        bench.count(kind::RUN_ATTEMPT).await,
    );
    assert_eq!(counts, (1, 1));
    let problems = check::check(&*bench.journal, &thread).await;
    assert_eq!(problems.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn the_first_answer_counts_and_what_does_not_fit_is_refused() {
    let bench = Arc::new(Bench::new());
    let run = started(&bench, UNEVEN, kind::ASK).await;
    let (runtime, thread) = (bench.runtime(), Bench::thread());
    let wrong = Decision::Approve {
        call: "c-1".into(),
        hash: Some("ffff".into()),
    };
    for (decision, code) in [
        (wrong, "RAG0403"),
        (approve("c-9"), "RAG0402"),
        (Decision::NotDone { call: "c-1".into() }, "RAG0406"),
    ] {
        let refused = runtime.answer(&thread, &[decision]).await.unwrap_err();
        assert_eq!(refused.code().as_str(), code, "{refused}");
    }
    assert_eq!(bench.count(kind::ANSWER).await, 0);
    let deny = Decision::Deny {
        call: "c-1".into(),
        reason: None,
    };
    runtime.answer(&thread, &[deny]).await.unwrap();
    let late = runtime.answer(&thread, &[approve("c-1")]).await;
    assert_eq!(late.unwrap_err().code().as_str(), "RAG0404");
    assert_eq!(bench.count(kind::ANSWER).await, 1);
    assert_eq!(run.await.unwrap().unwrap().status, Status::Completed);
    assert_eq!(bench.world.changes().len(), 0, "it was denied");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_no_driver_looks_for_is_left_to_a_resume() {
    let bench = Arc::new(Bench::new());
    let waiting = bench.start(UNEVEN).await.unwrap();
    assert_eq!(waiting.status, Status::Suspended);
    // Somebody who holds the thread, and drives nothing.
    let thread = Bench::thread();
    let claim = bench.journal.claim(&thread, Owner::default());
    let claim = claim.await.unwrap();
    let other = Arc::clone(&bench);
    let answer = tokio::spawn(async move {
        let runtime = other.runtime();
        runtime.answer(&Bench::thread(), &[approve("c-1")]).await
    });
    until(&bench, kind::ANSWER, 1).await;
    drop(claim);
    assert_eq!(answer.await.unwrap().unwrap(), Answered::Left);
    let report = bench.resume(UNEVEN, vec![]).await.unwrap();
    assert_eq!(report.status, Status::Completed);
    assert_eq!(bench.world.changes().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_not_for_a_thread_that_was_made_again_under_the_name() {
    let bench = Bench::new();
    let waiting = bench.start(UNEVEN).await.unwrap();
    assert_eq!(waiting.asks[0].id.as_str(), "c-1");
    let thread = Bench::thread();
    let inner = Arc::clone(&bench.journal);
    let again = Arc::new(Bench::on(Arc::clone(&inner)));
    let hooked = HookedJournal::new(inner).before_append(move |batch| {
        let is_answer = batch.author == Author::Outside;
        let again = Arc::clone(&again);
        Box::pin(async move {
            if is_answer {
                let (runtime, program) = (again.live(), again.program(UNEVEN));
                runtime.delete(&Bench::thread(), true).await.unwrap();
                let start = runtime.start(&program, again.request(), again.watch());
                let waiting = start.await.unwrap();
                assert_eq!(waiting.asks[0].id.as_str(), "c-1", "the name comes back");
            }
            Ok(())
        })
    });
    let outside = Bench::on(Arc::new(hooked));
    let refused = outside.live().answer(&thread, &[approve("c-1")]).await;
    let refused = refused.unwrap_err();
    assert!(
        matches!(
            &refused,
            RunError::Journal(JournalError::QuestionGone { ask, .. }) if ask.as_str() == "c-1"
        ),
        "{refused:?}"
    );
    assert_eq!(refused.code().as_str(), "RAG0402");
    assert_eq!(bench.count(kind::ANSWER).await, 0);
    let view = bench.view().await;
    assert_ne!(view.run, waiting.run);
    assert_eq!(view.pending().count(), 1, "it still asks");
}
