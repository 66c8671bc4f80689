//! Where a graph goes on: joins, deferred nodes, branches, commands and sends.

use std::{fmt, sync::Arc};

use rustagents_core::journal::kind;
use rustagents_graph::{
    END, Graph, GraphBuilder, GraphEnd, GraphState, NodeOutput, NodeSpec, Outcome, Reducer, State,
    TaskContext, Update,
};
use rustagents_testkit::tool::World;
use serde_json::{Value, json};

use crate::{
    bench::{Bench, failure},
    steps::{noting, seen},
};

fn builder() -> GraphBuilder {
    GraphBuilder::new("g").channel("seen", Reducer::Append)
}

async fn order(graph: &Graph) -> Vec<Value> {
    let end = Bench::new().attempt(graph).await.unwrap();
    assert!(matches!(end.outcome, Outcome::Completed), "{end:?}");
    seen(&end.state)
}

/// Branches of one and of two nodes that end in one node.
fn uneven(world: &World) -> GraphBuilder {
    ["short", "long", "longer", "end"]
        .into_iter()
        .fold(builder(), |builder, name| {
            builder.node(name, noting(name, world))
        })
        .start(["short", "long"])
        .edge("long", "longer")
}

#[tokio::test]
async fn a_join_waits_for_branches_of_different_length_and_fires_once() {
    let world = World::new();
    let graph = uneven(&world)
        .join(["short", "longer"], "end")
        .finish("end")
        .compile()
        .unwrap();
    assert_eq!(order(&graph).await, ["short", "long", "longer", "end"]);
    let plain = uneven(&World::new())
        .edge("short", "end")
        .edge("longer", "end")
        .finish("end")
        .compile()
        .unwrap();
    assert_eq!(
        order(&plain).await,
        ["short", "long", "end", "longer", "end"],
        "without a join it runs for each"
    );
}

#[tokio::test]
async fn a_join_in_a_loop_waits_for_all_again() {
    let again = |state: &State| {
        if state.list("seen").len() < 8 {
            "again"
        } else {
            "done"
        }
    };
    let world = World::new();
    let graph = ["a", "b", "c", "end"]
        .into_iter()
        .fold(builder(), |builder, name| {
            builder.node(name, noting(name, &world))
        })
        .start(["a", "b"])
        .edge("b", "c")
        .join(["a", "c"], "end")
        .node("more", noting("more", &world))
        .branch("end", again, [("again", "more"), ("done", END)])
        .edge("more", "a")
        .edge("more", "b")
        .compile()
        .unwrap();
    let order = order(&graph).await;
    assert_eq!(order, ["a", "b", "c", "end", "more", "a", "b", "c", "end"]);
}

#[tokio::test]
async fn a_join_that_one_source_reached_survives_a_resume() {
    let world = World::new();
    let ask = |_, context: TaskContext| async move {
        context.ask("?").await?;
        Ok(NodeOutput::new())
    };
    let graph = builder()
        .node("quick", noting("quick", &world))
        .node("first", noting("first", &world))
        .function("ask", ask)
        .node("end", noting("end", &world))
        .start(["quick", "first"])
        .edge("first", "ask")
        .join(["quick", "ask"], "end")
        .finish("end")
        .compile()
        .unwrap();
    let bench = Bench::new();
    let end = bench.attempt(&graph).await.unwrap();
    let asks = crate::bench::asks(&end);
    bench.answer(&asks[0].id, json!("go on")).await;
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), ["quick", "first", "end"]);
    assert_eq!(world.changes().len(), 3, "nothing ran twice");
}

#[tokio::test]
async fn a_pending_join_that_is_gone_from_the_graph_is_refused() {
    let world = World::new();
    let build = |joined: bool| {
        let builder = builder()
            .node("quick", noting("quick", &world))
            .function("ask", |_, context: TaskContext| async move {
                context.ask("?").await?;
                Ok(NodeOutput::new())
            })
            .node("first", noting("first", &world))
            .node("end", noting("end", &world))
            .start(["quick", "first"])
            .edge("first", "ask")
            .finish("end");
        let builder = if joined {
            builder.join(["quick", "ask"], "end")
        } else {
            builder.edge("quick", "end").edge("ask", "end")
        };
        builder.compile().unwrap()
    };
    let bench = Bench::new();
    bench.attempt(&build(true)).await.unwrap();
    let error = bench.attempt(&build(false)).await.unwrap_err().to_string();
    assert!(error.contains("ask+quick:end"), "{error}");
}

#[tokio::test]
async fn a_deferred_node_runs_when_nothing_else_is_left() {
    let world = World::new();
    let graph = uneven(&world)
        .spec("end", NodeSpec::new().deferred())
        .edge("short", "end")
        .edge("longer", "end")
        .finish("end")
        .compile()
        .unwrap();
    assert_eq!(order(&graph).await, ["short", "long", "longer", "end"]);
}

#[derive(Clone, Copy)]
enum Mood {
    Calm,
    Angry,
}

impl fmt::Display for Mood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Calm => "calm",
            Self::Angry => "angry",
        })
    }
}

#[tokio::test]
async fn a_branch_sees_the_writes_of_its_step_and_takes_an_enum() {
    let world = World::new();
    let mood = |state: &State| match state.list("seen").len() {
        1 => Mood::Calm,
        _ => Mood::Angry,
    };
    let graph = builder()
        .node("read", noting("read", &world))
        .node("answer", noting("answer", &world))
        .node("escalate", noting("escalate", &world))
        .start(["read"])
        .branch(
            "read",
            mood,
            [(Mood::Calm, "answer"), (Mood::Angry, "escalate")],
        )
        .finish("answer")
        .finish("escalate")
        .compile()
        .unwrap();
    assert_eq!(order(&graph).await, ["read", "answer"]);
}

#[tokio::test]
async fn a_branch_to_nowhere_is_an_error_and_the_step_can_be_taken_again() {
    let world = World::new();
    let build = |label: &'static str| {
        builder()
            .node("read", noting("read", &world))
            .start(["read"])
            .branch("read", move |_: &State| label, [("known", END)])
            .compile()
            .unwrap()
    };
    let bench = Bench::new();
    let end = bench.attempt(&build("other")).await.unwrap();
    assert_eq!(
        failure(&end),
        "read RAG0802: node `read` took route `other`, and has known"
    );
    assert_eq!(bench.count(kind::CHECKPOINT).await, 1, "the input alone");
    assert_eq!(
        seen(&end.state).len(),
        0,
        "what is not recorded is not shown"
    );
    let end = bench.attempt(&build("known")).await.unwrap();
    assert_eq!(seen(&end.state), ["read"]);
}

#[tokio::test]
async fn what_runs_first_can_depend_on_the_input() {
    let world = World::new();
    let first = |state: &State| state.messages("messages").is_empty();
    let graph = builder()
        .channel("messages", Reducer::Messages)
        .node("greet", noting("greet", &world))
        .node("listen", noting("listen", &world))
        .start_branch(first, [(true, "greet"), (false, "listen")])
        .finish("greet")
        .finish("listen")
        .compile()
        .unwrap();
    assert_eq!(order(&graph).await, ["listen"]);
}

/// Sends each of `items` to `work`, which notes twice the number.
fn mapping(items: Vec<u64>) -> GraphBuilder {
    builder()
        .function("plan", move |_, _| {
            let items = items.clone();
            async move { Ok(NodeOutput::new().send_each("work", items)) }
        })
        .function("work", |_, context: TaskContext| async move {
            let number: u64 = context.argument()?;
            Ok(NodeOutput::new().write("seen", Update::Value(json!(number * 2))))
        })
        .start(["plan"])
        .commands("plan", ["work"])
}

#[tokio::test]
async fn a_node_runs_once_for_each_that_is_sent_and_writes_stand_in_their_order() {
    let graph = mapping(vec![3, 1, 3]).finish("work").compile().unwrap();
    assert_eq!(order(&graph).await, [json!(6), json!(2), json!(6)]);
    let graph = mapping(vec![]).finish("work").compile().unwrap();
    assert_eq!(order(&graph).await, [] as [Value; 0], "nothing was sent");
}

#[tokio::test]
async fn what_follows_a_map_runs_once() {
    let world = World::new();
    let graph = mapping(vec![1, 2, 3])
        .node("reduce", noting("reduce", &world))
        .edge("work", "reduce")
        .finish("reduce")
        .compile()
        .unwrap();
    assert_eq!(
        order(&graph).await,
        [json!(2), json!(4), json!(6), json!("reduce")]
    );
}

#[tokio::test]
async fn sends_come_before_nodes_and_nodes_run_once() {
    let world = World::new();
    let go = |_, _| async {
        Ok(NodeOutput::new()
            .goto("b")
            .send("a", json!(1))
            .goto("b")
            .send("a", json!(2)))
    };
    let graph = builder()
        .function("go", go)
        .node("a", noting("a", &world))
        .node("b", noting("b", &world))
        .start(["go"])
        .commands("go", ["a", "b"])
        .finish("a")
        .finish("b")
        .compile()
        .unwrap();
    assert_eq!(order(&graph).await, ["a", "a", "b"]);
}

#[tokio::test]
async fn a_command_to_elsewhere_or_of_a_node_with_edges_is_refused() {
    let commanding = |output: fn() -> NodeOutput, declared: bool| {
        let builder = builder()
            .function("go", move |_, _| async move { Ok(output()) })
            .node("a", noting("a", &World::new()))
            .start(["go"])
            .finish("a");
        let builder = if declared {
            builder.commands("go", ["a", END])
        } else {
            builder.edge("go", "a")
        };
        builder.compile().unwrap()
    };
    let failed = async |graph: Graph| {
        let bench = Bench::new();
        let end = bench.attempt(&graph).await.unwrap();
        assert_eq!(bench.count(kind::CHECKPOINT).await, 1);
        failure(&end)
    };
    assert_eq!(
        failed(commanding(|| NodeOutput::new().goto("b"), true)).await,
        "go RAG0815: node `go` went to `b`, and may go to a, END"
    );
    assert_eq!(
        failed(commanding(|| NodeOutput::new().goto("START"), true)).await,
        "go RAG0815: node `go` went to `START`, and may go to a, END"
    );
    assert_eq!(
        failed(commanding(NodeOutput::new, true)).await,
        "go RAG0815: node `go` went nowhere, and may go to a, END"
    );
    assert_eq!(
        failed(commanding(|| NodeOutput::new().goto("a"), false)).await,
        "go RAG0815: node `go` went to `a`, and has edges that say where it goes"
    );
    assert_eq!(
        failed(commanding(|| NodeOutput::new().goto_parent("a"), false)).await,
        "go RAG0815: node `go` goes on in the graph around its own, and there is none"
    );
    assert_eq!(
        order(&commanding(|| NodeOutput::new().goto(END), true)).await,
        [] as [Value; 0]
    );
}

#[tokio::test]
async fn an_argument_that_is_not_what_the_node_takes_fails_the_node() {
    let graph = builder()
        .function("go", |_, _| async {
            Ok(NodeOutput::new().send("work", json!("three")))
        })
        .function("work", |_, context: TaskContext| async move {
            let number: u64 = context.argument()?;
            Ok(NodeOutput::new().write("seen", Update::Value(number.into())))
        })
        .start(["go"])
        .commands("go", ["work"])
        .finish("work")
        .compile()
        .unwrap();
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert!(
        failure(&end).starts_with("work RAG0804: what was sent to the node: invalid type"),
        "{}",
        failure(&end)
    );
}

#[tokio::test]
async fn a_fan_out_over_its_limit_is_refused_before_anything_is_recorded() {
    let graph = mapping((0..10_001).collect())
        .finish("work")
        .compile()
        .unwrap();
    let bench = Bench::new();
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(
        failure(&end),
        "plan RAG0805: the next step would have 10001 tasks, more than 10000"
    );
    let log = bench.log().await;
    let kinds: Vec<_> = log.records().iter().map(|record| &*record.kind).collect();
    let expected = [kind::CHECKPOINT.name, kind::RUN_CLOSED.name];
    assert_eq!(kinds, expected, "the input, and how it ended");
}

#[tokio::test]
async fn many_nodes_that_lead_to_many_run_each_once() {
    let world = World::new();
    let names: Vec<String> = (0..40).map(|n| format!("n{n}")).collect();
    let mut builder = builder().start(names.clone());
    for name in &names {
        builder = builder.function(name, |_, _| async { Ok(NodeOutput::new()) });
        builder = builder.edge(name, "end").edge(name, "other");
    }
    let graph = builder
        .node("end", noting("end", &world))
        .node("other", noting("other", &world))
        .finish("end")
        .finish("other")
        .compile()
        .unwrap();
    assert_eq!(order(&graph).await, ["end", "other"]);
}

/// Each reducer, fed by three tasks of one step and then by none.
#[tokio::test]
async fn reducers_put_the_writes_of_a_step_together_in_task_order() {
    let channels = [
        ("union", Reducer::Union),
        ("min", Reducer::Min),
        ("max", Reducer::Max),
        ("sum", Reducer::Counter),
        ("topic", Reducer::Topic),
        ("worn", Reducer::Custom),
    ];
    let mut builder = GraphBuilder::new("g").channel("word", Reducer::Ephemeral);
    for (name, reducer) in channels {
        builder = match reducer {
            Reducer::Custom => builder.custom_channel(
                name,
                Arc::new(|current: &Value, new: &Value| {
                    let current = current.as_str().unwrap_or_default();
                    let new = new.as_str().ok_or("it takes words")?;
                    Ok(format!("{current}{new}").into())
                }),
            ),
            reducer => builder.channel(name, reducer),
        };
    }
    for (at, (name, number)) in [("a", 3), ("b", 1), ("c", 3)].into_iter().enumerate() {
        builder = builder.function(name, move |_, _| async move {
            let mut output = NodeOutput::new()
                .write("union", Update::Value(json!({ "n": number })))
                .write("min", Update::Value(json!(number)))
                .write("max", Update::Value(json!(number)))
                .write("sum", Update::Value(json!(number)))
                .write("topic", Update::Value(json!(number)))
                .write("worn", Update::Value(json!(name)));
            if at == 1 {
                output = output.write("word", Update::Value(json!("b was here")));
            }
            Ok(output)
        });
    }
    let states = Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = Arc::clone(&states);
    let look = move |state: Arc<State>, _| {
        kept.lock().unwrap().push(state.to_json());
        async { Ok(NodeOutput::new()) }
    };
    let graph = builder
        .start(["a", "b", "c"])
        .function("look", look.clone())
        .function("again", look)
        .join(["a", "b", "c"], "look")
        .edge("look", "again")
        .finish("again")
        .compile()
        .unwrap();
    let bench = Bench::new();
    let end = bench.attempt(&graph).await.unwrap();
    let first = json!({
        "union": [{ "n": 3 }, { "n": 1 }], "min": 1, "max": 3, "sum": 7,
        "topic": [3, 1, 3], "worn": "abc", "word": "b was here",
    });
    let then = json!({
        "union": [{ "n": 3 }, { "n": 1 }], "min": 1, "max": 3, "sum": 7,
        "topic": [], "worn": "abc", "word": null,
    });
    assert_eq!(*states.lock().unwrap(), [first, then.clone()]);
    let mut replayed = graph.empty_state();
    let log = bench.log().await;
    for record in log
        .records()
        .iter()
        .filter(|record| record.is(kind::CHECKPOINT))
    {
        let checkpoint: rustagents_graph::record::Checkpoint =
            record.decode(kind::CHECKPOINT).unwrap();
        for (channel, delta) in &checkpoint.deltas {
            replayed
                .change(channel, delta, |id| log.message(id))
                .unwrap();
        }
    }
    assert_eq!(replayed, *end.state);
    assert_eq!(replayed.to_json(), then);
}

#[tokio::test]
async fn a_replacement_wins_over_the_writes_of_its_step_and_stands_alone() {
    let writing = |others: usize| {
        let mut builder = builder();
        for name in ["a", "b", "c"].iter().take(others) {
            builder = builder
                .function(name, move |_, _| async move {
                    Ok(NodeOutput::new().write("seen", Update::Value(json!(name))))
                })
                .finish(name)
                .start([name]);
        }
        for name in ["x", "y"].iter().skip(others.min(1)) {
            builder = builder
                .function(name, move |_, _| async move {
                    Ok(NodeOutput::new().write("seen", Update::Replace(json!([name]))))
                })
                .finish(name)
                .start([name]);
        }
        builder.compile().unwrap()
    };
    let end = Bench::new().attempt(&writing(3)).await.unwrap();
    assert_eq!(seen(&end.state), ["y"]);
    let end = Bench::new().attempt(&writing(0)).await.unwrap();
    assert!(
        failure(&end).starts_with("y RAG0801: tasks x:1.0 and y:1.1 both wrote"),
        "{}",
        failure(&end)
    );
}

#[tokio::test]
async fn a_write_that_a_reducer_refuses_fails_its_node() {
    let writing = |value: Value, reducer: Reducer| {
        GraphBuilder::new("g")
            .channel("c", reducer)
            .function("a", move |_, _| {
                let value = value.clone();
                async move { Ok(NodeOutput::new().write("c", Update::Value(value))) }
            })
            .start(["a"])
            .edge("a", "a")
            .compile()
            .unwrap()
    };
    let failed = async |value, reducer| {
        failure(
            &Bench::new()
                .attempt(&writing(value, reducer))
                .await
                .unwrap(),
        )
    };
    assert_eq!(
        failed(json!("many"), Reducer::Counter).await,
        "a RAG0411: node `a`: channel `c` takes numbers"
    );
    assert_eq!(
        failed(json!(u64::MAX), Reducer::Counter).await,
        "a RAG0411: node `a` wrote channel `c`: 18446744073709551615 and 18446744073709551615 are too large to be added"
    );
}

#[tokio::test]
async fn an_untracked_channel_is_seen_by_the_next_step_and_by_no_record() {
    let look = |state: Arc<State>, context: TaskContext| async move {
        let secret = state.value("secret").cloned().unwrap_or(Value::Null);
        context.ask("?").await?;
        Ok(NodeOutput::new().write("seen", Update::Value(secret)))
    };
    let graph = builder()
        .channel("secret", Reducer::Untracked)
        .function("a", |_, _| async {
            Ok(NodeOutput::new().write("secret", Update::Value(json!("open sesame"))))
        })
        .function("b", |state: Arc<State>, _| async move {
            let secret = state.value("secret").cloned().unwrap_or(Value::Null);
            Ok(NodeOutput::new().write("seen", Update::Value(json!(secret == "open sesame"))))
        })
        .function("look", look)
        .start(["a"])
        .sequence(["a", "b", "look", END])
        .compile()
        .unwrap();
    let bench = Bench::new();
    let end = bench.attempt(&graph).await.unwrap();
    let asks = crate::bench::asks(&end);
    let log = bench.log().await;
    let leaks = log
        .records()
        .iter()
        .filter(|record| record.body.contains("sesame"));
    assert_eq!(leaks.count(), 0);
    bench.answer(&asks[0].id, json!("yes")).await;
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(
        seen(&end.state),
        [json!(true), json!(null)],
        "gone after a resume"
    );
}

#[tokio::test]
async fn an_untracked_write_that_is_recorded_alone_is_not_in_its_record() {
    let graph = builder()
        .channel("secret", Reducer::Untracked)
        .function("tell", |_, _| async {
            Ok(NodeOutput::new()
                .write("secret", Update::Value(json!("open sesame")))
                .write("seen", Update::Value(json!("told"))))
        })
        .function("ask", |_, context: TaskContext| async move {
            context.ask("?").await?;
            Ok(NodeOutput::new())
        })
        .function("look", |state: Arc<State>, _| async move {
            let secret = state.value("secret").cloned().unwrap_or(Value::Null);
            Ok(NodeOutput::new().write("seen", Update::Value(secret)))
        })
        .start(["tell", "ask"])
        .join(["tell", "ask"], "look")
        .finish("look")
        .compile()
        .unwrap();
    let bench = Bench::new();
    let asks = crate::bench::asks(&bench.attempt(&graph).await.unwrap());
    assert!(bench.has_fact("write/tell:1.0").await);
    bench.answer(&asks[0].id, json!("yes")).await;
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(
        seen(&end.state),
        [json!("told"), json!(null)],
        "the rest of the write is there, the secret went with its attempt"
    );
    let log = bench.log().await;
    let mut records = log.records().iter();
    assert!(!records.any(|record| record.body.contains("sesame")));
}

/// How a task writes the untracked channel, if it does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tells {
    Nothing,
    Value,
    Replacement,
}

fn telling(tells: Tells, what: &str) -> NodeOutput {
    let output = NodeOutput::new().write("seen", Update::Value(json!(what)));
    match tells {
        Tells::Nothing => output,
        Tells::Value => output.write("secret", Update::Value(json!(what))),
        Tells::Replacement => output.write("secret", Update::Replace(json!(what))),
    }
}

/// A task that tells before the run waits, by itself or in a graph inside, and one that
/// tells behind the question, if it is asked at all.
fn tellers(first: Tells, second: Tells, inside: bool, asks: bool) -> Graph {
    let teller = move |name: &str| {
        let early = move |_, _| async move { Ok(telling(first, "early")) };
        builder()
            .channel("secret", Reducer::Untracked)
            .function(name, early)
            .start([name])
    };
    let late = move |_, context: TaskContext| async move {
        if asks {
            context.ask("?").await?;
        }
        Ok(telling(second, "late"))
    };
    let wait = move |_, context: TaskContext| async move {
        if asks {
            context.ask("?").await?;
        }
        Ok(NodeOutput::new())
    };
    let graph = if inside {
        let child = teller("tell").function("wait", wait).edge("tell", "wait");
        builder()
            .channel("secret", Reducer::Untracked)
            .subgraph("early", child.finish("wait").compile().unwrap())
            .start(["early"])
    } else {
        teller("early")
    };
    graph
        .function("late", late)
        .start(["late"])
        .finish("early")
        .finish("late")
        .compile()
        .unwrap()
}

#[tokio::test]
async fn two_untracked_writes_of_a_step_exclude_each_other_whatever_comes_between_them() {
    use Tells::{Nothing, Replacement, Value};
    let all = [Nothing, Value, Replacement];
    for (first, second) in all
        .iter()
        .flat_map(|first| all.map(|second| (*first, second)))
    {
        for inside in [false, true] {
            let graph = tellers(first, second, inside, false);
            let calm = Bench::new().attempt(&graph).await.unwrap();
            let graph = tellers(first, second, inside, true);
            let bench = Bench::new();
            let mut end = bench.attempt(&graph).await.unwrap();
            // The one that told early is done, or its graph waits behind it.
            while let Outcome::Suspended(asks) = &end.outcome {
                for ask in asks {
                    bench.answer(&ask.id, json!("yes")).await;
                }
                end = bench.attempt(&graph).await.unwrap();
            }
            let case = format!("{first:?} {second:?}, inside: {inside}");
            let how = |end: &GraphEnd| format!("{:?}", end.outcome);
            assert_eq!(how(&end), how(&calm), "{case}");
            let is_refused = first != Nothing && first == second;
            assert_eq!(
                how(&end).contains("RAG0801") || how(&end).contains("ConcurrentUpdate"),
                is_refused,
                "{case}"
            );
            if !is_refused {
                assert_eq!(seen(&end.state), seen(&calm.state), "{case}");
                // What was told early went with its attempt.
                let late = calm
                    .state
                    .value("secret")
                    .filter(|told| **told == json!("late"));
                assert_eq!(end.state.value("secret"), late, "{case}");
            }
            let log = bench.log().await;
            let mut secrets = log.records().iter();
            assert!(!secrets.any(|record| record.body.contains(r#""secret",{"#)));
        }
    }
}

#[test]
fn joins_that_cannot_be_told_apart_and_names_with_a_slash_are_faults() {
    let graph = builder()
        .node("a", noting("a", &World::new()))
        .node("b/c", noting("b", &World::new()))
        .start(["a", "b/c"])
        .join(["a", "b/c"], END)
        .join(["b/c", "a"], END)
        .compile();
    let faults = graph.unwrap_err().to_string();
    assert!(
        faults.contains("two joins of the same sources lead to `END`"),
        "{faults}"
    );
    assert!(faults.contains("`b/c` cannot name a node"), "{faults}");
}
