//! Graphs inside a graph.

use super::*;
use rustagents_graph::{Reducer, State, Update, Writes};

fn value(channel: &'static str, value: Value) -> NodeOutput {
    NodeOutput::new().write(channel, Update::Value(value))
}

/// Writes, asks, and writes what it was told.
fn child(migrations: Vec<Migration>) -> Graph {
    let graph = GraphBuilder::new("child")
        .channel("euros", Reducer::Overwrite)
        .channel("cents", Reducer::Overwrite)
        .channel("answer", Reducer::Overwrite)
        .function("price", |_, _| async { Ok(value("euros", json!(7))) })
        .function("ask", |_, context: TaskContext| async move {
            let answer = context.ask("?").await?;
            Ok(value("answer", answer))
        })
        .start(["price"])
        .sequence(["price", "ask", END]);
    let graph = migrations
        .into_iter()
        .fold(graph, GraphBuilder::with_migration);
    graph.compile().unwrap()
}

fn around(migrations: Vec<Migration>, node: impl FnOnce(GraphBuilder) -> GraphBuilder) -> Graph {
    let graph = GraphBuilder::new("around")
        .channel("euros", Reducer::Overwrite)
        .channel("cents", Reducer::Overwrite)
        .channel("answer", Reducer::Overwrite)
        .channel("child", Reducer::Overwrite);
    let graph = node(graph).start(["sub"]).finish("sub");
    let graph = migrations
        .into_iter()
        .fold(graph, GraphBuilder::with_migration);
    graph.compile().unwrap()
}

fn shared(migrations: Vec<Migration>) -> Graph {
    around(migrations, |graph| graph.subgraph("sub", child(vec![])))
}

fn adapted(own: Vec<Migration>, inner: Vec<Migration>) -> Graph {
    around(own, |graph| {
        let back = |child: &State| {
            let mut writes = Writes::new();
            writes.push("child", Update::Value(child.to_json()));
            writes
        };
        graph.adapted("sub", child(inner), |_, _| Writes::new(), back)
    })
}

fn in_cents(name: &str) -> Vec<Migration> {
    let cents = |euros: Value| Ok(json!(euros.as_u64().unwrap_or(0) * 100));
    vec![
        Migration::change_channel(format!("{name}-cents"), "euros", cents),
        Migration::rename_channel(format!("{name}-named"), "euros", "cents"),
    ]
}

const INNER: &str = "sub:1.0/ask:2.0/1";

#[tokio::test]
async fn a_child_on_a_state_of_its_own_goes_through_its_own_migrations() {
    let bench = Bench::new();
    let runner = bench.runner();
    let run = runner
        .run(&adapted(vec![], vec![]), "t", Writes::new())
        .await;
    assert_eq!(ids(run.unwrap().asks()), [INNER]);
    let (before, graph) = (
        bench.records().await,
        adapted(in_cents("outer"), in_cents("inner")),
    );
    let inside = runner.state_inside(&graph, "t", None).await.unwrap();
    assert_eq!(inside.children[0].state["cents"], json!(700));
    assert_eq!(bench.records().await, before);
    let run = runner.resume(&graph, "t", [(INNER, "yes")]).await.unwrap();
    let child = run.state.value("child").unwrap();
    assert_eq!(
        *child,
        json!({"euros": null, "cents": 700, "answer": "yes"})
    );
    let told = bench.since(before).await;
    let migrated: Vec<_> = told.iter().filter(|told| told.contains(" 2 v2")).collect();
    assert_eq!(
        migrated.len(),
        4,
        "a checkpoint and a snapshot for each of both: {told:?}"
    );
    bench.is_whole().await;
}

#[tokio::test]
async fn a_child_that_went_through_others_is_refused() {
    let bench = Bench::new();
    let runner = bench.runner();
    let graph = adapted(vec![], in_cents("inner"));
    runner.run(&graph, "t", Writes::new()).await.unwrap();
    let older = adapted(vec![], vec![]);
    let resume = runner.resume(&older, "t", [(INNER, "yes")]);
    bench.refuses("RAG0817", resume).await;
    let inside = runner.state_inside(&older, "t", None);
    bench.refuses("RAG0817", inside).await;
    let failing = adapted(vec![], vec![Migration::new("bad", |_| Err("no".into()))]);
    let resume = runner.resume(&failing, "t", [(INNER, "yes")]);
    bench.refuses("RAG0817", resume).await;
    let run = runner.resume(&graph, "t", [(INNER, "yes")]).await.unwrap();
    assert!(matches!(run.outcome, Outcome::Completed));
    bench.is_whole().await;
}

#[tokio::test]
async fn a_child_whose_migration_fails_or_whose_node_is_gone_is_refused() {
    let bench = Bench::new();
    let runner = bench.runner();
    let graph = adapted(vec![], vec![]);
    runner.run(&graph, "t", Writes::new()).await.unwrap();
    let failing = adapted(vec![], vec![Migration::new("bad", |_| Err("no".into()))]);
    let resume = runner.resume(&failing, "t", [(INNER, "yes")]);
    bench.refuses("RAG0818", resume).await;
    let gone = adapted(vec![], vec![Migration::rename_node("bad", "ask", "nobody")]);
    let resume = runner.resume(&gone, "t", [(INNER, "yes")]);
    bench.refuses("RAG0409", resume).await;
    runner.resume(&graph, "t", [(INNER, "yes")]).await.unwrap();
    bench.is_whole().await;
}

#[tokio::test]
async fn a_crash_at_any_write_of_a_child_s_migration_leads_to_the_same_end() {
    let open = async |ids: Option<Arc<CountingIds>>| {
        let inner = Arc::new(MemoryJournal::new());
        let bench = Bench::on(inner.clone());
        let bench = Bench {
            ids: ids.unwrap_or_default(),
            ..bench
        };
        bench
            .runner()
            .run(&adapted(vec![], vec![]), "t", Writes::new())
            .await
            .unwrap();
        (inner, bench)
    };
    let graph = adapted(in_cents("outer"), in_cents("inner"));
    let story = async |bench: &Bench| {
        let view = bench.runner().state(&graph, "t").await.ok()?;
        if view.status == Some(Status::Completed) {
            return Some(view.state);
        }
        let answers: Vec<_> = view
            .asks
            .iter()
            .map(|ask| (ask.id.clone(), "yes"))
            .collect();
        let run = bench.runner().resume(&graph, "t", answers).await.ok()?;
        Some(run.state)
    };
    let (inner, bench) = open(None).await;
    let (journal, bench) = dying(&inner, &bench, NEVER);
    let expected = story(&bench).await.unwrap();
    for write in 1..=journal.writes() {
        for side in [Side::Before, Side::After] {
            let (inner, bench) = open(None).await;
            let point = FaultPoint { write, side };
            assert!(story(&dying(&inner, &bench, point).1).await.is_none());
            assert_eq!(story(&bench).await, Some(expected.clone()), "{point:?}");
            bench.is_whole().await;
        }
    }
}

#[tokio::test]
async fn a_child_on_the_same_state_that_has_begun_is_refused() {
    let bench = Bench::new();
    let runner = bench.runner();
    runner
        .run(&shared(vec![]), "t", Writes::new())
        .await
        .unwrap();
    let graph = shared(in_cents("outer"));
    let error = bench
        .refuses("RAG0409", runner.resume(&graph, "t", [(INNER, "yes")]))
        .await;
    assert_eq!(
        error.to_string(),
        "migration `outer-cents` waits for the end of a step: task sub:1.0 runs a graph on the \
         same state, which has begun"
    );
    let inside = runner.state_inside(&graph, "t", None).await.unwrap();
    assert!(inside.children.is_empty(), "it is of the state of before");
    let names = vec![Migration::rename_node("names", "gone", "sub")];
    let run = runner
        .resume(&shared(names), "t", [(INNER, "yes")])
        .await
        .unwrap();
    assert_eq!(run.state.value("answer"), Some(&json!("yes")));
    let mut all = vec![Migration::rename_node("names", "gone", "sub")];
    all.extend(in_cents("outer"));
    let view = runner.state(&shared(all), "t").await.unwrap();
    assert_eq!(view.state.value("cents"), Some(&json!(700)));
    bench.is_whole().await;
}

#[tokio::test]
async fn a_child_on_the_same_state_with_migrations_of_its_own_has_to_end_first() {
    let bench = Bench::new();
    let runner = bench.runner();
    runner
        .run(&shared(vec![]), "t", Writes::new())
        .await
        .unwrap();
    let graph = around(vec![], |graph| {
        graph.subgraph("sub", child(in_cents("inner")))
    });
    let resume = runner.resume(&graph, "t", [(INNER, "yes")]);
    bench.refuses("RAG0409", resume).await;
    let of_before = shared(vec![]);
    let resume = runner.resume(&of_before, "t", [(INNER, "yes")]);
    let run = resume.await.unwrap();
    assert!(matches!(run.outcome, Outcome::Completed));
    bench.is_whole().await;
}
