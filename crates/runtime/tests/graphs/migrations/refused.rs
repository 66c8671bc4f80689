//! What is refused, with nothing written.

use super::*;
use rustagents_graph::{GraphFault, MigrationError};

fn without(mut names: Vec<Migration>, count: usize) -> Vec<Migration> {
    names.truncate(names.len() - count);
    names
}

#[tokio::test]
async fn a_thread_of_a_newer_program_is_refused_with_both_lists() {
    let bench = Bench::new();
    bench.sell(7).await;
    bench
        .runner()
        .resume(&new(), "t", [(ASKED, "yes")])
        .await
        .unwrap();
    let runner = bench.runner();
    let older = migrating(without(migrations(), 2));
    let error = bench
        .refuses("RAG0817", runner.run(&older, "t", New::update()))
        .await;
    assert_eq!(
        error.to_string(),
        "the state went through the migrations `messages`, `cents`, `price`, `entries`, \
         `question`, and the graph declares `messages`, `cents`, `price`"
    );
    let edit = Edit::new(New::update());
    bench
        .refuses("RAG0817", runner.update(&older, "t", [edit]))
        .await;
    bench
        .refuses("RAG0817", runner.rewind(&older, "t", 2))
        .await;
    bench.refuses("RAG0817", runner.state(&older, "t")).await;
    bench
        .refuses("RAG0817", runner.state_at(&older, "t", 4))
        .await;
    let error = bench.refuses("RAG0817", runner.state(&old(), "t")).await;
    assert!(
        error.to_string().ends_with("and the graph declares none"),
        "{error}"
    );
    bench
        .refuses("RAG0817", runner.run(&old(), "t", Old::update()))
        .await;
    let mut turned = migrations();
    turned.reverse();
    bench
        .refuses("RAG0817", runner.state(&migrating(turned), "t"))
        .await;
}

#[tokio::test]
async fn an_open_run_of_a_newer_program_is_refused_before_its_answer_is_recorded() {
    let bench = Bench::new();
    let runner = bench.runner();
    let run = runner
        .run(&new(), "t", New::update().cents(100))
        .await
        .unwrap();
    let ask = run.asks()[0].id.clone();
    let older = migrating(without(migrations(), 1));
    let resume = runner.resume(&older, "t", [(ask.clone(), "yes")]);
    bench.refuses("RAG0817", resume).await;
    bench
        .refuses(
            "RAG0817",
            runner.resume(&old(), "t", [(ask.clone(), "yes")]),
        )
        .await;
    runner.resume(&new(), "t", [(ask, "yes")]).await.unwrap();
}

/// Says that `migration` alone is refused wherever it would be done, with `says`, and
/// that the program of before goes on.
async fn fails(migration: impl Fn() -> Migration, says: &str) {
    let bench = Bench::new();
    bench.sell(7).await;
    let graph = || {
        let mut all = migrations();
        all.push(migration());
        migrating(all)
    };
    let runner = bench.runner();
    let error = bench
        .refuses("RAG0818", runner.resume(&graph(), "t", [(ASKED, "yes")]))
        .await;
    assert_eq!(error.to_string(), says);
    assert!(error.hint().unwrap().contains("the program of before"));
    let edit = Edit::new(New::update());
    bench
        .refuses("RAG0818", runner.update(&graph(), "t", [edit]))
        .await;
    bench
        .refuses("RAG0818", runner.rewind(&graph(), "t", 2))
        .await;
    bench.refuses("RAG0818", runner.state(&graph(), "t")).await;
    bench
        .refuses("RAG0818", runner.state_at(&graph(), "t", 2))
        .await;
    let run = runner.resume(&old(), "t", [(ASKED, "yes")]).await.unwrap();
    assert!(matches!(run.outcome, Outcome::Completed));
    bench
        .refuses("RAG0818", runner.run(&graph(), "t", New::update()))
        .await;
    bench.is_whole().await;
}

#[tokio::test]
async fn a_migration_that_fails_is_named() {
    fails(
        || Migration::new("bad", |_| Err("no".into())),
        "migration `bad`: no",
    )
    .await;
    fails(
        || Migration::change_channel("bad", "cents", |_| Err("no".into())),
        "migration `bad`, channel `cents`: no",
    )
    .await;
    fails(
        || Migration::new("bad", |_| Err(MigrationError::in_channel("hits", "no"))),
        "migration `bad`, channel `hits`: no",
    )
    .await;
    fails(
        || Migration::new("bad", |_| panic!("no")),
        "migration `bad`: it panicked",
    )
    .await;
}

#[tokio::test]
async fn a_result_that_is_not_what_the_channel_takes_is_named() {
    fails(
        || Migration::change_channel("bad", "cents", |_| Ok(json!("7"))),
        "migration `bad`, channel `cents`: channel `cents` takes `u64`: invalid type: string \
         \"7\", expected u64",
    )
    .await;
    fails(
        || Migration::change_channel("bad", "messages", |_| Ok(json!([7]))),
        "migration `bad`, channel `messages`: it takes a list of the ids of messages",
    )
    .await;
    fails(
        || Migration::change_channel("bad", "messages", |_| Ok(json!(["m-99"]))),
        "migration `bad`, channel `messages`: message m-99 cannot be read: a record \
         names it, and it is missing",
    )
    .await;
    fails(
        || Migration::rename_channel("bad", "hits", "bigger"),
        "migration `bad`, channel `bigger`: the graph does not declare it",
    )
    .await;
    fails(
        || Migration::rename_channel("bad", "hits", "cents"),
        "migration `bad`, channel `cents`: something is in it already",
    )
    .await;
    fails(
        || {
            let empties = |state: &mut rustagents_graph::Channels| {
                state.clear();
                Ok(())
            };
            Migration::new("bad", empties).touching(["cents", "log", "messages"])
        },
        "migration `bad`, channel `hits`: it changes this, and does not say so",
    )
    .await;
}

#[tokio::test]
async fn a_state_that_is_too_large_for_a_batch_is_not_migrated() {
    let bench = Bench::new();
    let runner = bench.runner();
    bench.sell(7).await;
    for _ in 0..3 {
        let edit = Edit::new(Old::update().log("x".repeat(3 << 20)));
        runner.update(&old(), "t", [edit]).await.unwrap();
    }
    let resume = runner.resume(&new(), "t", [(ASKED, "yes")]).await;
    assert_eq!(resume.unwrap_err().code().as_str(), "RAG0309");
    let run = runner.resume(&old(), "t", [(ASKED, "yes")]).await.unwrap();
    assert_eq!(run.state.log.len(), 5);
    bench.is_whole().await;
}

#[test]
fn two_migrations_of_one_name_are_a_fault_of_the_graph() {
    let graph = GraphBuilder::<Old>::typed("g")
        .function("a", |_, _| async { Ok(NodeOutput::default()) })
        .start(["a"])
        .finish("a")
        .migration("one", |_| Ok(()))
        .migration("", |_| Ok(()))
        .migration("one", |_| Ok(()));
    let faults = graph.compile().unwrap_err();
    assert_eq!(
        faults.0,
        [
            GraphFault::NamelessMigration,
            GraphFault::DuplicateMigration {
                migration: "one".into()
            }
        ]
    );
}

/// Two beside each other, of whom one waits and one is done; then a last.
fn untyped(migrations: Vec<Migration>) -> Graph {
    use rustagents_graph::Reducer;
    let writing = |channel: &'static str, value: Value| {
        NodeOutput::new().write(channel, rustagents_graph::Update::Value(value))
    };
    let graph = GraphBuilder::new("beside")
        .channel("note", Reducer::Overwrite)
        .channel("answer", Reducer::Overwrite)
        .channel("asked", Reducer::Overwrite)
        .function("done", move |_, _| async move {
            Ok(writing("note", json!("done")))
        })
        .function("waits", move |_, context: TaskContext| async move {
            let answer = context.ask("?").await?;
            Ok(writing("answer", answer))
        })
        .function("last", |_, _| async { Ok(NodeOutput::new()) })
        .start(["done", "waits"])
        .join(["done", "waits"], "last")
        .finish("last");
    let graph = migrations
        .into_iter()
        .fold(graph, GraphBuilder::with_migration);
    graph.compile().unwrap()
}

#[tokio::test]
async fn a_finished_sibling_s_write_to_what_is_changed_is_refused_and_to_others_is_kept() {
    let bench = Bench::new();
    let runner = bench.runner();
    let input = rustagents_graph::Writes::new();
    runner.run(&untyped(vec![]), "t", input).await.unwrap();
    let ask = "waits:1.1/1";
    for migration in [
        Migration::change_channel("change", "note", Ok),
        Migration::rename_channel("change", "note", "asked"),
        Migration::new("change", |_| Ok(())),
    ] {
        let graph = untyped(vec![migration]);
        let error = bench
            .refuses("RAG0409", runner.resume(&graph, "t", [(ask, true)]))
            .await;
        assert_eq!(
            error.to_string(),
            "migration `change` waits for the end of a step: task done:1.0 is done, and writes \
             channel `note`, which it changes"
        );
        let edit = Edit::new(rustagents_graph::Writes::new());
        bench
            .refuses("RAG0409", runner.update(&graph, "t", [edit]))
            .await;
        assert!(
            runner.state(&graph, "t").await.is_ok(),
            "it can be looked at"
        );
    }
    let other = Migration::change_channel("other", "answer", Ok);
    let run = runner
        .resume(&untyped(vec![other]), "t", [(ask, true)])
        .await
        .unwrap();
    assert_eq!(run.state.value("note"), Some(&json!("done")));
    assert_eq!(run.state.value("answer"), Some(&json!(true)));
    bench.is_whole().await;
}

#[tokio::test]
async fn an_input_and_going_back_leave_an_open_step_behind() {
    let bench = Bench::new();
    let runner = bench.runner();
    let input = rustagents_graph::Writes::new;
    runner.run(&untyped(vec![]), "t", input()).await.unwrap();
    let graph = untyped(vec![Migration::new("change", |_| Ok(()))]);
    let view = runner.rewind(&graph, "t", 1).await.unwrap();
    assert_eq!(view.next.len(), 2);
    runner.cancel("t").await.unwrap();
    runner.run(&graph, "t", input()).await.unwrap();
    bench.is_whole().await;
}
