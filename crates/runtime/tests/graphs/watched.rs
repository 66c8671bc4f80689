//! What a watcher of a run hears.

use super::*;
use rustagents_agent::{Agent, FailFast, ToolSet};
use rustagents_core::{
    event::Events,
    tool::{Approval, EffectClass, Tool},
};
use rustagents_graph::{MemoryCache, NodeSpec, RetryPolicy};
use rustagents_runtime::{
    AgentNode,
    stream::{Stream, StreamBody, StreamMode, StreamPart, TaskDid},
};
use rustagents_testkit::{
    model::{FakeModel, Reply},
    tool::FakeTool,
};

fn watching(bench: &Bench, modes: &[StreamMode]) -> (GraphRunner, Stream) {
    let (events, stream) = Stream::of(Events::default(), modes.iter().copied(), 999);
    let watch = Watch {
        events,
        ..Watch::default()
    };
    (bench.runner().watched(watch), stream)
}

/// What a stream still holds, once nobody can say more.
async fn all(runner: GraphRunner, mut stream: Stream) -> Vec<StreamPart> {
    drop(runner);
    let mut parts = Vec::new();
    while let Some(part) = stream.next().await {
        parts.push(part);
    }
    parts
}

/// What tasks did, each in one line, without their begins and good ends.
fn told(parts: &[StreamPart]) -> Vec<String> {
    let lines = parts.iter().filter_map(|part| match &part.body {
        StreamBody::Tasks { task, did, .. } => Some(format!("[{}] {task} {did:?}", part.namespace)),
        _ => None,
    });
    let lines = lines.filter(|line| !line.ends_with(" Start") && !line.ends_with(" Complete"));
    lines.collect()
}

fn asking(name: &str) -> GraphBuilder<Desk> {
    GraphBuilder::typed(name)
        .function("ask", |_, context: TaskContext| async move {
            let answer = context.ask("?").await?;
            note(answer.as_str().unwrap_or_default())
        })
        .start(["ask"])
        .finish("ask")
}

/// Three graphs deep, with a question, beside one behind an adapter; both are asked
/// for too, before they run.
fn nested() -> Graph<Desk> {
    let middle = GraphBuilder::<Desk>::typed("middle")
        .subgraph("inner", asking("inner").compile().unwrap())
        .start(["inner"])
        .finish("inner")
        .compile()
        .unwrap();
    GraphBuilder::<Desk>::typed("outer")
        .subgraph("sub", middle)
        .adapted(
            "other",
            asking("other").compile().unwrap(),
            |_, _| Desk::update(),
            |child: &Desk| Desk::update().extend_notes(child.notes.clone()),
        )
        .spec("other", NodeSpec::new().ask_before())
        .start(["sub", "other"])
        .finish("sub")
        .finish("other")
        .compile()
        .unwrap()
}

#[tokio::test]
async fn a_question_is_told_once_in_each_attempt_by_the_innermost_task() {
    let bench = Bench::new();
    let graph = nested();
    let (runner, stream) = watching(&bench, &[StreamMode::Tasks]);
    let run = runner.run(&graph, "t", Desk::update()).await.unwrap();
    let inner = "sub:1.0/inner:1.0/ask:1.0/1";
    assert_eq!(ids(run.asks()), [inner, "other:1.1/before"]);
    let mut heard = told(&all(runner, stream).await);
    heard.sort();
    assert_eq!(
        heard,
        [
            r#"[] other:1.1 Suspend(["other:1.1/before"])"#,
            "[] sub:1.0 Suspend([])",
            r#"[sub:1.0/inner:1.0] sub:1.0/inner:1.0/ask:1.0 Suspend(["sub:1.0/inner:1.0/ask:1.0/1"])"#,
            "[sub:1.0] sub:1.0/inner:1.0 Suspend([])",
        ]
    );
    // The next attempt tells of what still waits, and of what is asked anew.
    let (runner, stream) = watching(&bench, &[StreamMode::Tasks]);
    let before = [("other:1.1/before", "yes")];
    let run = runner.resume(&graph, "t", before).await.unwrap();
    let other = "other:1.1/ask:1.0/1";
    assert_eq!(ids(run.asks()), [inner, other]);
    let heard = told(&all(runner, stream).await);
    for id in [inner, other] {
        let times = heard.iter().filter(|line| line.contains(id)).count();
        assert_eq!(times, 1, "{id}: {heard:?}");
    }
    let (runner, stream) = watching(&bench, &[StreamMode::Tasks]);
    let both = [(inner, "a"), (other, "b")];
    let run = runner.resume(&graph, "t", both).await.unwrap();
    assert!(matches!(run.outcome, Outcome::Completed));
    assert_eq!(run.state.notes, ["a", "b"]);
    assert_eq!(told(&all(runner, stream).await), [""; 0]);
    bench.is_whole().await;
}

/// A node that fails at first, one that always does and need not succeed, and one
/// whose output is kept.
fn eventful(fails: &Arc<AtomicUsize>, cache: &Arc<MemoryCache>) -> Graph<Desk> {
    let left = Arc::clone(fails);
    let retry = RetryPolicy::new().pause(Duration::ZERO, 1.0);
    GraphBuilder::<Desk>::typed("g")
        .function("shaky", move |_, _| {
            let fails = left.swap(0, Ordering::SeqCst) > 0;
            async move {
                if fails {
                    return Err(NodeError::failed("not yet"));
                }
                note("shaky")
            }
        })
        .function("lost", |_, _| async { Err(NodeError::failed("never")) })
        .function("kept", |_, _| async { note("kept") })
        .spec("shaky", NodeSpec::new().retry(retry))
        .spec("lost", NodeSpec::new().optional())
        .cached("kept", cache.clone(), None, |_, _| Some(json!("always")))
        .start(["shaky"])
        .sequence(["shaky", "lost", "kept", END])
        .compile()
        .unwrap()
}

#[tokio::test]
async fn a_task_tells_that_it_is_tried_again_fails_or_is_taken_from_a_cache() {
    let bench = Bench::new();
    let (fails, cache) = (Arc::new(AtomicUsize::new(1)), Arc::new(MemoryCache::new(9)));
    let graph = eventful(&fails, &cache);
    let (runner, stream) = watching(&bench, &[StreamMode::Tasks]);
    runner.run(&graph, "t", Desk::update()).await.unwrap();
    assert_eq!(
        told(&all(runner, stream).await),
        [
            r#"[] shaky:1.0 Retry("not yet")"#,
            r#"[] lost:2.0 Fail("never")"#,
        ]
    );
    let (runner, stream) = watching(&bench, &[StreamMode::Tasks]);
    runner.run(&graph, "u", Desk::update()).await.unwrap();
    let parts = all(runner, stream).await;
    assert_eq!(
        told(&parts),
        [r#"[] lost:2.0 Fail("never")"#, "[] kept:3.0 Cache"]
    );
    let begun = parts.iter().filter(|part| {
        matches!(&part.body, StreamBody::Tasks { task, did: TaskDid::Start, .. } if task == "kept:3.0")
    });
    assert_eq!(
        begun.count(),
        0,
        "what is taken from a cache does not begin"
    );
}

#[tokio::test]
async fn a_failure_that_ends_the_run_is_told_by_each_graph_around_it() {
    let bench = Bench::new();
    let child = GraphBuilder::<Desk>::typed("child")
        .function("bad", |_, _| async { Err(NodeError::failed("no luck")) })
        .start(["bad"])
        .finish("bad")
        .compile()
        .unwrap();
    let graph = GraphBuilder::<Desk>::typed("g")
        .subgraph("sub", child)
        .start(["sub"])
        .finish("sub")
        .compile()
        .unwrap();
    let (runner, stream) = watching(&bench, &[StreamMode::Tasks]);
    runner.run(&graph, "t", Desk::update()).await.unwrap();
    assert_eq!(
        told(&all(runner, stream).await),
        [
            r#"[sub:1.0] sub:1.0/bad:1.0 Fail("no luck")"#,
            r#"[] sub:1.0 Fail("`bad` in graph `child`: no luck")"#,
        ]
    );
}

#[tokio::test]
async fn every_plain_event_is_in_the_events_and_in_the_words_of_debug() {
    let bench = Bench::new();
    let graph = eventful(
        &Arc::new(AtomicUsize::new(1)),
        &Arc::new(MemoryCache::new(9)),
    );
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let listener = Arc::clone(&heard);
    let listening =
        Events::listen(move |event| listener.lock().unwrap().push(format!("{event:?}")));
    // Somebody else wants what is costly; the two modes say nothing of that.
    let (events, values) = Stream::of(listening, [StreamMode::Values, StreamMode::Updates], 99);
    let modes = [StreamMode::Events, StreamMode::Debug];
    let (events, stream) = Stream::of(events, modes, 999);
    let watch = Watch {
        events,
        ..Watch::default()
    };
    let runner = bench.runner().watched(watch);
    runner.run(&graph, "t", Desk::update()).await.unwrap();
    let parts = all(runner, stream).await;
    let events = parts.iter().filter_map(|part| match &part.body {
        StreamBody::Events(event) => Some(format!("{event:?}")),
        _ => None,
    });
    let words = parts.iter().filter_map(|part| match &part.body {
        StreamBody::Debug(words) => Some(words.clone()),
        _ => None,
    });
    let heard = heard.lock().unwrap();
    assert!(heard.len() > 9, "{heard:?}");
    assert_eq!(events.collect::<Vec<_>>(), *heard);
    assert_eq!(words.collect::<Vec<_>>(), *heard);
    assert!(heard[0].starts_with("RunStarted"));
    assert!(heard.last().unwrap().starts_with("RunEnded"));
    drop(values);
}

fn clerk(replies: impl IntoIterator<Item = Reply>, world: &World) -> AgentNode<Desk> {
    let pay = FakeTool::noting("pay", EffectClass::Once, world);
    let pay: Arc<dyn Tool> = Arc::new(pay.declare(|spec| spec.approval = Some(Approval::Ask)));
    let agent = Agent::builder("clerk")
        .model(Arc::new(FakeModel::new(replies)))
        .tools(ToolSet::new().offer(pay).build().unwrap())
        .policy(FailFast)
        .build()
        .unwrap();
    AgentNode::new(
        agent,
        |desk: &Desk| desk.messages.to_vec(),
        |said| Desk::update().notes(said.answer),
    )
}

/// The text of each task, put together.
fn said(parts: &[StreamPart]) -> BTreeMap<String, String> {
    let mut said = BTreeMap::<_, String>::new();
    for part in parts {
        let StreamBody::Messages { task, text } = &part.body else {
            panic!("{part:?}");
        };
        said.entry(format!("[{}] {task}", part.namespace))
            .or_default()
            .push_str(text);
    }
    said
}

#[tokio::test]
async fn the_text_of_each_agent_comes_once_over_all_attempts() {
    let bench = Bench::new();
    let pay = Reply::Calls(vec![("pay", r#"{"n":1}"#.into())]);
    let inner = GraphBuilder::<Desk>::typed("inner")
        .node("deep", clerk([Reply::Text("far below")], &bench.world))
        .start(["deep"])
        .finish("deep")
        .compile()
        .unwrap();
    let graph = GraphBuilder::<Desk>::typed("g")
        .node("quick", clerk([Reply::Text("at once")], &bench.world))
        .node("slow", clerk([pay, Reply::Text("after all")], &bench.world))
        .subgraph("sub", inner)
        .start(["quick", "slow", "sub"])
        .finish("quick")
        .finish("slow")
        .finish("sub")
        .compile()
        .unwrap();
    let input = |scope: &rustagents_core::scope::Scope| {
        Desk::update().messages(Message::user(scope.mint_message(), "hello"))
    };
    let (runner, stream) = watching(&bench, &[StreamMode::Messages]);
    let run = runner.run_with(&graph, "t", input).await.unwrap();
    let call = run.asks()[0].id.to_string();
    let first = said(&all(runner, stream).await);
    let wanted = |lines: &[(&str, &str)]| -> BTreeMap<String, String> {
        let lines = lines.iter();
        lines
            .map(|(task, text)| ((*task).into(), (*text).into()))
            .collect()
    };
    let below = "[sub:1.2] sub:1.2/deep:1.0";
    let both = [("[] quick:1.0", "at once"), (below, "far below")];
    assert_eq!(first, wanted(&both));
    let (runner, stream) = watching(&bench, &[StreamMode::Messages]);
    let approve = Decision::Approve { call, hash: None };
    let run = runner.resume(&graph, "t", approve).await.unwrap();
    assert_eq!(run.state.notes, ["at once", "after all", "far below"]);
    let second = said(&all(runner, stream).await);
    assert_eq!(second, wanted(&[("[] slow:1.1", "after all")]));
    bench.is_whole().await;
}

#[tokio::test]
async fn a_step_that_waits_has_no_values_and_each_that_is_done_has_them_once() {
    let bench = Bench::new();
    let graph = nested();
    let (runner, stream) = watching(&bench, &[StreamMode::Values]);
    let run = runner.run(&graph, "t", Desk::update()).await.unwrap();
    assert_eq!(run.asks().len(), 2);
    assert_eq!(all(runner, stream).await.len(), 0);
    let (runner, stream) = watching(&bench, &[StreamMode::Values]);
    let answers = [
        ("sub:1.0/inner:1.0/ask:1.0/1", "a"),
        ("other:1.1/before", "yes"),
    ];
    runner.resume(&graph, "t", answers).await.unwrap();
    let parts = all(runner, stream).await;
    let from: Vec<_> = parts.iter().map(|part| part.namespace.as_str()).collect();
    assert_eq!(
        from,
        ["sub:1.0/inner:1.0", "sub:1.0"],
        "the root still waits"
    );
}
