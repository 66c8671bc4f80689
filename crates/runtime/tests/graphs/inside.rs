//! What lies in a graph: agents, and other graphs.

use super::*;
use rustagents_agent::{Agent, FailFast, ToolSet};
use rustagents_core::{
    budget::Limits,
    model::ModelError,
    tool::{Approval, EffectClass, Tool},
};
use rustagents_runtime::AgentNode;
use rustagents_testkit::{
    model::{FakeModel, Reply},
    tool::FakeTool,
};

/// A graph of one agent, which has these turns and may pay.
fn agent(replies: impl IntoIterator<Item = Reply>, world: &World) -> Graph<Desk> {
    let pay = FakeTool::noting("pay", EffectClass::Once, world);
    let pay: Arc<dyn Tool> = Arc::new(pay.declare(|spec| spec.approval = Some(Approval::Allow)));
    let agent = Agent::builder("clerk")
        .model(Arc::new(FakeModel::new(replies)))
        .tools(ToolSet::new().offer(pay).build().unwrap())
        .policy(FailFast)
        .build()
        .unwrap();
    let node = AgentNode::new(
        agent,
        |desk: &Desk| desk.messages.to_vec(),
        |said| Desk::update().notes(said.answer),
    );
    GraphBuilder::<Desk>::typed("g")
        .node("clerk", node)
        .start(["clerk"])
        .finish("clerk")
        .compile()
        .unwrap()
}

fn silent() -> Reply {
    Reply::Fail(ModelError::NoRule {
        script: "s".into(),
        offered: "nothing".into(),
    })
}

#[tokio::test]
async fn an_agent_that_failed_is_tried_again_by_a_retry() {
    let bench = Bench::new();
    let runner = bench.runner();
    let broken = agent([silent()], &bench.world);
    let input = |scope: &rustagents_core::scope::Scope| {
        Desk::update().messages(Message::user(scope.mint_message(), "hello"))
    };
    let run = runner.run_with(&broken, "t", input).await.unwrap();
    assert!(matches!(run.outcome, Outcome::Failed { .. }));
    let mended = agent([Reply::Text("fine")], &bench.world);
    let run = runner.retry(&mended, "t").await.unwrap();
    assert_eq!(run.state.notes, ["fine"]);
    bench.is_whole().await;
}

fn steps(steps: u64) -> Limits {
    Limits {
        steps,
        ..Limits::default()
    }
}

#[tokio::test]
async fn limits_of_a_retry_hold_even_where_they_are_those_of_the_beginning() {
    let bench = Bench::new();
    let failing = GraphBuilder::<Desk>::typed("g")
        .function("fail", |_, _| async { Err(NodeError::failed("no")) })
        .start(["fail"])
        .finish("fail")
        .compile()
        .unwrap();
    let runner = |limit| bench.runner().limited(steps(limit));
    let run = runner(5).run(&failing, "t", Desk::update()).await;
    assert!(matches!(run.unwrap().outcome, Outcome::Failed { .. }));
    for limit in [9, 5] {
        runner(limit).retry(&failing, "t").await.unwrap();
        let thread = ThreadId::new("t").unwrap();
        let view = ThreadView::load(&*bench.journal, &thread).await.unwrap();
        assert_eq!(view.unwrap().limits.steps, limit);
    }
}

#[tokio::test]
async fn time_that_is_used_up_refuses_a_retry_and_more_of_it_goes_on() {
    let bench = Bench::new();
    let clock = bench.clock.clone();
    let graph = GraphBuilder::<Desk>::typed("g")
        .function("slow", move |_, _| {
            clock.advance(Duration::from_mins(2));
            async { note("slow") }
        })
        .function("last", |_, _| async { note("last") })
        .start(["slow"])
        .sequence(["slow", "last", END])
        .compile()
        .unwrap();
    let driven = |minutes| {
        bench.runner().limited(Limits {
            driven: Duration::from_mins(minutes),
            ..Limits::default()
        })
    };
    let short = driven(1);
    let run = short.run(&graph, "t", Desk::update()).await.unwrap();
    assert!(matches!(run.outcome, Outcome::Budget(_)));
    bench.refuses("RAG0701", short.retry(&graph, "t")).await;
    let run = driven(9).retry(&graph, "t").await.unwrap();
    assert_eq!(run.state.notes, ["slow", "last"]);
    bench.is_whole().await;
}
