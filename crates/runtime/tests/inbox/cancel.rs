//! Runs that are cancelled by who does not drive them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rustagents_core::{
    CancellationToken,
    code::Coded,
    journal::{Journal, JournalError, Owner, kind},
    recorder::Durability,
};
use rustagents_runtime::{
    Cancelling, Decision, Retry, RunError, Status, Watch, record::RunClosed, threads::check,
};
use rustagents_store::MemoryJournal;
use rustagents_testkit::hooked::HookedJournal;

use super::{HANGING, STICKING, TALK, outside, started};
use crate::bench::{Bench, DESK};

/// Long enough, on a clock that jumps.
const PATIENCE: Duration = Duration::from_secs(10);

/// A run that was opened and left, for whose end somebody asked.
async fn left(source: &str) -> Bench {
    let bench = Bench::new();
    let watch = Watch::default();
    watch.cancel.cancel();
    let program = bench.program(source);
    let runtime = bench.runtime();
    runtime
        .start(&program, bench.request(), watch)
        .await
        .unwrap();
    runtime
        .request_cancel(&Bench::thread(), None)
        .await
        .unwrap();
    bench
}

async fn cancelled(bench: &Bench) -> Result<Cancelling, RunError> {
    let thread = Bench::thread();
    let runtime = bench.runtime();
    runtime
        .cancel_within(&thread, Some("too late"), PATIENCE)
        .await
}

#[tokio::test(start_paused = true)]
async fn a_driven_run_is_closed_and_both_sides_say_so() {
    let bench = Arc::new(Bench::new());
    let run = started(&bench, HANGING, kind::CHECKPOINT).await;
    let Cancelling::Closed(told) = cancelled(&bench).await.unwrap() else {
        panic!("the driver did not heed it");
    };
    assert_eq!((told.status, told.is_closed), (Status::Cancelled, true));
    let report = run.await.unwrap().unwrap();
    assert_eq!((report.status, report.is_closed), (Status::Cancelled, true));
    assert_eq!(report.run, told.run);
    let log = bench.log().await;
    let ends = log
        .records()
        .iter()
        .filter(|record| record.is(kind::RUN_CLOSED));
    let ends: Vec<RunClosed> = ends
        .map(|record| record.decode(kind::RUN_CLOSED).unwrap())
        .collect();
    assert_eq!(ends.len(), 1);
    assert_eq!(ends[0].status, Status::Cancelled);
    let problems = check::check(&*bench.journal, &Bench::thread()).await;
    assert_eq!(problems.unwrap(), []);
    bench.start(TALK).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_asks_does_not_cancel_what_the_caller_does_beside_the_run() {
    let bench = Arc::new(Bench::new());
    let all = CancellationToken::new();
    let watch = Watch {
        cancel: all.clone(),
        ..Watch::default()
    };
    let driver = Arc::clone(&bench);
    let run = tokio::spawn(async move {
        let program = driver.program(HANGING);
        let request = driver.request();
        driver.runtime().start(&program, request, watch).await
    });
    super::until(&bench, kind::CHECKPOINT, 1).await;
    cancelled(&bench).await.unwrap();
    assert!(run.await.unwrap().unwrap().is_closed);
    assert!(!all.is_cancelled());
}

#[tokio::test]
async fn a_second_request_is_the_first_one() {
    let bench = left(DESK).await;
    let (runtime, thread) = (bench.runtime(), Bench::thread());
    let records = bench.records().await;
    let again = runtime
        .request_cancel(&thread, Some("again"))
        .await
        .unwrap();
    assert!(again.is_repeated);
    assert_eq!(again.body.reason, None, "the first one's reason");
    assert_eq!(bench.records().await, records);
}

#[tokio::test]
async fn a_run_that_is_over_cannot_be_asked_to_end() {
    let bench = Bench::new();
    bench.start(TALK).await.unwrap();
    let records = bench.records().await;
    let thread = Bench::thread();
    let refused = bench.runtime().request_cancel(&thread, None).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code().as_str(), "RAG0416");
    assert!(refused.to_string().contains("completed"), "{refused}");
    let long = "x".repeat(5_000);
    let refused = bench.runtime().request_cancel(&thread, Some(&long)).await;
    assert_eq!(refused.unwrap_err().code().as_str(), "RAG0309");
    assert_eq!(bench.records().await, records);
    let Cancelling::Closed(report) = cancelled(&bench).await.unwrap() else {
        panic!("it is over");
    };
    assert_eq!(report.status, Status::Completed);
}

#[tokio::test]
async fn a_request_that_no_driver_read_is_heeded_before_anything_runs() {
    let bench = left(DESK).await;
    assert!(bench.view().await.is_cancel_requested().unwrap());
    let report = bench.resume(DESK, vec![]).await.unwrap();
    assert_eq!((report.status, report.is_closed), (Status::Cancelled, true));
    assert_eq!(bench.count(kind::RUN_ATTEMPT).await, 0);
    assert_eq!(bench.count(kind::RESULT).await, 0);
    assert!(!bench.view().await.is_cancel_requested().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_crash_between_the_request_and_the_end_loses_neither() {
    let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let dies = HookedJournal::new(Arc::clone(&inner)).before_append(|batch| {
        let closes = |kind: rustagents_core::journal::Kind| kind == kind::RUN_CLOSED;
        let dead = batch.entries.iter().any(|entry| closes(entry.kind));
        Box::pin(async move {
            let (store, reason) = ("memory".into(), "it died".into());
            if dead {
                return Err(JournalError::Unavailable { store, reason });
            }
            Ok(())
        })
    });
    let driver = Arc::new(Bench::on(Arc::new(dies)));
    let run = started(&driver, HANGING, kind::CHECKPOINT).await;
    let bench = Bench::on(inner);
    let asked = bench.runtime();
    asked.request_cancel(&Bench::thread(), None).await.unwrap();
    run.await.unwrap().unwrap_err();
    assert_eq!(bench.count(kind::RUN_CLOSED).await, 0);
    let report = bench.resume(HANGING, vec![]).await.unwrap();
    assert_eq!((report.status, report.is_closed), (Status::Cancelled, true));
}

#[tokio::test(start_paused = true)]
async fn a_request_for_an_older_run_leaves_the_newer_one_alone() {
    let bench = Arc::new(left(HANGING).await);
    let older = bench.resume(HANGING, vec![]).await.unwrap().run;
    let run = started(&bench, HANGING, kind::RUN_OPENED).await;
    let key = format!("cancel/{older}/2");
    outside(&bench, key, kind::CANCEL, &older, r#"{"process":1}"#).await;
    tokio::time::sleep(PATIENCE).await;
    assert!(!run.is_finished(), "the newer run goes on");
    assert!(!bench.view().await.is_cancel_requested().unwrap());
    cancelled(&bench).await.unwrap();
    assert_ne!(run.await.unwrap().unwrap().run, older);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_may_have_happened_is_settled_before_the_run_ends() {
    let bench = Arc::new(Bench::new());
    let run = started(&bench, STICKING, kind::INTENT).await;
    let refused = cancelled(&bench).await.unwrap_err();
    assert_eq!(refused.code().as_str(), "RAG0412", "{refused}");
    let report = run.await.unwrap().unwrap();
    assert_eq!((report.status, report.asks.len()), (Status::Suspended, 1));
    let records = bench.records().await;
    let again = bench.resume(STICKING, vec![]).await.unwrap();
    assert_eq!((again.status, again.asks.len()), (Status::Suspended, 1));
    assert_eq!(bench.records().await, records, "nothing ran");
    let settled = Decision::NotDone { call: "c-1".into() };
    let report = bench.resume(STICKING, vec![settled]).await.unwrap();
    assert_eq!((report.status, report.is_closed), (Status::Cancelled, true));
    assert_eq!(bench.count(kind::ANSWER).await, 1);
}

#[tokio::test(start_paused = true)]
async fn what_the_driver_does_not_heed_in_time_stands() {
    let bench = Bench::new();
    bench.start(DESK).await.unwrap();
    // Somebody who drives the thread, and never looks.
    let thread = Bench::thread();
    let claim = bench.journal.claim(&thread, Owner::default());
    let claim = claim.await.unwrap();
    let Cancelling::Standing(request) = cancelled(&bench).await.unwrap() else {
        panic!("nobody closed it");
    };
    assert_eq!(request.body.reason.as_deref(), Some("too late"));
    assert!(bench.view().await.is_cancel_requested().unwrap());
    drop(claim);
    let Cancelling::Closed(report) = cancelled(&bench).await.unwrap() else {
        panic!("nobody drives it");
    };
    assert_eq!(report.status, Status::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_is_gone_is_not_waited_for() {
    let bench = Arc::new(Bench::new());
    bench.start(DESK).await.unwrap();
    let thread = Bench::thread();
    let claim = bench.journal.claim(&thread, Owner::default());
    let claim = claim.await.unwrap();
    let other = Arc::clone(&bench);
    let asked = tokio::spawn(async move { cancelled(&other).await });
    super::until(&bench, kind::CANCEL, 1).await;
    drop(claim);
    let told = asked.await.unwrap().unwrap();
    assert!(matches!(told, Cancelling::Closed(report) if report.status == Status::Cancelled));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_records_nothing_is_busy_as_ever() {
    for durability in [Durability::None, Durability::Exit] {
        let bench = Arc::new(Bench {
            durability,
            ..Bench::new()
        });
        let driver = Arc::clone(&bench);
        let run = tokio::spawn(async move { driver.start(HANGING).await });
        while bench
            .journal
            .owner(&Bench::thread())
            .await
            .unwrap()
            .is_none()
        {
            tokio::task::yield_now().await;
        }
        let refused = cancelled(&bench).await.unwrap_err();
        assert_eq!(refused.code().as_str(), "RAG0305", "{durability:?}");
        run.abort();
    }
}

#[tokio::test]
async fn a_request_from_before_the_end_does_not_touch_a_retry() {
    let broken = r#"graph broken {
  channel messages messages
  start last
  node last { kind agent  model "broken"  prompt "Talk."  next END }
}"#;
    let bench = Bench::new();
    let failed = bench.start(broken).await.unwrap();
    assert_eq!(failed.status, Status::Failed);
    // It was on its way while the run ended.
    let key = format!("cancel/{}/1", failed.run);
    outside(&bench, key, kind::CANCEL, &failed.run, r#"{"process":1}"#).await;
    let retry = Retry {
        thread: Bench::thread(),
        limits: bench.limits,
    };
    let program = bench.program(TALK);
    let runtime = bench.runtime();
    let report = runtime.retry(&program, retry, Watch::default()).await;
    assert_eq!(report.unwrap().status, Status::Completed);
}

/// How often the journal is read for a run of so many agents, one after the other.
async fn reads(agents: usize) -> usize {
    use std::fmt::Write;
    let mut source = String::from("graph g {\n  channel messages messages\n  start n1\n");
    for agent in 1..=agents {
        let next = if agent == agents {
            "END".to_owned()
        } else {
            format!("n{}", agent + 1)
        };
        writeln!(
            source,
            "node n{agent} {{ kind agent  model \"last\"  prompt \"Talk.\"  next {next} }}"
        )
        .unwrap();
    }
    source.push('}');
    let reads = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&reads);
    let journal = HookedJournal::new(Arc::new(MemoryJournal::new())).before_read(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(()) })
    });
    let bench = Bench::on(Arc::new(journal));
    bench.start(&source).await.unwrap();
    reads.load(Ordering::SeqCst)
}

#[tokio::test(start_paused = true)]
async fn listening_costs_no_read_for_any_step() {
    assert_eq!(reads(1).await, reads(12).await);
}
