//! Forks of graphs that wait for an answer: they ask anew, under names of their own.

use super::*;
use rustagents_agent::{Agent, FailFast, ToolSet};
use rustagents_core::tool::{Approval, EffectClass, Tool};
use rustagents_runtime::{
    AgentNode,
    threads::{Fork, fork},
};
use rustagents_testkit::{
    model::{FakeModel, Reply},
    tool::FakeTool,
};

fn name(thread: &str) -> ThreadId {
    ThreadId::new(thread).unwrap()
}

impl Bench {
    async fn fork(&self, from: &str, to: &str) {
        let given = Fork {
            from: name(from),
            to: name(to),
            checkpoint: None,
            repeats: false,
        };
        fork(&*self.journal, &given).await.unwrap();
        assert_eq!(check(&*self.journal, &name(to)).await.unwrap(), []);
    }

    async fn keys(&self, thread: &str) -> Vec<String> {
        let log = ThreadLog::load_whole(&*self.journal, &name(thread)).await;
        let log = log.unwrap();
        let keys = log.records().iter().filter_map(|record| record.key());
        keys.map(ToString::to_string).collect()
    }
}

fn answer(ask: &str) -> Decision {
    Decision::Answer {
        ask: ask.into(),
        value: json!("granted"),
    }
}

#[tokio::test]
async fn the_questions_of_a_thread_and_those_of_its_copy_are_others() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), bench.desk());
    bench.open().await;
    bench.fork("t", "u").await;
    assert_eq!(runner.state(&graph, "u").await.unwrap().asks, []);
    let run = runner.resume(&graph, "u", ()).await.unwrap();
    let (left, right) = ("left:1.2/1", "right:1.3/1");
    assert_eq!(ids(run.asks()), [left, right]);
    assert_eq!(bench.world.changes().len(), 2, "no step ran twice");
    for (thread, other) in [("u", LEFT), ("t", left)] {
        let stray = runner.resume(&graph, thread, [(other, "x")]).await;
        assert_eq!(stray.unwrap_err().code().as_str(), "RAG0402", "{thread}");
    }
    for (thread, asks, said) in [("t", [LEFT, RIGHT], "t"), ("u", [left, right], "u")] {
        let answers = asks.map(|ask| (ask, said));
        let run = runner.resume(&graph, thread, answers).await.unwrap();
        let notes = [
            format!("left: {said}"),
            format!("right: {said}"),
            "2 notes".into(),
        ];
        assert_eq!(run.state.notes, notes);
    }
    assert_eq!(bench.world.changes().len(), 2);
    bench.is_whole().await;
}

#[tokio::test]
async fn an_answer_that_no_node_has_heard_is_not_heard_in_the_copy() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), bench.desk());
    bench.open().await;
    let decisions = vec![answer(LEFT), answer(RIGHT)];
    runner.answer("t", decisions).await.unwrap();
    bench.fork("t", "u").await;
    assert!(
        !bench
            .keys("u")
            .await
            .iter()
            .any(|key| key.starts_with("answer/"))
    );
    let run = runner.resume(&graph, "u", ()).await.unwrap();
    assert_eq!(run.asks().len(), 2);
    let run = runner.resume(&graph, "t", ()).await.unwrap();
    assert!(matches!(run.outcome, Outcome::Completed));
}

#[tokio::test]
async fn a_task_that_is_over_beside_one_that_waits_is_over_in_the_copy() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), bench.desk());
    bench.open().await;
    runner.resume(&graph, "t", [(LEFT, "a")]).await.unwrap();
    bench.fork("t", "u").await;
    let run = runner.resume(&graph, "u", ()).await.unwrap();
    assert_eq!(ids(run.asks()), ["right:1.3/1"]);
    let run = runner.resume(&graph, "u", [("right:1.3/1", "b")]).await;
    assert_eq!(run.unwrap().state.notes, ["left: a", "right: b", "2 notes"]);
    assert_eq!(check(&*bench.journal, &name("u")).await.unwrap(), []);
}

/// A node that asks twice, with a step of its own behind the first answer.
fn twice(world: &World) -> Graph<Desk> {
    let world = world.clone();
    GraphBuilder::<Desk>::typed("twice")
        .function("clerk", move |_, context: TaskContext| {
            let world = world.clone();
            async move {
                let first = context.ask("First?").await?;
                let write = first.as_str().unwrap_or_default().to_owned();
                let step = || async move {
                    world.change(write.as_str());
                    Ok::<_, NodeError>(write)
                };
                let written = context.step("write", step).await?;
                let second = context.ask("Second?").await?;
                note(format!("{written} {}", second.as_str().unwrap_or_default()))
            }
        })
        .start(["clerk"])
        .finish("clerk")
        .compile()
        .unwrap()
}

#[tokio::test]
async fn an_answer_that_a_node_went_on_with_stays_and_the_next_question_is_asked_anew() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), twice(&bench.world));
    runner.run(&graph, "t", Desk::update()).await.unwrap();
    let run = runner.resume(&graph, "t", [("clerk:1.0/1", "a")]).await;
    assert_eq!(ids(run.unwrap().asks()), ["clerk:1.0/2"]);
    runner.answer("t", answer("clerk:1.0/2")).await.unwrap();
    bench.fork("t", "u").await;
    let run = runner.resume(&graph, "u", ()).await.unwrap();
    assert_eq!(ids(run.asks()), ["clerk:1.1/2"]);
    let again = runner.resume(&graph, "u", [("clerk:1.1/1", "z")]).await;
    assert_eq!(again.unwrap_err().code().as_str(), "RAG0404");
    let run = runner.resume(&graph, "u", [("clerk:1.1/2", "b")]).await;
    assert_eq!(run.unwrap().state.notes, ["a b"]);
    assert_eq!(bench.world.changes(), ["a"], "the step ran once");
}

#[tokio::test]
async fn a_fork_at_each_write_of_a_run_asks_what_is_not_settled_and_ends_well() {
    // However far the source came when it died, a copy of it ends as the source does.
    for write in 1.. {
        let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
        let point = FaultPoint {
            write,
            side: Side::After,
        };
        let dying = Arc::new(FaultJournal::new(Arc::clone(&inner), point, || {}));
        let bench = Bench::on(Arc::clone(&dying) as Arc<dyn Journal>);
        let graph = twice(&bench.world);
        let source = async {
            let runner = bench.runner();
            runner.run(&graph, "t", Desk::update()).await?;
            runner.resume(&graph, "t", [("clerk:1.0/1", "a")]).await?;
            runner.resume(&graph, "t", [("clerk:1.0/2", "b")]).await
        };
        let ended = source.await;
        let after = Bench::on(inner);
        if ThreadView::load(&*after.journal, &name("t"))
            .await
            .unwrap()
            .is_none()
        {
            continue;
        }
        after.fork("t", "u").await;
        let graph = twice(&after.world);
        let mut run = after.runner().resume(&graph, "u", ()).await;
        while let Ok(GraphRun {
            outcome: Outcome::Suspended(asks),
            ..
        }) = &run
        {
            let ask = asks[0].id.clone();
            assert!(ask.as_str().starts_with("clerk:1.1/"), "{write}: {ask}");
            let said = if ask.as_str().ends_with('1') {
                "a"
            } else {
                "b"
            };
            run = after.runner().resume(&graph, "u", [(ask, said)]).await;
        }
        match run {
            Ok(run) => assert_eq!(run.state.notes, ["a b"], "after write {write}"),
            // The source was over.
            Err(error) => assert_eq!(error.code().as_str(), "RAG0416", "{write}"),
        }
        assert_eq!(check(&*after.journal, &name("u")).await.unwrap(), []);
        if !dying.is_dead() {
            ended.unwrap();
            return;
        }
    }
}

/// A node whose step may have taken effect, and then a word.
fn charging(world: &World) -> Graph<Desk> {
    let world = world.clone();
    GraphBuilder::<Desk>::typed("charging")
        .function("pay", move |_, context: TaskContext| {
            let world = world.clone();
            async move {
                let charge = |_: StepContext| async move {
                    world.change("charge");
                    Err::<String, NodeError>(NodeError::failed("the line dropped"))
                };
                let receipt = context.step_once("charge", charge).await?;
                note(receipt)
            }
        })
        .start(["pay"])
        .finish("pay")
        .compile()
        .unwrap()
}

#[tokio::test]
async fn a_step_in_doubt_stays_in_doubt_in_the_copy_under_another_name() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), charging(&bench.world));
    let run = runner.run(&graph, "t", Desk::update()).await.unwrap();
    assert_eq!(ids(run.asks()), ["pay:1.0/charge#1/doubt/1"]);
    let repeat = Decision::Repeat {
        call: "pay:1.0/charge#1/doubt/1".into(),
    };
    runner.answer("t", repeat).await.unwrap();
    bench.fork("t", "u").await;
    let run = runner.resume(&graph, "u", ()).await.unwrap();
    let asked = "pay:1.1/charge#1/doubt/1";
    assert_eq!(ids(run.asks()), [asked]);
    assert_eq!(
        bench.world.changes(),
        ["charge"],
        "it is not made once more"
    );
    let done = Decision::Done {
        call: asked.into(),
        result: json!("R-7"),
    };
    let run = runner.resume(&graph, "u", done).await.unwrap();
    assert_eq!(run.state.notes, ["R-7"]);
}

/// An agent that asks before it pays, in a graph inside a graph.
fn paying(world: &World) -> Graph<Desk> {
    let pay = FakeTool::noting("pay", EffectClass::Once, world);
    let pay: Arc<dyn Tool> = Arc::new(pay.declare(|spec| spec.approval = Some(Approval::Ask)));
    let calls = || ("pay", "{}".to_owned());
    let replies = [Reply::Calls(vec![calls(), calls()]), Reply::Text("paid")];
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
    let child = GraphBuilder::<Desk>::typed("child")
        .node("clerk", node)
        .start(["clerk"])
        .finish("clerk")
        .compile()
        .unwrap();
    GraphBuilder::<Desk>::typed("pay")
        .subgraph("sub", child)
        .start(["sub"])
        .finish("sub")
        .compile()
        .unwrap()
}

#[tokio::test]
async fn an_agent_inside_a_graph_goes_on_with_the_call_it_made_and_asks_anew_for_the_other() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), paying(&bench.world));
    let input = |scope: &rustagents_core::scope::Scope| {
        Desk::update().messages(Message::user(scope.mint_message(), "pay"))
    };
    let run = runner.run_with(&graph, "t", input).await.unwrap();
    assert_eq!(ids(run.asks()), ["c-1", "c-2"]);
    let approve = |call: &str| Decision::Approve {
        call: call.into(),
        hash: None,
    };
    runner.resume(&graph, "t", approve("c-1")).await.unwrap();
    assert_eq!(bench.world.changes().len(), 1);
    bench.fork("t", "u").await;
    let early = runner.resume(&graph, "u", approve("c-2")).await;
    assert_eq!(early.unwrap_err().code().as_str(), "RAG0402");
    let run = runner.resume(&graph, "u", ()).await.unwrap();
    assert_eq!(ids(run.asks()), ["c-3"]);
    for (thread, call) in [("u", "c-3"), ("t", "c-2")] {
        let graph = paying(&bench.world);
        let run = runner.resume(&graph, thread, approve(call)).await.unwrap();
        assert_eq!(run.state.notes, ["paid"], "{thread}");
        assert_eq!(check(&*bench.journal, &name(thread)).await.unwrap(), []);
    }
    assert_eq!(bench.world.changes().len(), 3);
}
