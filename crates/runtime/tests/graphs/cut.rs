//! What a time-out finds in the agent of a node.

use super::*;
use rustagents_core::tool::{Approval, EffectClass, ToolError, ToolErrorKind};
use rustagents_graph::{NodeSpec, RetryPolicy, Timeout};
use rustagents_testkit::{
    model::{FakeModel, Reply},
    tool::FakeTool,
};
use tokio::time::{Instant, sleep};

/// What a node has.
const TIME: Duration = Duration::from_secs(20);

/// What its call needs.
const LONG: Duration = Duration::from_mins(1);

/// The most that a call may take.
const CALL: Duration = Duration::from_secs(90);

type Came = Result<Value, ToolError>;

/// A tool that takes `LONG`, or never ends, and comes to `end`.
fn pay(effect: EffectClass, end: Option<Came>, world: &World) -> FakeTool {
    let world = world.clone();
    let tool = FakeTool::new("pay", effect, move |_, _| {
        let (world, end) = (world.clone(), end.clone());
        async move {
            world.change("begin");
            sleep(LONG).await;
            let Some(end) = end else {
                return std::future::pending().await;
            };
            world.change("end");
            end
        }
    });
    tool.declare(|spec| {
        spec.approval = Some(Approval::Allow);
        spec.timeout = CALL;
    })
}

/// A graph whose node `x` has a clerk with `tool`, and its time; a handler `h`.
fn office(tool: FakeTool, is_deep: bool, spec: NodeSpec) -> Graph<Desk> {
    let model = FakeModel::new([
        Reply::Calls(vec![("pay", r#"{"cents":900}"#.into())]),
        Reply::Text("done"),
    ]);
    with_clerk(Arc::new(model), tool, is_deep)
        .function("h", |_, _| async { note("handled") })
        .spec("x", spec)
        .start(["x"])
        .finish("x")
        .finish("h")
        .compile()
        .unwrap()
}

fn specs() -> [(&'static str, NodeSpec); 5] {
    let timed = || NodeSpec::new().timeout(Timeout::run(TIME));
    [
        ("plain", timed()),
        ("idle", NodeSpec::new().timeout(Timeout::idle(TIME))),
        ("retry", timed().retry(RetryPolicy::new())),
        ("handler", timed().on_error("h")),
        ("optional", timed().optional()),
    ]
}

fn check_end(what: &str, run: &GraphRun<Desk>) {
    match what {
        "handler" => assert_eq!(run.state.notes, ["handled"]),
        "optional" => assert!(run.state.notes.is_empty()),
        _ => {
            let told = format!("{:?}", run.outcome);
            assert!(
                told.contains("the node took more") || told.contains("idle"),
                "{told}"
            );
            return;
        }
    }
    assert!(
        matches!(run.outcome, Outcome::Completed),
        "{:?}",
        run.outcome
    );
}

async fn open(runner: &GraphRunner, graph: &Graph<Desk>) -> GraphRun<Desk> {
    let input = |scope: &rustagents_core::scope::Scope| {
        Desk::update().messages(Message::user(scope.mint_message(), "Please"))
    };
    runner.run_with(graph, "t", input).await.unwrap()
}

async fn has_result(journal: &MemoryJournal) -> bool {
    let thread = ThreadId::new("t").unwrap();
    let log = ThreadLog::load_whole(journal, &thread).await.unwrap();
    let key = rustagents_core::ids::FactKey::from("call/c-1/result");
    log.fact(&rustagents_core::ids::Branch::main(), &key)
        .is_some()
}

#[tokio::test(start_paused = true)]
async fn a_once_call_ends_and_is_recorded_before_its_node_is_dropped() {
    for is_deep in [false, true] {
        for (what, spec) in specs() {
            let (journal, world) = (Arc::new(MemoryJournal::new()), World::new());
            let runner = GraphRunner::new(journal.clone());
            let tool = pay(EffectClass::Once, Some(Ok(json!("paid"))), &world);
            let began = Instant::now();
            let run = open(&runner, &office(tool, is_deep, spec)).await;
            check_end(what, &run);
            assert_eq!(began.elapsed(), LONG, "{what}");
            assert_eq!(world.changes(), ["begin", "end"]);
            assert!(has_result(&journal).await, "{what}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_in_doubt_is_asked_about_before_its_node_fails() {
    let lost = ToolError::unknown(ToolErrorKind::Failed, "the line dropped");
    for (end, took) in [(Some(Err(lost)), LONG), (None, CALL)] {
        for is_deep in [false, true] {
            for (what, spec) in specs() {
                let world = World::new();
                let runner = GraphRunner::new(Arc::new(MemoryJournal::new()));
                let graph = office(pay(EffectClass::Once, end.clone(), &world), is_deep, spec);
                let began = Instant::now();
                let run = open(&runner, &graph).await;
                let asks = run.asks();
                assert!(asks.len() == 1 && asks[0].subject.is_in_doubt(), "{asks:?}");
                assert!(began.elapsed() >= took, "{what}");
                let late = began.elapsed().saturating_sub(took);
                assert!(late < Duration::from_secs(5), "{what}: {late:?}");
                let done = Decision::Done {
                    call: "c-1".into(),
                    result: json!("paid"),
                };
                let run = runner.resume(&graph, "t", done).await.unwrap();
                assert_eq!(run.state.notes, ["done"], "{what}");
                assert_eq!(
                    world.changes().iter().filter(|did| *did == "begin").count(),
                    1
                );
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_may_be_repeated_is_cut_in_time() {
    for is_deep in [false, true] {
        for (what, spec) in specs() {
            let world = World::new();
            let runner = GraphRunner::new(Arc::new(MemoryJournal::new()));
            let tool = pay(EffectClass::Repeatable, Some(Ok(json!("paid"))), &world);
            let began = Instant::now();
            let run = open(&runner, &office(tool, is_deep, spec)).await;
            check_end(what, &run);
            assert_eq!(began.elapsed(), TIME, "{what}");
            assert_eq!(world.changes(), ["begin"]);
        }
    }
}
