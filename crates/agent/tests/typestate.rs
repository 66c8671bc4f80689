use std::sync::Arc;

use rustagents_agent::{
    AgentRuntime, FailFast, ToolSet,
    evidence::{Checked, FinalAnswer, Observations, ValidatedAction, Validator},
    runtime::{Completed, Idle},
    state::{AgentState, Conversation},
};
use rustagents_core::{
    digest::Chained,
    ids::{CallId, MessageId},
    message::{Message, ResultStatus},
    model::{ModelResponse, RawCall},
    tool::EffectClass,
};
use rustagents_testkit::tool::{FakeTool, World};

type At<Phase> = AgentRuntime<Conversation, ToolSet, FailFast, Phase>;

#[test]
fn illegal_moves_do_not_compile() {
    // Only failing cases: those are checked, never built and linked.
    trybuild::TestCases::new().compile_fail("tests/compile/fail_*.rs");
}

fn canonical_loop(
    idle: At<Idle>,
    action: ValidatedAction,
    results: &Observations,
    answer: FinalAnswer,
) -> At<Completed> {
    idle.think()
        .act(action)
        .observe(results)
        .think()
        .complete(answer)
}

#[test]
fn the_canonical_loop_takes_evidence_at_each_turn() {
    let look = FakeTool::noting("look", EffectClass::Repeatable, &World::new());
    let tools = ToolSet::new().offer(Arc::new(look)).build().unwrap();
    let validator = Validator::new(&tools, &[]);
    let call = RawCall {
        name: "look".into(),
        arguments: "{}".into(),
        wire_id: None,
    };
    let asked = ModelResponse {
        calls: vec![call],
        ..ModelResponse::default()
    };
    let Ok(Checked::Action(action)) = validator.check(&asked, || CallId::numbered(1)) else {
        panic!("the call is valid");
    };
    let said = ModelResponse {
        text: "done".into(),
        ..ModelResponse::default()
    };
    let Ok(Checked::Answer(answer)) = validator.check(&said, || CallId::numbered(2)) else {
        panic!("any text is an answer");
    };
    let (id, call) = (MessageId::numbered(2), CallId::numbered(1));
    let result = Arc::new(Message::tool(id, call, "look", ResultStatus::Ok, "{}"));
    assert!(
        Observations::collect(&action, []).is_err(),
        "a call without its result"
    );
    let twice = [result.clone(), result.clone()];
    assert!(
        Observations::collect(&action, twice).is_err(),
        "a call with two results"
    );
    let results = Observations::collect(&action, [result]).unwrap();

    let user = Arc::new(Message::user(MessageId::numbered(1), "look"));
    let state = Conversation::new(vec![user], 0, Chained::default(), "t");
    let idle = AgentRuntime::new(state, tools.clone(), FailFast);
    let completed = canonical_loop(idle, action, &results, answer);
    assert_eq!(completed.answer().text(), "done");
    assert_eq!(completed.state().step_count(), 2);
}
