//! Crashes at every write of a run with two agents in one step.

use std::sync::Arc;

use rustagents_core::{ask::Subject, journal::kind};
use rustagents_runtime::{Decision, Report, RunError, Status};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};

use crate::bench::{Bench, DESK};

/// Starts or resumes as a person would, to the end; `None` if the journal died.
pub(crate) async fn drive(bench: &Bench) -> Option<Report> {
    let mut report = match bench.resume(DESK, vec![]).await {
        Err(RunError::UnknownThread { .. }) => bench.start(DESK).await.ok()?,
        resumed => resumed.ok()?,
    };
    for _ in 0..20 {
        if report.status != Status::Suspended {
            return Some(report);
        }
        let ask = &report.asks[0];
        let call = ask.call().unwrap().call.to_string();
        let decision = if matches!(ask.subject, Subject::Approval(_)) {
            Decision::Approve { call, hash: None }
        } else if bench.world.changes().len() > settled_calls(bench).await {
            // Both clerks pay the same: a payment without a result is this one's.
            let result = serde_json::json!({ "ok": true });
            Decision::Done { call, result }
        } else {
            Decision::Repeat { call }
        };
        report = bench.resume(DESK, vec![decision]).await.ok()?;
    }
    panic!("no end after twenty resumes");
}

async fn settled_calls(bench: &Bench) -> usize {
    let log = bench.log().await;
    let keys = log.records().iter().filter_map(|record| record.key());
    keys.filter(|key| key.as_str().starts_with("call/") && key.as_str().ends_with("/result"))
        .count()
}

#[tokio::test]
async fn a_crash_at_any_write_pays_twice_in_all_and_ends_the_same() {
    let never = FaultPoint {
        write: u64::MAX,
        side: Side::Before,
    };
    let journal = Arc::new(FaultJournal::new(
        Arc::new(MemoryJournal::new()),
        never,
        || {},
    ));
    let bench = Bench::on(journal.clone());
    let expected = drive(&bench).await.unwrap();
    let writes = journal.writes();
    assert!(writes > 15, "the story has {writes} writes");
    for write in 1..=writes {
        for side in [Side::Before, Side::After] {
            let inner = Arc::new(MemoryJournal::new());
            let fault = FaultJournal::new(inner.clone(), FaultPoint { write, side }, || {});
            let dying = Bench::on(Arc::new(fault));
            assert!(drive(&dying).await.is_none(), "write {write} {side:?}");
            let bench = Bench {
                world: dying.world.clone(),
                ..Bench::on(inner)
            };
            let report = drive(&bench).await.unwrap();
            assert_eq!(report.output, expected.output, "write {write} {side:?}");
            assert_eq!(
                report.spent.usage, expected.spent.usage,
                "write {write} {side:?}"
            );
            assert_eq!(report.steps, expected.steps);
            assert_eq!(bench.world.changes().len(), 2, "write {write} {side:?}");
        }
    }
}

#[tokio::test]
async fn a_lower_limit_does_not_close_a_run_over_a_call_in_doubt() {
    let source = |limit: &str| {
        format!(
            r#"graph g {{
  {limit}
  channel messages messages
  channel greeting overwrite
  start hello
  node hello {{ kind agent  model "last"  prompt "Hello."  output greeting  next losing }}
  node losing {{ kind agent  model "losing"  prompt "Lose."  tools ["lose"]  next END }}
}}"#
        )
    };
    let inner = Arc::new(MemoryJournal::new());
    // Claim, opening, answer, checkpoint, action, intent: the seventh write is the question.
    let point = FaultPoint {
        write: 7,
        side: Side::Before,
    };
    let fault = Arc::new(FaultJournal::new(inner.clone(), point, || {}));
    Bench::on(fault.clone())
        .start(&source(""))
        .await
        .unwrap_err();
    let bench = Bench::on(inner);
    assert_eq!(
        (
            bench.count(kind::INTENT).await,
            bench.count(kind::ASK).await
        ),
        (1, 0)
    );
    let lowered = source("defaults { recursion_limit 1 }");
    let report = bench.resume(&lowered, vec![]).await.unwrap();
    assert_eq!((report.status, report.asks.len()), (Status::Suspended, 1));
    let decision = Decision::NotDone { call: "c-1".into() };
    let report = bench.resume(&lowered, vec![decision]).await.unwrap();
    assert_eq!(
        report.status,
        Status::Completed,
        "a step that was begun is finished"
    );
}
