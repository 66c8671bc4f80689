use rustagents_agent::agent::AgentOutcome;
use rustagents_core::{
    ask::{Answer, Subject},
    code::Coded,
    digest::Digest,
    journal::{JournalError, kind},
    recorder::Durability,
    tool::{Approval, EffectClass, ToolError, ToolErrorKind},
};
use rustagents_testkit::{
    model::Reply,
    tool::{FakeTool, World},
};

use crate::{
    bench::{Bench, approve, asks, said},
    loops::{agent, calls},
};

fn pay(world: &World) -> FakeTool {
    FakeTool::noting("pay", EffectClass::Once, world)
}

fn look(world: &World) -> FakeTool {
    FakeTool::noting("look", EffectClass::Repeatable, world)
}

#[tokio::test]
async fn a_tool_that_declares_nothing_asks_and_runs_once_when_approved() {
    let (bench, world) = (Bench::new(), World::new());
    let (agent, model) = agent(
        [calls(&[("pay", r#"{"cents":5}"#)]), Reply::Text("paid")],
        [pay(&world)],
    );
    let ask = asks(&bench.attempt(&agent).await.unwrap()).remove(0);
    assert_eq!(
        (ask.id.as_str(), ask.prompt.as_str()),
        ("c-1", r#"pay {"cents":5}"#)
    );
    assert!(matches!(ask.subject, Subject::Approval(_)));
    assert!(world.changes().is_empty());
    let again = bench.attempt(&agent).await.unwrap();
    assert_eq!((said(&again), model.calls()), ("suspended: c-1".into(), 1));
    bench.answer(&ask.id, approve(&ask)).await.unwrap();
    assert_eq!(said(&bench.attempt(&agent).await.unwrap()), "paid");
    assert_eq!(world.changes(), [r#"pay {"cents":5}"#]);
    let twice = bench.answer(&ask.id, approve(&ask)).await.unwrap_err();
    assert!(matches!(twice, JournalError::AlreadyRecorded { .. }));
    assert_eq!(bench.count(kind::INTENT).await, 1);
}

#[tokio::test]
async fn a_run_that_records_nothing_fails_where_a_person_would_have_to_say_something() {
    let (mut bench, world) = (Bench::new(), World::new());
    bench.durability = Durability::None;
    let pays = || [calls(&[("pay", "{}"), ("pay", "{}")]), Reply::Text("paid")];
    let (asks, _) = agent(pays(), [pay(&world)]);
    let lost = FakeTool::new("pay", EffectClass::Once, |_, _| async {
        let why = "the line dropped";
        Err(ToolError::unknown(ToolErrorKind::Failed, why))
    });
    let lost = lost.declare(|spec| spec.approval = Some(Approval::Allow));
    let (loses, _) = agent(pays(), [lost]);
    for (agent, what) in [
        (
            asks,
            "whether call `c-1` (pay) may run, and 1 question more",
        ),
        (loses, "whether call `c-1` (pay) took effect"),
    ] {
        let end = bench.attempt(&agent).await.unwrap();
        let AgentOutcome::Failed(error) = end.outcome else {
            panic!("{end:?}");
        };
        assert_eq!(error.code().as_str(), "RAG0418");
        let told = format!("nobody can answer {what}, since the run records nothing");
        assert_eq!(error.to_string(), told);
        assert!(error.hint().unwrap().contains("another durability"));
    }
    assert!(world.changes().is_empty());
}

#[tokio::test]
async fn a_denial_reaches_the_model_and_nothing_runs() {
    let (bench, world) = (Bench::new(), World::new());
    let (agent, _) = agent(
        [calls(&[("pay", "{}")]), Reply::Text("sorry")],
        [pay(&world)],
    );
    let ask = asks(&bench.attempt(&agent).await.unwrap()).remove(0);
    bench
        .answer(
            &ask.id,
            Answer::Deny {
                reason: Some("too much".into()),
            },
        )
        .await
        .unwrap();
    let end = bench.attempt(&agent).await.unwrap();
    assert_eq!(said(&end), "sorry");
    assert_eq!(
        end.messages[1].text(),
        r#"{"error":{"code":"RAG0605","message":"too much"}}"#
    );
    assert!(world.changes().is_empty());
}

#[tokio::test]
async fn what_is_no_decision_about_this_call_is_a_denial() {
    let wrong = [
        Answer::Approve {
            hash: Digest::of(b"other arguments"),
        },
        Answer::Repeat,
        Answer::Done {
            result: true.into(),
        },
        Answer::Value { value: true.into() },
    ];
    for answer in wrong {
        let (bench, world) = (Bench::new(), World::new());
        let (agent, _) = agent([calls(&[("pay", "{}")]), Reply::Text("no")], [pay(&world)]);
        let ask = asks(&bench.attempt(&agent).await.unwrap()).remove(0);
        assert!(!answer.fits(&ask.subject));
        bench.answer(&ask.id, answer).await.unwrap();
        assert_eq!(said(&bench.attempt(&agent).await.unwrap()), "no");
        assert!(world.changes().is_empty());
    }
}

#[tokio::test]
async fn rules_beat_the_effect_class_and_denial_beats_answers() {
    let (bench, world) = (Bench::new(), World::new());
    let forbidden = pay(&world).declare(|spec| spec.approval = Some(Approval::Deny));
    let careful = look(&world).declare(|spec| spec.approval = Some(Approval::Ask));
    let asked = calls(&[("pay", "{}"), ("look", "{}")]);
    let (agent, _) = agent([asked, Reply::Text("ok")], [forbidden, careful]);
    let end = bench.attempt(&agent).await.unwrap();
    assert_eq!(said(&end), "suspended: c-2");
    let ask = asks(&end).remove(0);
    // Nobody was asked about it, so that only a driver can write it.
    bench.stray_answer(&"c-1".into(), &approve(&ask)).await;
    bench.answer(&ask.id, approve(&ask)).await.unwrap();
    assert_eq!(said(&bench.attempt(&agent).await.unwrap()), "ok");
    assert_eq!(world.changes(), ["look {}"]);
}

#[tokio::test]
async fn three_calls_ask_together_and_are_answered_one_by_one() {
    let (bench, world) = (Bench::new(), World::new());
    let asked = calls(&[
        ("pay", r#"{"n":1}"#),
        ("look", "{}"),
        ("pay", r#"{"n":2}"#),
        ("pay", r#"{"n":3}"#),
    ]);
    let (agent, model) = agent([asked, Reply::Text("ok")], [pay(&world), look(&world)]);
    let end = bench.attempt(&agent).await.unwrap();
    assert_eq!(said(&end), "suspended: c-1 c-3 c-4");
    assert_eq!(
        world.changes(),
        ["look {}"],
        "what needs no answer does not wait"
    );
    let pending = asks(&end);
    bench
        .answer(&pending[2].id, approve(&pending[2]))
        .await
        .unwrap();
    assert_eq!(
        said(&bench.attempt(&agent).await.unwrap()),
        "suspended: c-1 c-3"
    );
    bench
        .answer(&pending[0].id, Answer::Deny { reason: None })
        .await
        .unwrap();
    bench
        .answer(&pending[1].id, approve(&pending[1]))
        .await
        .unwrap();
    let end = bench.attempt(&agent).await.unwrap();
    assert_eq!(said(&end), "ok");
    assert_eq!(
        world.changes(),
        ["look {}", r#"pay {"n":3}"#, r#"pay {"n":2}"#]
    );
    assert_eq!(model.calls(), 2);
}
