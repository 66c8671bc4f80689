use rustagents_core::code::Coded;
use rustagents_runtime::{Answers, Decision, Status};
use serde_json::json;

use crate::bench::{Bench, DESK, approve};

fn deny(call: &str) -> Decision {
    Decision::Deny {
        call: call.into(),
        reason: None,
    }
}

fn answer(ask: &str, value: serde_json::Value) -> Decision {
    Decision::Answer {
        ask: ask.into(),
        value,
    }
}

#[tokio::test]
async fn each_decision_is_matched_or_refused_with_a_code() {
    let bench = Bench::new();
    let report = bench.start(DESK).await.unwrap();
    let hash = report.asks[0].call().unwrap().hash;
    let hashed = |call: &str, hash: String| Decision::Approve {
        call: call.into(),
        hash: Some(hash),
    };
    let whole = hash.to_string();
    let view = bench.view().await;
    let cases: Vec<(Vec<Decision>, Option<&str>)> = vec![
        (vec![approve("c-1")], None),
        (vec![approve("c-1"), deny("c-2")], None),
        (vec![hashed("c-1", whole.clone())], None),
        (vec![hashed("c-1", whole[..4].to_uppercase())], None),
        (vec![hashed("c-1", whole[..3].into())], Some("RAG0403")),
        (vec![hashed("c-1", "00000000".into())], Some("RAG0403")),
        (vec![hashed("c-1", String::new())], Some("RAG0403")),
        (vec![approve("c-9")], Some("RAG0402")),
        (vec![approve("")], Some("RAG0402")),
        (vec![approve("c-1"), deny("c-1")], Some("RAG0404")),
        (
            vec![Decision::Done {
                call: "c-1".into(),
                result: json!(1),
            }],
            Some("RAG0406"),
        ),
        (
            vec![Decision::NotDone { call: "c-1".into() }],
            Some("RAG0406"),
        ),
        (
            vec![Decision::Repeat { call: "c-1".into() }],
            Some("RAG0406"),
        ),
        (vec![answer("c-1", json!(true))], Some("RAG0406")),
    ];
    for (decisions, expected) in cases {
        let resolved = Answers::resolve(&view, &decisions);
        let code = resolved.err().map(|error| error.code().to_string());
        assert_eq!(code.as_deref(), expected, "{decisions:?}");
    }
}

#[tokio::test]
async fn an_answer_that_was_given_is_not_given_again() {
    let bench = Bench::new();
    bench.start(DESK).await.unwrap();
    bench.resume(DESK, vec![approve("c-1")]).await.unwrap();
    let records = bench.records().await;
    for decision in [approve("c-1"), deny("c-1")] {
        let error = bench.resume(DESK, vec![decision]).await.unwrap_err();
        assert_eq!(error.code().as_str(), "RAG0404");
    }
    assert_eq!(bench.records().await, records);
    assert_eq!(bench.world.changes().len(), 1);
}

#[tokio::test]
async fn one_refused_decision_refuses_the_whole_resume() {
    let bench = Bench::new();
    bench.start(DESK).await.unwrap();
    let records = bench.records().await;
    let error = bench
        .resume(DESK, vec![approve("c-1"), approve("c-9")])
        .await
        .unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0402");
    assert_eq!(error.hint().as_deref(), Some("pending: c-1, c-2"));
    assert_eq!(
        (bench.records().await, bench.world.changes().len()),
        (records, 0)
    );
}

const ASK: &str = r#"graph g {
  channel messages messages
  channel colour overwrite
  start ask
  node ask { kind interrupt  prompt "Which colour?"  output colour
             routes { red -> END  blue -> last } }
  node last { kind agent  model "last"  prompt "Last."  next END }
}"#;

#[tokio::test]
async fn a_question_with_routes_takes_one_of_them_only() {
    let bench = Bench::new();
    let report = bench.start(ASK).await.unwrap();
    let id = report.asks[0].id.to_string();
    for wrong in [json!("green"), json!(1), json!(null), json!(["red"])] {
        let error = bench
            .resume(ASK, vec![answer(&id, wrong)])
            .await
            .unwrap_err();
        assert_eq!(error.code().as_str(), "RAG0406");
        assert!(error.to_string().contains("red, blue"), "{error}");
    }
    let error = bench.resume(ASK, vec![approve(&id)]).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0406");
    let report = bench
        .resume(ASK, vec![answer(&id, json!(" BLUE "))])
        .await
        .unwrap();
    assert_eq!(
        (report.status, report.output.as_deref()),
        (Status::Completed, Some("goodbye"))
    );
    let error = bench
        .resume(ASK, vec![answer(&id, json!("red"))])
        .await
        .unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0404");
}

/// One agent fails while another loses the outcome of a call, or asks.
fn beside_a_failure(right: &str, tool: &str) -> String {
    format!(
        r#"graph g {{
  channel messages messages
  start left, right
  node left {{ kind agent  model "broken"  prompt "Left."  next END }}
  node right {{ kind agent  model "{right}"  prompt "Right."  tools ["{tool}"]  next END }}
}}"#
    )
}

#[tokio::test]
async fn a_failure_does_not_bury_a_call_in_doubt() {
    let (bench, source) = (Bench::new(), beside_a_failure("losing", "lose"));
    let report = bench.start(&source).await.unwrap();
    assert_eq!((report.status, report.asks.len()), (Status::Suspended, 1));
    let report = bench
        .resume(&source, vec![Decision::NotDone { call: "c-1".into() }])
        .await
        .unwrap();
    assert_eq!(
        report.status,
        Status::Failed,
        "once settled, the failure stands"
    );
    assert_eq!(report.error.unwrap().code, "RAG0504");
}

#[tokio::test]
async fn the_end_of_a_run_voids_what_nobody_answered() {
    let (bench, source) = (Bench::new(), beside_a_failure("clerk", "pay"));
    let report = bench.start(&source).await.unwrap();
    assert_eq!(report.status, Status::Failed);
    let records = bench.records().await;
    let error = bench
        .resume(&source, vec![approve("c-1")])
        .await
        .unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0402");
    assert_eq!(
        (bench.records().await, bench.world.changes().len()),
        (records, 0)
    );
}

#[tokio::test]
async fn a_question_whose_answers_changed_is_incompatible_before_anything_is_written() {
    let bench = Bench::new();
    let report = bench.start(ASK).await.unwrap();
    let records = bench.records().await;
    let changed = ASK.replace("red ->", "green ->");
    let id = report.asks[0].id.to_string();
    let error = bench
        .resume(&changed, vec![answer(&id, json!("blue"))])
        .await
        .unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0409");
    assert_eq!(bench.records().await, records);
}
