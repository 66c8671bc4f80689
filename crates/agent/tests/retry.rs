//! What failed in an attempt before the run was reopened is tried again.

use std::sync::Arc;

use rustagents_agent::{
    Agent, AgentError, FailFast, PolicyDecision, PolicyEngine, ToolSet, state::Conversation,
};
use rustagents_core::{
    journal::kind,
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

struct Interrupts;

impl PolicyEngine<Conversation> for Interrupts {
    fn on_model_error(&self, _: &Conversation, _: &AgentError) -> PolicyDecision {
        PolicyDecision::Interrupt
    }

    fn on_tool_error(&self, _: &Conversation, _: &AgentError) -> PolicyDecision {
        PolicyDecision::Interrupt
    }
}

fn agent(
    policy: impl PolicyEngine<Conversation> + 'static,
    replies: impl IntoIterator<Item = Reply>,
    world: &World,
) -> (Agent, Arc<FakeModel>) {
    let model = Arc::new(FakeModel::new(replies));
    let fail = FakeTool::new("fail", EffectClass::Repeatable, |_, _| async {
        Err(ToolError::not_executed(ToolErrorKind::Refused, "no"))
    });
    let look = FakeTool::noting("look", EffectClass::Repeatable, world);
    let tools = ToolSet::new().offer(Arc::new(fail)).offer(Arc::new(look));
    let agent = Agent::builder("clerk")
        .model(model.clone())
        .tools(tools.build().unwrap())
        .policy(policy)
        .build()
        .unwrap();
    (agent, model)
}

fn broken() -> Reply {
    Reply::Fail(ModelError::NoRule {
        script: "s".into(),
        offered: "nothing".into(),
    })
}

/// Attempt `attempt` at a run that the same attempt, or `retried`, reopened.
fn at(bench: &Bench, attempt: u32, retried: u32) -> Bench {
    Bench {
        attempt: (attempt, retried),
        ..bench.clone()
    }
}

#[tokio::test]
async fn a_model_that_failed_is_asked_once_more_with_the_same_messages() {
    let (bench, world) = (Bench::new(), World::new());
    let look = || calls(&[("look", "{}")]);
    let (failing, _) = agent(FailFast, [look(), broken()], &world);
    assert!(said(&bench.attempt(&failing).await.unwrap()).starts_with("failed: step 2"));
    let resumed = at(&bench, 2, 0).attempt(&failing).await.unwrap();
    assert!(said(&resumed).starts_with("failed: step 2"), "no retry");
    let again = at(&bench, 3, 3).attempt(&failing).await.unwrap();
    assert!(
        said(&again).starts_with("failed: step 3"),
        "{}",
        said(&again)
    );
    let (mended, model) = agent(FailFast, [look(), Reply::Text("found")], &world);
    let end = at(&bench, 4, 4).attempt(&mended).await.unwrap();
    assert_eq!((said(&end).as_str(), model.calls()), ("found", 1));
    assert_eq!(world.changes().len(), 1, "it looked once");
    assert_eq!(bench.count(kind::TRANSITION).await, 5);
    let told = at(&bench, 5, 4).attempt(&mended).await.unwrap();
    assert_eq!((said(&told).as_str(), model.calls()), ("found", 1));
}

#[tokio::test]
async fn a_tool_failure_that_ended_the_agent_goes_to_the_model_and_the_other_calls_run() {
    for interrupts in [false, true] {
        let (bench, world) = (Bench::new(), World::new());
        let both = || calls(&[("fail", "{}"), ("look", "{}")]);
        let replies = [both(), Reply::Text("never mind")];
        let (agent, model) = if interrupts {
            agent(Interrupts, replies, &world)
        } else {
            agent(FailFast, replies, &world)
        };
        let first = said(&bench.attempt(&agent).await.unwrap());
        assert!(first.contains("step 1"), "{first}");
        let end = at(&bench, 2, 2).attempt(&agent).await.unwrap();
        assert_eq!((said(&end).as_str(), model.calls()), ("never mind", 2));
        assert_eq!(world.changes().len(), 1);
    }
}

#[tokio::test]
async fn a_failure_of_the_retry_itself_counts_after_a_crash() {
    let (bench, world) = (Bench::new(), World::new());
    let (agent, model) = agent(Interrupts, [broken()], &world);
    bench.attempt(&agent).await.unwrap();
    at(&bench, 2, 2).attempt(&agent).await.unwrap();
    assert_eq!(model.calls(), 2);
    let end = at(&bench, 3, 2).attempt(&agent).await.unwrap();
    assert!(
        said(&end).starts_with("interrupted: step 2"),
        "{}",
        said(&end)
    );
    assert_eq!(model.calls(), 2);
}
