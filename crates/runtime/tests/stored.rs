//! The application store in tools and nodes.

use std::{path::Path, sync::Arc};

use futures::FutureExt;
use rustagents_core::{
    CancellationToken,
    code::Coded,
    event::{AgentEvent, Event, Events},
    ids::CallId,
    recorder::Durability,
    store::{Address, NoStore, PutOptions, Reading, Store},
    tool::{EffectClass, Executed, ToolContext, ToolError},
};
use rustagents_graph::{
    END, Graph, GraphBuilder, NodeError, NodeOutput, Outcome, Reducer, TaskContext, Update, Writes,
};
use rustagents_lang::compile;
use rustagents_runtime::{Capabilities, GraphRunner, Program, Report, Runtime, Status, Watch};
use rustagents_store::{MemoryJournal, MemoryStore};
use rustagents_store_file::FileStore;
use rustagents_store_sqlite::SqliteStore;
use rustagents_testkit::{
    clock::TestClock,
    ids::CountingIds,
    model::{FakeModel, Reply},
    tool::FakeTool,
};
use serde_json::json;

use crate::bench::Bench;

const PLAN: &str = r#"graph notes {
  channel messages messages
  start clerk
  node clerk { kind agent  model "clerk"  prompt "Note it."  tools ["note"]  next END }
}"#;

fn drink() -> Address {
    Address::new(["users", "42"], "drink").unwrap()
}

fn clock() -> Arc<TestClock> {
    Arc::new(TestClock::new())
}

/// One of each kind.
fn stores(folder: &Path) -> [Arc<dyn Store>; 3] {
    [
        Arc::new(MemoryStore::new(clock())),
        Arc::new(FileStore::new(folder.join("store"), clock())),
        Arc::new(SqliteStore::new(folder.join("store.db"), clock())),
    ]
}

/// A plan whose agent notes what its user drinks, with a tool that needs a store.
fn program() -> Program {
    let note = FakeTool::new(
        "note",
        EffectClass::Idempotent,
        |_, context: ToolContext| async move {
            let store = context.store()?;
            let version = store
                .put(drink(), json!("tea"), PutOptions::default())
                .await?;
            Ok::<_, ToolError>(json!({ "version": version }))
        },
    );
    let note_it = Reply::Calls(vec![("note", "{}".to_owned())]);
    let mut capabilities = Capabilities::default();
    capabilities.model(
        "clerk",
        Arc::new(FakeModel::new([note_it, Reply::Text("noted")])),
    );
    capabilities.tool(Arc::new(note));
    let compiled = compile(PLAN, &capabilities.snapshot().unwrap());
    Program::lower(&compiled.blueprint.unwrap(), &capabilities).unwrap()
}

async fn start(runtime: &Runtime, watch: Watch) -> Report {
    let request = Bench::new().request();
    runtime.start(&program(), request, watch).await.unwrap()
}

fn runtime() -> Runtime {
    let ids = Arc::new(CountingIds::default());
    Runtime::new(Arc::new(MemoryJournal::new()), clock(), ids)
}

/// A graph inside another, whose node counts what it finds.
fn counting() -> Graph {
    let count = |_, context: TaskContext| async move {
        let store = context.store()?;
        let found = store.get(&drink(), Reading::Plain).await?;
        let seen = found.map_or(0, |item| item.value.as_u64().unwrap_or(0));
        let next = json!(seen + 1);
        store
            .put(drink(), next.clone(), PutOptions::default())
            .await?;
        Ok(NodeOutput::new().write("seen", Update::Value(next)))
    };
    let inner = GraphBuilder::new("inner")
        .channel("seen", Reducer::Append)
        .function("count", count)
        .start(["count"])
        .finish("count")
        .compile()
        .unwrap();
    GraphBuilder::new("outer")
        .channel("seen", Reducer::Append)
        .subgraph("sub", inner)
        .start(["sub"])
        .sequence(["sub", END])
        .compile()
        .unwrap()
}

fn runner() -> GraphRunner {
    let ids = Arc::new(CountingIds::default());
    GraphRunner::on(Arc::new(MemoryJournal::new()), clock(), ids)
}

#[tokio::test]
async fn a_tool_of_an_agent_reaches_the_store_of_its_run() {
    let folder = tempfile::tempdir().unwrap();
    for store in stores(folder.path()) {
        let runtime = runtime().with_store(Arc::clone(&store));
        let report = start(&runtime, Watch::default()).await;
        assert_eq!(report.status, Status::Completed, "{report:?}");
        let item = store.get(&drink(), Reading::Plain).await.unwrap().unwrap();
        assert_eq!((item.value, item.version), (json!("tea"), 1));
    }
}

#[tokio::test]
async fn a_node_of_a_graph_inside_reaches_it_and_finds_what_other_threads_left() {
    let folder = tempfile::tempdir().unwrap();
    for store in stores(folder.path()) {
        let runner = runner().with_store(Arc::clone(&store));
        for (thread, count) in [("a", 1), ("b", 2)] {
            let run = runner.run(&counting(), thread, Writes::new()).await;
            let run = run.unwrap();
            assert!(matches!(run.outcome, Outcome::Completed), "{run:?}");
            assert_eq!(run.state.list("seen"), [Arc::new(json!(count))]);
        }
    }
}

#[tokio::test]
async fn what_is_written_there_is_durable_whatever_the_run_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Arc::new(SqliteStore::new(&path, clock()));
    let watch = Watch {
        durability: Durability::None,
        ..Watch::default()
    };
    start(&runtime().with_store(store), watch).await;
    let other = SqliteStore::new(&path, clock());
    assert!(other.get(&drink(), Reading::Plain).await.unwrap().is_some());
}

#[tokio::test]
async fn a_store_that_nobody_asks_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Arc::new(SqliteStore::new(&path, clock()));
    let graph = GraphBuilder::new("idle")
        .channel("seen", Reducer::Append)
        .function("idle", |_, _| async { Ok(NodeOutput::new()) })
        .start(["idle"])
        .finish("idle")
        .compile()
        .unwrap();
    let runner = runner().with_store(store);
    runner.run(&graph, "t", Writes::new()).await.unwrap();
    assert!(!path.exists());
}

#[tokio::test]
async fn without_a_store_a_tool_and_a_node_are_told_so() {
    // The model is told that nothing happened, and goes on.
    let log = Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = Arc::clone(&log);
    let events = Events::listen(move |event| {
        if let Event::Agent {
            event: AgentEvent::ToolCompleted { ok, .. },
            ..
        } = event
        {
            heard.lock().unwrap().push(*ok);
        }
    });
    let watch = Watch {
        events,
        ..Watch::default()
    };
    let report = start(&runtime(), watch).await;
    assert_eq!(report.status, Status::Completed);
    assert_eq!(*log.lock().unwrap(), [false]);

    let run = runner().run(&counting(), "t", Writes::new()).await.unwrap();
    let Outcome::Failed { failure, .. } = run.outcome else {
        panic!("{run:?}");
    };
    assert_eq!(failure.code.as_str(), "RAG0314");
    assert!(failure.hint.unwrap().contains("with_store"));

    let context = ToolContext::detached(CallId::numbered(1));
    let error = context.store().map(drop).unwrap_err();
    assert_eq!((error, error.code().as_str()), (NoStore, "RAG0314"));
    let error = ToolError::from(error);
    assert_eq!(error.executed, Executed::No);
    assert!(error.message.contains("RAG0314"), "{error}");
}

#[tokio::test]
async fn a_store_that_is_none_fails_the_node_with_its_own_code() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    std::fs::write(&path, "something else entirely").unwrap();
    let store: Arc<dyn Store> = Arc::new(SqliteStore::new(&path, clock()));
    let runner = runner().with_store(Arc::clone(&store));
    let run = runner.run(&counting(), "t", Writes::new()).await.unwrap();
    let Outcome::Failed { failure, .. } = run.outcome else {
        panic!("{run:?}");
    };
    assert_eq!(failure.code.as_str(), "RAG0303");
    let error = store.get(&drink(), Reading::Plain).await.unwrap_err();
    assert_eq!(ToolError::from(error).executed, Executed::No);
}

#[tokio::test]
async fn a_write_that_was_handed_over_ends_although_the_run_is_cancelled() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(clock()));
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let graph = GraphBuilder::new("stopped")
        .channel("seen", Reducer::Append)
        .function("put", move |_, context: TaskContext| {
            let stop = stop.clone();
            async move {
                let put = context
                    .store()?
                    .put(drink(), json!("tea"), PutOptions::default());
                put.await?;
                stop.cancel();
                std::future::pending::<Result<NodeOutput, NodeError>>().await
            }
        })
        .start(["put"])
        .finish("put")
        .compile()
        .unwrap();
    let watch = Watch {
        cancel,
        ..Watch::default()
    };
    let runner = runner().watched(watch).with_store(Arc::clone(&store));
    assert!(runner.run(&graph, "t", Writes::new()).await.is_err());
    let found = store.get(&drink(), Reading::Plain).now_or_never();
    assert!(found.unwrap().unwrap().is_some());
}
