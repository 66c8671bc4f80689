use std::time::Duration;

use rustagents_core::journal::kind;
use rustagents_graph::{
    END, Graph, GraphBuilder, NodeError, NodeOutput, Outcome, Reducer, TaskContext, Update, node_fn,
};
use rustagents_testkit::tool::World;
use serde_json::json;

use crate::{
    bench::{Bench, asks},
    steps::{noting, seen},
};

type Answered = Result<serde_json::Value, NodeError>;

fn asking<F, R>(ask: F) -> Graph
where
    F: Fn(TaskContext) -> R + Send + Sync + 'static,
    R: Future<Output = Answered> + Send + 'static,
{
    GraphBuilder::new("g")
        .channel("answer", Reducer::Overwrite)
        .node(
            "ask",
            node_fn(move |_, context| {
                let answer = ask(context);
                async move { Ok(NodeOutput::new().write("answer", Update::Value(answer.await?))) }
            }),
        )
        .start(["ask"])
        .edge("ask", END)
        .compile()
        .unwrap()
}

#[tokio::test]
async fn an_ask_waits_over_attempts_and_returns_the_answer() {
    let bench = Bench::new();
    let graph = asking(|context| async move { context.ask("which colour?").await });
    for _ in 0..2 {
        let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
        assert_eq!(
            (ask.id.as_str(), ask.prompt.as_str()),
            ("ask:1.0/1", "which colour?")
        );
    }
    assert_eq!(bench.count(kind::ASK).await, 1);
    bench.answer(&"ask:1.0/1".into(), json!("blue")).await;
    bench
        .try_answer(&"ask:1.0/1".into(), json!("red"))
        .await
        .unwrap_err();
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(end.state.value("answer"), Some(&json!("blue")));
}

#[tokio::test(start_paused = true)]
async fn nothing_around_an_ask_swallows_it() {
    let cases: Vec<Graph> = vec![
        asking(|context| async move { Ok(context.ask("?").await.unwrap_or(json!("caught"))) }),
        asking(|context| async move {
            let ask = tokio::time::timeout(Duration::from_millis(1), context.ask("?")).await;
            ask.unwrap_or(Ok(json!("timed out")))
        }),
        asking(|context| async move {
            tokio::select! {
                biased;
                answer = context.ask("?") => answer,
                () = std::future::ready(()) => Ok(json!("raced")),
            }
        }),
        asking(|context| async move {
            let mut ask = Box::pin(context.ask("?"));
            let polled = futures::poll!(&mut ask);
            drop(ask);
            assert!(polled.is_pending());
            Err(NodeError::failed("gave up"))
        }),
    ];
    for (index, graph) in cases.into_iter().enumerate() {
        let bench = Bench::new();
        assert_eq!(
            asks(&bench.attempt(&graph).await.unwrap()).len(),
            1,
            "case {index}"
        );
    }
}

#[tokio::test]
async fn a_node_asks_twice_and_is_answered_one_by_one_or_together() {
    let graph = asking(|context| async move {
        let first = context.ask("first?").await?;
        let second = context.ask("second?").await?;
        Ok(json!([first, second]))
    });
    let bench = Bench::new();
    for (id, prompt) in [("ask:1.0/1", "first?"), ("ask:1.0/2", "second?")] {
        let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
        assert_eq!((ask.id.as_str(), ask.prompt.as_str()), (id, prompt));
        bench.answer(&ask.id, json!(prompt)).await;
    }
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(
        end.state.value("answer"),
        Some(&json!(["first?", "second?"]))
    );

    let together = asking(|context| async move {
        let (a, b) = futures::join!(context.ask("a?"), context.ask("b?"));
        Ok(json!([a?, b?]))
    });
    let bench = Bench::new();
    let both = asks(&bench.attempt(&together).await.unwrap());
    assert_eq!(both.len(), 2);
    bench.answer(&both[1].id, json!(2)).await;
    assert_eq!(
        asks(&bench.attempt(&together).await.unwrap())[0].id,
        both[0].id
    );
    bench.answer(&both[0].id, json!(1)).await;
    let end = bench.attempt(&together).await.unwrap();
    assert_eq!(end.state.value("answer"), Some(&json!([1, 2])));
}

#[tokio::test]
async fn asks_of_siblings_are_visible_together_and_finished_siblings_do_not_run_again() {
    let world = World::new();
    let ask = || {
        node_fn(|_, context: TaskContext| async move {
            let answer = context.ask("?").await?;
            Ok(NodeOutput::new().write("seen", Update::Value(answer)))
        })
    };
    let graph = GraphBuilder::new("g")
        .channel("seen", Reducer::Append)
        .node("one", ask())
        .node("work", noting("work", &world))
        .node("two", ask())
        .start(["one", "work", "two"])
        .edge("one", END)
        .edge("work", END)
        .edge("two", END)
        .compile()
        .unwrap();
    let bench = Bench::new();
    let pending = asks(&bench.attempt(&graph).await.unwrap());
    let ids: Vec<_> = pending.iter().map(|ask| ask.id.to_string()).collect();
    assert_eq!(ids, ["one:1.0/1", "two:1.2/1"]);
    bench.answer(&pending[1].id, json!(2)).await;
    let left = asks(&bench.attempt(&graph).await.unwrap());
    assert_eq!(left[0].id, pending[0].id);
    bench.answer(&pending[0].id, json!(1)).await;
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(seen(&end.state), [json!(1), json!("work"), json!(2)]);
    assert!(matches!(end.outcome, Outcome::Completed));
    assert_eq!(world.changes(), ["work"]);
}
