use rustagents_core::{
    code::Coded,
    journal::{Owner, kind},
};
use rustagents_runtime::{RunError, Status, Watch, record::RunAttempt, view::Phase};
use serde_json::json;

use crate::bench::{Bench, DESK, approve};

const TALK: &str = r#"graph talk {
  channel messages messages
  start last
  node last { kind agent  model "last"  prompt "Talk."  next END }
}"#;

#[tokio::test]
async fn two_clerks_ask_together_and_are_answered_one_after_the_other() {
    let bench = Bench::new();
    let report = bench.start(DESK).await.unwrap();
    assert_eq!((report.status, report.asks.len()), (Status::Suspended, 2));
    let report = bench.resume(DESK, vec![approve("c-1")]).await.unwrap();
    assert_eq!((report.status, report.asks.len()), (Status::Suspended, 1));
    assert_eq!(bench.world.changes().len(), 1);
    let report = bench.resume(DESK, vec![approve("c-2")]).await.unwrap();
    assert_eq!(
        (report.status, report.output.as_deref()),
        (Status::Completed, Some("goodbye"))
    );
    assert_eq!(bench.world.changes().len(), 2);
    assert_eq!(
        (
            report.steps,
            report.spent.model_calls,
            report.spent.tool_calls
        ),
        (2, 5, 2)
    );
    assert_eq!(report.spent.usage.input_tokens, 50);
}

#[tokio::test]
async fn a_closed_run_is_reported_as_it_was_and_nothing_is_written() {
    let bench = Bench::new();
    let first = bench.start(TALK).await.unwrap();
    let records = bench.records().await;
    let again = bench.resume(TALK, vec![]).await.unwrap();
    assert_eq!(
        (again.status, again.output, again.steps),
        (first.status, first.output, first.steps)
    );
    assert_eq!(again.spent.usage, first.spent.usage);
    assert_eq!(bench.records().await, records);
}

#[tokio::test]
async fn a_new_input_on_a_completed_thread_continues_its_conversation() {
    let bench = Bench::new();
    let first = bench.start(TALK).await.unwrap();
    let second = bench.start(TALK).await.unwrap();
    assert_ne!(first.run.as_str(), "");
    assert_eq!(second.status, Status::Completed);
    assert_eq!(
        second.spent.model_calls, 1,
        "a run counts its own calls only"
    );
    let checkpoints = bench.count(kind::CHECKPOINT).await;
    assert_eq!((checkpoints, bench.count(kind::RUN_OPENED).await), (4, 2));
    assert_eq!(bench.log().await.last_message(), 4);
}

#[tokio::test]
async fn a_waiting_run_is_not_replaced_and_nothing_is_written() {
    let bench = Bench::new();
    bench.start(DESK).await.unwrap();
    let records = bench.records().await;
    match bench.start(DESK).await.unwrap_err() {
        RunError::Suspended { report } => assert_eq!(report.asks.len(), 2),
        other => panic!("{other}"),
    }
    let waiting = bench.resume(DESK, vec![]).await.unwrap();
    assert_eq!((waiting.status, waiting.asks.len()), (Status::Suspended, 2));
    assert_eq!(bench.records().await, records);
}

#[tokio::test]
async fn a_driven_thread_is_busy_for_everybody_else() {
    let bench = Bench::new();
    let claim = bench
        .journal
        .claim(
            &Bench::thread(),
            Owner {
                process: 9,
                since_ms: 0,
            },
        )
        .await;
    let error = bench.start(TALK).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0305");
    drop(claim);
    assert_eq!(bench.start(TALK).await.unwrap().status, Status::Completed);
}

#[tokio::test]
async fn a_dropped_run_lets_the_thread_go_and_is_resumed_not_replaced() {
    let bench = Bench::new();
    let hanging = TALK.replace("\"last\"", "\"hang\"");
    let (program, runtime) = (bench.program(&hanging), bench.runtime());
    let mut run = Box::pin(runtime.start(&program, bench.request(), Watch::default()));
    assert!(
        futures::poll!(&mut run).is_pending(),
        "the model never answers"
    );
    assert!(
        bench
            .journal
            .owner(&Bench::thread())
            .await
            .unwrap()
            .is_some()
    );
    drop(run);
    assert_eq!(bench.journal.owner(&Bench::thread()).await.unwrap(), None);
    assert_eq!(bench.view().await.phase, Phase::Open);
    let records = bench.records().await;
    let error = bench.start(TALK).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0408");
    assert_eq!(bench.records().await, records);
    assert_eq!(
        bench.resume(TALK, vec![]).await.unwrap().status,
        Status::Completed
    );
}

#[tokio::test]
async fn cancelling_before_the_first_step_leaves_a_resumable_thread() {
    let bench = Bench::new();
    let watch = Watch::default();
    watch.cancel.cancel();
    let program = bench.program(TALK);
    let report = bench
        .runtime()
        .start(&program, bench.request(), watch)
        .await
        .unwrap();
    assert_eq!(report.status, Status::Cancelled);
    assert_eq!(bench.view().await.phase, Phase::Open);
    assert_eq!(
        bench.resume(TALK, vec![]).await.unwrap().status,
        Status::Completed
    );
}

#[tokio::test]
async fn a_budget_lasts_over_attempts() {
    let mut bench = Bench::new();
    bench.limits.model_calls = 3;
    bench.start(DESK).await.unwrap();
    let report = bench
        .resume(DESK, vec![approve("c-1"), approve("c-2")])
        .await
        .unwrap();
    assert_eq!(report.status, Status::BudgetExceeded);
    assert_eq!(report.error.unwrap().code, "RAG0701");
    let again = bench.resume(DESK, vec![]).await.unwrap();
    assert_eq!(
        again.status,
        Status::BudgetExceeded,
        "a limit that was reached closes the run"
    );
}

#[tokio::test]
async fn a_compatible_change_goes_on_and_is_recorded() {
    let bench = Bench::new();
    bench.start(DESK).await.unwrap();
    let changed = DESK.replace("Last.", "Be kind.");
    bench.resume(&changed, vec![approve("c-1")]).await.unwrap();
    let log = bench.log().await;
    let attempt = log
        .records()
        .iter()
        .find(|record| record.is(kind::RUN_ATTEMPT))
        .unwrap();
    let attempt: RunAttempt = attempt.decode(kind::RUN_ATTEMPT).unwrap();
    let digest = bench.program(&changed).definition().digest();
    assert_eq!(attempt.definition, Some(digest));
    let stored = bench
        .journal
        .content(&Bench::thread(), digest)
        .await
        .unwrap()
        .unwrap();
    assert!(String::from_utf8(stored).unwrap().contains("Be kind."));
}

#[tokio::test]
async fn an_incompatible_change_is_refused_and_writes_nothing() {
    let bench = Bench::new();
    bench.start(DESK).await.unwrap();
    let records = bench.records().await;
    let gone = DESK.replace("left", "links");
    let without_tool = DESK.replace(r#""Left."  tools ["pay"]"#, r#""Left.""#);
    for (source, expected) in [
        (gone, "there is no node `left` any more"),
        (without_tool, "`left` no longer has the tool `pay`"),
    ] {
        let error = bench
            .resume(&source, vec![approve("c-1")])
            .await
            .unwrap_err();
        assert_eq!(error.code().as_str(), "RAG0409");
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert_eq!(bench.records().await, records);
}

#[tokio::test]
async fn inputs_that_fit_no_channel_are_refused_before_anything_is_written() {
    let bench = Bench::new();
    let mut start = bench.request();
    start.set = vec![("lost".into(), json!(1))];
    let program = bench.program(TALK);
    let error = bench
        .runtime()
        .start(&program, start, Watch::default())
        .await
        .unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0411");
    let silent = r#"graph g { channel answer overwrite  start ask
        node ask { kind interrupt  prompt "?"  output answer  next END } }"#;
    let error = bench.start(silent).await.unwrap_err();
    assert!(matches!(error, RunError::NoConversation));
    assert_eq!(bench.journal.owner(&Bench::thread()).await.unwrap(), None);
    assert_eq!(bench.records().await, 0);
}

#[tokio::test]
async fn a_plan_that_was_mended_after_a_failure_takes_a_new_input() {
    let bench = Bench::new();
    let broken = TALK.replace("\"last\"", "\"broken\"");
    assert_eq!(bench.start(&broken).await.unwrap().status, Status::Failed);
    let mended = TALK
        .replace("node last", "node talk")
        .replace("start last", "start talk");
    assert_eq!(
        bench.start(&mended).await.unwrap().status,
        Status::Completed
    );
}

#[tokio::test]
async fn a_recorded_route_that_is_gone_is_refused_and_no_branch_is_lost() {
    let source = |label: &str| {
        format!(
            r#"graph g {{
  channel messages messages
  start routed, clerk
  node routed {{ kind agent  model "last"  prompt "Route."  routes {{ {label} -> after }} }}
  node clerk {{ kind agent  model "clerk"  prompt "Pay."  tools ["pay"]  next END }}
  node after {{ kind agent  model "last"  prompt "After."  next END }}
}}"#
        )
    };
    let bench = Bench::new();
    assert_eq!(bench.start(&source("goodbye")).await.unwrap().asks.len(), 1);
    assert_eq!(bench.count(kind::TASK_WRITE).await, 1);
    let error = bench
        .resume(&source("farewell"), vec![approve("c-1")])
        .await
        .unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0409");
    assert!(bench.world.changes().is_empty());
    let report = bench.resume(&source("goodbye"), vec![]).await.unwrap();
    assert_eq!((report.status, report.steps), (Status::Completed, 2));
}

#[tokio::test]
async fn a_run_that_is_given_up_keeps_what_it_consumed_and_frees_the_thread() {
    let bench = Bench::new();
    let waiting = bench.start(DESK).await.unwrap();
    let thread = Bench::thread();
    let report = bench.runtime().cancel(&thread).await.unwrap();
    assert_eq!(
        (report.status, report.is_closed, report.asks.len()),
        (Status::Cancelled, true, 0)
    );
    assert_eq!(report.spent.usage, waiting.spent.usage);
    let records = bench.records().await;
    let again = bench.runtime().cancel(&thread).await.unwrap();
    assert_eq!(again.status, Status::Cancelled);
    assert_eq!(bench.records().await, records);
    let next = bench.start(DESK).await.unwrap();
    assert_eq!((next.status, next.asks.len()), (Status::Suspended, 2));
    assert!(bench.world.changes().is_empty());
}
