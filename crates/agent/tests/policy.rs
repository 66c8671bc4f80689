use std::sync::Arc;

use rustagents_agent::{
    Agent, AgentError, FailFast, PolicyDecision, PolicyEngine, Reprompt, RepromptStrategy, ToolSet,
    state::Conversation,
};
use rustagents_core::{
    code::Coded,
    model::ModelError,
    tool::{EffectClass, ToolError, ToolErrorKind},
};
use rustagents_testkit::{
    model::{FakeModel, Reply},
    tool::{FakeTool, World},
};

use crate::{
    bench::{Bench, said},
    loops::calls,
};

fn with(
    policy: impl PolicyEngine<Conversation> + 'static,
    replies: impl IntoIterator<Item = Reply>,
) -> (Agent, Arc<FakeModel>, World) {
    let (world, model) = (World::new(), Arc::new(FakeModel::new(replies)));
    let tools = ToolSet::new()
        .offer(Arc::new(FakeTool::noting(
            "look",
            EffectClass::Repeatable,
            &world,
        )))
        .offer(Arc::new(FakeTool::new(
            "fail",
            EffectClass::Repeatable,
            |_, _| async {
                Err(ToolError::not_executed(
                    ToolErrorKind::Unavailable,
                    "no line",
                ))
            },
        )));
    let agent = Agent::builder("clerk")
        .model(model.clone())
        .tools(tools.build().unwrap())
        .policy(policy)
        .build()
        .unwrap();
    (agent, model, world)
}

fn transport() -> ModelError {
    ModelError::Transport {
        model: "m".into(),
        reason: "reset".into(),
    }
}

#[tokio::test]
async fn fail_fast_fails_on_an_unknown_tool_with_what_the_model_said() {
    let (agent, _, _) = with(FailFast, [calls(&[("nope", r#"{"a":1}"#)])]);
    let end = Bench::new().attempt(&agent).await.unwrap();
    assert_eq!(said(&end), "failed: step 1: there is no tool `nope`");
    let rustagents_agent::agent::AgentOutcome::Failed(error) = end.outcome else {
        panic!()
    };
    assert_eq!(error.hint().as_deref(), Some("offered: look, fail"));
    let AgentError::InvalidModelAction {
        tool_name,
        received_args,
        ..
    } = error
    else {
        panic!()
    };
    assert_eq!(
        (tool_name.as_deref(), received_args.as_deref()),
        (Some("nope"), Some(r#"{"a":1}"#))
    );
}

#[tokio::test]
async fn a_reprompt_is_bounded_and_tells_the_model_what_is_wrong() {
    let bad = || calls(&[("look", "{}"), ("nope", "{}")]);
    let (agent, model, world) = with(Reprompt::default(), [bad(), Reply::Text("ok")]);
    let bench = Bench::new();
    let end = bench.attempt(&agent).await.unwrap();
    assert_eq!(said(&end), "ok");
    assert!(world.changes().is_empty(), "a refused answer runs nothing");
    let results: Vec<_> = end.messages[1..3]
        .iter()
        .map(|message| message.text())
        .collect();
    assert!(results[0].contains("not run: another call"), "{results:?}");
    assert!(
        results[1].contains("there is no tool `nope`; offered: look, fail"),
        "{results:?}"
    );
    assert_eq!(
        said(&bench.attempt(&agent).await.unwrap()),
        "ok",
        "also when read back"
    );
    assert_eq!(model.calls(), 2);

    let (agent, model, _) = with(Reprompt::default(), [bad(), bad(), Reply::Text("ok")]);
    let end = Bench::new().attempt(&agent).await.unwrap();
    assert_eq!(said(&end), "failed: step 2: there is no tool `nope`");
    assert_eq!(model.calls(), 2);

    let three = Reprompt::new(RepromptStrategy::N { n: 3 }).unwrap();
    let (agent, model, _) = with(three, std::iter::repeat_with(bad).take(9));
    assert!(said(&Bench::new().attempt(&agent).await.unwrap()).starts_with("failed: step 4"));
    assert_eq!(model.calls(), 4);
}

#[test]
fn a_reprompt_that_never_reprompts_is_a_configuration_error() {
    let error = Reprompt::new(RepromptStrategy::N { n: 0 }).unwrap_err();
    assert!(matches!(error, AgentError::PolicyConfigInvalid { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_failed_transport_is_tried_again_a_bounded_number_of_times() {
    let (agent, model, _) = with(
        Reprompt::default(),
        std::iter::repeat_n(Reply::Fail(transport()), 9),
    );
    let end = Bench::new().attempt(&agent).await.unwrap();
    assert_eq!(said(&end), "failed: step 1: model `m`: reset");
    assert_eq!(model.calls(), 1 + Reprompt::RETRIES as usize);
    let (agent, model, _) = with(FailFast, [Reply::Fail(transport())]);
    assert!(said(&Bench::new().attempt(&agent).await.unwrap()).starts_with("failed"));
    assert_eq!(model.calls(), 1);
}

/// A policy that always decides the same.
struct Always(PolicyDecision);

impl PolicyEngine<Conversation> for Always {
    fn on_model_error(&self, _: &Conversation, _: &AgentError) -> PolicyDecision {
        self.0
    }

    fn on_tool_error(&self, _: &Conversation, _: &AgentError) -> PolicyDecision {
        self.0
    }
}

#[tokio::test(start_paused = true)]
async fn no_policy_retries_without_bound() {
    for consume_budget in [true, false] {
        let policy = Always(PolicyDecision::Retry { consume_budget });
        let (agent, model, _) = with(policy, std::iter::repeat_n(Reply::Fail(transport()), 99));
        let end = Bench::new().attempt(&agent).await.unwrap();
        assert!(
            said(&end).contains("the policy decided one more retry"),
            "{}",
            said(&end)
        );
        assert_eq!(model.calls(), 10);
    }
}

#[tokio::test]
async fn interrupt_ends_the_agent_for_good() {
    for reply in [calls(&[("nope", "{}")]), calls(&[("fail", "{}")])] {
        let bench = Bench::new();
        let (agent, model, _) = with(Always(PolicyDecision::Interrupt), [reply]);
        for _ in 0..2 {
            assert!(said(&bench.attempt(&agent).await.unwrap()).starts_with("interrupted: step 1"));
        }
        assert_eq!(model.calls(), 1);
    }
}

#[tokio::test]
async fn a_failed_tool_goes_back_to_the_model_or_ends_the_agent() {
    let replies = || [calls(&[("fail", "{}")]), Reply::Text("ok")];
    let (agent, _, _) = with(Reprompt::default(), replies());
    let end = Bench::new().attempt(&agent).await.unwrap();
    assert_eq!(said(&end), "ok");
    assert_eq!(
        end.messages[1].text(),
        r#"{"error":{"code":"RAG0603","message":"no line"}}"#
    );
    let (agent, _, _) = with(FailFast, replies());
    let bench = Bench::new();
    for _ in 0..2 {
        let end = bench.attempt(&agent).await.unwrap();
        assert_eq!(said(&end), "failed: step 1: tool `fail`: no line");
    }
}

#[tokio::test]
async fn a_failure_that_ends_the_agent_is_not_forgotten_by_a_crash() {
    use rustagents_core::tool::Approval;
    use rustagents_store::{
        MemoryJournal,
        fault::{FaultJournal, FaultPoint, Side},
    };

    let world = World::new();
    let agent = || {
        let fail = FakeTool::new("fail", EffectClass::Once, |_, _| async {
            Err(ToolError::not_executed(ToolErrorKind::Refused, "no money"))
        });
        let credit = FakeTool::noting("credit", EffectClass::Once, &world);
        let allow =
            |tool: FakeTool| Arc::new(tool.declare(|spec| spec.approval = Some(Approval::Allow)));
        let tools = ToolSet::new()
            .offer(allow(fail))
            .offer(allow(credit))
            .build()
            .unwrap();
        let model = FakeModel::new([calls(&[("fail", "{}"), ("credit", "{}")])]);
        Agent::builder("clerk")
            .model(Arc::new(model))
            .tools(tools)
            .policy(FailFast)
            .build()
            .unwrap()
    };
    let inner = Arc::new(MemoryJournal::new());
    // Claim, input, action, intent, result: the sixth write is the agent's end.
    let point = FaultPoint {
        write: 6,
        side: Side::Before,
    };
    let fault = Arc::new(FaultJournal::new(inner.clone(), point, || {}));
    Bench::on(fault.clone())
        .attempt(&agent())
        .await
        .unwrap_err();
    assert!(fault.is_dead());
    let end = Bench::on(inner).attempt(&agent()).await.unwrap();
    assert_eq!(said(&end), "failed: step 1: tool `fail`: no money");
    assert!(
        world.changes().is_empty(),
        "what the failure stops never runs"
    );
}
