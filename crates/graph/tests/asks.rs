use std::{sync::Arc, time::Duration};

use futures::FutureExt;
use rustagents_core::{
    ask::{Answer, Subject},
    journal::kind,
    recorder::Durability,
    scope::Halt,
};
use rustagents_graph::{
    Asked, END, Graph, GraphBuilder, NodeError, NodeOutput, Outcome, Reducer, TaskContext, Update,
    node_fn,
};
use rustagents_store::MemoryJournal;
use rustagents_testkit::{drive, hooked::HookedJournal, tool::World};
use serde_json::json;

use crate::{
    bench::{Bench, asks, failure},
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

#[tokio::test]
async fn a_run_that_records_nothing_fails_where_it_would_wait() {
    let mut bench = Bench::new();
    bench.durability = Durability::None;
    let child = || asking(|context| async move { context.ask("which\ncolour?").await });
    let around = GraphBuilder::new("around")
        .channel("answer", Reducer::Overwrite)
        .subgraph("inside", child())
        .start(["inside"])
        .edge("inside", END)
        .compile()
        .unwrap();
    for graph in [child(), around] {
        let end = bench.attempt(&graph).await.unwrap();
        assert_eq!(
            failure(&end),
            "ask RAG0418: nobody can answer `which colour?`, since the run records nothing"
        );
        let Outcome::Failed { failure, .. } = end.outcome else {
            panic!("{end:?}");
        };
        assert_eq!(
            failure.hint.as_deref(),
            Some("use another durability than `none`")
        );
        assert!(bench.log().await.is_empty());
    }
}

#[tokio::test]
async fn a_run_that_is_recorded_at_its_end_waits() {
    let mut bench = Bench::new();
    bench.durability = Durability::Exit;
    let graph = asking(|context| async move { context.ask("?").await });
    assert_eq!(asks(&bench.attempt(&graph).await.unwrap()).len(), 1);
    bench.answer(&"ask:1.0/1".into(), json!("blue")).await;
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

/// Asks with an hour's time, and then whether that is so.
fn hurried() -> Graph {
    asking(|context| async move {
        let hour = Duration::from_hours(1);
        let asked = match context.ask_until("soon?", hour).await? {
            Asked::Answered(answer) => answer,
            Asked::Expired => json!("nobody"),
        };
        let sure = context.ask(format!("{asked}?")).await?;
        Ok(json!([asked, sure]))
    })
}

#[tokio::test]
async fn a_question_expires_when_its_task_runs_after_its_time_and_stays_so() {
    let (bench, clock) = Bench::new().on_a_clock();
    let graph = hurried();
    for minutes in [0, 59] {
        clock.advance(Duration::from_mins(minutes));
        let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
        let Subject::Interrupt { until_ms, .. } = ask.subject else {
            panic!("{ask:?}");
        };
        assert_eq!(until_ms, Some(1_000 + 3_600_000), "after {minutes} minutes");
    }
    clock.advance(Duration::from_mins(2));
    for _ in 0..2 {
        let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
        assert_eq!(ask.prompt, "\"nobody\"?");
        let late = bench.try_answer(&"ask:1.0/1".into(), json!("late")).await;
        late.unwrap_err();
    }
    bench.answer(&"ask:1.0/2".into(), json!("yes")).await;
    let end = bench.attempt(&graph).await.unwrap();
    assert_eq!(end.state.value("answer"), Some(&json!(["nobody", "yes"])));
}

#[tokio::test]
async fn an_answer_that_is_there_counts_however_late_it_came() {
    let (bench, clock) = Bench::new().on_a_clock();
    let graph = hurried();
    asks(&bench.attempt(&graph).await.unwrap());
    clock.advance(Duration::from_hours(2));
    bench.answer(&"ask:1.0/1".into(), json!("late")).await;
    let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
    assert_eq!(ask.prompt, "\"late\"?");
}

#[tokio::test]
async fn an_answer_that_comes_while_a_question_expires_wins_or_loses_as_a_whole() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let inner = Arc::new(MemoryJournal::new());
        let racing = inner.clone();
        let hooked = HookedJournal::new(inner).before_append(move |batch| {
            let key = batch.entries.first().map(|entry| entry.place.clone());
            let inner = racing.clone();
            async move {
                let expires = format!("{key:?}").contains("answer/ask:1.0/1");
                if expires {
                    let value = json!("just in time");
                    let answer = Answer::Value { value };
                    drive::answer(&*inner, Bench::thread(), &"ask:1.0/1".into(), &answer).await?;
                }
                Ok(())
            }
            .boxed()
        });
        let (mut bench, clock) = Bench::on(Arc::new(hooked)).on_a_clock();
        bench.durability = durability;
        let graph = hurried();
        asks(&bench.attempt(&graph).await.unwrap());
        clock.advance(Duration::from_hours(2));
        let ask = asks(&bench.attempt(&graph).await.unwrap()).remove(0);
        assert_eq!(ask.prompt, "\"just in time\"?", "{durability:?}");
    }
}

#[tokio::test]
async fn whoever_was_told_that_nobody_answered_hears_of_no_later_answer() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let (mut bench, clock) = Bench::new().on_a_clock();
        bench.durability = durability;
        let outside = bench.clone();
        let graph = asking(move |context| {
            let outside = outside.clone();
            async move {
                let hour = Duration::from_hours(1);
                let asked = context.ask_until("soon?", hour).await?;
                let id = "ask:1.0/1".into();
                let is_refused = outside.try_answer(&id, json!("late")).await.is_err();
                Ok(json!([asked == Asked::Expired, is_refused]))
            }
        });
        asks(&bench.attempt(&graph).await.unwrap());
        clock.advance(Duration::from_hours(2));
        let end = bench.attempt(&graph).await.unwrap();
        let told = end.state.value("answer");
        assert_eq!(told, Some(&json!([true, true])), "{durability:?}");
    }
}

#[tokio::test]
async fn a_node_that_now_waits_for_an_expired_answer_stops_the_run() {
    let (bench, clock) = Bench::new().on_a_clock();
    asks(&bench.attempt(&hurried()).await.unwrap());
    clock.advance(Duration::from_hours(2));
    asks(&bench.attempt(&hurried()).await.unwrap());
    let patient = asking(|context| async move { context.ask("soon?").await });
    let halt = bench.attempt(&patient).await.unwrap_err();
    assert!(matches!(halt, Halt::Incompatible { .. }), "{halt}");
}
