//! Graphs that a node's function runs in the middle.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt, future::join};
use rustagents_core::{code::Code, event::Event};
use rustagents_graph::{
    Graph, GraphBuilder, NodeOutput, NodeSpec, Outcome, Reducer, RetryPolicy, State, TaskContext,
    Timeout, Update, Writes, node_fn,
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

/// Notes that it ran, asks where it is to, and doubles its number.
fn doubling(world: &World, asking: bool) -> Graph {
    GraphBuilder::new("double")
        .channel("number", Reducer::Overwrite)
        .channel("seen", Reducer::Append)
        .node("in", noting("in", world))
        .function(
            "out",
            move |state: Arc<State>, context: TaskContext| async move {
                if asking {
                    context.ask("double it?").await?;
                }
                let number = state.value("number").and_then(Value::as_u64);
                let doubled = json!(number.unwrap_or(0) * 2);
                Ok(NodeOutput::new().write("number", Update::Value(doubled)))
            },
        )
        .start(["in"])
        .edge("in", "out")
        .finish("out")
        .compile()
        .unwrap()
}

fn number(number: u64) -> Writes {
    let mut input = Writes::new();
    input.push("number", Update::Value(number.into()));
    input
}

fn one_node(node: impl rustagents_graph::Node + 'static) -> Graph {
    GraphBuilder::new("around")
        .channel("seen", Reducer::Append)
        .node("caller", node)
        .start(["caller"])
        .finish("caller")
        .compile()
        .unwrap()
}

/// A node that runs one graph that asks nothing and one that does, together.
fn two_together(world: &World) -> Graph {
    let (plain, asking) = (doubling(world, false), doubling(world, true));
    one_node(node_fn(move |_, context: TaskContext| {
        let (plain, asking) = (plain.clone(), asking.clone());
        async move {
            let one = context.run_graph("plain", &plain, number(3));
            let other = context.run_graph("asking", &asking, number(4));
            let (one, other) = join(one, other).await;
            let numbers = [one?, other?].map(|state| state.value("number").cloned());
            Ok(NodeOutput::new().write("seen", Update::Value(json!(numbers))))
        }
    }))
}

#[tokio::test]
async fn two_graphs_of_one_node_run_together_and_what_is_done_is_not_done_again() {
    let (world, bench) = (World::new(), Bench::new());
    let graph = two_together(&world);
    let asked = asks(&bench.attempt(&graph).await.unwrap());
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].id.as_str(), "caller:1.0/asking#1/out:2.0/1");
    assert_eq!(world.changes(), ["in", "in"]);
    let told = bench.events().into_iter().filter_map(|event| match event {
        Event::NodeSuspended { task, asks, .. } => Some((task.to_string(), asks.len())),
        _ => None,
    });
    let expected = [
        ("caller:1.0/asking#1/out:2.0".to_owned(), 1),
        ("caller:1.0".to_owned(), 0),
    ];
    assert_eq!(
        told.collect::<Vec<_>>(),
        expected,
        "once, where it is asked"
    );
    bench.answer(&asked[0].id, json!("yes")).await;
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), [json!([6, 8])]);
    assert_eq!(world.changes(), ["in", "in"], "nothing ran twice");
}

async fn to_the_end(bench: &Bench, graph: &Graph) -> Option<State> {
    for _ in 0..4 {
        let end = bench.attempt(graph).await.ok()?;
        match &end.outcome {
            Outcome::Suspended(asks) => {
                for ask in asks {
                    bench.try_answer(&ask.id, json!("yes")).await.ok()?;
                }
            }
            Outcome::Completed => return Some((*end.state).clone()),
            other => panic!("{other:?}"),
        }
    }
    panic!("no end after four attempts");
}

#[tokio::test]
async fn a_crash_at_any_write_leads_to_the_same_state() {
    let never = FaultPoint {
        write: u64::MAX,
        side: Side::Before,
    };
    let journal = FaultJournal::new(Arc::new(MemoryJournal::new()), never, || {});
    let journal = Arc::new(journal);
    let graph = two_together(&World::new());
    let expected = to_the_end(&Bench::on(journal.clone()), &graph).await;
    assert!(journal.writes() > 6);
    for write in 1..=journal.writes() {
        for side in [Side::Before, Side::After] {
            let inner = Arc::new(MemoryJournal::new());
            let fault = FaultJournal::new(inner.clone(), FaultPoint { write, side }, || {});
            let crashed = to_the_end(&Bench::on(Arc::new(fault)), &graph).await;
            assert_eq!(crashed, None);
            let state = to_the_end(&Bench::on(inner), &graph).await;
            assert_eq!(state, expected, "write {write} {side:?}");
        }
    }
}

#[tokio::test]
async fn graphs_of_one_name_are_told_apart_by_their_order_and_never_in_flight_together() {
    let double = doubling(&World::new(), false);
    let graph =
        one_node(node_fn(move |_, context: TaskContext| {
            let double = double.clone();
            async move {
                let run = |n| context.run_graph("double", &double, number(n));
                let first = run(1).await?;
                let second = run(2).await?;
                let (third, refused) = join(run(5), run(6)).await;
                let refused = refused.unwrap_err().to_string();
                let numbers = [first, second, third?].map(|state| state.value("number").cloned());
                Ok(NodeOutput::new()
                    .write("seen", Update::Items(vec![json!(numbers), refused.into()])))
            }
        }));
    let end = Bench::new().attempt(&graph).await.unwrap();
    let seen = seen(&end.state);
    assert_eq!(seen[0], json!([2, 4, 10]));
    assert!(seen[1].to_string().contains("in flight"), "{}", seen[1]);
}

#[tokio::test]
async fn a_graph_that_nobody_waits_for_ends_before_its_task() {
    let world = World::new();
    let double = doubling(&world, false);
    let graph = one_node(node_fn(move |_, context: TaskContext| {
        let double = double.clone();
        async move {
            let run = context.run_graph("double", &double, number(1));
            assert!(run.now_or_never().is_none());
            Ok(NodeOutput::new().write("seen", Update::Value("left".into())))
        }
    }));
    let bench = Bench::new();
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(
        (seen(&end.state), world.changes()),
        (vec!["left".into()], vec!["in".to_owned()])
    );
}

#[tokio::test]
async fn a_failure_and_a_loop_without_end_fail_the_caller_with_their_codes() {
    let failing = GraphBuilder::new("failing")
        .channel("seen", Reducer::Append)
        .function("fail", |_, context: TaskContext| async move {
            let sent: u64 = context.argument()?;
            Ok(NodeOutput::new().write("seen", Update::Value(sent.into())))
        })
        .start(["fail"])
        .finish("fail")
        .compile()
        .unwrap();
    let endless = GraphBuilder::new("endless")
        .channel("seen", Reducer::Append)
        .node("again", noting("again", &World::new()))
        .start(["again"])
        .edge("again", "again")
        .recursion_limit(3)
        .compile()
        .unwrap();
    let leaving = GraphBuilder::new("leaving")
        .channel("seen", Reducer::Append)
        .function("leave", |_, _| async {
            Ok(NodeOutput::new().goto_parent("b"))
        })
        .start(["leave"])
        .finish("leave")
        .compile()
        .unwrap();
    let cases = [
        (failing, Code::NodeFailed, "`fail` in graph `failing`"),
        (
            endless,
            Code::RecursionLimit,
            "graph `endless` took 3 steps",
        ),
        (
            leaving,
            Code::Goto,
            "graph `leaving` goes on in a graph around it",
        ),
    ];
    for (inner, code, text) in cases {
        let graph = one_node(node_fn(move |_, context: TaskContext| {
            let inner = inner.clone();
            async move {
                context.run_graph("inner", &inner, Writes::new()).await?;
                Ok(NodeOutput::new())
            }
        }));
        let end = Bench::new().attempt(&graph).await.unwrap();
        let failure = failure(&end);
        let expected = format!("caller {code}: {text}");
        assert!(failure.starts_with(&expected), "{failure}");
    }
}

#[tokio::test]
async fn graphs_lie_in_each_other_only_so_deep() {
    fn nested(depth: usize) -> Graph {
        let inner = (depth > 0).then(|| nested(depth - 1));
        one_node(node_fn(move |_, context: TaskContext| {
            let inner = inner.clone();
            async move {
                if let Some(inner) = inner {
                    context.run_graph("inner", &inner, Writes::new()).await?;
                }
                Ok(NodeOutput::new())
            }
        }))
    }
    let end = Bench::new().attempt(&nested(4)).await.unwrap();
    assert!(matches!(end.outcome, Outcome::Completed), "{end:?}");
    let end = Bench::new().attempt(&nested(5)).await.unwrap();
    let failure = failure(&end);
    let expected = format!("caller {}: ", Code::RecursionLimit);
    assert!(failure.starts_with(&expected), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn a_graph_is_cut_with_its_node_and_not_tried_again_in_this_attempt() {
    let (calls, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counts, drops) = (Arc::clone(&calls), Arc::clone(&dropped));
    let endless = GraphBuilder::new("endless")
        .function("wait", move |_, _| {
            counts.fetch_add(1, Ordering::SeqCst);
            let dropped = CountsDrops(Arc::clone(&drops));
            async move {
                let _dropped = dropped;
                std::future::pending().await
            }
        })
        .start(["wait"])
        .finish("wait")
        .compile()
        .unwrap();
    let node = node_fn(move |_, context: TaskContext| {
        let endless = endless.clone();
        async move {
            context.run_graph("inner", &endless, Writes::new()).await?;
            Ok(NodeOutput::new())
        }
    });
    let spec = NodeSpec::new()
        .timeout(Timeout::run(Duration::from_secs(3)))
        .retry(RetryPolicy::new());
    let graph = GraphBuilder::new("g")
        .channel("seen", Reducer::Append)
        .node("a", node)
        .spec("a", spec)
        .start(["a"])
        .finish("a")
        .compile()
        .unwrap();
    let began = tokio::time::Instant::now();
    let end = Bench::new().attempt(&graph).await.unwrap();
    let failure = failure(&end);
    let expected = format!("a {}: the node took more", Code::NodeTimeout);
    assert!(failure.starts_with(&expected), "{failure}");
    assert_eq!(began.elapsed(), Duration::from_secs(3));
    let counts = (calls.load(Ordering::SeqCst), dropped.load(Ordering::SeqCst));
    assert_eq!(counts, (1, 1));
}

/// Counts when it goes.
struct CountsDrops(Arc<AtomicUsize>);

impl Drop for CountsDrops {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}
