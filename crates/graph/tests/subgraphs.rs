//! Graphs inside graphs.

use std::sync::Arc;

use rustagents_core::{event::Event, journal::kind};
use rustagents_graph::{
    END, Graph, GraphBuilder, GraphFault, GraphState, NodeError, NodeOutput, NodeSpec, Outcome,
    Reducer, State, TaskContext, Update, Writes,
};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};
use rustagents_testkit::tool::World;
use serde_json::{Value, json};

use crate::{
    bench::{Bench, asks, failure},
    steps::{noting, seen},
};

fn builder(name: &str) -> GraphBuilder {
    GraphBuilder::new(name)
        .channel("seen", Reducer::Append)
        .channel("sum", Reducer::Counter)
        .channel("messages", Reducer::Messages)
}

fn adding(name: &'static str, world: &World) -> impl rustagents_graph::Node + use<> {
    let world = world.clone();
    rustagents_graph::node_fn(move |_, _| {
        world.change(name);
        async move {
            Ok(NodeOutput::new()
                .write("seen", Update::Value(name.into()))
                .write("sum", Update::Value(json!(1))))
        }
    })
}

/// Two steps, and a question between them.
fn child(world: &World) -> Graph {
    builder("child")
        .node("in", adding("in", world))
        .function(
            "ask",
            |state: Arc<State>, context: TaskContext| async move {
                let before = state.list("seen").len();
                let answer = context.ask("?").await?;
                Ok(NodeOutput::new().write("seen", Update::Value(json!([before, answer]))))
            },
        )
        .node("out", adding("out", world))
        .start(["in"])
        .sequence(["in", "ask", "out", END])
        .compile()
        .unwrap()
}

fn parent(world: &World) -> Graph {
    builder("parent")
        .node("a", adding("a", world))
        .subgraph("sub", child(world))
        .node("b", adding("b", world))
        .node("end", adding("end", world))
        .start(["a"])
        .edge("a", "sub")
        .edge("a", "b")
        .join(["sub", "b"], "end")
        .finish("end")
        .compile()
        .unwrap()
}

async fn to_the_end(bench: &Bench, graph: &Graph) -> Option<(State, usize)> {
    let mut asked = 0;
    for _ in 0..9 {
        let end = bench.attempt(graph).await.ok()?;
        match &end.outcome {
            Outcome::Suspended(asks) => {
                for ask in asks {
                    asked += 1;
                    bench.try_answer(&ask.id, json!("yes")).await.ok()?;
                }
            }
            Outcome::Completed => return Some(((*end.state).clone(), asked)),
            other => panic!("{other:?}"),
        }
    }
    panic!("no end after nine attempts");
}

#[tokio::test]
async fn a_child_asks_through_its_parent_and_goes_on_alone() {
    let (world, bench) = (World::new(), Bench::new());
    let graph = parent(&world);
    let end = bench.attempt(&graph).await.unwrap();
    let asked = asks(&end);
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].id.as_str(), "sub:2.0/ask:2.0/1");
    assert_eq!(world.changes(), ["a", "in", "b"]);
    bench.answer(&asked[0].id, json!("yes")).await;
    let end = bench.attempt(&graph).await.unwrap();
    assert!(matches!(end.outcome, Outcome::Completed), "{end:?}");
    assert_eq!(
        seen(&end.state),
        [
            json!("a"),
            json!("in"),
            json!([2, "yes"]),
            json!("out"),
            json!("b"),
            json!("end")
        ],
        "what was there does not come twice"
    );
    assert_eq!(end.state.value("sum"), Some(&json!(5)));
    assert_eq!(world.changes(), ["a", "in", "b", "out", "end"]);
    let tasks = bench.events().into_iter().filter_map(|event| match event {
        Event::NodeStarted { task, .. } => Some(task.to_string()),
        _ => None,
    });
    assert_eq!(
        tasks.collect::<Vec<_>>(),
        ["sub:2.0", "sub:2.0/ask:2.0", "sub:2.0/out:3.0", "end:3.0"]
    );
}

#[tokio::test]
async fn a_crash_at_any_write_leads_to_the_same_state() {
    let never = FaultPoint {
        write: u64::MAX,
        side: Side::Before,
    };
    let journal = FaultJournal::new(Arc::new(MemoryJournal::new()), never, || {});
    let journal = Arc::new(journal);
    let expected = to_the_end(&Bench::on(journal.clone()), &parent(&World::new())).await;
    let (expected, _) = expected.unwrap();
    assert!(journal.writes() > 9);
    for write in 1..=journal.writes() {
        for side in [Side::Before, Side::After] {
            let inner = Arc::new(MemoryJournal::new());
            let fault = FaultJournal::new(inner.clone(), FaultPoint { write, side }, || {});
            let world = World::new();
            let crashed = to_the_end(&Bench::on(Arc::new(fault)), &parent(&world)).await;
            assert!(crashed.is_none());
            let (state, _) = to_the_end(&Bench::on(inner), &parent(&world))
                .await
                .unwrap();
            assert_eq!(state, expected, "write {write} {side:?}");
            let most = 5 + 2; // both siblings were at work
            let runs = world.changes();
            assert!(runs.len() <= most, "write {write} {side:?}: {runs:?}");
        }
    }
}

#[tokio::test]
async fn an_adapter_maps_in_and_out_and_the_child_keeps_its_state_to_itself() {
    let child = GraphBuilder::new("child")
        .channel("number", Reducer::Overwrite)
        .function("square", |state: Arc<State>, _| async move {
            let number = state.value("number").and_then(Value::as_u64).unwrap_or(0);
            Ok(NodeOutput::new().write("number", Update::Value(json!(number * number))))
        })
        .start(["square"])
        .finish("square")
        .compile()
        .unwrap();
    let into = |_: &State, context: &TaskContext| {
        let mut writes = Writes::new();
        let number = context.argument_json().cloned().unwrap_or(Value::Null);
        writes.push("number", Update::Value(number));
        writes
    };
    let back = |child: &State| {
        let mut writes = Writes::new();
        let number = child.value("number").cloned().unwrap_or(Value::Null);
        writes.push("seen", Update::Value(number));
        writes
    };
    let graph = builder("parent")
        .function("plan", |_, _| async {
            Ok(NodeOutput::new().send_each("each", [3, 4]))
        })
        .adapted("each", child, into, back)
        .start(["plan"])
        .commands("plan", ["each"])
        .finish("each")
        .compile()
        .unwrap();
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), [json!(9), json!(16)]);
}

#[tokio::test]
async fn two_children_that_ask_are_answered_one_by_one() {
    let world = World::new();
    let graph = builder("parent")
        .subgraph("one", child(&world))
        .subgraph("two", child(&world))
        .start(["one", "two"])
        .finish("one")
        .finish("two")
        .compile()
        .unwrap();
    let bench = Bench::new();
    let asked = asks(&bench.attempt(&graph).await.unwrap());
    assert_eq!(asked.len(), 2);
    bench.answer(&asked[1].id, json!("second")).await;
    let left = asks(&bench.attempt(&graph).await.unwrap());
    assert_eq!(left, asked[..1]);
    assert_eq!(world.changes(), ["in", "in", "out"], "only one went on");
    bench.answer(&asked[0].id, json!("first")).await;
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(
        seen(&end.state),
        [
            json!("in"),
            json!([1, "first"]),
            json!("out"),
            json!("in"),
            json!([1, "second"]),
            json!("out")
        ]
    );
    assert_eq!(world.changes().len(), 4);
}

/// A graph whose node sends the graph around it on, which may go to `a` and `b`.
fn leaving(target: &'static str) -> Graph {
    let leave = move |_, _| async move {
        Ok(NodeOutput::new()
            .write("seen", Update::Value(json!("leave")))
            .goto_parent(target))
    };
    let inner = builder("inner")
        .function("leave", leave)
        .node("never", noting("never", &World::new()))
        .start(["leave"])
        .edge("leave", "never")
        .finish("never")
        .compile()
        .unwrap();
    builder("outer")
        .subgraph("sub", inner)
        .node("a", noting("a", &World::new()))
        .node("b", noting("b", &World::new()))
        .node("c", noting("c", &World::new()))
        .start(["sub"])
        .commands("sub", ["a", "b"])
        .finish("a")
        .finish("b")
        .finish("c")
        .compile()
        .unwrap()
}

#[tokio::test]
async fn a_node_can_send_the_graph_around_it_on() {
    let end = Bench::new().attempt(&leaving("b")).await.unwrap();
    assert_eq!(seen(&end.state), ["leave", "b"]);
}

#[tokio::test]
async fn a_child_sends_the_graph_around_it_only_where_its_node_may_go() {
    for target in ["c", "ghost"] {
        let bench = Bench::new();
        let end = bench.attempt(&leaving(target)).await.unwrap();
        let place = "`leave` in graph `inner`";
        assert_eq!(
            failure(&end),
            format!("sub RAG0815: {place}: node `sub` went to `{target}`, and may go to a, b")
        );
        assert_eq!(bench.count(kind::CHECKPOINT).await, 2, "both inputs");
        assert_eq!(seen(&end.state), [json!(null); 0], "nor is its write");
    }
}

/// Three graphs in each other, the middle one on the same state or behind an adapter.
/// The innermost one's node asks, then goes `levels` out to `target`.
fn leaving_far(levels: usize, target: &'static str, adapted: bool) -> Graph {
    let leave = move |_, context: TaskContext| async move {
        context.ask("leave?").await?;
        let output = NodeOutput::new().write("seen", Update::Value(json!("leave")));
        Ok(output.goto_outer(levels, target))
    };
    let inner = builder("inner")
        .function("leave", leave)
        .start(["leave"])
        .finish("leave")
        .compile()
        .unwrap();
    let middle = builder("middle")
        .subgraph("sub", inner)
        .node("never", noting("never", &World::new()))
        .start(["sub"])
        .commands("sub", ["never"])
        .finish("never")
        .compile()
        .unwrap();
    let outer = builder("outer");
    let outer = if adapted {
        let back = |child: &State| {
            let mut writes = Writes::new();
            for seen in seen(child) {
                writes.push("seen", Update::Value(seen));
            }
            writes
        };
        outer.adapted("middle", middle, |_: &State, _: &_| Writes::new(), back)
    } else {
        outer.subgraph("middle", middle)
    };
    outer
        .node("a", noting("a", &World::new()))
        .node("c", noting("c", &World::new()))
        .start(["middle"])
        .commands("middle", ["a", END])
        .finish("a")
        .finish("c")
        .compile()
        .unwrap()
}

#[tokio::test]
async fn a_node_can_send_a_graph_further_out_on_whatever_crashes() {
    for adapted in [false, true] {
        for (target, expected) in [("a", json!(["leave", "a"])), (END, json!(["leave"]))] {
            let never = FaultPoint {
                write: u64::MAX,
                side: Side::Before,
            };
            let journal = FaultJournal::new(Arc::new(MemoryJournal::new()), never, || {});
            let journal = Arc::new(journal);
            let graph = leaving_far(2, target, adapted);
            let (end, _) = to_the_end(&Bench::on(journal.clone()), &graph)
                .await
                .unwrap();
            assert_eq!(json!(seen(&end)), expected, "{adapted}");
            for write in 1..=journal.writes() {
                for side in [Side::Before, Side::After] {
                    let inner = Arc::new(MemoryJournal::new());
                    let fault = FaultJournal::new(inner.clone(), FaultPoint { write, side }, || {});
                    let crashed = to_the_end(&Bench::on(Arc::new(fault)), &graph).await;
                    assert!(crashed.is_none());
                    let (end, _) = to_the_end(&Bench::on(inner), &graph).await.unwrap();
                    assert_eq!(json!(seen(&end)), expected, "write {write} {side:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_node_goes_out_only_as_far_as_there_are_graphs_and_where_it_may() {
    for adapted in [false, true] {
        for (levels, target, expected) in [
            (
                1,
                "a",
                "`leave` in graph `inner`: node `sub` went to `a`, and may go to never",
            ),
            (2, "c", "node `middle` went to `c`, and may go to a, END"),
            (
                3,
                "a",
                "node `leave` goes on 3 graphs further out, and there are 2 around its own",
            ),
            (usize::MAX, "a", "and there are 2 around its own"),
        ] {
            let bench = Bench::new();
            let graph = leaving_far(levels, target, adapted);
            let asked = asks(&bench.attempt(&graph).await.unwrap());
            bench.answer(&asked[0].id, json!("yes")).await;
            let before = bench.count(kind::CHECKPOINT).await;
            let told = failure(&bench.attempt(&graph).await.unwrap());
            assert!(told.starts_with("middle RAG0815: "), "{told}");
            assert!(told.contains(expected), "{told}");
            assert_eq!(bench.count(kind::CHECKPOINT).await, before);
        }
    }
}

#[tokio::test]
async fn what_goes_wrong_in_a_child_is_told_with_its_place() {
    let failing = |limit: u64| {
        let child = builder("child")
            .function("bad", move |_, _| async move {
                if limit > 1 {
                    return Err(NodeError::failed("no luck"));
                }
                Ok(NodeOutput::new())
            })
            .start(["bad"])
            .edge("bad", "bad")
            .recursion_limit(limit)
            .compile()
            .unwrap();
        builder("parent")
            .subgraph("sub", child)
            .start(["sub"])
            .finish("sub")
            .compile()
            .unwrap()
    };
    let end = Bench::new().attempt(&failing(9)).await.unwrap();
    assert_eq!(
        failure(&end),
        "sub RAG0804: `bad` in graph `child`: no luck"
    );
    let end = Bench::new().attempt(&failing(1)).await.unwrap();
    assert_eq!(
        failure(&end),
        "sub RAG0702: graph `child` took 1 steps and was not done"
    );
}

#[tokio::test]
async fn graphs_lie_in_each_other_only_so_deep() {
    let mut graph = builder("g0")
        .node("a", noting("a", &World::new()))
        .start(["a"])
        .finish("a")
        .compile()
        .unwrap();
    for depth in 1..=8 {
        graph = builder(&format!("g{depth}"))
            .subgraph("sub", graph)
            .start(["sub"])
            .finish("sub")
            .compile()
            .unwrap();
    }
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), ["a"]);
    let deeper = builder("deeper")
        .subgraph("sub", graph)
        .start(["sub"])
        .finish("sub")
        .compile()
        .unwrap();
    let end = Bench::new().attempt(&deeper).await.unwrap();
    assert!(failure(&end).ends_with("graphs lie in each other more than 8 deep"));
}

#[tokio::test]
async fn channels_of_the_child_alone_stay_its_own_and_other_reducers_are_a_fault() {
    let child = |reducer: Reducer| {
        GraphBuilder::new("child")
            .channel("seen", reducer)
            .channel("scratch", Reducer::Overwrite)
            .function("a", |_, _| async {
                Ok(NodeOutput::new()
                    .write("scratch", Update::Value(json!("private")))
                    .write("seen", Update::Value(json!("a"))))
            })
            .start(["a"])
            .finish("a")
            .compile()
            .unwrap()
    };
    let parent = |reducer| {
        builder("parent")
            .subgraph("sub", child(reducer))
            .start(["sub"])
            .finish("sub")
            .compile()
    };
    let end = Bench::new()
        .attempt(&parent(Reducer::Append).unwrap())
        .await
        .unwrap();
    assert_eq!(seen(&end.state), ["a"]);
    assert_eq!(end.state.to_json().get("scratch"), None);
    let fault = GraphFault::SharedChannel {
        node: "sub".into(),
        channel: "seen".into(),
    };
    assert_eq!(parent(Reducer::Overwrite).unwrap_err().0, [fault]);
}

#[tokio::test]
async fn a_failed_child_goes_on_where_it_stood_when_it_is_tried_again() {
    let world = World::new();
    let fails = Arc::new(std::sync::atomic::AtomicUsize::new(1));
    let left = Arc::clone(&fails);
    let child = builder("child")
        .node("first", adding("first", &world))
        .function("second", move |_, _| {
            let fail = left.swap(0, std::sync::atomic::Ordering::SeqCst) > 0;
            async move {
                if fail {
                    return Err(NodeError::failed("no luck"));
                }
                Ok(NodeOutput::new().write("seen", Update::Value(json!("second"))))
            }
        })
        .start(["first"])
        .sequence(["first", "second", END])
        .compile()
        .unwrap();
    let retry = rustagents_graph::RetryPolicy::new().pause(std::time::Duration::ZERO, 1.0);
    let graph = builder("parent")
        .subgraph("sub", child)
        .spec("sub", NodeSpec::new().retry(retry))
        .start(["sub"])
        .finish("sub")
        .compile()
        .unwrap();
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), ["first", "second"]);
    assert_eq!(
        world.changes(),
        ["first"],
        "its first step was not taken again"
    );
}

/// A graph whose first step is `first`, and whose second a child beside a sibling.
fn beside(child: Graph, sibling: NodeOutput, first: NodeOutput) -> Graph {
    let shared = |builder: GraphBuilder| {
        builder
            .channel("flash", Reducer::Ephemeral)
            .channel("news", Reducer::Topic)
            .custom_channel(
                "worn",
                Arc::new(|current: &Value, new: &Value| {
                    let current = current.as_str().unwrap_or_default();
                    Ok(format!("{current}{}", new.as_str().unwrap_or_default()).into())
                }),
            )
    };
    let saying = |output: NodeOutput| {
        move |_, _| {
            let output = output.clone();
            async move { Ok(output) }
        }
    };
    shared(builder("parent"))
        .function("first", saying(first))
        .function("sibling", saying(sibling))
        .subgraph("sub", child)
        .start(["first"])
        .edge("first", "sibling")
        .edge("first", "sub")
        .finish("sibling")
        .finish("sub")
        .compile()
        .unwrap()
}

fn one_node(output: NodeOutput) -> Graph {
    builder("child")
        .channel("flash", Reducer::Ephemeral)
        .channel("news", Reducer::Topic)
        .custom_channel(
            "worn",
            Arc::new(|current: &Value, new: &Value| {
                let current = current.as_str().unwrap_or_default();
                Ok(format!("{current}{}", new.as_str().unwrap_or_default()).into())
            }),
        )
        .function("only", move |state: Arc<State>, _| {
            let (output, saw) = (output.clone(), state.list("news").len());
            async move { Ok(output.write("seen", Update::Value(json!(saw)))) }
        })
        .start(["only"])
        .finish("only")
        .compile()
        .unwrap()
}

#[tokio::test]
async fn a_child_sees_what_was_just_said_and_takes_nothing_from_its_siblings() {
    let first = NodeOutput::new()
        .write("news", Update::Value(json!("old")))
        .write("flash", Update::Value(json!("old")));
    let sibling = NodeOutput::new()
        .write("news", Update::Value(json!("sibling")))
        .write("flash", Update::Value(json!("sibling")));
    let child = NodeOutput::new().write("news", Update::Value(json!("child")));
    let graph = beside(one_node(child), sibling, first);
    let end = Bench::new().attempt(&graph).await.unwrap();
    let state = end.state.to_json();
    assert!(
        matches!(end.outcome, Outcome::Completed),
        "{:?}",
        end.outcome
    );
    assert_eq!(
        state["seen"],
        json!([1]),
        "it saw the news of the step before"
    );
    assert_eq!(state["news"], json!(["sibling", "child"]));
    assert_eq!(state["flash"], json!("sibling"));
}

#[tokio::test]
async fn what_a_child_replaces_is_replaced_and_what_it_folds_is_folded() {
    let first = NodeOutput::new()
        .write("sum", Update::Value(json!(10)))
        .write("worn", Update::Value(json!("a")));
    let sibling = NodeOutput::new().write("worn", Update::Value(json!("b")));
    let child = NodeOutput::new()
        .write("sum", Update::Replace(json!(5)))
        .write("worn", Update::Value(json!("c")));
    let graph = beside(one_node(child), sibling, first);
    let end = Bench::new().attempt(&graph).await.unwrap();
    let state = end.state.to_json();
    assert_eq!((&state["sum"], &state["worn"]), (&json!(5), &json!("abc")));
}

/// A graph that squares what it was sent, after a question, and says then what it was
/// sent in its second step.
fn squaring() -> Graph {
    builder("squaring")
        .function("square", |_, context: TaskContext| async move {
            let number: u64 = context.argument()?;
            if number == 4 {
                context.ask("four?").await?;
            }
            Ok(NodeOutput::new().write("seen", Update::Value(json!(number * number))))
        })
        .function("later", |_, context: TaskContext| async move {
            let argument = context.argument_json().cloned();
            Ok(NodeOutput::new().write("seen", Update::Value(json!(argument))))
        })
        .start(["square"])
        .sequence(["square", "later", END])
        .compile()
        .unwrap()
}

/// Sends 3 and 4 to `child`.
fn sending(child: Graph) -> Graph {
    builder("parent")
        .function("plan", |_, _| async {
            Ok(NodeOutput::new().send_each("sub", [3, 4]))
        })
        .subgraph("sub", child)
        .start(["plan"])
        .commands("plan", ["sub"])
        .finish("sub")
        .compile()
        .unwrap()
}

#[tokio::test]
async fn what_is_sent_to_a_child_on_the_same_state_reaches_its_first_step() {
    let between = builder("between")
        .subgraph("inner", squaring())
        .start(["inner"])
        .finish("inner")
        .compile()
        .unwrap();
    for (child, id) in [
        (squaring(), "sub:2.1/square:1.0/1"),
        (between, "sub:2.1/inner:1.0/square:1.0/1"),
    ] {
        let (bench, graph) = (Bench::new(), sending(child));
        let asked = asks(&bench.attempt(&graph).await.unwrap());
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].id.as_str(), id);
        bench.answer(&asked[0].id, json!("yes")).await;
        let end = bench.attempt(&graph).await.unwrap();
        assert!(matches!(end.outcome, Outcome::Completed), "{end:?}");
        let wanted = [json!(9), Value::Null, json!(16), Value::Null];
        assert_eq!(
            seen(&end.state),
            wanted,
            "its second step has nothing of it"
        );
    }
}

#[tokio::test]
async fn a_child_that_only_an_edge_leads_to_is_sent_nothing() {
    let graph = builder("parent")
        .subgraph("sub", squaring())
        .start(["sub"])
        .finish("sub")
        .compile()
        .unwrap();
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert!(failure(&end).ends_with("nothing was sent to the node"));
}
