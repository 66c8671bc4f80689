//! What an agent does says for its node that it is alive.

use super::*;
use futures::{StreamExt, stream::BoxStream};
use rustagents_core::{
    message::Role,
    model::{FinishReason, Model, ModelDelta, ModelRequest, StreamItem},
    tool::{Approval, EffectClass},
};
use rustagents_graph::{NodeSpec, Timeout};
use rustagents_testkit::{
    model::{FakeModel, Reply},
    tool::FakeTool,
};
use tokio::time::sleep;

/// How long a node may be without a sign of life.
const IDLE: Duration = Duration::from_secs(15);

/// What comes of a model, part by part, each after its time.
#[derive(Clone)]
struct Slow {
    parts: Vec<ModelDelta>,
    each: Duration,
}

impl Model for Slow {
    fn id(&self) -> &'static str {
        "test:slow"
    }

    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> BoxStream<'a, StreamItem> {
        let answered = request
            .messages
            .iter()
            .any(|message| message.role() != Role::User);
        let parts = if answered {
            vec![
                ModelDelta::Text("done".into()),
                ModelDelta::Finish(FinishReason::Stop),
            ]
        } else {
            self.parts.clone()
        };
        let each = self.each;
        futures::stream::iter(parts)
            .then(move |part| async move {
                sleep(each).await;
                Ok(part)
            })
            .boxed()
    }
}

fn tool(time: Duration) -> FakeTool {
    let tool = FakeTool::new("look", EffectClass::Repeatable, move |_, _| async move {
        sleep(time).await;
        Ok(json!("seen"))
    });
    tool.declare(|spec| spec.approval = Some(Approval::Allow))
}

/// A graph whose node `x` has a clerk with `tool`, and may not be idle for long.
fn office(model: Arc<dyn Model>, tool: FakeTool, is_deep: bool) -> Graph<Desk> {
    with_clerk(model, tool, is_deep)
        .spec("x", NodeSpec::new().timeout(Timeout::idle(IDLE)))
        .start(["x"])
        .finish("x")
        .compile()
        .unwrap()
}

/// Whether the node came to its end; if not, it was idle.
async fn is_done(model: Arc<dyn Model>, tool_time: Duration, is_deep: bool) -> bool {
    let graph = office(model, tool(tool_time), is_deep);
    let runner = GraphRunner::new(Arc::new(MemoryJournal::new()));
    let input = |scope: &rustagents_core::scope::Scope| {
        Desk::update().messages(Message::user(scope.mint_message(), "Please"))
    };
    let run = runner.run_with(&graph, "t", input).await.unwrap();
    match run.outcome {
        Outcome::Completed => true,
        Outcome::Failed { failure, .. } => {
            assert_eq!(failure.message, "the node was idle for more than 15000 ms");
            false
        }
        other => panic!("{other:?}"),
    }
}

/// Parts of a text, of a call, and a long silence before the first part.
fn parts() -> [Vec<ModelDelta>; 2] {
    let text = |_| ModelDelta::Text("word ".into());
    let mut texts: Vec<_> = (0..5).map(text).collect();
    texts.push(ModelDelta::Finish(FinishReason::Stop));
    let begins = ModelDelta::Call {
        index: 0,
        wire_id: None,
        name: Some("look".into()),
        arguments: r#"{"at":""#.into(),
    };
    let goes_on = |more: &str| ModelDelta::Call {
        index: 0,
        wire_id: None,
        name: None,
        arguments: more.into(),
    };
    let more = ["no", "rth", r#""}"#].map(goes_on);
    let mut call: Vec<_> = std::iter::once(begins).chain(more).collect();
    call.push(ModelDelta::Finish(FinishReason::ToolCalls));
    [texts, call]
}

#[tokio::test(start_paused = true)]
async fn each_part_of_an_answer_is_a_sign_of_life() {
    for is_deep in [false, true] {
        for parts in parts() {
            for (seconds, expected) in [(10, true), (20, false)] {
                let each = Duration::from_secs(seconds);
                let model = Slow {
                    parts: parts.clone(),
                    each,
                };
                let done = is_done(Arc::new(model), Duration::ZERO, is_deep).await;
                assert_eq!(done, expected, "{seconds} s each of {parts:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_call_of_an_agent_is_a_sign_of_life() {
    let call = || Reply::Calls(vec![("look", "{}".into()), ("look", "{}".into())]);
    for is_deep in [false, true] {
        for (seconds, expected) in [(10, true), (20, false)] {
            let model = FakeModel::new([call(), call(), call(), Reply::Text("done")]);
            let done = is_done(Arc::new(model), Duration::from_secs(seconds), is_deep).await;
            assert_eq!(done, expected, "{seconds} s each call");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_whose_model_says_nothing_is_idle() {
    for is_deep in [false, true] {
        let model = FakeModel::new([Reply::Hang]);
        assert!(!is_done(Arc::new(model), Duration::ZERO, is_deep).await);
    }
}
