//! Going on without what no longer fits.

use std::sync::Mutex;

use super::*;
use rustagents_agent::{Agent, FailFast, ToolSet};
use rustagents_core::{
    event::{Event, Events},
    message::ResultStatus,
    tool::{Approval, EffectClass, Tool, ToolError, ToolErrorKind},
};
use rustagents_graph::Migration;
use rustagents_runtime::{
    AgentNode,
    record::{Forced, GoneWithout, RunAttempt},
};
use rustagents_testkit::{
    model::{FakeModel, Reply},
    tool::FakeTool,
};

fn asking(
    name: &'static str,
) -> impl Fn(Arc<Desk>, TaskContext) -> futures::future::BoxFuture<'static, Ended> + Send + Sync {
    move |_, context| {
        Box::pin(async move {
            let answer = context.ask(format!("{name}?")).await?;
            note(format!("{name}: {}", answer.as_str().unwrap_or("?")))
        })
    }
}

/// Those of the two clerks that are there, and one who sums up.
fn clerks(names: &[&'static str], migrations: Vec<Migration>) -> Graph<Desk> {
    let mut graph = GraphBuilder::<Desk>::typed("desk")
        .function("sum", |desk: Arc<Desk>, _| async move {
            note(format!("{} notes", desk.notes.len()))
        });
    for name in names {
        graph = graph.function(name, asking(name)).edge(name, "sum");
    }
    let graph = migrations
        .into_iter()
        .fold(graph, GraphBuilder::with_migration);
    let first = names.first().copied().unwrap_or("sum");
    let graph = graph.start(
        names
            .iter()
            .copied()
            .chain([first])
            .collect::<std::collections::BTreeSet<_>>(),
    );
    graph.finish("sum").compile().unwrap()
}

async fn forced(bench: &Bench) -> Vec<Forced> {
    let thread = ThreadId::new("t").unwrap();
    let log = ThreadLog::load_whole(&*bench.journal, &thread)
        .await
        .unwrap();
    let attempts = log
        .records()
        .iter()
        .filter(|record| record.is(kind::RUN_ATTEMPT));
    let attempts = attempts.map(|record| record.decode::<RunAttempt>(kind::RUN_ATTEMPT).unwrap());
    attempts.flat_map(|attempt| attempt.forced).collect()
}

/// A thread on which both clerks wait.
async fn waiting() -> Bench {
    let bench = Bench::new();
    let graph = clerks(&["left", "right"], vec![]);
    let run = bench
        .runner()
        .run(&graph, "t", Desk::update())
        .await
        .unwrap();
    assert_eq!(ids(run.asks()), [LEFT, RIGHT]);
    bench
}

fn gone(what: &str, why: &str) -> Forced {
    Forced {
        what: GoneWithout::Task(what.into()),
        why: why.into(),
    }
}

#[tokio::test]
async fn a_task_without_a_node_is_dropped_and_the_others_go_on() {
    let bench = waiting().await;
    let graph = clerks(&["right"], vec![]);
    let runner = bench.runner();
    bench
        .refuses("RAG0409", runner.resume(&graph, "t", [(RIGHT, "b")]))
        .await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&told);
    let events = Events::listen(move |event| {
        if let Event::Forced { what, why } = event {
            hears.lock().unwrap().push(format!("{what}: {why}"));
        }
    });
    let watch = Watch {
        events,
        ..Watch::default()
    };
    let watched = runner.clone().watched(watch);
    let run = watched
        .resume_forced(&graph, "t", [(RIGHT, "b")])
        .await
        .unwrap();
    assert!(matches!(run.outcome, Outcome::Completed));
    assert_eq!(run.state.notes, ["right: b", "1 notes"]);
    let why = "there is no node `left` any more";
    assert_eq!(forced(&bench).await, [gone("left:1.0", why)]);
    assert_eq!(*told.lock().unwrap(), [format!("task left:1.0: {why}")]);
    bench.is_whole().await;
}

#[tokio::test]
async fn what_waits_besides_goes_on_waiting() {
    let bench = waiting().await;
    let graph = clerks(&["right"], vec![]);
    let run = bench.runner().resume_forced(&graph, "t", ()).await.unwrap();
    assert_eq!(ids(run.asks()), [RIGHT]);
    let run = bench
        .runner()
        .resume(&graph, "t", [(RIGHT, "b")])
        .await
        .unwrap();
    assert!(matches!(run.outcome, Outcome::Completed));
    bench.is_whole().await;
}

#[tokio::test]
async fn an_answer_to_what_is_gone_is_refused() {
    let bench = waiting().await;
    let graph = clerks(&["right"], vec![]);
    let runner = bench.runner();
    let error = bench
        .refuses("RAG0409", runner.resume_forced(&graph, "t", [(LEFT, "a")]))
        .await;
    assert!(error.to_string().contains("no node `left`"), "{error}");
    bench
        .refuses(
            "RAG0402",
            runner.resume_forced(&graph, "t", [("ghost:1.0/1", "a")]),
        )
        .await;
}

#[tokio::test]
async fn a_run_with_nothing_left_fails_and_the_thread_takes_an_input() {
    let bench = waiting().await;
    let graph = clerks(&[], vec![]);
    let runner = bench.runner();
    let run = runner.resume_forced(&graph, "t", ()).await.unwrap();
    let Outcome::Failed { node, failure } = &run.outcome else {
        panic!("{:?}", run.outcome);
    };
    assert_eq!((node.as_str(), failure.code.as_str()), ("left", "RAG0409"));
    let view = runner.state(&graph, "t").await.unwrap();
    assert_eq!(view.status, Some(Status::Failed));
    assert_eq!(view.error.unwrap().code, "RAG0409");
    let run = runner.run(&graph, "t", Desk::update()).await.unwrap();
    assert_eq!(run.state.notes, ["0 notes"]);
    bench.is_whole().await;
}

#[tokio::test]
async fn a_forced_resume_where_all_fits_is_a_resume() {
    let bench = waiting().await;
    let (runner, graph) = (bench.runner(), clerks(&["left", "right"], vec![]));
    let before = bench.records().await;
    let run = runner.resume_forced(&graph, "t", ()).await.unwrap();
    assert_eq!((run.asks().len(), bench.records().await), (2, before));
    let both = [(LEFT, "a"), (RIGHT, "b")];
    let run = runner.resume_forced(&graph, "t", both).await.unwrap();
    assert!(matches!(run.outcome, Outcome::Completed));
    assert_eq!(forced(&bench).await, []);
    let over = runner.resume_forced(&graph, "t", ());
    bench.refuses("RAG0416", over).await;
}

#[tokio::test]
async fn a_join_that_is_gone_is_dropped() {
    let bench = Bench::new();
    let runner = bench.runner();
    let graph = |joins: bool| {
        let graph = GraphBuilder::<Desk>::typed("g")
            .function("quick", |_, _| async { note("quick") })
            .function("gate", |_, _| async { note("gate") })
            .function("slow", asking("slow"))
            .function("both", |_, _| async { note("both") })
            .start(["quick", "gate"])
            .edge("gate", "slow")
            .finish("both");
        let graph = if joins {
            graph.join(["quick", "slow"], "both")
        } else {
            graph.finish("quick").edge("slow", "both")
        };
        graph.compile().unwrap()
    };
    let run = runner.run(&graph(true), "t", Desk::update()).await.unwrap();
    let ask = run.asks()[0].id.clone();
    let without = graph(false);
    let resume = runner.resume(&without, "t", [(ask.clone(), "a")]);
    bench.refuses("RAG0409", resume).await;
    let run = runner
        .resume_forced(&graph(false), "t", [(ask, "a")])
        .await
        .unwrap();
    assert_eq!(run.state.notes, ["quick", "gate", "slow: a", "both"]);
    let what = GoneWithout::Join("quick+slow:both".into());
    let why = "there is no such join any more".into();
    assert_eq!(forced(&bench).await, [Forced { what, why }]);
    bench.is_whole().await;
}

#[tokio::test]
async fn migrations_and_force_go_together() {
    let bench = waiting().await;
    let renames = vec![
        Migration::rename_node("names", "right", "other"),
        Migration::change_channel("topic", "topic", |_| Ok(json!("none"))),
    ];
    let graph = clerks(&["other"], renames);
    let runner = bench.runner();
    let run = runner
        .resume_forced(&graph, "t", [(RIGHT, "b")])
        .await
        .unwrap();
    assert_eq!(run.state.notes, ["other: b", "1 notes"]);
    let why = "there is no node `left` any more";
    assert_eq!(forced(&bench).await, [gone("left:1.0", why)]);
    let old = clerks(&["left", "right"], vec![]);
    bench.refuses("RAG0817", runner.state(&old, "t")).await;
    bench.is_whole().await;
}

#[tokio::test]
async fn a_node_that_is_gone_in_a_graph_inside_is_refused_all_the_same() {
    let bench = Bench::new();
    let runner = bench.runner();
    let around = |inner: &'static str, names: &[&'static str]| {
        let child = GraphBuilder::<Desk>::typed("child")
            .function(inner, asking(inner))
            .start([inner])
            .finish(inner)
            .compile()
            .unwrap();
        let back = |child: &Desk| Desk::update().extend_notes(child.notes.clone());
        let mut graph = GraphBuilder::<Desk>::typed("around");
        for name in names {
            graph = graph
                .function(name, asking(name))
                .finish(name)
                .start([name]);
        }
        let graph = graph.adapted("sub", child, |_, _| Desk::update(), back);
        graph.start(["sub"]).finish("sub").compile().unwrap()
    };
    let graph = around("inner", &["left"]);
    let run = runner.run(&graph, "t", Desk::update()).await.unwrap();
    let ask = run
        .asks()
        .iter()
        .find(|ask| ask.id.as_str().starts_with("sub"));
    let ask = ask.unwrap().id.clone();
    let gone = around("other", &[]);
    let resume = runner.resume_forced(&gone, "t", [(ask.clone(), "b")]);
    let error = bench.refuses("RAG0409", resume).await;
    assert!(error.to_string().contains("`inner`"), "{error}");
    let less = around("inner", &[]);
    let run = runner
        .resume_forced(&less, "t", [(ask, "b")])
        .await
        .unwrap();
    assert_eq!(run.state.notes, ["inner: b"]);
    bench.is_whole().await;
}

/// Charges, and nobody knows what came of it, beside one who asks.
fn till(has_till: bool) -> Graph<Desk> {
    let graph = GraphBuilder::<Desk>::typed("till").function("right", asking("right"));
    let graph = if has_till {
        let charge = |_, context: TaskContext| async move {
            let lost = |_: StepContext| async move { Err::<String, _>("the line dropped") };
            let receipt = context.step_once("charge", lost).await?;
            note(receipt)
        };
        graph
            .function("charge", charge)
            .finish("charge")
            .start(["charge", "right"])
    } else {
        graph.start(["right"])
    };
    graph.finish("right").compile().unwrap()
}

#[tokio::test]
async fn a_step_in_doubt_is_never_hidden() {
    let said = |ask: &str| {
        let call = || ask.to_owned();
        [
            Decision::Done {
                call: call(),
                result: json!("R-7"),
            },
            Decision::NotDone { call: call() },
        ]
    };
    for which in 0..2 {
        let bench = Bench::new();
        let runner = bench.runner();
        let run = runner.run(&till(true), "t", Desk::update()).await.unwrap();
        let run = match run.outcome {
            Outcome::Failed { .. } => runner.retry(&till(true), "t").await.unwrap(),
            _ => run,
        };
        let doubt = run
            .asks()
            .iter()
            .find(|ask| ask.subject.is_in_doubt())
            .unwrap()
            .id
            .to_string();
        let graph = till(false);
        let error = bench
            .refuses("RAG0412", runner.resume_forced(&graph, "t", ()))
            .await;
        let GraphRunError::ForcedDoubt { effects, asks, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(*effects, ["charge:1.0/charge#1"]);
        assert!(asks.iter().any(|ask| ask.id.as_str() == doubt));
        let repeat = Decision::Repeat {
            call: doubt.clone(),
        };
        bench
            .refuses("RAG0406", runner.resume_forced(&graph, "t", repeat))
            .await;
        let decision = said(&doubt)[which].clone();
        let run = runner.resume_forced(&graph, "t", decision).await.unwrap();
        assert_eq!(run.asks().len(), 1);
        let run = runner
            .resume(&graph, "t", [("right:1.1/1", "b")])
            .await
            .unwrap();
        assert_eq!(run.state.notes, ["right: b"]);
        bench.is_whole().await;
    }
}

fn clerk(tools: Vec<Arc<dyn Tool>>) -> AgentNode<Desk> {
    let pay = Reply::Calls(vec![("pay", r#"{"n":1}"#.into())]);
    let mut set = ToolSet::new();
    for tool in tools {
        set = set.offer(tool);
    }
    let agent = Agent::builder("clerk")
        .model(Arc::new(FakeModel::new([pay, Reply::Text("over")])))
        .tools(set.build().unwrap())
        .policy(FailFast)
        .build()
        .unwrap();
    AgentNode::new(
        agent,
        |desk: &Desk| desk.messages.to_vec(),
        |said| {
            Desk::update()
                .notes(said.answer)
                .extend_messages(said.messages)
        },
    )
}

fn paying(tools: Vec<Arc<dyn Tool>>) -> Graph<Desk> {
    GraphBuilder::<Desk>::typed("pay")
        .node("clerk", clerk(tools))
        .start(["clerk"])
        .finish("clerk")
        .compile()
        .unwrap()
}

async fn paid(bench: &Bench, pay: FakeTool) -> GraphRun<Desk> {
    let input = |scope: &rustagents_core::scope::Scope| {
        Desk::update().messages(Message::user(scope.mint_message(), "pay"))
    };
    let graph = paying(vec![Arc::new(pay)]);
    bench.runner().run_with(&graph, "t", input).await.unwrap()
}

fn settled(state: &Desk) -> (ResultStatus, String) {
    use rustagents_core::message::MessageBody;
    let mut told = state
        .messages
        .iter()
        .filter_map(|message| match &message.body {
            MessageBody::Tool { status, .. } => Some((*status, message.text())),
            _ => None,
        });
    told.next().unwrap()
}

#[tokio::test]
async fn a_call_without_a_tool_gets_a_result_that_says_that_it_was_not_run() {
    let bench = Bench::new();
    let pay = FakeTool::noting("pay", EffectClass::Once, &bench.world);
    let run = paid(
        &bench,
        pay.declare(|spec| spec.approval = Some(Approval::Ask)),
    )
    .await;
    let call = run.asks()[0].id.to_string();
    let (runner, graph) = (bench.runner(), paying(vec![]));
    let approve = Decision::Approve { call, hash: None };
    bench
        .refuses("RAG0409", runner.resume(&graph, "t", approve.clone()))
        .await;
    bench
        .refuses("RAG0409", runner.resume_forced(&graph, "t", approve))
        .await;
    let run = runner.resume_forced(&graph, "t", ()).await.unwrap();
    assert!(matches!(run.outcome, Outcome::Completed));
    let (status, text) = settled(&run.state);
    assert_eq!(status, ResultStatus::Error);
    assert!(text.contains("not run: the tool `pay` is gone"), "{text}");
    assert!(bench.world.changes().is_empty());
    let what = GoneWithout::Call("c-1".into());
    let why = "the tool `pay` is gone".into();
    assert_eq!(forced(&bench).await, [Forced { what, why }]);
    bench.is_whole().await;
}

#[tokio::test]
async fn a_call_in_doubt_is_decided_about() {
    let bench = Bench::new();
    let lost = FakeTool::new("pay", EffectClass::Once, |_, _| async {
        Err(ToolError::unknown(
            ToolErrorKind::Failed,
            "the line dropped",
        ))
    });
    let run = paid(
        &bench,
        lost.declare(|spec| spec.approval = Some(Approval::Allow)),
    )
    .await;
    assert!(run.asks()[0].subject.is_in_doubt());
    let (runner, graph) = (bench.runner(), paying(vec![]));
    let error = bench
        .refuses("RAG0412", runner.resume_forced(&graph, "t", ()))
        .await;
    assert_eq!(
        error.to_string(),
        "thread `t` has in doubt what no longer fits: c-1"
    );
    let done = Decision::Done {
        call: "c-1".into(),
        result: json!({ "paid": true }),
    };
    let run = runner.resume_forced(&graph, "t", done).await.unwrap();
    let (status, text) = settled(&run.state);
    assert_eq!((status, &*text), (ResultStatus::Ok, r#"{"paid":true}"#));
    bench.is_whole().await;
}

#[tokio::test]
async fn a_crash_at_any_write_forces_once_or_not_at_all() {
    let renames = || vec![Migration::rename_node("names", "right", "other")];
    for side in [Side::Before, Side::After] {
        let (mut write, mut crashed) = (0, true);
        while crashed {
            write += 1;
            let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
            let bench = Bench::on(Arc::clone(&inner));
            let before = clerks(&["left", "right"], vec![]);
            bench
                .runner()
                .run(&before, "t", Desk::update())
                .await
                .unwrap();
            let fault = FaultJournal::new(Arc::clone(&inner), FaultPoint { write, side }, || {});
            let graph = clerks(&["other"], renames());
            let dying = Bench {
                ids: Arc::clone(&bench.ids),
                ..Bench::on(Arc::new(fault))
            };
            let answer = [(RIGHT, "b")];
            crashed = dying
                .runner()
                .resume_forced(&graph, "t", answer)
                .await
                .is_err();
            let runner = bench.runner();
            let view = runner.state(&graph, "t").await.unwrap();
            if view.status == Some(Status::Suspended) {
                runner.resume_forced(&graph, "t", answer).await.unwrap();
            } else if view.status.is_none() {
                runner.resume(&graph, "t", ()).await.unwrap();
            }
            let view = runner.state(&graph, "t").await.unwrap();
            assert_eq!(view.status, Some(Status::Completed), "{side:?} {write}");
            assert_eq!(
                view.state.notes,
                ["other: b", "1 notes"],
                "{side:?} {write}"
            );
            assert_eq!(forced(&bench).await.len(), 1, "{side:?} {write}");
            bench.is_whole().await;
        }
        assert!(write > 3, "no write was cut off");
    }
}
