//! Answers that end for another reason than that they are complete.

use std::sync::Arc;

use rustagents_agent::{
    Agent, AgentError, PolicyDecision, PolicyEngine, RepromptStrategy, ToolSet,
    agent::AgentOutcome, state::Conversation, transition::Transition,
};
use rustagents_core::{
    Code, Coded, code::Class, journal::kind, model::FinishReason, tool::EffectClass,
};
use rustagents_testkit::{
    model::{FakeModel, Reply},
    tool::{FakeTool, World},
};

use crate::bench::{Bench, said};

const NO: &str = "I can't help\n with that.";

fn cut(text: &'static str) -> Reply {
    Reply::Ends(text, FinishReason::Length)
}

fn declined(text: &'static str) -> Reply {
    Reply::Ends(text, FinishReason::Refusal)
}

fn agent(replies: impl IntoIterator<Item = Reply>, labels: &[&str]) -> (Agent, Arc<FakeModel>) {
    let model = Arc::new(FakeModel::new(replies));
    let labels = labels.iter().map(|label| (*label).to_owned());
    let agent = Agent::builder("clerk")
        .model(model.clone())
        .labels(labels.collect())
        .build();
    (agent.unwrap(), model)
}

fn failure(outcome: &AgentOutcome) -> &AgentError {
    match outcome {
        AgentOutcome::Failed(error) => error,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_answer_that_was_cut_or_declined_is_a_failure_with_a_code_and_keeps_its_text() {
    let cases = [
        (
            cut("Half of the"),
            "failed: step 1: the limit of tokens cut the answer after 11 characters",
            Code::ModelAnswerCut,
            "raise the limit",
            "Half of the",
        ),
        (
            declined(NO),
            "failed: step 1: the model declined to answer: I can't help with that.",
            Code::ModelDeclined,
            "change the prompt",
            NO,
        ),
    ];
    for (reply, told, code, hint, text) in cases {
        let bench = Bench::new();
        let (agent, model) = agent([reply], &[]);
        let end = bench.attempt(&agent).await.unwrap();
        assert_eq!(said(&end), told);
        let error = failure(&end.outcome);
        assert_eq!((error.code(), error.class()), (code, Class::Caller));
        assert!(error.hint().unwrap().contains(hint), "{:?}", error.hint());
        assert_eq!(end.messages.len(), 1);
        assert_eq!(end.messages[0].text(), text);
        assert_eq!(end.usage.output_tokens, 2, "what it consumed counts");

        // Read back, it is the same end, and nobody is asked again.
        let again = bench.attempt(&agent).await.unwrap();
        assert_eq!(said(&again), told);
        assert_eq!(failure(&again.outcome).code(), code);
        assert_eq!(again.messages, end.messages);
        assert_eq!((again.usage, model.calls()), (end.usage, 1));
    }
}

#[tokio::test]
async fn an_answer_without_a_word_makes_no_message() {
    for (reply, told) in [
        (
            cut(""),
            "failed: step 1: the limit of tokens cut the answer after 0 characters",
        ),
        (declined(""), "failed: step 1: the model declined to answer"),
    ] {
        let bench = Bench::new();
        let (agent, _) = agent([reply], &[]);
        let end = bench.attempt(&agent).await.unwrap();
        assert_eq!((said(&end).as_str(), end.messages.len()), (told, 0));
        assert_eq!(said(&bench.attempt(&agent).await.unwrap()), told);
    }
}

#[tokio::test]
async fn a_retry_asks_again_with_the_messages_from_before_the_cut_answer() {
    let (bench, (first, _)) = (Bench::new(), agent([cut("Half")], &[]));
    bench.attempt(&first).await.unwrap();
    // The model counts the assistant's messages that it is sent, and finds none.
    let (second, model) = agent([Reply::Text("All of it.")], &[]);
    let retry = Bench {
        attempt: (2, 2),
        ..bench.clone()
    };
    let end = retry.attempt(&second).await.unwrap();
    assert_eq!((said(&end).as_str(), model.calls()), ("All of it.", 1));
    assert_eq!(end.messages.len(), 1);
    let log = bench.log().await;
    let moves = log.records().iter().filter(|r| r.is(kind::TRANSITION));
    let moves: Vec<Transition> = moves.map(|r| r.decode(kind::TRANSITION).unwrap()).collect();
    let Transition::Failed { message, .. } = &moves[0] else {
        panic!("{moves:?}")
    };
    let kept = log.message(message.as_ref().unwrap()).unwrap();
    assert_eq!(kept.text(), "Half", "and the cut one stays on record");
}

#[tokio::test]
async fn a_label_is_an_answer_however_it_ended() {
    let labels = ["refund", "other"];
    for reply in [cut("refund"), declined("Refund")] {
        let (agent, _) = agent([reply], &labels);
        assert_eq!(said(&Bench::new().attempt(&agent).await.unwrap()), "refund");
    }
    let (unsure, model) = agent([cut("Let me think"), Reply::Text("other")], &labels);
    assert_eq!(said(&Bench::new().attempt(&unsure).await.unwrap()), "other");
    assert_eq!(model.calls(), 2, "the model is told the labels, as ever");
    let (unwilling, model) = agent([declined(NO)], &labels);
    let end = Bench::new().attempt(&unwilling).await.unwrap();
    assert_eq!(failure(&end.outcome).code(), Code::ModelDeclined);
    assert_eq!(model.calls(), 1);
}

/// A model that asks for a call, with that text and for that reason.
struct Asks(&'static str, FinishReason);

impl rustagents_core::model::Model for Asks {
    fn id(&self) -> &'static str {
        "asks"
    }

    fn stream<'a>(
        &'a self,
        request: rustagents_core::model::ModelRequest<'a>,
    ) -> futures::stream::BoxStream<'a, rustagents_core::model::StreamItem> {
        use futures::{StreamExt, stream};
        use rustagents_core::model::ModelDelta;
        if request.messages.len() > 1 {
            return stream::iter([Ok(ModelDelta::Text("ok".into()))]).boxed();
        }
        let call = ModelDelta::Call {
            index: 0,
            wire_id: None,
            name: Some("look".into()),
            arguments: self.0.into(),
        };
        stream::iter([Ok(call), Ok(ModelDelta::Finish(self.1.clone()))]).boxed()
    }
}

#[tokio::test]
async fn a_call_that_was_cut_is_refused_and_one_beside_a_refusal_is_not_run() {
    let cases = [
        (r#"{"order": "A-10"#, FinishReason::Length, "ok", 0),
        (r#"{"order": "A-1044"}"#, FinishReason::Length, "ok", 1),
        (
            r#"{"order": "A-1044"}"#,
            FinishReason::Refusal,
            "failed: step 1: the model declined to answer",
            0,
        ),
    ];
    for (arguments, reason, told, looked) in cases {
        let world = World::new();
        let look = FakeTool::noting("look", EffectClass::Repeatable, &world);
        let agent = Agent::builder("clerk")
            .model(Arc::new(Asks(arguments, reason)))
            .tools(ToolSet::new().offer(Arc::new(look)).build().unwrap())
            .build()
            .unwrap();
        let end = Bench::new().attempt(&agent).await.unwrap();
        assert_eq!(said(&end), told);
        assert_eq!(world.changes().len(), looked, "{arguments}");
    }
}

/// Tells the model whatever is wrong.
struct Insists;

impl PolicyEngine<Conversation> for Insists {
    fn on_model_error(&self, _: &Conversation, _: &AgentError) -> PolicyDecision {
        PolicyDecision::Reprompt {
            strategy: RepromptStrategy::N { n: 2 },
            consume_budget: true,
        }
    }

    fn on_tool_error(&self, _: &Conversation, _: &AgentError) -> PolicyDecision {
        PolicyDecision::Fail
    }
}

#[tokio::test]
async fn a_policy_of_ones_own_may_ask_for_another_answer() {
    let model = FakeModel::new([cut("Half of"), Reply::Text("Brief.")]);
    let agent = Agent::builder("clerk").model(Arc::new(model));
    let agent = agent.policy(Insists).build().unwrap();
    let end = Bench::new().attempt(&agent).await.unwrap();
    assert_eq!(said(&end), "Brief.");
    assert!(end.messages[1].text().contains("cut the answer"));
}
