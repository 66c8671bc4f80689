//! Crashes at every write of a run with two agents in one step.

use std::sync::Arc;

use rustagents_core::ask::Subject;
use rustagents_runtime::{Decision, Report, RunError, Status};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};

use crate::bench::{Bench, DESK};

/// Starts or resumes as a person would, to the end; `None` if the journal died.
async fn drive(bench: &Bench) -> Option<Report> {
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
        let decision = match &ask.subject {
            Subject::Approval(_) => Decision::Approve { call, hash: None },
            // Both clerks pay the same: the call in doubt happened if one more
            // payment is in the world than results are recorded.
            _ => {
                let log = bench.log().await;
                let paid = log.records().iter().filter(|record| {
                    record.key().is_some_and(|key| {
                        key.as_str().starts_with("call/") && key.as_str().ends_with("/result")
                    })
                });
                if bench.world.changes().len() > paid.count() {
                    let result = serde_json::json!({ "ok": true });
                    Decision::Done { call, result }
                } else {
                    Decision::Repeat { call }
                }
            }
        };
        report = bench.resume(DESK, vec![decision]).await.ok()?;
    }
    panic!("no end after twenty resumes");
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
