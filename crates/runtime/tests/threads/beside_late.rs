//! A driver that lost its thread while several of its tasks had effects in flight.

use std::{path::Path, sync::Arc, time::Duration};

use rustagents_core::{
    code::Coded,
    ids::{Branch, FactKey},
    journal::{Claim, Journal, Owner},
    log::ThreadLog,
    recorder::Durability,
    tool::{Approval, EffectClass},
};
use rustagents_graph::{
    END, Graph, GraphBuilder, NodeError, NodeOutput, Reducer, StepContext, TaskContext, Update,
    Writes,
};
use rustagents_lang::compile;
use rustagents_runtime::{
    Capabilities, GraphRunner, Program,
    host::{SystemClock, UuidIds},
};
use rustagents_store_sqlite::SqliteJournal;
use rustagents_testkit::{
    model::{FakeModel, Reply},
    tool::FakeTool,
};
use serde_json::json;
use tokio::sync::Mutex;

use super::name;
use crate::bench::Bench;

const THREE: &str = r#"graph three {
  channel messages messages
  start quick, slow, stuck
  node quick { kind agent  model "quick"  prompt "Quick."  tools ["quick"]  next END }
  node slow { kind agent  model "slow"  prompt "Slow."  tools ["slow"]  next END }
  node stuck { kind agent  model "stuck"  prompt "Stuck."  next END }
}"#;

fn sqlite(folder: &Path) -> Arc<dyn Journal> {
    Arc::new(SqliteJournal::open(folder.join("journal.db")).unwrap())
}

async fn has(journal: &dyn Journal, key: &str) -> bool {
    let log = ThreadLog::load_whole(journal, &name("t")).await.unwrap();
    log.fact(&Branch::main(), &FactKey::from(key)).is_some()
}

async fn until_there(journal: &dyn Journal, key: &str) {
    while !has(journal, key).await {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Two clerks beside each other. While both are at work, another driver takes the thread
/// over; the slow one ends after the quick one was told. The model of a third never says
/// anything.
fn program(bench: &Bench, other: &Arc<dyn Journal>, taken: &Arc<Mutex<Option<Claim>>>) -> Program {
    let mut capabilities = Capabilities::default();
    for tool in ["quick", "slow"] {
        let calls = Reply::Calls(vec![(tool, "{}".to_owned())]);
        let model = FakeModel::new([calls, Reply::Text("over")]);
        capabilities.model(tool, Arc::new(model));
    }
    capabilities.model("stuck", Arc::new(FakeModel::new([Reply::Hang])));
    let allowed =
        |tool: FakeTool| Arc::new(tool.declare(|spec| spec.approval = Some(Approval::Allow)));
    let (world, journal, held) = (bench.world.clone(), Arc::clone(other), Arc::clone(taken));
    let quick = FakeTool::new("quick", EffectClass::Once, move |_, _| {
        let (world, journal, held) = (world.clone(), Arc::clone(&journal), Arc::clone(&held));
        async move {
            for call in ["c-1", "c-2"] {
                until_there(&*journal, &format!("call/{call}/intent/1")).await;
            }
            let claim = journal.take_over(&name("t"), Owner::default()).await;
            *held.lock().await = Some(claim.unwrap());
            world.change("quick");
            Ok(json!({ "ok": true }))
        }
    });
    capabilities.tool(allowed(quick));
    let (world, journal) = (bench.world.clone(), Arc::clone(other));
    let slow = FakeTool::new("slow", EffectClass::Once, move |_, _| {
        let (world, journal) = (world.clone(), Arc::clone(&journal));
        async move {
            while !(has(&*journal, "call/c-1/result").await
                || has(&*journal, "call/c-2/result").await)
            {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            world.change("slow");
            Ok(json!({ "ok": true }))
        }
    });
    capabilities.tool(allowed(slow));
    let compiled = compile(THREE, &capabilities.snapshot().unwrap());
    let blueprint = compiled.blueprint.ok_or(compiled.diagnostics).unwrap();
    Program::lower(&blueprint, &capabilities).unwrap()
}

#[tokio::test]
async fn an_effect_in_flight_beside_the_one_that_is_told_ends_and_is_recorded() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench {
            durability,
            ..Bench::on(sqlite(folder.path()))
        };
        let (other, taken) = (sqlite(folder.path()), Arc::default());
        let program = program(&bench, &other, &taken);
        let runtime = bench.live();
        let run = runtime.start(&program, bench.request(), bench.watch());
        let ended = tokio::time::timeout(Duration::from_mins(1), run).await;
        let error = ended.expect("nobody waits for the stuck one").unwrap_err();
        assert_eq!(error.code().as_str(), "RAG0306", "{error}");
        assert_eq!(bench.world.changes(), ["quick", "slow"], "{durability:?}");
        for call in ["c-1", "c-2"] {
            let result = format!("call/{call}/result");
            assert!(has(&*other, &result).await, "{durability:?} {call}");
        }
        drop(taken.lock().await.take());
        bench.is_whole("t").await;
    }
}

/// A step that takes the thread over once `begun` are on record.
fn taking_over(
    context: &TaskContext,
    other: &Arc<dyn Journal>,
    begun: [&'static str; 2],
    taken: &Arc<Mutex<Option<Claim>>>,
) -> impl Future<Output = Result<u32, NodeError>> + Send + use<> {
    let (journal, held) = (Arc::clone(other), Arc::clone(taken));
    let context = context.clone();
    async move {
        let work = move |_: StepContext| async move {
            for step in begun {
                until_there(&*journal, &format!("step/{step}/intent/1")).await;
            }
            let claim = journal.take_over(&name("t"), Owner::default()).await;
            *held.lock().await = Some(claim.unwrap());
            Ok::<_, NodeError>(1)
        };
        context.step_once("quick", work).await
    }
}

/// A step that ends some time after the end of `after` is on record.
fn slow(
    context: &TaskContext,
    other: &Arc<dyn Journal>,
    after: &'static str,
) -> impl Future<Output = Result<u32, NodeError>> + Send + use<> {
    let (journal, context) = (Arc::clone(other), context.clone());
    async move {
        let work = move |_: StepContext| async move {
            until_there(&*journal, &format!("step/{after}/result")).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok::<_, NodeError>(2)
        };
        context.step_once("slow", work).await
    }
}

fn wrote(value: u32) -> NodeOutput {
    NodeOutput::new().write("sum", Update::Value(value.into()))
}

/// The two steps in one node, in two, and in one inside another graph.
fn stepping(other: &Arc<dyn Journal>, taken: &Arc<Mutex<Option<Claim>>>) -> [Stepping; 3] {
    let both = |begun: [&'static str; 2]| {
        let (other, taken) = (Arc::clone(other), Arc::clone(taken));
        let node = move |_, context: TaskContext| {
            let first = taking_over(&context, &other, begun, &taken);
            let second = slow(&context, &other, begun[0]);
            async move {
                let (first, second) = futures::try_join!(first, second)?;
                Ok(wrote(first + second))
            }
        };
        let builder = GraphBuilder::new("g").channel("sum", Reducer::Counter);
        let builder = builder.function("both", node).start(["both"]);
        builder.finish("both").compile().unwrap()
    };
    let in_one = ["both:1.0/quick#1", "both:1.0/slow#1"];
    let inside = ["sub:1.0/both:1.0/quick#1", "sub:1.0/both:1.0/slow#1"];
    let around = GraphBuilder::new("around").channel("sum", Reducer::Counter);
    let around = around.subgraph("sub", both(inside)).start(["sub"]);
    let in_two = ["a:1.0/quick#1", "b:1.1/slow#1"];
    let (first, held) = (Arc::clone(other), Arc::clone(taken));
    let second = Arc::clone(other);
    let beside = GraphBuilder::new("beside")
        .channel("sum", Reducer::Counter)
        .function("a", move |_, context: TaskContext| {
            let step = taking_over(&context, &first, in_two, &held);
            async move { Ok(wrote(step.await?)) }
        })
        .function("b", move |_, context: TaskContext| {
            let step = slow(&context, &second, in_two[0]);
            async move { Ok(wrote(step.await?)) }
        });
    let beside = beside.start(["a", "b"]).join(["a", "b"], END);
    [
        (in_one, both(in_one)),
        (inside, around.finish("sub").compile().unwrap()),
        (in_two, beside.compile().unwrap()),
    ]
}

type Stepping = ([&'static str; 2], Graph);

#[tokio::test]
async fn steps_in_flight_end_and_are_recorded_wherever_they_lie() {
    for case in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench::on(sqlite(folder.path()));
        let (other, taken) = (sqlite(folder.path()), Arc::default());
        let (steps, graph) = stepping(&other, &taken).into_iter().nth(case).unwrap();
        let clock = Arc::new(SystemClock::new());
        let runner = GraphRunner::on(Arc::clone(&bench.journal), clock, Arc::new(UuidIds));
        let error = runner.run(&graph, "t", Writes::new()).await.unwrap_err();
        assert_eq!(error.code().as_str(), "RAG0306", "{error}");
        for step in steps {
            assert!(has(&*other, &format!("step/{step}/result")).await, "{step}");
        }
        drop(taken.lock().await.take());
        let run = runner.resume(&graph, "t", ()).await.unwrap();
        assert_eq!(run.state.value("sum"), Some(&json!(3)), "nothing is asked");
        bench.is_whole("t").await;
    }
}
