use std::sync::Arc;

use rustagents_agent::{Agent, FailFast, ToolSet};
use rustagents_core::{
    canonical::Canonical,
    code::Coded,
    event::AgentEvent,
    journal::kind,
    message::Role,
    tool::{Approval, EffectClass, MAX_OUTPUT_BYTES, ToolError, ToolErrorKind},
};
use rustagents_testkit::{
    model::{FakeModel, Reply},
    tool::{FakeTool, World},
};

use crate::bench::{Bench, said};

pub(crate) fn calls(calls: &[(&'static str, &str)]) -> Reply {
    Reply::Calls(
        calls
            .iter()
            .map(|(name, args)| (*name, (*args).to_owned()))
            .collect(),
    )
}

pub(crate) fn agent(
    replies: impl IntoIterator<Item = Reply>,
    tools: impl IntoIterator<Item = FakeTool>,
) -> (Agent, Arc<FakeModel>) {
    let model = Arc::new(FakeModel::new(replies));
    let tools = tools
        .into_iter()
        .fold(ToolSet::new(), |set, tool| set.offer(Arc::new(tool)));
    let agent = Agent::builder("clerk")
        .model(model.clone())
        .instructions("Be brief.")
        .tools(tools.build().unwrap())
        .build()
        .unwrap();
    (agent, model)
}

fn read_only(world: &World) -> FakeTool {
    FakeTool::noting("look", EffectClass::Repeatable, world)
}

#[tokio::test]
async fn a_direct_answer_takes_one_step_and_one_commit() {
    let bench = Bench::new();
    let (agent, model) = agent([Reply::Text("It is paid.")], []);
    let end = bench.attempt(&agent).await.unwrap();
    assert_eq!(said(&end), "It is paid.");
    assert_eq!((model.calls(), bench.count(kind::TRANSITION).await), (1, 1));
    let texts: Vec<_> = bench
        .events()
        .agent_events()
        .into_iter()
        .filter_map(|event| match event {
            AgentEvent::TextDelta { text } => Some(text),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["It ", "is ", "paid."]);
    let again = bench.attempt(&agent).await.unwrap();
    assert_eq!((said(&again), model.calls()), ("It is paid.".to_owned(), 1));
}

#[tokio::test]
async fn a_tool_hop_takes_two_commits_and_three_appends_in_all() {
    let (bench, world) = (Bench::new(), World::new());
    let (agent, model) = agent(
        [
            calls(&[("look", r#"{"b": 1, "a": 2.0}"#)]),
            Reply::Text("ok"),
        ],
        [read_only(&world)],
    );
    let end = bench.attempt(&agent).await.unwrap();
    assert_eq!(said(&end), "ok");
    assert_eq!(world.changes(), [r#"look {"a":2,"b":1}"#]);
    assert_eq!(model.calls(), 2);
    let roles: Vec<_> = end.messages.iter().map(|message| message.role()).collect();
    assert_eq!(roles, [Role::Assistant, Role::Tool, Role::Assistant]);
    assert_eq!(
        bench.count(kind::TRANSITION).await,
        3,
        "two for the hop, one for the answer"
    );
    assert_eq!(end.usage.input_tokens, 20);
}

#[tokio::test]
async fn results_stand_in_call_order_whatever_finishes_first() {
    let bench = Bench::new();
    let slow = FakeTool::new("look", EffectClass::Repeatable, |args, _| async move {
        let pause = args["ms"].as_u64().unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(pause)).await;
        Ok(args)
    });
    let asked = calls(&[
        ("look", r#"{"ms":30}"#),
        ("look", r#"{"ms":1}"#),
        ("look", r#"{"ms":10}"#),
    ]);
    let (agent, _) = agent([asked, Reply::Text("ok")], [slow]);
    let end = bench.attempt(&agent).await.unwrap();
    let texts: Vec<_> = end.messages[1..4]
        .iter()
        .map(|message| message.text())
        .collect();
    assert_eq!(texts, [r#"{"ms":30}"#, r#"{"ms":1}"#, r#"{"ms":10}"#]);
}

#[tokio::test]
async fn mutating_calls_run_one_after_another() {
    let (bench, world) = (Bench::new(), World::new());
    let noted = world.clone();
    let pay = FakeTool::new("pay", EffectClass::Once, move |_, context| {
        let world = noted.clone();
        async move {
            world.change(format!("begin {}", context.call));
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            world.change(format!("end {}", context.call));
            Ok(serde_json::json!({}))
        }
    })
    .declare(|spec| spec.approval = Some(Approval::Allow));
    let (agent, _) = agent(
        [calls(&[("pay", "{}"), ("pay", "{}")]), Reply::Text("ok")],
        [pay],
    );
    assert_eq!(said(&bench.attempt(&agent).await.unwrap()), "ok");
    assert_eq!(
        world.changes(),
        ["begin c-1", "end c-1", "begin c-2", "end c-2"]
    );
    assert_eq!(bench.count(kind::INTENT).await, 2);
}

#[tokio::test]
async fn what_models_send_for_no_arguments_is_the_empty_object() {
    let world = World::new();
    let asked = calls(&[
        ("look", ""),
        ("look", "null"),
        ("look", r#""""#),
        ("look", "{}"),
    ]);
    let (agent, _) = agent([asked, Reply::Text("ok")], [read_only(&world)]);
    Bench::new().attempt(&agent).await.unwrap();
    assert_eq!(world.changes(), vec!["look {}"; 4]);
}

#[tokio::test]
async fn a_result_over_its_limit_is_kept_and_marked() {
    let bench = Bench::new();
    let big = FakeTool::new("look", EffectClass::Repeatable, |_, _| async {
        Ok(serde_json::json!({ "text": "x".repeat(5_000) }))
    })
    .declare(|spec| spec.max_output_bytes = 1_000);
    let (agent, _) = agent([calls(&[("look", "{}")]), Reply::Text("ok")], [big]);
    let end = bench.attempt(&agent).await.unwrap();
    let marker: serde_json::Value = serde_json::from_str(&end.messages[1].text()).unwrap();
    assert_eq!(
        (&marker["truncated"], &marker["bytes"]),
        (&true.into(), &5_011.into())
    );
    let digest = serde_json::from_value(marker["artifact"].clone()).unwrap();
    let thread = rustagents_core::ids::ThreadId::new("t").unwrap();
    let kept = bench
        .journal
        .content(&thread, digest)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(kept.len(), 5_011);
}

#[tokio::test]
async fn labels_are_matched_loosely_and_given_back_as_declared() {
    let bench = Bench::new();
    let agent = Agent::builder("triage")
        .model(Arc::new(FakeModel::new([Reply::Text("  REFUND\n")])))
        .labels(vec!["refund".into(), "other".into()])
        .policy(FailFast)
        .build()
        .unwrap();
    assert_eq!(said(&bench.attempt(&agent).await.unwrap()), "refund");
    assert_eq!(
        said(&bench.attempt(&agent).await.unwrap()),
        "refund",
        "also when read back"
    );
}

#[tokio::test]
async fn a_deploy_that_removes_a_pending_tool_is_refused_and_loses_nothing() {
    let (bench, world) = (Bench::new(), World::new());
    let pay = || FakeTool::noting("pay", EffectClass::Once, &world);
    let replies = || [calls(&[("pay", r#"{"x":1}"#)]), Reply::Text("ok")];
    let (before, _) = agent(replies(), [pay()]);
    let ask = crate::bench::asks(&bench.attempt(&before).await.unwrap()).remove(0);
    let records = bench.log().await.records().len();
    let (without, _) = agent(replies(), []);
    let halt = bench.attempt(&without).await.unwrap_err();
    assert_eq!(halt.code().as_str(), "RAG0409");
    assert!(
        halt.to_string().contains("there is no tool `pay`"),
        "{halt}"
    );
    let stricter = pay().declare(|spec| {
        spec.input_schema = serde_json::json!({ "type": "object", "required": ["y"] });
    });
    let halt = bench
        .attempt(&agent(replies(), [stricter]).0)
        .await
        .unwrap_err();
    assert!(halt.to_string().contains("do not fit its schema"), "{halt}");
    let weaker = pay().declare(|spec| spec.effect = EffectClass::Repeatable);
    let halt = bench
        .attempt(&agent(replies(), [weaker]).0)
        .await
        .unwrap_err();
    assert!(
        halt.to_string().contains("was `once` and is `repeatable`"),
        "{halt}"
    );
    assert_eq!(bench.log().await.records().len(), records);
    assert_eq!(
        ask.call().unwrap().hash,
        Canonical::parse(r#"{"x":1}"#).unwrap().digest()
    );
    bench
        .answer(&ask.id, crate::bench::approve(&ask))
        .await
        .unwrap();
    assert_eq!(said(&bench.attempt(&before).await.unwrap()), "ok");
}

#[tokio::test]
async fn a_result_that_no_batch_could_hold_keeps_its_head_and_is_not_fetched_again() {
    let (bench, world) = (Bench::new(), World::new());
    let noted = world.clone();
    let huge = FakeTool::new("look", EffectClass::Repeatable, move |_, _| {
        noted.change("looked");
        async { Ok(serde_json::json!("x".repeat(9 << 20))) }
    });
    let (agent, _) = agent([calls(&[("look", "{}")]), Reply::Text("ok")], [huge]);
    assert_eq!(said(&bench.attempt(&agent).await.unwrap()), "ok");
    let end = bench.attempt(&agent).await.unwrap();
    let marker: serde_json::Value = serde_json::from_str(&end.messages[1].text()).unwrap();
    assert_eq!(marker["bytes"], (9 << 20) + 2);
    assert_eq!(world.changes().len(), 1);
}

#[tokio::test]
async fn a_result_at_the_most_that_may_be_is_recorded_whole_and_one_above_it_is_marked() {
    // As JSON, each of these is twice as long, and escaped once more in the message.
    let text = |bytes: usize| "\"".repeat(bytes / 2 - 1);
    let cases = [
        (MAX_OUTPUT_BYTES, MAX_OUTPUT_BYTES, None),
        (usize::MAX, MAX_OUTPUT_BYTES, None),
        (usize::MAX, MAX_OUTPUT_BYTES + 2, Some(MAX_OUTPUT_BYTES + 2)),
        (1_000, MAX_OUTPUT_BYTES, Some(MAX_OUTPUT_BYTES)),
        (usize::MAX, 12 << 20, Some(12 << 20)),
    ];
    for effect in [EffectClass::Once, EffectClass::Repeatable] {
        for (limit, bytes, marked) in cases {
            let (bench, world) = (Bench::new(), World::new());
            let noted = world.clone();
            let huge = FakeTool::new("look", effect, move |_, _| {
                noted.change("looked");
                async move { Ok(serde_json::json!(text(bytes))) }
            })
            .declare(|spec| {
                spec.max_output_bytes = limit;
                spec.approval = Some(Approval::Allow);
            });
            let (agent, _) = agent([calls(&[("look", "{}")]), Reply::Text("ok")], [huge]);
            let end = bench.attempt(&agent).await.unwrap();
            assert_eq!(said(&end), "ok");
            let result = end.messages[1].text();
            match marked {
                None => assert_eq!(result.len(), bytes),
                Some(bytes) => {
                    let marker: serde_json::Value = serde_json::from_str(&result).unwrap();
                    assert_eq!(marker["bytes"], bytes);
                }
            }
            assert_eq!(said(&bench.attempt(&agent).await.unwrap()), "ok");
            assert_eq!(world.changes().len(), 1);
        }
    }
}

#[tokio::test]
async fn a_failure_with_an_endless_message_is_recorded_with_its_start() {
    for bytes in [64 << 10, 3 << 20, 9 << 20] {
        let (bench, world) = (Bench::new(), World::new());
        let noted = world.clone();
        let failing = FakeTool::new("look", EffectClass::Repeatable, move |_, _| {
            noted.change("looked");
            async move {
                let message = "\u{1}".repeat(bytes);
                Err(ToolError::unknown(ToolErrorKind::Failed, message))
            }
        });
        let replies = [calls(&[("look", "{}")]), Reply::Text("ok")];
        let (agent, _) = agent(replies, [failing]);
        assert_eq!(said(&bench.attempt(&agent).await.unwrap()), "ok");
        assert_eq!(said(&bench.attempt(&agent).await.unwrap()), "ok");
        assert_eq!(world.changes().len(), 1);
    }
}
