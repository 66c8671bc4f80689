use rustagents_core::{
    code::Coded,
    journal::{Owner, kind},
};
use rustagents_runtime::{
    Report, Retry, RunError, Status, ThreadView, Watch,
    record::RunAttempt,
    threads::{Fork, Keep, fork},
    view::Phase,
};
use serde_json::json;

use crate::{
    bench::{Bench, DESK, approve},
    threads::{NOTHING, name},
};

/// One node that is done, and one whose model fails; then a last word.
pub(crate) const HALF: &str = r#"graph mixed {
  channel messages messages
  channel note overwrite
  channel list append
  start left, right
  node left { kind agent  model "last"  prompt "Left."  next last }
  node right { kind agent  model "broken"  prompt "Right."  next last }
  node last { kind agent  model "last"  prompt "Last."  next END }
}"#;

/// The same, mended.
pub(crate) const MENDED: &str = r#"graph mixed {
  channel messages messages
  channel note overwrite
  channel list append
  start left, right
  node left { kind agent  model "last"  prompt "Left."  next last }
  node right { kind agent  model "last"  prompt "Right."  next last }
  node last { kind agent  model "last"  prompt "Last."  next END }
}"#;

/// A clerk who pays, and then fails.
const STUMBLING: &str = r#"graph g {
  channel messages messages
  start left
  node left { kind agent  model "stumbling"  prompt "Left."  tools ["pay"]  next END }
}"#;

impl Bench {
    async fn retry(&self, source: &str) -> Result<Report, RunError> {
        let retry = Retry {
            thread: Bench::thread(),
            limits: self.limits,
        };
        let runtime = self.live();
        runtime
            .retry(&self.program(source), retry, self.watch())
            .await
    }
}

#[tokio::test]
async fn the_failed_node_runs_again_and_its_finished_sibling_does_not() {
    let bench = Bench::new();
    let failed = bench.say("t", HALF, json!(1)).await;
    assert_eq!(failed.status, Status::Failed);
    let writes = bench.count(kind::TASK_WRITE).await;
    assert_eq!(writes, 1, "the left one is done");
    let before = bench.all("t").await;
    let report = bench.retry(MENDED).await.unwrap();
    assert_eq!((report.status, report.steps), (Status::Completed, 2));
    assert_eq!(report.run, failed.run);
    assert_eq!(
        report.spent.model_calls,
        failed.spent.model_calls + 2,
        "right and last were asked, left was not"
    );
    let all = bench.all("t").await;
    assert_eq!(all[..before.len()], before[..]);
    let attempt = all
        .iter()
        .find(|record| record.is(kind::RUN_ATTEMPT))
        .unwrap();
    let body: RunAttempt = attempt.decode(kind::RUN_ATTEMPT).unwrap();
    assert_eq!((body.attempt, body.retries, body.limits), (2, true, None));
    bench.is_whole("t").await;
    let again = bench.resume(MENDED, vec![]).await.unwrap();
    assert_eq!(again.status, Status::Completed);
}

#[tokio::test]
async fn what_fails_again_is_closed_again_and_can_be_retried_again() {
    let bench = Bench::new();
    bench.say("t", HALF, json!(1)).await;
    for attempt in 2..=4 {
        let report = bench.retry(HALF).await.unwrap();
        assert_eq!(report.status, Status::Failed, "attempt {attempt}");
        assert_eq!(bench.view().await.attempts, attempt);
    }
    assert_eq!(bench.retry(MENDED).await.unwrap().status, Status::Completed);
    bench.is_whole("t").await;
}

#[tokio::test]
async fn an_agent_keeps_its_messages_and_asks_its_model_once_more() {
    let bench = Bench::new();
    bench.start(STUMBLING).await.unwrap();
    let failed = bench.resume(STUMBLING, vec![approve("c-1")]).await.unwrap();
    assert_eq!(failed.status, Status::Failed);
    assert_eq!(bench.world.changes().len(), 1);
    let again = bench.retry(STUMBLING).await.unwrap();
    assert_eq!(
        again.status,
        Status::Failed,
        "the model was asked, and failed again"
    );
    assert_eq!(again.spent.model_calls, failed.spent.model_calls + 1);
    let mended = STUMBLING.replace("stumbling", "clerk");
    let end = bench.retry(&mended).await.unwrap();
    assert_eq!(
        (end.status, end.output.as_deref()),
        (Status::Completed, Some("paid"))
    );
    assert_eq!(bench.world.changes().len(), 1, "it paid once");
    bench.is_whole("t").await;
}

#[tokio::test]
async fn a_crash_in_a_retry_does_not_bring_the_old_failure_back() {
    let bench = Bench::new();
    bench.say("t", HALF, json!(1)).await;
    let watch = Watch::default();
    watch.cancel.cancel();
    let retry = Retry {
        thread: name("t"),
        limits: bench.limits,
    };
    let program = bench.program(MENDED);
    let stopped = bench.live().retry(&program, retry, watch).await.unwrap();
    assert_eq!(
        (stopped.status, stopped.is_closed),
        (Status::Cancelled, false)
    );
    assert_eq!(bench.view().await.phase, Phase::Open);
    let error = bench.retry(MENDED).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0408", "it is open already");
    let report = bench.resume(MENDED, vec![]).await.unwrap();
    assert_eq!(report.status, Status::Completed);
}

#[tokio::test]
async fn an_old_question_is_void_until_the_run_waits_for_it_again() {
    // The left one asks for its payment while the right one fails.
    let source = r#"graph g {
  channel messages messages
  start left, right
  node left { kind agent  model "clerk"  prompt "Left."  tools ["pay"]  next last }
  node right { kind agent  model "broken"  prompt "Right."  next last }
  node last { kind agent  model "last"  prompt "Last."  next END }
}"#;
    let mended = source.replace("broken", "last");
    let bench = Bench::new();
    let failed = bench.start(source).await.unwrap();
    assert_eq!(failed.status, Status::Failed);
    assert_eq!(bench.count(kind::ASK).await, 1);
    assert_eq!(bench.view().await.pending().count(), 0);
    let stopped = Watch::default();
    stopped.cancel.cancel();
    let retry = Retry {
        thread: Bench::thread(),
        limits: bench.limits,
    };
    let program = bench.program(&mended);
    bench.live().retry(&program, retry, stopped).await.unwrap();
    let error = bench
        .resume(&mended, vec![approve("c-1")])
        .await
        .unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0402", "nobody waits for it yet");
    let waits = bench.resume(&mended, vec![]).await.unwrap();
    assert_eq!((waits.status, waits.asks.len()), (Status::Suspended, 1));
    assert_eq!(bench.view().await.pending().count(), 1);
    let end = bench.resume(&mended, vec![approve("c-1")]).await.unwrap();
    assert_eq!(end.status, Status::Completed);
    assert_eq!(bench.world.changes().len(), 1);
    bench.is_whole("t").await;
}

#[tokio::test]
async fn a_budget_counts_on_and_a_higher_limit_goes_on() {
    let mut bench = Bench::new();
    bench.limits.model_calls = 3;
    bench.start(DESK).await.unwrap();
    let answers = vec![approve("c-1"), approve("c-2")];
    let stopped = bench.resume(DESK, answers).await.unwrap();
    assert_eq!(stopped.status, Status::BudgetExceeded);
    let same = bench.retry(DESK).await.unwrap();
    assert_eq!(same.status, Status::BudgetExceeded, "nothing is left of it");
    assert_eq!(same.spent.model_calls, 3);
    bench.limits.model_calls = 5;
    let end = bench.retry(DESK).await.unwrap();
    assert_eq!((end.status, end.spent.model_calls), (Status::Completed, 5));
    assert_eq!(bench.view().await.limits.model_calls, 5);
    assert_eq!(bench.world.changes().len(), 2);
}

#[tokio::test]
async fn a_limit_of_steps_that_still_holds_refuses_and_writes_nothing() {
    let mut bench = Bench::new();
    bench.limits.steps = 1;
    bench.start(MENDED).await.unwrap();
    let records = bench.records().await;
    let error = bench.retry(MENDED).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0701");
    assert_eq!(bench.records().await, records);
    bench.limits.steps = 2;
    assert_eq!(bench.retry(MENDED).await.unwrap().status, Status::Completed);

    let bench = Bench::new();
    let limited = MENDED.replace(
        "graph mixed {",
        "graph mixed { defaults { recursion_limit 1 }",
    );
    let stopped = bench.start(&limited).await.unwrap();
    assert_eq!(stopped.status, Status::BudgetExceeded);
    let error = bench.retry(&limited).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0702");
    assert_eq!(bench.retry(MENDED).await.unwrap().status, Status::Completed);
}

#[tokio::test]
async fn only_what_ended_without_success_is_retried() {
    let bench = Bench::new();
    bench.start(DESK).await.unwrap();
    let error = bench.retry(DESK).await.unwrap_err();
    assert!(matches!(error, RunError::Suspended { .. }), "{error}");
    bench.live().cancel(&name("t")).await.unwrap();
    let records = bench.records().await;
    let error = bench.retry(DESK).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0416");
    assert_eq!(
        error.to_string(),
        "the last run of thread `t` is cancelled, so there is nothing to retry"
    );
    assert_eq!(bench.records().await, records);
    let done = Bench::new();
    done.start(MENDED).await.unwrap();
    let error = done.retry(MENDED).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0416");
    assert!(error.hint().unwrap().contains("rag threads rewind"));
}

#[tokio::test]
async fn a_driven_thread_is_not_retried_and_a_program_that_does_not_fit_neither() {
    let bench = Bench::new();
    bench.say("t", HALF, json!(1)).await;
    let records = bench.records().await;
    let gone = MENDED.replace("right", "rechts");
    let error = bench.retry(&gone).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0409");
    assert_eq!(bench.records().await, records);
    let owner = Owner {
        process: 9,
        since_ms: 0,
    };
    let claim = bench.journal.claim(&name("t"), owner).await.unwrap();
    let retry = Retry {
        thread: name("t"),
        limits: bench.limits,
    };
    let program = bench.program(MENDED);
    let busy = bench.runtime().retry(&program, retry, bench.watch()).await;
    assert_eq!(busy.unwrap_err().code().as_str(), "RAG0305");
    drop(claim);
}

#[tokio::test]
async fn a_retried_run_is_pruned_and_forked_like_any_other() {
    let bench = Bench::new();
    bench.say("t", HALF, json!(1)).await;
    bench.retry(MENDED).await.unwrap();
    for checkpoint in 1..=3 {
        let to = format!("f{checkpoint}");
        let given = Fork {
            from: name("t"),
            to: name(&to),
            checkpoint: Some(checkpoint),
            repeats: false,
        };
        fork(&*bench.journal, &given).await.unwrap();
        bench.is_whole(&to).await;
        let view = ThreadView::load(&*bench.journal, &name(&to)).await;
        let is_closed = matches!(view.unwrap().unwrap().phase, Phase::Closed(_));
        assert_eq!(is_closed, checkpoint == 3);
    }
    bench.live().prune(&name("t"), Keep::Last(1)).await.unwrap();
    bench.is_whole("t").await;
    let told = bench.view().await;
    assert_eq!(told.report().status, Status::Completed);
    bench.one_more("t").await;
    bench.is_whole("t").await;
}

#[tokio::test]
async fn pruning_keeps_what_a_retry_goes_on_with() {
    let bench = Bench::new();
    let failed = bench.say("t", HALF, json!(1)).await;
    let before = bench.all("t").await;
    let told = bench.live().prune(&name("t"), Keep::Last(1)).await.unwrap();
    assert_eq!(told.removed, NOTHING);
    assert_eq!(bench.all("t").await, before);
    let report = bench.retry(MENDED).await.unwrap();
    assert_eq!(report.status, Status::Completed);
    assert_eq!(
        report.spent.model_calls,
        failed.spent.model_calls + 2,
        "the left one is done"
    );
    bench.is_whole("t").await;
    let told = bench.live().prune(&name("t"), Keep::Last(1)).await.unwrap();
    assert!(told.removed.records > 0, "now the run is over");
}
