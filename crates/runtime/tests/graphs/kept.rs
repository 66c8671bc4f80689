//! Graphs inside a graph whose state is kept from call to call.
//!
//! Each call notes its topic in the channel `memory`, which is the child's own, and in
//! `log`, which is that of the graph around. So wherever a thread stands, what is kept
//! is the same as what the graph around has.

mod cost;
mod migrated;
mod nested;
mod threads;

use std::sync::atomic::AtomicBool;

use rustagents_graph::{Edit, KeptState, NodeSpec, Reducer, RetryPolicy, State, Update, Writes};

use super::*;

/// How a child lies in the graph around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Shared,
    Adapted,
}

const KINDS: [Kind; 2] = [Kind::Shared, Kind::Adapted];

type JsonEnded = Result<NodeOutput, NodeError>;

fn topic(state: &State) -> Value {
    state.value("topic").cloned().unwrap_or_default()
}

/// Notes the topic, and asks where it says so.
async fn remember(state: Arc<State>, context: TaskContext) -> JsonEnded {
    let topic = topic(&state);
    if topic == "ask" {
        context.ask("?").await?;
    }
    let calls = json!(1);
    Ok(NodeOutput::new()
        .write("memory", Update::Value(topic.clone()))
        .write("log", Update::Value(topic))
        .write("calls", Update::Value(calls)))
}

/// A child of two steps, the second of which may fail.
fn child() -> Graph {
    GraphBuilder::new("child")
        .channel("topic", Reducer::Overwrite)
        .channel("log", Reducer::Append)
        .channel("memory", Reducer::Append)
        .channel("calls", Reducer::Counter)
        .channel("now", Reducer::Ephemeral)
        .function("remember", remember)
        .function("last", |state: Arc<State>, _| async move {
            match topic(&state).as_str() {
                Some("fail") => Err(NodeError::failed("it fails")),
                _ => Ok(NodeOutput::new().write("now", Update::Value(json!(1)))),
            }
        })
        .start(["remember"])
        .sequence(["remember", "last", END])
        .compile()
        .unwrap()
}

fn last_of(child: &State) -> Writes {
    let mut writes = Writes::new();
    let last = child.list("log").last();
    if let Some(last) = last {
        writes.push("log", Update::Value((**last).clone()));
    }
    writes
}

fn held(builder: GraphBuilder, kind: Kind, child: Graph) -> GraphBuilder {
    match kind {
        Kind::Shared => builder.subgraph("sub", child),
        Kind::Adapted => builder.adapted(
            "sub",
            child,
            |state: &State, _| {
                let mut input = Writes::new();
                input.push("topic", Update::Value(topic(state)));
                input
            },
            last_of,
        ),
    }
}

fn builder() -> GraphBuilder {
    GraphBuilder::new("around")
        .channel("topic", Reducer::Overwrite)
        .channel("log", Reducer::Append)
        .channel("left", Reducer::Counter)
}

/// Calls the child as often as `left` says, each time beside a sibling that fails
/// while it is `broken`.
fn around(kind: Kind, spec: NodeSpec, broken: &Arc<AtomicBool>) -> Graph {
    let broken = Arc::clone(broken);
    held(builder(), kind, child())
        .spec("sub", spec)
        .function("begin", |_, _| async { Ok(NodeOutput::new()) })
        .function("beside", move |_, _| {
            let broken = broken.load(Ordering::Relaxed);
            async move {
                if broken {
                    return Err(NodeError::failed("broken"));
                }
                Ok(NodeOutput::new())
            }
        })
        .function("turn", |_, _| async {
            Ok(NodeOutput::new().write("left", Update::Value(json!(-1))))
        })
        .start(["begin"])
        .edge("begin", "sub")
        .edge("begin", "beside")
        .join(["sub", "beside"], "turn")
        .branch(
            "turn",
            |state: &State| left(state) > 0,
            [(true, "begin"), (false, END)],
        )
        .recursion_limit(1_000)
        .compile()
        .unwrap()
}

/// Calls the child as often as `left` says.
fn in_turns(builder: GraphBuilder) -> GraphBuilder {
    builder
        .function("turn", |_, _| async {
            Ok(NodeOutput::new().write("left", Update::Value(json!(-1))))
        })
        .start(["sub"])
        .edge("sub", "turn")
        .branch(
            "turn",
            |state: &State| left(state) > 0,
            [(true, "sub"), (false, END)],
        )
}

fn left(state: &State) -> i64 {
    state.value("left").and_then(Value::as_i64).unwrap_or(0)
}

fn input(topic: &str, times: u64) -> Writes {
    let mut input = Writes::new();
    input.push("topic", Update::Value(json!(topic)));
    input.push("left", Update::Replace(json!(times)));
    input
}

/// A thread with such a graph.
struct Story {
    bench: Bench,
    graph: Graph,
    broken: Arc<AtomicBool>,
}

impl Story {
    fn new(kind: Kind) -> Self {
        Self::on(kind, Arc::new(MemoryJournal::new()))
    }

    fn on(kind: Kind, journal: Arc<dyn Journal>) -> Self {
        Self::with(kind, journal, NodeSpec::new().keep_state())
    }

    fn with(kind: Kind, journal: Arc<dyn Journal>, spec: NodeSpec) -> Self {
        let broken = Arc::default();
        Self {
            bench: Bench::on(journal),
            graph: around(kind, spec, &broken),
            broken,
        }
    }

    fn runner(&self) -> GraphRunner {
        self.bench.runner()
    }

    async fn say(&self, topic: &str, times: u64) -> GraphRun<State> {
        let input = input(topic, times);
        let run = self.runner().run(&self.graph, "t", input).await;
        run.unwrap()
    }

    async fn break_at(&self, topic: &str) -> GraphRun<State> {
        self.broken.store(true, Ordering::Relaxed);
        let run = self.say(topic, 1).await;
        self.broken.store(false, Ordering::Relaxed);
        assert!(matches!(run.outcome, Outcome::Failed { .. }), "{run:?}");
        run
    }

    async fn kept(&self) -> Vec<KeptState> {
        let inside = self.runner().state_inside(&self.graph, "t", None).await;
        inside.unwrap().kept
    }

    /// What the child remembers, in the words of its calls.
    async fn memory(&self) -> Vec<String> {
        let kept = self.kept().await;
        kept.first().map_or_else(Vec::new, memory)
    }

    /// Says that at each checkpoint of a thread the child remembers what the graph
    /// around has, and that the thread is whole.
    async fn agrees_in(&self, thread: &str) {
        let runner = self.runner();
        for moment in runner.history(thread, 1_000).await.unwrap() {
            let number = Some(moment.checkpoint);
            let at = runner.state_inside(&self.graph, thread, number).await;
            let at = match at {
                Ok(at) => at,
                // What made its state was taken out.
                Err(error) if error.code().as_str() == "RAG0414" => continue,
                Err(error) => panic!("checkpoint {number:?}: {error}"),
            };
            let log = words(&json!(at.state.list("log")));
            let kept = at.kept.first().map_or_else(Vec::new, memory);
            assert_eq!(kept, log, "checkpoint {number:?}");
        }
        let now = runner
            .state_inside(&self.graph, thread, None)
            .await
            .unwrap();
        let kept = now.kept.first().map_or_else(Vec::new, memory);
        assert_eq!(kept, words(&json!(now.state.list("log"))));
        let name = ThreadId::new(thread).unwrap();
        assert_eq!(check(&*self.bench.journal, &name).await.unwrap(), []);
    }

    async fn agrees(&self) {
        self.agrees_in("t").await;
    }
}

fn words(list: &Value) -> Vec<String> {
    let words = list.as_array().into_iter().flatten();
    words
        .map(|word| word.as_str().unwrap_or_default().to_owned())
        .collect()
}

fn memory(kept: &KeptState) -> Vec<String> {
    assert_eq!(kept.node.as_str(), "sub");
    let memory = words(&kept.state["memory"]);
    assert_eq!(kept.state["calls"], json!(memory.len()));
    memory
}

#[tokio::test]
async fn a_call_begins_where_the_last_one_ended_in_its_run_and_in_the_next() {
    for kind in KINDS {
        for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
            let story = Story::new(kind);
            for (topic, times) in [("a", 2), ("b", 1), ("c", 3)] {
                let watch = Watch {
                    durability,
                    ..Watch::default()
                };
                let runner = story.runner().watched(watch);
                let run = runner.run(&story.graph, "t", input(topic, times)).await;
                assert!(matches!(run.unwrap().outcome, Outcome::Completed));
            }
            assert_eq!(story.memory().await, ["a", "a", "b", "c", "c", "c"]);
            story.agrees().await;
        }
    }
}

/// A child that tells the graph around it how much it remembers.
fn counting() -> Graph {
    GraphBuilder::new("child")
        .channel("topic", Reducer::Overwrite)
        .channel("log", Reducer::Append)
        .channel("memory", Reducer::Append)
        .function("remember", |_, _| async {
            Ok(NodeOutput::new().write("memory", Update::Value(json!(1))))
        })
        .function("tell", |state: Arc<State>, _| async move {
            let remembered = state.list("memory").len();
            Ok(NodeOutput::new().write("log", Update::Value(json!(remembered))))
        })
        .start(["remember"])
        .sequence(["remember", "tell", END])
        .compile()
        .unwrap()
}

#[tokio::test]
async fn a_run_that_records_nothing_keeps_what_it_has_as_long_as_it_lasts() {
    for kind in KINDS {
        let child = held(builder(), kind, counting()).spec("sub", NodeSpec::new().keep_state());
        let graph = in_turns(child).compile().unwrap();
        let watch = Watch {
            durability: Durability::None,
            ..Watch::default()
        };
        let bench = Bench::new();
        let runner = bench.runner().watched(watch);
        for _ in 0..2 {
            let run = runner.run(&graph, "t", input("a", 3)).await.unwrap();
            assert_eq!(json!(run.state.list("log")), json!([1, 2, 3]), "{kind:?}");
        }
        assert_eq!(bench.records().await, 0);
    }
}

#[tokio::test]
async fn a_child_that_keeps_nothing_begins_empty_and_its_records_name_no_call() {
    for kind in KINDS {
        let story = Story::with(kind, Arc::new(MemoryJournal::new()), NodeSpec::new());
        story.say("a", 2).await;
        story.say("b", 1).await;
        assert_eq!(story.kept().await, []);
        let name = ThreadId::new("t").unwrap();
        let log = ThreadLog::load_whole(&*story.bench.journal, &name).await;
        for record in log.unwrap().records() {
            assert_ne!(record.version, 2, "{record:?}");
            let names = ["\"kept\"", "\"keeps\"", "\"base\""];
            assert!(!names.iter().any(|name| record.body.contains(name)));
        }
    }
}

#[tokio::test]
async fn a_call_whose_step_was_not_taken_moves_nothing() {
    for kind in KINDS {
        let story = Story::new(kind);
        story.say("a", 1).await;
        story.break_at("lost").await;
        assert_eq!(story.memory().await, ["a"]);
        story.say("b", 1).await;
        assert_eq!(story.memory().await, ["a", "b"], "{kind:?}");
        story.agrees().await;
    }
}

#[tokio::test]
async fn a_retry_takes_the_call_that_was_done_beside_the_failure() {
    for kind in KINDS {
        let story = Story::new(kind);
        story.say("a", 1).await;
        story.break_at("b").await;
        let run = story.runner().retry(&story.graph, "t").await.unwrap();
        assert!(matches!(run.outcome, Outcome::Completed));
        story.say("c", 2).await;
        assert_eq!(story.memory().await, ["a", "b", "c", "c"]);
        story.agrees().await;
    }
}

#[tokio::test]
async fn a_call_that_failed_in_its_middle_goes_on_there_in_a_retry() {
    for kind in KINDS {
        let story = Story::new(kind);
        story.say("a", 1).await;
        let run = story.say("fail", 1).await;
        assert!(matches!(run.outcome, Outcome::Failed { .. }));
        assert_eq!(story.memory().await, ["a"]);
        let edit = Edit::new(input("b", 1));
        let edited = story.runner().update(&story.graph, "t", [edit]).await;
        edited.unwrap();
        story.agrees().await;
        story.say("c", 1).await;
        assert_eq!(story.memory().await, ["a", "c"]);
        story.agrees().await;
    }
}

#[tokio::test]
async fn a_failure_that_is_handled_moves_nothing() {
    for kind in KINDS {
        let graph = held(builder(), kind, child())
            .spec("sub", NodeSpec::new().keep_state().optional())
            .start(["sub"])
            .finish("sub")
            .compile()
            .unwrap();
        let bench = Bench::new();
        let runner = bench.runner();
        for topic in ["a", "fail", "b"] {
            let run = runner.run(&graph, "t", input(topic, 1)).await.unwrap();
            assert!(matches!(run.outcome, Outcome::Completed), "{run:?}");
        }
        let inside = runner.state_inside(&graph, "t", None).await.unwrap();
        assert_eq!(memory(&inside.kept[0]), ["a", "b"]);
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn another_try_of_a_call_goes_on_where_the_last_one_stood() {
    for kind in KINDS {
        let failures = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&failures);
        let flaky = GraphBuilder::new("child")
            .channel("topic", Reducer::Overwrite)
            .channel("log", Reducer::Append)
            .channel("memory", Reducer::Append)
            .channel("calls", Reducer::Counter)
            .function("remember", remember)
            .function("flaky", move |_, _| {
                let is_first = counted.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
                async move {
                    if is_first {
                        return Err(NodeError::failed("not now"));
                    }
                    Ok(NodeOutput::new())
                }
            })
            .start(["remember"])
            .sequence(["remember", "flaky", END])
            .compile()
            .unwrap();
        let retry = RetryPolicy::new().pause(Duration::ZERO, 1.0);
        let child =
            held(builder(), kind, flaky).spec("sub", NodeSpec::new().keep_state().retry(retry));
        let graph = in_turns(child).compile().unwrap();
        let bench = Bench::new();
        let runner = bench.runner();
        for topic in ["a", "b"] {
            let run = runner.run(&graph, "t", input(topic, 2)).await.unwrap();
            assert!(matches!(run.outcome, Outcome::Completed), "{run:?}");
        }
        let inside = runner.state_inside(&graph, "t", None).await.unwrap();
        assert_eq!(memory(&inside.kept[0]), ["a", "a", "b", "b"], "{kind:?}");
        assert_eq!(failures.load(Ordering::Relaxed), 8);
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn a_question_in_a_kept_child_is_answered_and_shown_on_top_of_what_is_kept() {
    for kind in KINDS {
        let story = Story::new(kind);
        story.say("a", 2).await;
        let run = story.say("ask", 1).await;
        let asked = run.asks()[0].id.clone();
        let runner = story.runner();
        let inside = runner.state_inside(&story.graph, "t", None).await.unwrap();
        let going = &inside.children[0];
        assert_eq!(words(&going.state["memory"]), ["a", "a"], "{kind:?}");
        assert_eq!(memory(&inside.kept[0]), ["a", "a"]);
        assert_eq!(going.asks.len(), 1);
        runner
            .resume(&story.graph, "t", [(asked, json!("yes"))])
            .await
            .unwrap();
        story.say("b", 1).await;
        assert_eq!(story.memory().await, ["a", "a", "ask", "b"]);
        story.agrees().await;
    }
}

#[tokio::test]
async fn what_lasts_one_step_is_gone_in_the_next_call() {
    for kind in KINDS {
        let story = Story::new(kind);
        story.say("a", 1).await;
        assert_eq!(story.kept().await[0].state["now"], json!(1));
        story.say("ask", 1).await;
        let runner = story.runner();
        let inside = runner.state_inside(&story.graph, "t", None).await.unwrap();
        assert_eq!(inside.children[0].state["now"], Value::Null, "{kind:?}");
    }
}

#[tokio::test]
async fn the_state_of_a_child_is_seen_between_its_calls() {
    let story = Story::new(Kind::Shared);
    story.say("a", 1).await;
    let kept = story.kept().await;
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].namespace.as_str(), "sub:2.0");
    assert_eq!(kept[0].checkpoint, 3);
    let own = json!({ "memory": ["a"], "calls": 1, "now": 1 });
    assert_eq!(kept[0].state, own, "what is shared is not its own");
    let story = Story::new(Kind::Adapted);
    story.say("a", 1).await;
    let kept = story.kept().await;
    assert_eq!(kept[0].state["topic"], json!("a"));
    assert_eq!(kept[0].state["log"], json!(["a"]));
}

#[tokio::test]
async fn two_calls_of_one_step_are_refused_before_anything_of_it_is_recorded() {
    for kind in KINDS {
        let graph = held(builder(), kind, child())
            .spec("sub", NodeSpec::new().keep_state())
            .function("plan", |_, _| async {
                Ok(NodeOutput::new()
                    .write("log", Update::Value(json!("planned")))
                    .send_each("sub", [1, 2]))
            })
            .start(["plan"])
            .commands("plan", ["sub"])
            .finish("sub")
            .compile()
            .unwrap();
        let bench = Bench::new();
        let run = bench
            .runner()
            .run(&graph, "t", input("a", 1))
            .await
            .unwrap();
        let Outcome::Failed { node, failure } = &run.outcome else {
            panic!("{run:?}");
        };
        assert_eq!((node.as_str(), failure.code.as_str()), ("plan", "RAG0819"));
        assert_eq!(
            failure.message,
            "tasks sub:2.0 and sub:2.1 of one step both go on from the last call of node `sub`"
        );
        assert_eq!(run.state.list("log"), []);
        assert_eq!(run.checkpoint, 1);
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn tasks_of_a_step_that_keep_nothing_yet_are_refused_when_their_node_does() {
    let make = |spec: NodeSpec| {
        held(builder(), Kind::Adapted, child())
            .spec("sub", spec)
            .function("plan", |_, _| async {
                Ok(NodeOutput::new().send_each("sub", [1, 2]))
            })
            .start(["plan"])
            .commands("plan", ["sub"])
            .finish("sub")
            .compile()
            .unwrap()
    };
    let bench = Bench::new();
    let runner = bench.runner();
    let run = runner
        .run(&make(NodeSpec::new()), "t", input("ask", 1))
        .await;
    assert_eq!(run.unwrap().asks().len(), 2);
    let keeping = make(NodeSpec::new().keep_state());
    let answers = [("sub:2.0/remember:1.0/1", json!(1))];
    let resumed = runner.resume(&keeping, "t", answers);
    bench.refuses("RAG0409", resumed).await;
}

async fn to_the_end(story: &Story) -> Option<Vec<String>> {
    for topic in ["a", "ask", "b"] {
        let runner = story.runner();
        let opened = runner.run(&story.graph, "t", input(topic, 2)).await;
        let mut run = match opened {
            Ok(run) => run,
            Err(GraphRunError::Unfinished { .. } | GraphRunError::Waits { .. }) => {
                runner.resume(&story.graph, "t", ()).await.ok()?
            }
            Err(_) => return None,
        };
        while let Some(ask) = run.asks().first().map(|ask| ask.id.clone()) {
            let resumed = runner.resume(&story.graph, "t", [(ask, json!(1))]).await;
            run = resumed.ok()?;
        }
    }
    Some(story.memory().await)
}

#[tokio::test]
async fn a_crash_at_any_write_leads_to_the_same_memory() {
    for kind in KINDS {
        let never = FaultPoint {
            write: u64::MAX,
            side: Side::Before,
        };
        let journal = FaultJournal::new(Arc::new(MemoryJournal::new()), never, || {});
        let journal = Arc::new(journal);
        let expected = to_the_end(&Story::on(kind, journal.clone())).await.unwrap();
        assert_eq!(expected, ["a", "a", "ask", "ask", "b", "b"]);
        for write in 1..=journal.writes() {
            for side in [Side::Before, Side::After] {
                crashed(kind, FaultPoint { write, side }).await;
            }
        }
    }
}

/// Dies at a write, goes on with the unfinished run, then says what is left to say.
async fn crashed(kind: Kind, fault: FaultPoint) {
    let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let dying = Arc::new(FaultJournal::new(Arc::clone(&inner), fault, || {}));
    let dying = Story::on(kind, dying);
    assert!(to_the_end(&dying).await.is_none(), "{fault:?}");
    let mut story = Story::on(kind, inner);
    story.bench.ids = dying.bench.ids;
    let runner = story.runner();
    if let Ok(mut run) = runner.resume(&story.graph, "t", ()).await {
        while let Some(ask) = run.asks().first().map(|ask| ask.id.clone()) {
            let answer = [(ask, json!(1))];
            run = runner.resume(&story.graph, "t", answer).await.unwrap();
        }
        assert!(matches!(run.outcome, Outcome::Completed), "{fault:?}");
        story.agrees().await;
    }
    story.say("end", 1).await;
    story.agrees().await;
    let memory = story.memory().await;
    let pairs = memory.split_last().unwrap().1.chunks(2);
    assert!(
        pairs.into_iter().all(|pair| pair[0] == pair[1]),
        "{memory:?}"
    );
}
