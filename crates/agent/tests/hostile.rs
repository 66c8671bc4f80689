use std::sync::Arc;

use proptest::prelude::*;
use rustagents_agent::{Agent, ToolSet};
use rustagents_core::tool::{Approval, EffectClass};
use rustagents_testkit::{
    model::{FakeModel, Reply},
    tool::{FakeTool, World},
};

use crate::{
    bench::{Bench, said},
    loops::{agent, calls},
};

fn strict(world: &World) -> FakeTool {
    FakeTool::noting("pay", EffectClass::Once, world).declare(|spec| {
        spec.approval = Some(Approval::Allow);
        spec.input_schema = serde_json::json!({
            "type": "object",
            "required": ["cents"],
            "additionalProperties": false,
            "properties": { "cents": { "type": "integer", "minimum": 1 } },
        });
    })
}

#[tokio::test]
async fn refused_arguments_never_reach_the_tool() {
    let refused = [
        r#"{"cents":1,"cents":1000}"#,
        r#"{"cents":0}"#,
        r#"{"cents":1.5}"#,
        r#"{"cents":1,"x":1}"#,
        r#"{"cents":99999999999999999999}"#,
        r#"{"cents":1"#,
        "[]",
        "",
        "nonsense",
    ];
    for arguments in refused {
        let world = World::new();
        let (agent, _) = agent(
            [calls(&[("pay", arguments)]), Reply::Text("ok")],
            [strict(&world)],
        );
        let end = Bench::new().attempt(&agent).await.unwrap();
        assert_eq!(said(&end), "ok", "{arguments}");
        assert!(end.messages[1].text().contains("RAG0604"), "{arguments}");
        assert!(world.changes().is_empty(), "{arguments}");
    }
}

#[tokio::test]
async fn ten_megabytes_of_arguments_and_a_thousand_calls_end_in_a_typed_failure() {
    let world = World::new();
    let huge = format!(r#"{{"cents":{}}}"#, "1".repeat(10 << 20));
    let thousand = vec![("pay", r#"{"cents":1}"#.to_owned()); 1_000];
    let cases = [
        (
            vec![("pay", huge)],
            "failed: step 1: the answer has more than 1048576 bytes",
        ),
        (
            thousand,
            "failed: step 1: the answer asks for more than 128 calls",
        ),
    ];
    for (asked, expected) in cases {
        let (agent, _) = agent([Reply::Calls(asked)], [strict(&world)]);
        let bench = Bench::new();
        assert_eq!(said(&bench.attempt(&agent).await.unwrap()), expected);
        assert_eq!(
            said(&bench.attempt(&agent).await.unwrap()),
            expected,
            "also when read back"
        );
    }
    assert!(world.changes().is_empty());
}

#[tokio::test]
async fn a_label_that_is_none_is_named_back_once() {
    let triage = |replies: Vec<Reply>| {
        Agent::builder("triage")
            .model(Arc::new(FakeModel::new(replies)))
            .labels(vec!["refund".into(), "other".into()])
            .build()
            .unwrap()
    };
    let agent = triage(vec![Reply::Text("refund it"), Reply::Text("refund")]);
    let end = Bench::new().attempt(&agent).await.unwrap();
    assert_eq!(said(&end), "refund");
    assert!(end.messages[1].text().contains("not one of refund, other"));
    let agent = triage(vec![
        Reply::Text("a"),
        Reply::Text("b"),
        Reply::Text("refund"),
    ]);
    let end = Bench::new().attempt(&agent).await.unwrap();
    assert_eq!(
        said(&end),
        "failed: step 2: the answer is `b`, not one of refund, other"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the model says, the run ends with a typed outcome, reads back
    /// the same, and the tool runs only on arguments that its schema allows.
    #[test]
    fn any_answer_has_a_bounded_typed_end(
        names in prop::collection::vec(prop_oneof![Just("pay"), Just("p"), Just("")], 0..4),
        arguments in prop_oneof![".{0,40}", Just(r#"{"cents":7}"#.to_owned())],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = World::new();
            let asked = names.iter().map(|name| (*name, arguments.clone())).collect();
            let model = Arc::new(FakeModel::new([Reply::Calls(asked)]));
            let tools = ToolSet::new().offer(Arc::new(strict(&world))).build().unwrap();
            let agent = Agent::builder("a").model(model).tools(tools).build().unwrap();
            let bench = Bench::new();
            let first = said(&bench.attempt(&agent).await.unwrap());
            assert_eq!(said(&bench.attempt(&agent).await.unwrap()), first);
            assert!(world.changes().iter().all(|change| change.starts_with(r#"pay {"cents":"#)));
        });
    }
}
