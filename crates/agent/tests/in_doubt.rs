use std::sync::Arc;

use rustagents_agent::Agent;
use rustagents_core::{
    ask::{Answer, Subject},
    journal::kind,
    tool::{Approval, EffectClass, ToolError, ToolErrorKind},
};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};
use rustagents_testkit::{
    model::Reply,
    tool::{FakeTool, World},
};
use serde_json::json;

use crate::{
    bench::{Bench, asks, said},
    loops::{agent, calls},
};

fn allowed(tool: FakeTool) -> FakeTool {
    tool.declare(|spec| spec.approval = Some(Approval::Allow))
}

fn payer(world: &World) -> Agent {
    let pay = allowed(FakeTool::noting("pay", EffectClass::Once, world));
    agent([calls(&[("pay", "{}")]), Reply::Text("paid")], [pay]).0
}

/// Crashes between the effect and the record of its result.
async fn crashed(world: &World) -> Bench {
    let inner = Arc::new(MemoryJournal::new());
    // Claim, input, action, intent: the fifth write is the result.
    let point = FaultPoint {
        write: 5,
        side: Side::Before,
    };
    let fault = Arc::new(FaultJournal::new(inner.clone(), point, || {}));
    Bench::on(fault.clone())
        .attempt(&payer(world))
        .await
        .unwrap_err();
    assert!(fault.is_dead());
    assert_eq!(world.changes(), ["pay {}"]);
    Bench::on(inner)
}

#[tokio::test]
async fn a_lost_outcome_is_asked_about_and_never_repeated_by_itself() {
    let world = World::new();
    let bench = crashed(&world).await;
    for _ in 0..2 {
        let ask = asks(&bench.attempt(&payer(&world)).await.unwrap()).remove(0);
        assert_eq!(ask.id.as_str(), "c-1/doubt/1");
        assert!(matches!(ask.subject, Subject::InDoubt(_)));
    }
    assert_eq!(world.changes().len(), 1);
    assert_eq!(bench.count(kind::ASK).await, 1);
}

#[tokio::test]
async fn done_settles_it_with_the_given_result() {
    let world = World::new();
    let bench = crashed(&world).await;
    bench.attempt(&payer(&world)).await.unwrap();
    let answer = Answer::Done {
        result: json!({ "paid": 5 }),
    };
    bench.answer(&"c-1/doubt/1".into(), answer).await.unwrap();
    let end = bench.attempt(&payer(&world)).await.unwrap();
    assert_eq!(
        (said(&end), end.messages[1].text()),
        ("paid".into(), r#"{"paid":5}"#.into())
    );
    assert_eq!(world.changes().len(), 1);
}

#[tokio::test]
async fn not_done_tells_the_model_so() {
    let world = World::new();
    let bench = crashed(&world).await;
    bench.attempt(&payer(&world)).await.unwrap();
    bench
        .answer(&"c-1/doubt/1".into(), Answer::NotDone)
        .await
        .unwrap();
    let end = bench.attempt(&payer(&world)).await.unwrap();
    assert!(end.messages[1].text().contains("RAG0603"));
    assert_eq!(world.changes().len(), 1);
}

#[tokio::test]
async fn repeat_starts_it_again_and_a_second_loss_asks_again() {
    let world = World::new();
    let bench = crashed(&world).await;
    bench.attempt(&payer(&world)).await.unwrap();
    bench
        .answer(&"c-1/doubt/1".into(), Answer::Repeat)
        .await
        .unwrap();
    // Claim, intent: the third write is the result.
    let point = FaultPoint {
        write: 3,
        side: Side::Before,
    };
    let fault = Arc::new(FaultJournal::new(bench.journal.clone(), point, || {}));
    Bench::on(fault).attempt(&payer(&world)).await.unwrap_err();
    assert_eq!(world.changes().len(), 2);
    let ask = asks(&bench.attempt(&payer(&world)).await.unwrap()).remove(0);
    assert_eq!(ask.id.as_str(), "c-1/doubt/2");
    bench.answer(&ask.id, Answer::Repeat).await.unwrap();
    assert_eq!(said(&bench.attempt(&payer(&world)).await.unwrap()), "paid");
    assert_eq!(world.changes().len(), 3);
}

#[tokio::test]
async fn a_malformed_decision_leaves_it_in_doubt() {
    let world = World::new();
    let bench = crashed(&world).await;
    bench.attempt(&payer(&world)).await.unwrap();
    bench
        .answer(&"c-1/doubt/1".into(), Answer::Value { value: true.into() })
        .await
        .unwrap();
    assert_eq!(
        said(&bench.attempt(&payer(&world)).await.unwrap()),
        "suspended: c-1/doubt/1"
    );
    assert_eq!(world.changes().len(), 1);
}

#[tokio::test]
async fn only_a_proof_that_nothing_happened_is_a_failure() {
    let cases = [
        (
            ToolError::unknown(ToolErrorKind::Failed, "connection dropped"),
            true,
        ),
        (ToolError::unknown(ToolErrorKind::Timeout, "too slow"), true),
        (
            ToolError::not_executed(ToolErrorKind::Refused, "no such order"),
            false,
        ),
        (
            ToolError::not_executed(ToolErrorKind::Timeout, "rolled back"),
            false,
        ),
    ];
    for (error, doubtful) in cases {
        let failing = error.clone();
        let pay = allowed(FakeTool::new("pay", EffectClass::Once, move |_, _| {
            std::future::ready(Err(failing.clone()))
        }));
        let (agent, _) = agent([calls(&[("pay", "{}")]), Reply::Text("ok")], [pay]);
        let end = Bench::new().attempt(&agent).await.unwrap();
        let expected = if doubtful {
            "suspended: c-1/doubt/1"
        } else {
            "ok"
        };
        assert_eq!(said(&end), expected, "{error:?}");
    }
}

#[tokio::test]
async fn a_panic_of_a_mutating_tool_is_unknown_and_of_a_reading_one_a_failure() {
    for (effect, expected) in [
        (EffectClass::Once, "suspended: c-1/doubt/1"),
        (EffectClass::Repeatable, "ok"),
    ] {
        let tool = FakeTool::new("pay", effect, |_, _| async { panic!("at the disco") });
        let (agent, _) = agent(
            [calls(&[("pay", "{}")]), Reply::Text("ok")],
            [allowed(tool)],
        );
        assert_eq!(said(&Bench::new().attempt(&agent).await.unwrap()), expected);
    }
}

#[tokio::test]
async fn calls_after_a_doubtful_one_wait_for_its_settlement() {
    let (bench, world) = (Bench::new(), World::new());
    let lose = allowed(FakeTool::new("lose", EffectClass::Once, |_, _| async {
        Err(ToolError::unknown(ToolErrorKind::Failed, "gone"))
    }));
    let pay = allowed(FakeTool::noting("pay", EffectClass::Once, &world));
    let (agent, _) = agent(
        [calls(&[("lose", "{}"), ("pay", "{}")]), Reply::Text("ok")],
        [lose, pay],
    );
    for _ in 0..2 {
        assert_eq!(
            said(&bench.attempt(&agent).await.unwrap()),
            "suspended: c-1/doubt/1"
        );
        assert!(world.changes().is_empty());
    }
    bench
        .answer(&"c-1/doubt/1".into(), Answer::NotDone)
        .await
        .unwrap();
    assert_eq!(said(&bench.attempt(&agent).await.unwrap()), "ok");
    assert_eq!(world.changes(), ["pay {}"]);
}
