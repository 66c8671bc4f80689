use std::{sync::Arc, time::Duration};

use rustagents_core::{event::Event, journal::kind, message::Message, scope::Halt};
use rustagents_graph::{
    END, Graph, GraphBuilder, NodeError, NodeOutput, Outcome, Reducer, State, Update, node_fn,
};
use rustagents_testkit::tool::World;
use serde_json::{Value, json};

use crate::bench::{Bench, failure};

/// A node that notes its name in `world` and appends it to `seen`.
pub(crate) fn noting(name: &'static str, world: &World) -> impl rustagents_graph::Node + use<> {
    let world = world.clone();
    node_fn(move |_, _| {
        world.change(name);
        async move { Ok(NodeOutput::new().write("seen", Update::Value(name.into()))) }
    })
}

pub(crate) fn seen(state: &State) -> Vec<Value> {
    state
        .list("seen")
        .iter()
        .map(|item| (**item).clone())
        .collect()
}

fn diamond(world: &World) -> Graph {
    GraphBuilder::new("diamond")
        .channel("seen", Reducer::Append)
        .node("a", noting("a", world))
        .node("b", noting("b", world))
        .node("c", noting("c", world))
        .node("d", noting("d", world))
        .start(["a"])
        .edge("a", "b")
        .edge("a", "c")
        .edge("b", "d")
        .edge("c", "d")
        .edge("d", END)
        .compile()
        .unwrap()
}

#[tokio::test]
async fn a_join_runs_once_after_both_and_writes_stand_in_task_order() {
    let (bench, world) = (Bench::new(), World::new());
    let end = bench.attempt(&diamond(&world)).await.unwrap();
    assert_eq!(
        seen(&end.state),
        [json!("a"), json!("b"), json!("c"), json!("d")]
    );
    assert_eq!((world.changes().len(), end.steps), (4, 3));
}

#[tokio::test]
async fn tasks_that_are_through_together_are_recorded_together() {
    let bench = Bench::new();
    bench.attempt(&diamond(&World::new())).await.unwrap();
    assert_eq!(
        bench.count(kind::CHECKPOINT).await,
        4,
        "the input and three steps"
    );
    assert_eq!(bench.count(kind::TASK_WRITE).await, 0);
    assert_eq!(bench.count(kind::RUN_CLOSED).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_write_is_recorded_while_siblings_are_at_work() {
    let after = |name: &'static str, seconds: u64| {
        node_fn(move |_, _| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok(NodeOutput::new().write("seen", Update::Value(name.into())))
        })
    };
    let graph = GraphBuilder::new("g")
        .channel("seen", Reducer::Append)
        .node("slow", after("slow", 2))
        .node("quick", after("quick", 1))
        .start(["slow", "quick"])
        .finish("slow")
        .finish("quick")
        .compile()
        .unwrap();
    let bench = Bench::new();
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), [json!("slow"), json!("quick")]);
    assert_eq!(
        bench.count(kind::TASK_WRITE).await,
        1,
        "that of the last one goes with the checkpoint"
    );
}

#[tokio::test(start_paused = true)]
async fn tasks_of_a_step_run_together_on_one_snapshot_and_reduce_in_task_order() {
    let node = |name: &'static str, pause: u64| {
        node_fn(move |state: Arc<State>, _| async move {
            tokio::time::sleep(Duration::from_secs(pause)).await;
            let saw = state.list("seen").len();
            Ok(NodeOutput::new().write("seen", Update::Value(json!([name, saw]))))
        })
    };
    let graph = GraphBuilder::new("g")
        .channel("seen", Reducer::Append)
        .node("slow", node("slow", 30))
        .node("quick", node("quick", 20))
        .start(["slow", "quick"])
        .edge("slow", END)
        .edge("quick", END)
        .compile()
        .unwrap();
    let began = tokio::time::Instant::now();
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(began.elapsed(), Duration::from_secs(30));
    assert_eq!(seen(&end.state), [json!(["slow", 0]), json!(["quick", 0])]);
}

#[tokio::test]
async fn routes_lead_to_one_or_several_nodes_and_must_exist() {
    let route = |label: Option<&'static str>| {
        node_fn(move |_, _| async move {
            let output = NodeOutput::new();
            Ok(label.map_or(output.clone(), |label| output.route(label)))
        })
    };
    let graph = |label| {
        GraphBuilder::new("g")
            .channel("seen", Reducer::Append)
            .node("triage", route(label))
            .node("b", noting("b", &World::new()))
            .node("c", noting("c", &World::new()))
            .start(["triage"])
            .route("triage", "both", ["c", "b"])
            .route("triage", "none", [END])
            .edge("b", END)
            .edge("c", END)
            .compile()
            .unwrap()
    };
    let both = Bench::new().attempt(&graph(Some("both"))).await.unwrap();
    assert_eq!(seen(&both.state), [json!("c"), json!("b")]);
    let none = Bench::new().attempt(&graph(Some("none"))).await.unwrap();
    assert_eq!((none.steps, seen(&none.state).len()), (1, 0));
    for (label, expected) in [
        (
            Some("lost"),
            "node `triage` took route `lost`, and has both, none",
        ),
        (None, "node `triage` took no route, and has both, none"),
    ] {
        let bench = Bench::new();
        let end = bench.attempt(&graph(label)).await.unwrap();
        assert_eq!(failure(&end), format!("triage RAG0802: {expected}"));
        assert_eq!(
            bench.count(kind::CHECKPOINT).await,
            1,
            "nothing of the step is recorded"
        );
    }
}

#[tokio::test]
async fn two_writes_to_an_overwrite_channel_name_channel_and_tasks() {
    let set =
        || node_fn(|_, _| async { Ok(NodeOutput::new().write("topic", Update::Value(1.into()))) });
    let graph = GraphBuilder::new("g")
        .channel("topic", Reducer::Overwrite)
        .node("b", set())
        .node("c", set())
        .start(["b", "c"])
        .edge("b", END)
        .edge("c", END)
        .compile()
        .unwrap();
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(
        failure(&end),
        "c RAG0801: tasks b:1.0 and c:1.1 both wrote channel `topic` in one step"
    );
    assert_eq!(end.state.value("topic"), None);
}

#[tokio::test]
async fn a_barrier_is_complete_for_the_step_after_the_last_name() {
    let arrive = |name: &'static str| {
        node_fn(move |_, _| async move {
            let output = NodeOutput::new().write("seen", Update::Value(name.into()));
            Ok(output.write("gate", Update::Value(name.into())))
        })
    };
    let graph = GraphBuilder::new("g")
        .channel("seen", Reducer::Append)
        .barrier("gate", ["b", "c"])
        .node("b", arrive("b"))
        .node("c", arrive("c"))
        .node("d", noting("d", &World::new()))
        .start(["b"])
        .edge("b", "c")
        .branch(
            "c",
            |state: &State| state.is_complete("gate"),
            [(true, "d"), (false, END)],
        )
        .edge("d", END)
        .compile()
        .unwrap();
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), [json!("b"), json!("c"), json!("d")]);
    assert_eq!(end.state.list("gate").len(), 0, "its step is over");
}

#[tokio::test]
async fn writes_that_do_not_fit_are_refused_before_anything_is_recorded() {
    let cases = [
        (
            "lost",
            Update::Value(1.into()),
            "there is no channel `lost`",
        ),
        (
            "messages",
            Update::Value(1.into()),
            "channel `messages` takes messages",
        ),
        (
            "seen",
            Update::Messages(vec![]),
            "channel `seen` takes values",
        ),
    ];
    for (channel, update, expected) in cases {
        let graph = GraphBuilder::new("g")
            .channel("messages", Reducer::Messages)
            .channel("seen", Reducer::Append)
            .node(
                "a",
                node_fn(move |_, _| {
                    let output = NodeOutput::new().write(channel, update.clone());
                    async move { Ok(output) }
                }),
            )
            .start(["a"])
            .edge("a", END)
            .compile()
            .unwrap();
        let end = Bench::new().attempt(&graph).await.unwrap();
        assert_eq!(failure(&end), format!("a RAG0411: node `a`: {expected}"));
    }
}

#[tokio::test]
async fn messages_are_rows_and_stand_in_the_channel_once() {
    let say = node_fn(
        |state: Arc<State>, context: rustagents_graph::TaskContext| async move {
            let known = state.messages("messages")[0].clone();
            let new = Message::assistant(context.scope().mint_message(), "hi", vec![]);
            Ok(NodeOutput::new().write("messages", Update::Messages(vec![known, new.into()])))
        },
    );
    let graph = GraphBuilder::new("g")
        .channel("messages", Reducer::Messages)
        .node("say", say)
        .start(["say"])
        .edge("say", END)
        .compile()
        .unwrap();
    let bench = Bench::new();
    for _ in 0..2 {
        let end = bench.attempt(&graph).await.unwrap();
        let texts: Vec<_> = end
            .state
            .messages("messages")
            .iter()
            .map(|m| m.text())
            .collect();
        assert_eq!(texts, ["hello", "hi"]);
        assert_eq!(end.state.last_answer("messages").as_deref(), Some("hi"));
    }
}

#[tokio::test]
async fn a_failed_sibling_loses_no_finished_write() {
    let (bench, world) = (Bench::new(), World::new());
    let graph = |broken: bool| {
        GraphBuilder::new("g")
            .channel("seen", Reducer::Append)
            .node("good", noting("good", &world))
            .node(
                "bad",
                node_fn(move |_, _| async move {
                    if broken {
                        Err(NodeError::failed("no luck"))
                    } else {
                        Ok(NodeOutput::new())
                    }
                }),
            )
            .start(["bad", "good"])
            .edge("good", END)
            .edge("bad", END)
            .compile()
            .unwrap()
    };
    let end = bench.attempt(&graph(true)).await.unwrap();
    assert_eq!(failure(&end), "bad RAG0804: no luck");
    assert!(bench.has_fact("write/good:1.1").await);
    let end = bench.attempt(&graph(false)).await.unwrap();
    assert_eq!(
        (seen(&end.state), world.changes().len()),
        (vec![json!("good")], 1)
    );
}

#[tokio::test]
async fn a_panic_is_a_failure_of_its_node() {
    let graph = GraphBuilder::new("g")
        .node("a", node_fn(|_, _| async { panic!("at the disco") }))
        .start(["a"])
        .edge("a", END)
        .compile()
        .unwrap();
    let end = Bench::new().attempt(&graph).await.unwrap();
    assert_eq!(failure(&end), "a RAG0804: the node panicked");
}

#[tokio::test]
async fn loops_end_at_the_recursion_limit_or_the_budget() {
    let graph = || {
        GraphBuilder::new("g")
            .channel("seen", Reducer::Append)
            .node("a", noting("a", &World::new()))
            .start(["a"])
            .edge("a", "a")
            .recursion_limit(7)
            .compile()
            .unwrap()
    };
    let end = Bench::new().attempt(&graph()).await.unwrap();
    assert!(matches!(end.outcome, Outcome::RecursionLimit { limit: 7 }));
    assert_eq!((end.steps, seen(&end.state).len()), (7, 7));
    let mut bench = Bench::new();
    bench.limits.steps = 3;
    let end = bench.attempt(&graph()).await.unwrap();
    assert!(matches!(end.outcome, Outcome::Budget(_)));
    assert_eq!(end.steps, 3);
}

#[tokio::test]
async fn cancelling_stops_between_steps_and_the_next_attempt_goes_on() {
    let mut bench = Bench::new();
    let (token, world) = (bench.cancel.clone(), World::new());
    let graph = GraphBuilder::new("g")
        .channel("seen", Reducer::Append)
        .node(
            "a",
            node_fn(move |_, _| {
                token.cancel();
                async { Ok(NodeOutput::new()) }
            }),
        )
        .node("b", noting("b", &world))
        .start(["a"])
        .edge("a", "b")
        .edge("b", END)
        .compile()
        .unwrap();
    assert!(matches!(bench.attempt(&graph).await, Err(Halt::Cancelled)));
    assert_eq!(
        (bench.count(kind::CHECKPOINT).await, world.changes().len()),
        (2, 0)
    );
    bench.cancel = rustagents_core::CancellationToken::new();
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!((end.steps, world.changes().len()), (2, 1));
}

#[tokio::test]
async fn a_node_that_is_gone_and_pending_is_refused() {
    let bench = Bench::new();
    let graph = |name: &str| {
        GraphBuilder::new("g")
            .node(
                name,
                node_fn(|_, context: rustagents_graph::TaskContext| async move {
                    context.ask("go on?").await?;
                    Ok(NodeOutput::new())
                }),
            )
            .start([name])
            .edge(name, END)
            .compile()
            .unwrap()
    };
    bench.attempt(&graph("old")).await.unwrap();
    let halt = bench.attempt(&graph("new")).await.unwrap_err();
    assert_eq!(
        halt.to_string(),
        "task old:1.0 is pending and no longer fits: there is no node `old` any more"
    );
}

#[tokio::test]
async fn each_started_node_has_one_end_and_each_step_one_checkpoint_event() {
    let bench = Bench::new();
    bench.attempt(&diamond(&World::new())).await.unwrap();
    let events = bench.events();
    let count = |pick: fn(&Event) -> bool| events.iter().filter(|event| pick(event)).count();
    assert_eq!(count(|event| matches!(event, Event::NodeStarted { .. })), 4);
    assert_eq!(
        count(|event| matches!(event, Event::NodeCompleted { .. })),
        4
    );
    assert_eq!(
        count(|event| matches!(event, Event::CheckpointSaved { .. })),
        3
    );
}

#[tokio::test]
async fn a_graph_without_a_step_ends_and_is_closed() {
    let bench = Bench::new();
    let graph = GraphBuilder::new("g").start([END]).compile().unwrap();
    let end = bench.attempt(&graph).await.unwrap();
    assert!(matches!(end.outcome, Outcome::Completed));
    assert_eq!((end.steps, bench.count(kind::RUN_CLOSED).await), (0, 1));
}

#[tokio::test]
async fn a_write_that_cannot_be_recorded_is_a_failure_and_no_loop() {
    let world = World::new();
    let noted = world.clone();
    let graph = GraphBuilder::new("g")
        .channel("seen", Reducer::Append)
        .node(
            "big",
            node_fn(move |_, _| {
                noted.change("ran");
                let text = "x".repeat(9 << 20);
                async move { Ok(NodeOutput::new().write("seen", Update::Value(text.into()))) }
            }),
        )
        .start(["big"])
        .edge("big", END)
        .compile()
        .unwrap();
    let bench = Bench::new();
    let end = bench.attempt(&graph).await.unwrap();
    assert!(
        failure(&end).starts_with("big RAG0309"),
        "{}",
        failure(&end)
    );
    assert_eq!(
        (world.changes().len(), bench.count(kind::RUN_CLOSED).await),
        (1, 1)
    );
}
