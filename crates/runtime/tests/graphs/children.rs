//! Graphs inside graphs, on a thread that is changed from outside.

use super::*;
use rustagents_graph::{Edit, Reducer, State, Update, Writes};
use rustagents_runtime::threads::{Fork, fork};

/// How a child lies in the graph around it.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Shared,
    Adapted,
}

const KINDS: [Kind; 2] = [Kind::Shared, Kind::Adapted];

/// A node that notes its name, and says to the world that it ran.
fn noting(
    name: &'static str,
    world: &World,
) -> impl Fn(Arc<Desk>, TaskContext) -> futures::future::Ready<Ended> + Send + Sync + 'static {
    let world = world.clone();
    move |_, _| {
        world.change(name);
        futures::future::ready(note(name))
    }
}

/// `a`, then a child of `in`, a question and `out`, beside a sibling, then `b`.
fn around(kind: Kind, world: &World) -> Graph<Desk> {
    let child = GraphBuilder::<Desk>::typed("child")
        .function("in", noting("in", world))
        .function("ask", |_, context: TaskContext| async move {
            let answer = context.ask("?").await?;
            note(answer.as_str().unwrap_or_default())
        })
        .function("out", noting("out", world))
        .start(["in"])
        .sequence(["in", "ask", "out", END])
        .compile()
        .unwrap();
    let graph = GraphBuilder::<Desk>::typed("around")
        .function("a", noting("a", world))
        .function("beside", noting("beside", world))
        .function("b", noting("b", world));
    let graph = match kind {
        Kind::Shared => graph.subgraph("sub", child),
        Kind::Adapted => graph.adapted(
            "sub",
            child,
            |_, _| Desk::update(),
            |child: &Desk| Desk::update().extend_notes(child.notes.clone()),
        ),
    };
    graph
        .start(["a"])
        .edge("a", "sub")
        .edge("a", "beside")
        .join(["sub", "beside"], "b")
        .finish("b")
        .compile()
        .unwrap()
}

const ASKED: &str = "sub:2.0/ask:2.0/1";
const DONE: [&str; 6] = ["a", "in", "yes", "out", "beside", "b"];

/// A thread whose child waits.
async fn waiting(kind: Kind) -> (Bench, Graph<Desk>) {
    let bench = Bench::new();
    let graph = around(kind, &bench.world);
    let runner = bench.runner();
    let run = runner.run(&graph, "t", Desk::update()).await.unwrap();
    assert_eq!(ids(run.asks()), [ASKED], "{kind:?}");
    assert_eq!(bench.world.changes(), ["a", "in", "beside"]);
    (bench, graph)
}

#[tokio::test]
async fn a_step_that_is_not_over_is_in_no_state_though_a_sibling_is() {
    for kind in KINDS {
        let (bench, graph) = waiting(kind).await;
        let runner = bench.runner();
        let view = runner.state(&graph, "t").await.unwrap();
        assert_eq!(view.state.notes, ["a"], "{kind:?}");
        let next: Vec<_> = view.next.iter().map(ToString::to_string).collect();
        assert_eq!(
            (next, view.checkpoint),
            (vec!["sub".into(), "beside".into()], 2)
        );
        assert_eq!(runner.state_at(&graph, "t", 2).await.unwrap().notes, ["a"]);
        let run = runner.resume(&graph, "t", [(ASKED, "yes")]).await.unwrap();
        assert_eq!(run.state.notes, DONE, "{kind:?}");
        assert_eq!(bench.world.changes(), ["a", "in", "beside", "out", "b"]);
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn going_back_runs_a_child_anew_from_its_begin() {
    for kind in KINDS {
        let (bench, graph) = waiting(kind).await;
        let runner = bench.runner();
        runner.resume(&graph, "t", [(ASKED, "no")]).await.unwrap();
        // To before the child, to where it begins, and to where it waits.
        for (to, ran) in [(1, 3), (2, 2)] {
            let before = bench.world.changes().len();
            runner.rewind(&graph, "t", to).await.unwrap();
            let run = runner.resume(&graph, "t", ()).await.unwrap();
            let new = run.asks()[0].id.clone();
            assert_ne!(new.as_str(), ASKED);
            assert_eq!(bench.world.changes().len() - before, ran, "{kind:?} {to}");
            let head = run.checkpoint;
            runner.rewind(&graph, "t", head).await.unwrap();
            let void = runner.resume(&graph, "t", [(new.clone(), "yes")]);
            bench.refuses("RAG0402", void).await;
            let run = runner.resume(&graph, "t", ()).await.unwrap();
            let newer = run.asks()[0].id.clone();
            assert_ne!(newer, new);
            let run = runner.resume(&graph, "t", [(newer, "yes")]).await.unwrap();
            assert_eq!(run.state.notes, DONE, "{kind:?} {to}");
        }
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn an_update_keeps_a_child_where_it_stands() {
    for kind in KINDS {
        let (bench, graph) = waiting(kind).await;
        let runner = bench.runner();
        let edit = Edit::new(Desk::update().notes("by hand").topic("chairs"));
        let view = runner.update(&graph, "t", [edit]).await.unwrap();
        assert_eq!(ids(&view.asks), [ASKED]);
        assert_eq!(view.state.notes, ["a", "by hand"]);
        let run = runner.resume(&graph, "t", [(ASKED, "yes")]).await.unwrap();
        let wanted = ["a", "by hand", "in", "yes", "out", "beside", "b"];
        assert_eq!(run.state.notes, wanted, "{kind:?}");
        assert_eq!(run.state.topic, "chairs", "{kind:?}");
        assert_eq!(bench.world.changes(), ["a", "in", "beside", "out", "b"]);
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn an_update_as_the_node_of_a_child_takes_its_place() {
    for kind in KINDS {
        let (bench, graph) = waiting(kind).await;
        let runner = bench.runner();
        let edit = Edit::as_node("sub", note("by hand").unwrap());
        let view = runner.update(&graph, "t", [edit]).await.unwrap();
        assert!(view.asks.is_empty(), "{kind:?}: {:?}", view.asks);
        let void = runner.resume(&graph, "t", [(ASKED, "yes")]);
        bench.refuses("RAG0402", void).await;
        let run = runner.resume(&graph, "t", ()).await.unwrap();
        assert_eq!(run.state.notes, ["a", "by hand", "beside", "b"], "{kind:?}");
        assert_eq!(bench.world.changes(), ["a", "in", "beside", "b"]);
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn a_fork_takes_along_where_a_child_stands() {
    for kind in KINDS {
        let (bench, graph) = waiting(kind).await;
        let runner = bench.runner();
        let name = |thread| ThreadId::new(thread).unwrap();
        let given = Fork {
            from: name("t"),
            to: name("copy"),
            checkpoint: None,
            repeats: false,
        };
        fork(&*bench.journal, &given).await.unwrap();
        let view = runner.state(&graph, "copy").await.unwrap();
        assert_eq!(ids(&view.asks), [""; 0], "{kind:?}");
        let run = runner.resume(&graph, "copy", ()).await.unwrap();
        assert_eq!(ids(run.asks()), ["sub:2.2/ask:2.0/1"], "{kind:?}");
        assert_eq!(bench.world.changes().len(), 3, "what was done stays done");
        for (thread, asked) in [("copy", "sub:2.2/ask:2.0/1"), ("t", ASKED)] {
            let ran = bench.world.changes().len();
            let view = runner.state(&graph, thread).await.unwrap();
            assert_eq!(ids(&view.asks), [asked], "{kind:?} {thread}");
            let run = runner.resume(&graph, thread, [(asked, "yes")]).await;
            assert_eq!(run.unwrap().state.notes, DONE, "{kind:?} {thread}");
            assert_eq!(bench.world.changes()[ran..], ["out", "b"]);
            let found = check(&*bench.journal, &name(thread)).await.unwrap();
            assert_eq!(found, [], "{kind:?} {thread}");
        }
    }
}

#[tokio::test]
async fn a_fork_of_an_earlier_checkpoint_runs_a_child_anew() {
    for kind in KINDS {
        let (bench, graph) = waiting(kind).await;
        let runner = bench.runner();
        runner.resume(&graph, "t", [(ASKED, "no")]).await.unwrap();
        let name = |thread| ThreadId::new(thread).unwrap();
        let given = Fork {
            from: name("t"),
            to: name("copy"),
            checkpoint: Some(1),
            repeats: false,
        };
        fork(&*bench.journal, &given).await.unwrap();
        let ran = bench.world.changes().len();
        let run = runner.resume(&graph, "copy", ()).await.unwrap();
        assert_eq!(
            ids(run.asks()),
            [ASKED],
            "{kind:?}: it was not answered here"
        );
        assert_eq!(bench.world.changes()[ran..], ["a", "in", "beside"]);
        let run = runner.resume(&graph, "copy", [(ASKED, "yes")]).await;
        assert_eq!(run.unwrap().state.notes, DONE, "{kind:?}");
    }
}

fn counted(seen: Value) -> Writes {
    let mut writes = Writes::new();
    writes.push("seen", Update::Value(seen));
    writes
}

/// Two rounds over a child that counts in a channel of its own, and asks.
fn rounds(kind: Kind) -> Graph {
    let builder = |name: &str| GraphBuilder::new(name).channel("seen", Reducer::Append);
    let child = builder("child")
        .channel("own", Reducer::Counter)
        .function("count", |_, _| async {
            Ok(NodeOutput::new().write("own", Update::Value(json!(1))))
        })
        .function(
            "tell",
            |state: Arc<State>, context: TaskContext| async move {
                let answer = context.ask("?").await?;
                let own = state.value("own").cloned().unwrap_or_default();
                Ok(NodeOutput::new().write("seen", Update::Value(json!([answer, own]))))
            },
        )
        .start(["count"])
        .sequence(["count", "tell", END])
        .compile()
        .unwrap();
    let graph = builder("rounds");
    let graph = match kind {
        Kind::Shared => graph.subgraph("sub", child),
        Kind::Adapted => graph.adapted(
            "sub",
            child,
            |_, _| Writes::new(),
            |child: &State| counted((*child.list("seen")[0]).clone()),
        ),
    };
    graph
        .start(["sub"])
        .branch(
            "sub",
            |state: &State| state.list("seen").len() < 2,
            [(true, "sub"), (false, END)],
        )
        .compile()
        .unwrap()
}

#[tokio::test]
async fn a_child_begins_anew_each_time_that_its_node_runs() {
    for kind in KINDS {
        let bench = Bench::new();
        let (runner, graph) = (bench.runner(), rounds(kind));
        let run = runner.run(&graph, "t", Writes::new()).await.unwrap();
        assert_eq!(ids(run.asks()), ["sub:1.0/tell:2.0/1"]);
        let first = run.asks()[0].id.clone();
        let answer = [(first.clone(), "one")];
        let run = runner.resume(&graph, "t", answer).await.unwrap();
        assert_eq!(ids(run.asks()), ["sub:2.0/tell:2.0/1"], "asked anew");
        let stale = runner.resume(&graph, "t", [(first, "one")]);
        bench.refuses("RAG0404", stale).await;
        let answer = [(run.asks()[0].id.clone(), "two")];
        let run = runner.resume(&graph, "t", answer).await.unwrap();
        assert!(matches!(run.outcome, Outcome::Completed));
        let seen = json!([["one", 1], ["two", 1]]);
        assert_eq!(run.state.to_json()["seen"], seen, "{kind:?}");
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn a_child_at_its_recursion_limit_takes_no_step_more_by_a_retry() {
    for kind in KINDS {
        let bench = Bench::new();
        let runner = bench.runner();
        let around = |limit: u64| {
            let child = GraphBuilder::<Desk>::typed("child")
                .function("again", noting("again", &bench.world))
                .start(["again"])
                .edge("again", "again")
                .recursion_limit(limit)
                .compile()
                .unwrap();
            let graph = GraphBuilder::<Desk>::typed("around");
            let graph = match kind {
                Kind::Shared => graph.subgraph("sub", child),
                Kind::Adapted => {
                    graph.adapted("sub", child, |_, _| Desk::update(), |_| Desk::update())
                }
            };
            graph.start(["sub"]).finish("sub").compile().unwrap()
        };
        let three = around(3);
        runner.run(&three, "t", Desk::update()).await.unwrap();
        for _ in 0..2 {
            let run = runner.retry(&three, "t").await.unwrap();
            let Outcome::Failed { failure, .. } = run.outcome else {
                panic!("{:?}", run.outcome);
            };
            assert_eq!(failure.code.as_str(), "RAG0702");
            assert_eq!(bench.world.changes().len(), 3, "{kind:?}");
        }
        runner.retry(&around(5), "t").await.unwrap();
        assert_eq!(bench.world.changes().len(), 5, "{kind:?}");
        bench.is_whole().await;
    }
}

/// A child that charges once and asks, in the first step of the graph around it.
fn charging_child(kind: Kind, world: &World, loses: bool) -> Graph<Desk> {
    let world = world.clone();
    let child = GraphBuilder::<Desk>::typed("child")
        .function("charge", move |_, context: TaskContext| {
            let world = world.clone();
            async move {
                let charge = move |_: StepContext| async move {
                    world.change("charged");
                    if loses {
                        return Err("the line dropped");
                    }
                    Ok("receipt".to_owned())
                };
                let receipt = context.step_once("charge", charge).await?;
                context.ask("send it?").await?;
                note(receipt)
            }
        })
        .start(["charge"])
        .finish("charge")
        .compile()
        .unwrap();
    let graph = GraphBuilder::<Desk>::typed("till");
    let graph = match kind {
        Kind::Shared => graph.subgraph("sub", child),
        Kind::Adapted => graph.adapted(
            "sub",
            child,
            |_, _| Desk::update(),
            |child: &Desk| Desk::update().extend_notes(child.notes.clone()),
        ),
    };
    graph.start(["sub"]).finish("sub").compile().unwrap()
}

#[tokio::test]
async fn what_a_child_did_once_is_named_before_it_could_be_repeated() {
    for kind in KINDS {
        let bench = Bench::new();
        let graph = charging_child(kind, &bench.world, false);
        let runner = bench.runner();
        runner.run(&graph, "t", Desk::update()).await.unwrap();
        // Behind the checkpoint, and before an update whose task had it.
        for checkpoint in [1, 2] {
            let back = runner.rewind(&graph, "t", checkpoint);
            let error = bench.refuses("RAG0412", back).await;
            assert_eq!(
                error.to_string(),
                "going back in thread `t` could repeat step `sub:1.0/charge:1.0/charge#1`"
            );
            let edit = Edit::new(Desk::update().topic("chairs"));
            runner.update(&graph, "t", [edit]).await.unwrap();
        }
        runner.rewind_and_repeat(&graph, "t", 1).await.unwrap();
        runner.resume(&graph, "t", ()).await.unwrap();
        assert_eq!(bench.world.changes(), ["charged", "charged"], "{kind:?}");
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn what_a_child_may_have_done_is_not_forgotten_by_an_update() {
    for kind in KINDS {
        let bench = Bench::new();
        let graph = charging_child(kind, &bench.world, true);
        let runner = bench.runner();
        let run = runner.run(&graph, "t", Desk::update()).await.unwrap();
        assert_eq!(run.asks().len(), 1, "{kind:?}: what became of it");
        let edit = Edit::as_node("sub", note("by hand").unwrap());
        bench
            .refuses("RAG0412", runner.update(&graph, "t", [edit]))
            .await;
        bench.refuses("RAG0412", runner.cancel("t")).await;
        assert_eq!(bench.world.changes(), ["charged"], "{kind:?}");
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn a_question_of_a_child_of_a_child_has_the_whole_way_in_its_id() {
    let bench = Bench::new();
    let world = bench.world.clone();
    let inner = GraphBuilder::<Desk>::typed("inner")
        .function("ask", move |_, context: TaskContext| {
            world.change("ask");
            async move {
                let one = context.ask("one?").await?;
                let two = context.ask("two?").await?;
                note(format!("{one} {two}"))
            }
        })
        .start(["ask"])
        .finish("ask")
        .compile()
        .unwrap();
    let middle = GraphBuilder::<Desk>::typed("middle")
        .function("before", noting("before", &bench.world))
        .subgraph("inner", inner)
        .start(["before"])
        .sequence(["before", "inner", END])
        .compile()
        .unwrap();
    let graph = GraphBuilder::<Desk>::typed("outer")
        .subgraph("sub", middle)
        .start(["sub"])
        .finish("sub")
        .compile()
        .unwrap();
    let runner = bench.runner();
    let way = "sub:1.0/inner:2.0/ask:1.0";
    let run = runner.run(&graph, "t", Desk::update()).await.unwrap();
    let (one, two) = (format!("{way}/1"), format!("{way}/2"));
    assert_eq!(ids(run.asks()), [&*one]);
    let run = runner.resume(&graph, "t", [(one, 1)]).await.unwrap();
    assert_eq!(ids(run.asks()), [&*two]);
    let run = runner.resume(&graph, "t", [(two, 2)]).await.unwrap();
    assert_eq!(run.state.notes, ["before", "1 2"]);
    assert_eq!(bench.world.changes(), ["before", "ask", "ask", "ask"]);
    bench.is_whole().await;
}

/// Where a child stands: its place, its checkpoint, its notes, what is next, its questions.
type Seen = (String, u64, Value, Vec<String>, Vec<String>);

async fn inside(runner: &GraphRunner, graph: &Graph<Desk>, at: Option<u64>) -> (u64, Vec<Seen>) {
    let inside = runner.state_inside(graph, "t", at).await.unwrap();
    assert!(!inside.is_cut);
    let seen = inside.children.into_iter().map(|child| {
        let next = child.next.iter().map(|task| task.task.to_string());
        let asks = child.asks.iter().map(|ask| ask.id.to_string());
        (
            child.namespace.to_string(),
            child.checkpoint,
            child.state["notes"].clone(),
            next.collect(),
            asks.collect(),
        )
    });
    (inside.checkpoint, seen.collect())
}

/// A child with these notes, that waits or is over.
fn child(notes: Value, checkpoint: u64, next: &[&str], asks: &[&str]) -> Seen {
    let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
    let place = "sub:2.0".to_owned();
    (place, checkpoint, notes, texts(next), texts(asks))
}

async fn written(bench: &Bench) -> u64 {
    let thread = ThreadId::new("t").unwrap();
    let log = ThreadLog::load_whole(&*bench.journal, &thread).await;
    log.unwrap().last_seq()
}

#[tokio::test]
async fn a_child_is_seen_where_it_stands_and_where_it_stood() {
    for kind in KINDS {
        let (bench, graph) = waiting(kind).await;
        let runner = bench.runner();
        let notes = |notes: &[&str]| match kind {
            Kind::Shared => json!([&["a"], notes].concat()),
            Kind::Adapted => json!(notes),
        };
        let waits = child(notes(&["in"]), 2, &["ask:2.0"], &[ASKED]);
        let before = written(&bench).await;
        for at in [None, Some(2)] {
            let seen = inside(&runner, &graph, at).await;
            assert_eq!(seen, (2, vec![waits.clone()]), "{kind:?}");
        }
        assert_eq!(inside(&runner, &graph, Some(1)).await, (1, vec![]));
        assert_eq!(written(&bench).await, before, "nothing is written");

        // What is pending stays so, with its child, after an update.
        let edit = Edit::new(Desk::update());
        runner.update(&graph, "t", [edit]).await.unwrap();
        let seen = inside(&runner, &graph, None).await;
        assert_eq!(seen, (3, vec![waits.clone()]));

        runner.resume(&graph, "t", [(ASKED, "yes")]).await.unwrap();
        assert_eq!(inside(&runner, &graph, None).await.1, []);
        let seen = inside(&runner, &graph, Some(2)).await;
        assert_eq!(seen, (2, vec![waits]), "{kind:?}: as it was then");
        let ended = child(notes(&["in", "yes", "out"]), 4, &[], &[]);
        assert_eq!(inside(&runner, &graph, Some(3)).await, (3, vec![ended]));

        // Going back begins a child anew, which is not there before it began.
        runner.rewind(&graph, "t", 2).await.unwrap();
        assert_eq!(inside(&runner, &graph, None).await.1, []);
        runner.resume(&graph, "t", ()).await.unwrap();
        let seen = inside(&runner, &graph, None).await.1;
        assert_eq!((seen.len(), &seen[0].2), (1, &notes(&["in"])));
        assert_ne!(seen[0].0, "sub:2.0");
    }
}

#[tokio::test]
async fn a_question_is_with_the_innermost_of_graphs_that_lie_in_each_other() {
    let bench = Bench::new();
    let called = GraphBuilder::<Desk>::typed("called")
        .function("in", noting("called", &bench.world))
        .function("ask", |_, context: TaskContext| async move {
            context.ask("called?").await?;
            note("never")
        })
        .start(["in"])
        .sequence(["in", "ask", END])
        .compile()
        .unwrap();
    let graph = GraphBuilder::<Desk>::typed("outermost")
        .subgraph("outer", around(Kind::Adapted, &bench.world))
        .function("call", move |_, context: TaskContext| {
            let called = called.clone();
            async move {
                context.run_graph("part", &called, Desk::update()).await?;
                note("never")
            }
        })
        .start(["outer", "call"])
        .finish("outer")
        .finish("call")
        .compile()
        .unwrap();
    let runner = bench.runner();
    let run = runner.run(&graph, "t", Desk::update()).await.unwrap();
    assert_eq!(run.asks().len(), 2);
    let (_, seen) = inside(&runner, &graph, None).await;
    let short = seen.iter().map(|(place, _, notes, _, asks)| {
        let asks: Vec<_> = asks.iter().map(String::as_str).collect();
        (place.as_str(), notes.clone(), asks)
    });
    assert_eq!(
        short.collect::<Vec<_>>(),
        [
            ("outer:1.0", json!(["a"]), vec![]),
            (
                "outer:1.0/sub:2.0",
                json!(["in"]),
                vec!["outer:1.0/sub:2.0/ask:2.0/1"]
            ),
            (
                "call:1.1/part#1",
                json!(["called"]),
                vec!["call:1.1/part#1/ask:2.0/1"]
            ),
        ]
    );
}

#[tokio::test]
async fn there_are_only_so_many_children() {
    let bench = Bench::new();
    let child = GraphBuilder::<Desk>::typed("child")
        .function("ask", |_, context: TaskContext| async move {
            context.ask("?").await?;
            note("never")
        })
        .start(["ask"])
        .finish("ask")
        .compile()
        .unwrap();
    let most = rustagents_graph::inside::MAX_CHILDREN;
    let graph = GraphBuilder::<Desk>::typed("many")
        .function("plan", move |_, _| async move {
            Ok(NodeOutput::default().send_each("each", 0..=most))
        })
        .subgraph("each", child)
        .start(["plan"])
        .commands("plan", ["each"])
        .finish("each")
        .compile()
        .unwrap();
    let runner = bench.runner();
    runner.run(&graph, "t", Desk::update()).await.unwrap();
    let inside = runner.state_inside(&graph, "t", None).await.unwrap();
    assert_eq!((inside.children.len(), inside.is_cut), (most, true));
}
