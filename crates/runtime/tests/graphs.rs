//! Graphs of one's own on a journal.

mod alive;
mod between;
mod change;
mod children;
mod cut;
mod deep;
mod drain;
mod force;
mod forced_inside;
mod forks;
mod inside;
mod kept;
mod limits;
mod migrations;
mod pruned;
mod refused;
mod times;
mod unfit;
mod watched;
mod written;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rustagents_agent::{Agent, ToolSet};
use rustagents_core::{
    CancellationToken, Coded,
    ask::Ask,
    ids::{AskId, ThreadId},
    journal::{Journal, Owner, kind},
    log::ThreadLog,
    message::Message,
    model::Model,
    recorder::Durability,
    scope::Halt,
};
use rustagents_graph::{
    Asked, END, Graph, GraphBuilder, GraphState, Messages, NodeError, NodeOutput, Outcome,
    StepContext, TaskContext,
};
use rustagents_runtime::{
    AgentNode, Decision, GraphRun, GraphRunError, GraphRunner, Resume, Runtime, Status, ThreadView,
    Watch, threads::check::check,
};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};
use rustagents_testkit::{
    clock::ManualClock,
    ids::CountingIds,
    tool::{FakeTool, World},
};
use serde_json::{Value, json};

#[derive(Clone, Debug, PartialEq, GraphState)]
struct Desk {
    topic: String,
    #[channel(append)]
    notes: Vec<String>,
    #[channel(messages)]
    messages: Messages,
}

/// A graph whose node `x` is an agent with `tool`, or holds a graph with one.
fn with_clerk(model: Arc<dyn Model>, tool: FakeTool, is_deep: bool) -> GraphBuilder<Desk> {
    let tools = ToolSet::new().offer(Arc::new(tool)).build().unwrap();
    let clerk = Agent::builder("clerk")
        .model(model)
        .instructions("Work.")
        .tools(tools)
        .build()
        .unwrap();
    let clerk = AgentNode::new(
        clerk,
        |desk: &Desk| desk.messages.to_vec(),
        |said| Desk::update().notes(said.answer),
    );
    let graph = GraphBuilder::<Desk>::typed("office");
    if !is_deep {
        return graph.node("x", clerk);
    }
    let inner = GraphBuilder::<Desk>::typed("inner").node("clerk", clerk);
    let inner = inner.start(["clerk"]).finish("clerk").compile().unwrap();
    graph.subgraph("x", inner)
}

type Ended = Result<NodeOutput<Desk>, NodeError>;

#[allow(clippy::unnecessary_wraps, reason = "nodes return it as it is")]
fn note(text: impl Into<String>) -> Ended {
    Ok(Desk::update().notes(text.into()).into())
}

/// Two clerks who ask beside each other, and one who sums up.
fn desk(world: &World) -> Graph<Desk> {
    let asking = |name: &'static str| {
        let world = world.clone();
        move |desk: Arc<Desk>, context: TaskContext| {
            let world = world.clone();
            async move {
                let look = || async move {
                    world.change(name);
                    Ok::<_, NodeError>(name.to_owned())
                };
                context.step("look", look).await?;
                let answer = context.ask(format!("{name} on {}?", desk.topic)).await?;
                note(format!("{name}: {}", answer.as_str().unwrap_or("?")))
            }
        }
    };
    GraphBuilder::<Desk>::typed("desk")
        .function("left", asking("left"))
        .function("right", asking("right"))
        .function("sum", |desk: Arc<Desk>, _| async move {
            note(format!("{} notes", desk.notes.len()))
        })
        .start(["left", "right"])
        .join(["left", "right"], "sum")
        .finish("sum")
        .compile()
        .unwrap()
}

struct Bench {
    journal: Arc<dyn Journal>,
    world: World,
    clock: ManualClock,
    ids: Arc<CountingIds>,
}

impl Bench {
    fn new() -> Self {
        Self::on(Arc::new(MemoryJournal::new()))
    }

    fn on(journal: Arc<dyn Journal>) -> Self {
        Self {
            journal,
            world: World::new(),
            clock: ManualClock::new(),
            ids: Arc::default(),
        }
    }

    fn runner(&self) -> GraphRunner {
        let clock = Arc::new(self.clock.clone());
        GraphRunner::on(Arc::clone(&self.journal), clock, self.ids.clone())
    }

    fn desk(&self) -> Graph<Desk> {
        desk(&self.world)
    }

    async fn open(&self) -> GraphRun<Desk> {
        let input = Desk::update().topic("lamps");
        self.runner().run(&self.desk(), "t", input).await.unwrap()
    }

    async fn records(&self) -> usize {
        let thread = ThreadId::new("t").unwrap();
        let log = ThreadLog::load_whole(&*self.journal, &thread).await;
        log.unwrap().records().len()
    }

    async fn is_whole(&self) {
        let thread = ThreadId::new("t").unwrap();
        assert_eq!(check(&*self.journal, &thread).await.unwrap(), []);
    }

    /// Says that a call is refused with a code, and wrote nothing.
    async fn refuses<T: std::fmt::Debug>(
        &self,
        code: &str,
        call: impl Future<Output = Result<T, GraphRunError>>,
    ) -> GraphRunError {
        let before = self.records().await;
        let error = call.await.unwrap_err();
        assert_eq!(error.code().as_str(), code, "{error}");
        assert_eq!(self.records().await, before, "{error}");
        error
    }
}

fn ids(asks: &[Ask]) -> Vec<&str> {
    asks.iter().map(|ask| ask.id.as_str()).collect()
}

const LEFT: &str = "left:1.0/1";
const RIGHT: &str = "right:1.1/1";

#[tokio::test]
async fn a_run_waits_and_goes_on_with_a_map_of_answers() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), bench.desk());
    let run = bench.open().await;
    assert_eq!(ids(run.asks()), [LEFT, RIGHT]);
    assert_eq!(run.asks()[0].prompt, "left on lamps?");
    assert_eq!((run.checkpoint, run.steps, run.visited.len()), (1, 0, 0));
    let answers: BTreeMap<AskId, Value> = run
        .asks()
        .iter()
        .map(|ask| (ask.id.clone(), json!("yes")))
        .collect();
    let done = runner.resume(&graph, "t", answers).await.unwrap();
    assert!(matches!(done.outcome, Outcome::Completed));
    assert_eq!(done.state.notes, ["left: yes", "right: yes", "2 notes"]);
    assert_eq!((done.checkpoint, done.steps), (3, 2));
    assert_eq!(done.run, run.run);
    let visited: Vec<_> = done
        .visited
        .iter()
        .map(rustagents_core::ids::NodeName::as_str)
        .collect();
    assert_eq!(visited, ["left", "right", "sum"]);
    assert_eq!(bench.world.changes().len(), 2, "no step ran twice");
    bench.is_whole().await;
}

#[tokio::test]
async fn questions_are_answered_one_by_one_in_any_order() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), bench.desk());
    bench.open().await;
    let run = runner.resume(&graph, "t", [(RIGHT, "b")]).await.unwrap();
    assert_eq!(ids(run.asks()), [LEFT]);
    let run = runner.resume(&graph, "t", [(LEFT, "a")]).await.unwrap();
    assert_eq!(run.state.notes, ["left: a", "right: b", "2 notes"]);
    bench.is_whole().await;
}

#[tokio::test]
async fn stale_and_repeated_answers_are_refused_and_say_what_is_pending() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), bench.desk());
    bench.open().await;
    runner.resume(&graph, "t", [(RIGHT, "b")]).await.unwrap();
    let twice = runner.resume(&graph, "t", [(RIGHT, "c")]);
    bench.refuses("RAG0404", twice).await;
    let stale = runner.resume(&graph, "t", [(LEFT, "a"), ("left:0.0/1", "a")]);
    let error = bench.refuses("RAG0402", stale).await;
    assert_eq!(error.hint().as_deref(), Some("pending: left:1.0/1"));
    runner.resume(&graph, "t", [(LEFT, "a")]).await.unwrap();
    let over = runner.resume(&graph, "t", [(LEFT, "a")]);
    bench.refuses("RAG0404", over).await;
    let over = runner.resume(&graph, "t", ());
    let error = bench.refuses("RAG0416", over).await;
    assert_eq!(
        error.to_string(),
        "the last run of thread `t` is completed, so there is nothing to go on with"
    );
}

#[tokio::test]
async fn a_new_input_is_refused_while_questions_wait_and_names_them() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), bench.desk());
    bench.open().await;
    let error = bench
        .refuses("RAG0407", runner.run(&graph, "t", Desk::update()))
        .await;
    assert_eq!(
        error.to_string(),
        "thread `t` waits for an answer to `left:1.0/1`, `right:1.1/1`"
    );
    let GraphRunError::Waits { asks, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(asks.len(), 2);
    runner.cancel("t").await.unwrap();
    runner.cancel("t").await.unwrap();
    let run = runner.run(&graph, "t", Desk::update()).await.unwrap();
    assert_eq!(ids(run.asks()), ["left:2.0/1", "right:2.1/1"]);
    assert_eq!(run.state.topic, "lamps", "the state goes on");
    bench.is_whole().await;
}

#[tokio::test]
async fn a_resume_without_answers_reports_what_waits_and_writes_nothing() {
    let bench = Bench::new();
    bench.open().await;
    let before = bench.records().await;
    let runner = bench.runner();
    let run = runner.resume(&bench.desk(), "t", ()).await.unwrap();
    assert_eq!(ids(run.asks()), [LEFT, RIGHT]);
    assert_eq!(bench.records().await, before);
}

#[tokio::test]
async fn a_resume_without_answers_goes_on_where_the_time_of_a_question_is_over() {
    let bench = Bench::new();
    let graph = GraphBuilder::<Desk>::typed("g")
        .function("ask", |_, context: TaskContext| async move {
            let asked = context.ask_until("soon?", Duration::from_hours(1)).await?;
            note(if asked == Asked::Expired {
                "late"
            } else {
                "in time"
            })
        })
        .start(["ask"])
        .finish("ask")
        .compile()
        .unwrap();
    let runner = bench.runner();
    runner.run(&graph, "t", Desk::update()).await.unwrap();
    let run = runner.resume(&graph, "t", ()).await.unwrap();
    assert_eq!(run.asks().len(), 1);
    bench.clock.advance(Duration::from_hours(2));
    let run = runner.resume(&graph, "t", ()).await.unwrap();
    assert_eq!(run.state.notes, ["late"]);
}

#[tokio::test]
async fn a_runtime_goes_on_too_where_the_time_of_a_question_is_over() {
    let bench = Bench::new();
    let graph = GraphBuilder::new("g")
        .channel("note", rustagents_graph::Reducer::Overwrite)
        .function("ask", |_, context: TaskContext| async move {
            context.ask_until("soon?", Duration::from_hours(1)).await?;
            Ok(NodeOutput::new())
        })
        .start(["ask"])
        .finish("ask")
        .compile()
        .unwrap();
    let input = rustagents_graph::Writes::new();
    bench.runner().run(&graph, "t", input).await.unwrap();
    let plan = r#"graph g {
      channel note overwrite
      start ask
      node ask { kind interrupt  prompt "soon?"  output note  next END }
    }"#;
    let program = crate::bench::Bench::new().program(plan);
    let clock = Arc::new(bench.clock.clone());
    let runtime = Runtime::new(Arc::clone(&bench.journal), clock, bench.ids.clone());
    let attempts = async || {
        let resume = Resume {
            thread: ThreadId::new("t").unwrap(),
            decisions: Vec::new(),
        };
        let resumed = runtime.resume(&program, resume, Watch::default()).await;
        resumed.unwrap();
        let thread = ThreadId::new("t").unwrap();
        let view = ThreadView::load(&*bench.journal, &thread).await.unwrap();
        view.unwrap().attempts
    };
    assert_eq!(attempts().await, 1, "it waits");
    bench.clock.advance(Duration::from_hours(2));
    assert_eq!(attempts().await, 2);
}

#[tokio::test]
async fn unknown_threads_and_names_are_refused() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), bench.desk());
    let code = async |call: Result<_, GraphRunError>| call.unwrap_err().code().as_str();
    assert_eq!(
        code(runner.resume(&graph, "t", ()).await.map(drop)).await,
        "RAG0401"
    );
    assert_eq!(
        code(runner.state(&graph, "t").await.map(drop)).await,
        "RAG0401"
    );
    assert_eq!(
        code(runner.history("t", 9).await.map(drop)).await,
        "RAG0401"
    );
    let edit = rustagents_graph::Edit::new(Desk::update());
    for call in [
        runner.update(&graph, "t", [edit]).await.map(drop),
        runner.rewind(&graph, "t", 1).await.map(drop),
        runner.retry(&graph, "t").await.map(drop),
        runner.cancel("t").await,
        runner.state_at(&graph, "t", 1).await.map(drop),
    ] {
        assert_eq!(code(call).await, "RAG0401");
    }
    let run = runner.run(&graph, "a@b", Desk::update()).await;
    assert_eq!(code(run.map(drop)).await, "RAG0410");
}

async fn to_the_end(runner: &GraphRunner, graph: &Graph<Desk>) -> Option<Arc<Desk>> {
    let input = Desk::update().topic("lamps");
    let run = match runner.state(graph, "t").await {
        Ok(view) if view.status == Some(Status::Completed) => return Some(view.state),
        Ok(_) => runner.resume(graph, "t", ()).await,
        Err(GraphRunError::UnknownThread { .. }) => runner.run(graph, "t", input).await,
        Err(_) => return None,
    };
    let mut run = run.ok()?;
    for _ in 0..3 {
        let Some(ask) = run.asks().first() else {
            return Some(run.state);
        };
        let answer = [(ask.id.clone(), "yes")];
        run = runner.resume(graph, "t", answer).await.ok()?;
    }
    panic!("no end");
}

#[tokio::test]
async fn a_crash_at_any_write_leads_to_the_same_end() {
    let never = FaultPoint {
        write: u64::MAX,
        side: Side::Before,
    };
    let journal = FaultJournal::new(Arc::new(MemoryJournal::new()), never, || {});
    let journal = Arc::new(journal);
    let bench = Bench::on(journal.clone());
    let expected = to_the_end(&bench.runner(), &bench.desk()).await.unwrap();
    assert_eq!(expected.notes, ["left: yes", "right: yes", "2 notes"]);
    assert!(journal.writes() > 6);
    for write in 1..=journal.writes() {
        for side in [Side::Before, Side::After] {
            let inner = Arc::new(MemoryJournal::new());
            let fault = FaultJournal::new(inner.clone(), FaultPoint { write, side }, || {});
            let dying = Bench::on(Arc::new(fault));
            let crashed = to_the_end(&dying.runner(), &dying.desk()).await;
            assert!(crashed.is_none(), "write {write} {side:?}");
            let bench = Bench::on(inner);
            let state = to_the_end(&bench.runner(), &bench.desk()).await;
            assert_eq!(state, Some(expected.clone()), "write {write} {side:?}");
            bench.is_whole().await;
        }
    }
}

#[tokio::test]
async fn an_unfinished_run_refuses_a_new_input_and_is_resumed() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), bench.desk());
    let watch = Watch::default();
    watch.cancel.cancel();
    let stopped = runner.clone().watched(watch);
    let error = stopped.run(&graph, "t", Desk::update()).await.unwrap_err();
    assert!(matches!(error, GraphRunError::Halt(Halt::Cancelled)));
    let view = runner.state(&graph, "t").await.unwrap();
    assert_eq!((view.status, view.checkpoint), (None, 1));
    assert_eq!(view.next.len(), 2);
    bench
        .refuses("RAG0408", runner.run(&graph, "t", Desk::update()))
        .await;
    let run = runner.resume(&graph, "t", ()).await.unwrap();
    assert_eq!(run.asks().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_second_driver_is_refused_and_the_first_can_be_cancelled() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let runner = GraphRunner::new(Arc::clone(&journal));
    let graph = GraphBuilder::<Desk>::typed("g")
        .function("wait", |_, _| async {
            tokio::time::sleep(Duration::from_hours(1)).await;
            note("waited")
        })
        .start(["wait"])
        .finish("wait")
        .compile()
        .unwrap();
    let cancel = CancellationToken::new();
    let watch = Watch {
        cancel: cancel.clone(),
        ..Watch::default()
    };
    let (first, theirs) = (runner.clone().watched(watch), graph.clone());
    let first = tokio::spawn(async move { first.run(&theirs, "t", Desk::update()).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let second = runner.resume(&graph, "t", ()).await.unwrap_err();
    assert_eq!(second.code().as_str(), "RAG0305", "{second}");
    let second = runner.run(&graph, "t", Desk::update()).await.unwrap_err();
    assert_eq!(second.code().as_str(), "RAG0305", "{second}");
    cancel.cancel();
    let ended = first.await.unwrap();
    assert!(matches!(ended, Err(GraphRunError::Halt(Halt::Cancelled))));
    let run = runner.resume(&graph, "t", ()).await.unwrap();
    assert_eq!(run.state.notes, ["waited"]);
}

#[tokio::test]
async fn a_thread_goes_on_with_one_input_after_another() {
    let bench = Bench::new();
    let graph = GraphBuilder::<Desk>::typed("talk")
        .function(
            "reply",
            |desk: Arc<Desk>, context: TaskContext| async move {
                let said = desk.messages.last().map(|m| m.text()).unwrap_or_default();
                let id = context.scope().mint_message();
                let reply = Message::assistant(id, format!("{said}!"), vec![]);
                Ok(Desk::update().messages(reply).into())
            },
        )
        .start(["reply"])
        .finish("reply")
        .compile()
        .unwrap();
    let runner = bench.runner();
    for text in ["hello", "bye"] {
        let said = |scope: &rustagents_core::scope::Scope| {
            Desk::update().messages(Message::user(scope.mint_message(), text))
        };
        runner.run_with(&graph, "t", said).await.unwrap();
    }
    let view = runner.state(&graph, "t").await.unwrap();
    let texts: Vec<_> = view.state.messages.iter().map(|m| m.text()).collect();
    assert_eq!(texts, ["hello", "hello!", "bye", "bye!"]);
    let history = runner.history("t", 9).await.unwrap();
    let numbers: Vec<_> = history.iter().map(|moment| moment.checkpoint).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert_eq!(history[1].run.as_str(), history[0].run.as_str());
    assert_ne!(history[1].run, history[2].run);
    bench.is_whole().await;
}

#[tokio::test]
async fn an_input_that_does_not_fit_opens_nothing() {
    let bench = Bench::new();
    let graph = GraphBuilder::new("g")
        .channel("n", rustagents_graph::Reducer::Counter)
        .function("a", |_, _| async { Ok(NodeOutput::new()) })
        .start(["a"])
        .finish("a")
        .compile()
        .unwrap();
    let mut input = rustagents_graph::Writes::new();
    input.push("n", rustagents_graph::Update::Value(json!("many")));
    let runner = bench.runner();
    let run = runner.run(&graph, "t", input);
    bench.refuses("RAG0411", run).await;
}

/// Charges, and dies in the middle of it for the first time.
fn charging(world: &World) -> Graph<Desk> {
    let (world, runs) = (world.clone(), Arc::new(AtomicUsize::new(0)));
    GraphBuilder::<Desk>::typed("till")
        .function("charge", move |_, context: TaskContext| {
            let (world, runs) = (world.clone(), Arc::clone(&runs));
            async move {
                let charge = |_: StepContext| async move {
                    world.change("charged");
                    if runs.fetch_add(1, Ordering::SeqCst) == 0 {
                        return Err("the line dropped");
                    }
                    Ok("receipt".to_owned())
                };
                let receipt = context.step_once("charge", charge).await?;
                note(receipt)
            }
        })
        .start(["charge"])
        .finish("charge")
        .compile()
        .unwrap()
}

#[tokio::test]
async fn a_step_that_ends_after_a_take_over_has_its_result() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let bench = Bench::new();
        let (journal, world) = (Arc::clone(&bench.journal), bench.world.clone());
        let graph = GraphBuilder::<Desk>::typed("till")
            .function("charge", move |_, context: TaskContext| {
                let (journal, world) = (Arc::clone(&journal), world.clone());
                async move {
                    let charge = |_: StepContext| async move {
                        let thread = ThreadId::new("t").unwrap();
                        let taken = journal.take_over(&thread, Owner::default()).await;
                        drop(taken.unwrap());
                        world.change("charged");
                        Ok::<_, NodeError>("receipt".to_owned())
                    };
                    let receipt = context.step_once("charge", charge).await?;
                    note(receipt)
                }
            })
            .start(["charge"])
            .finish("charge")
            .compile()
            .unwrap();
        let watch = Watch {
            durability,
            ..Watch::default()
        };
        let runner = bench.runner().watched(watch);
        let fenced = runner.run(&graph, "t", Desk::update()).await.unwrap_err();
        assert_eq!(fenced.code().as_str(), "RAG0306", "{fenced}");
        bench.is_whole().await;
        let run = bench.runner().resume(&graph, "t", ()).await.unwrap();
        assert!(matches!(run.outcome, Outcome::Completed));
        assert_eq!(run.state.notes, ["receipt"]);
        assert_eq!(bench.world.changes(), ["charged"], "and not again");
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn a_step_in_doubt_is_asked_about_and_settled_by_a_decision() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), charging(&bench.world));
    let run = runner.run(&graph, "t", Desk::update()).await.unwrap();
    let ask = run.asks()[0].clone();
    let prompt = "step `charge#1` may have taken effect (the line dropped)";
    assert!(ask.prompt.starts_with(prompt), "{ask:?}");
    let ask = ask.id;
    assert_eq!(ask.as_str(), "charge:1.0/charge#1/doubt/1");
    bench.refuses("RAG0412", runner.cancel("t")).await;
    let json = runner.resume(&graph, "t", [(ask.clone(), "R-7")]);
    bench.refuses("RAG0406", json).await;
    let wrong = Decision::Done {
        call: ask.to_string(),
        result: json!(7),
    };
    let run = runner.resume(&graph, "t", wrong).await.unwrap();
    let ask = run.asks()[0].id.clone();
    assert_eq!(ask.as_str(), "charge:1.0/charge#1/doubt/1/2", "no receipt");
    bench.refuses("RAG0412", runner.cancel("t")).await;
    let done = Decision::Done {
        call: ask.to_string(),
        result: json!("R-7"),
    };
    let run = runner.resume(&graph, "t", done).await.unwrap();
    assert_eq!(run.state.notes, ["R-7"]);
    assert_eq!(bench.world.changes(), ["charged"]);
    let back = bench
        .refuses("RAG0412", runner.rewind(&graph, "t", 1))
        .await;
    assert_eq!(
        back.to_string(),
        "going back in thread `t` could repeat step `charge:1.0/charge#1`"
    );
    let view = runner.rewind_and_repeat(&graph, "t", 1).await.unwrap();
    assert_eq!(view.next[0].as_str(), "charge");
    let run = runner.resume(&graph, "t", ()).await.unwrap();
    assert_eq!(run.state.notes, ["receipt"]);
    bench.is_whole().await;
}

#[tokio::test]
async fn durability_of_its_own_is_taken() {
    for durability in [Durability::Async, Durability::Exit] {
        let (bench, runner) = lasting(durability);
        let run = runner.run(&bench.desk(), "t", Desk::update()).await;
        assert_eq!(run.unwrap().asks().len(), 2, "{durability:?}");
        // What is kept in memory waits as long as its process.
        let (graph, both) = (bench.desk(), [(LEFT, "a"), (RIGHT, "b")]);
        let run = runner.resume(&graph, "t", both).await.unwrap();
        assert_eq!(run.state.notes, ["left: a", "right: b", "2 notes"]);
    }
}

#[tokio::test]
async fn a_run_that_records_nothing_fails_instead_of_waiting_for_ever() {
    let (bench, runner) = lasting(Durability::None);
    let run = runner.run(&bench.desk(), "t", Desk::update()).await;
    let Outcome::Failed { node, failure } = run.unwrap().outcome else {
        panic!("it waits");
    };
    assert_eq!((node.as_str(), failure.code.as_str()), ("left", "RAG0418"));
    assert!(failure.message.contains("and 1 question more"));
    let nothing = runner.state(&bench.desk(), "t").await.unwrap_err();
    assert_eq!(nothing.code().as_str(), "RAG0419");
}

fn lasting(durability: Durability) -> (Bench, GraphRunner) {
    let bench = Bench::new();
    let watch = Watch {
        durability,
        ..Watch::default()
    };
    let runner = bench.runner().watched(watch);
    (bench, runner)
}

#[tokio::test]
async fn a_run_records_what_opens_suspends_and_closes_it() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), bench.desk());
    bench.open().await;
    let both = [(LEFT, "a"), (RIGHT, "b")];
    runner.resume(&graph, "t", both).await.unwrap();
    let thread = ThreadId::new("t").unwrap();
    let log = ThreadLog::load_whole(&*bench.journal, &thread)
        .await
        .unwrap();
    let kinds = [
        kind::RUN_OPENED,
        kind::RUN_SUSPENDED,
        kind::RUN_ATTEMPT,
        kind::RUN_CLOSED,
    ];
    let told = log.records().iter();
    let told = told.filter(|record| kinds.iter().any(|kind| record.is(*kind)));
    let told: Vec<_> = told.map(|record| record.kind.to_string()).collect();
    assert_eq!(
        told,
        ["run.opened", "run.suspended", "run.attempt", "run.closed"]
    );
    assert!(log.records()[0].body.contains(r#""plan":"graph:desk""#));
    let end = Graph::<Desk>::topology(&graph).edges.last().unwrap();
    assert_eq!(end.to, END);
}

#[tokio::test]
async fn futures_of_runs_can_be_spawned() {
    fn sent<F: Future + Send>(future: F) -> F {
        future
    }
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), bench.desk());
    sent(runner.run(&graph, "t", Desk::update())).await.unwrap();
    sent(runner.resume(&graph, "t", [(LEFT, "a")]))
        .await
        .unwrap();
    drop(sent(runner.update(&graph, "t", [])));
    sent(runner.rewind(&graph, "t", 1)).await.unwrap();
    sent(runner.cancel("t")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_frees_its_thread_and_is_resumed() {
    let bench = Bench::new();
    let graph = GraphBuilder::<Desk>::typed("g")
        .function("wait", |_, _| async {
            tokio::time::sleep(Duration::from_mins(1)).await;
            note("waited")
        })
        .start(["wait"])
        .finish("wait")
        .compile()
        .unwrap();
    let runner = bench.runner();
    let run = runner.run(&graph, "t", Desk::update());
    tokio::time::timeout(Duration::from_secs(1), run)
        .await
        .unwrap_err();
    let run = runner.resume(&graph, "t", ()).await.unwrap();
    assert_eq!(run.state.notes, ["waited"]);
}
