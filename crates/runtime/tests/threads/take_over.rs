use std::sync::{Arc, Mutex, PoisonError};

use rustagents_core::{
    BoxFuture,
    code::Coded,
    ids::{Branch, FactKey},
    journal::{Author, Batch, Claim, Owner},
    recorder::Durability,
    tool::{Approval, EffectClass},
};
use rustagents_lang::compile;
use rustagents_runtime::{Capabilities, Program, Report, Resume, RunError, Status, Watch};
use rustagents_testkit::{
    model::{FakeModel, Reply},
    tool::FakeTool,
};
use serde_json::json;

use super::{WORD, name};
use crate::bench::Bench;

const WIRE: &str = r#"graph wire {
  channel messages messages
  start clerk
  node clerk { kind agent  model "clerk"  prompt "Wire."  tools ["wire"]  next END }
}"#;

/// A clerk who wires money; in the middle of it, `meanwhile` happens.
fn wiring(
    bench: &Bench,
    meanwhile: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static,
) -> Program {
    let calls = Reply::Calls(vec![("wire", "{}".to_owned())]);
    clerk(bench, [calls, Reply::Text("wired")], meanwhile)
}

fn clerk<const N: usize>(
    bench: &Bench,
    says: [Reply; N],
    meanwhile: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static,
) -> Program {
    let mut capabilities = Capabilities::default();
    capabilities.model("clerk", Arc::new(FakeModel::new(says)));
    let (world, meanwhile) = (bench.world.clone(), Arc::new(meanwhile));
    let wire = FakeTool::new("wire", EffectClass::Once, move |_, _| {
        let (world, meanwhile) = (world.clone(), Arc::clone(&meanwhile));
        async move {
            meanwhile().await;
            world.change("wired");
            Ok(json!({ "receipt": "R-7" }))
        }
    });
    let wire = wire.declare(|spec| spec.approval = Some(Approval::Allow));
    capabilities.tool(Arc::new(wire));
    let compiled = compile(WIRE, &capabilities.snapshot().unwrap());
    let blueprint = compiled.blueprint.ok_or(compiled.diagnostics).unwrap();
    Program::lower(&blueprint, &capabilities).unwrap()
}

/// A clerk whose model only has the last word, and whose tool is not called.
fn going_on(bench: &Bench) -> Program {
    clerk(bench, [Reply::Text("wired")], || {
        Box::pin(async { panic!("it was wired already") })
    })
}

async fn resume(bench: &Bench, program: &Program, takes_over: bool) -> Result<Report, RunError> {
    let resume = Resume {
        thread: name("t"),
        decisions: vec![],
    };
    let runtime = bench.live().taking_over(takes_over);
    runtime.resume(program, resume, Watch::default()).await
}

/// The result that the late driver told of, and that nothing is wired twice.
async fn goes_on_with_what_it_was_told(bench: &Bench) {
    let log = bench.log().await;
    let result = FactKey::from("call/c-1/result");
    let result = log.fact(&Branch::main(), &result).unwrap();
    assert!(result.body.contains("\"late/c-1\""), "{}", result.body);
    assert_eq!(bench.view().await.pending().count(), 0, "nothing is asked");
    bench.is_whole("t").await;
    let report = resume(bench, &going_on(bench), false).await.unwrap();
    assert_eq!(report.status, Status::Completed);
    assert_eq!(bench.world.changes(), ["wired"]);
    bench.is_whole("t").await;
}

#[tokio::test]
async fn a_call_that_ends_after_a_take_over_has_its_result() {
    for durability in [Durability::Sync, Durability::Exit] {
        let bench = Bench {
            durability,
            ..Bench::new()
        };
        let taken: Arc<Mutex<Option<Claim>>> = Arc::default();
        let (journal, held) = (Arc::clone(&bench.journal), Arc::clone(&taken));
        let program = wiring(&bench, move || {
            let (journal, held) = (Arc::clone(&journal), Arc::clone(&held));
            Box::pin(async move {
                let claim = journal.take_over(&name("t"), Owner::default()).await;
                *held.lock().unwrap_or_else(PoisonError::into_inner) = claim.ok();
            })
        });
        let run = bench
            .live()
            .start(&program, bench.request(), bench.watch())
            .await;
        let error = run.unwrap_err();
        assert_eq!(error.code().as_str(), "RAG0306", "{error}");
        assert!(error.to_string().contains("was taken over"), "{error}");
        drop(taken.lock().unwrap().take());
        goes_on_with_what_it_was_told(&bench).await;
    }
}

#[tokio::test]
async fn who_took_over_and_asks_already_finds_the_result_as_well() {
    let bench = Arc::new(Bench::new());
    let other = Arc::clone(&bench);
    let program = wiring(&bench, move || {
        let bench = Arc::clone(&other);
        Box::pin(async move {
            let asked = resume(&bench, &going_on(&bench), true).await.unwrap();
            assert_eq!(asked.status, Status::Suspended);
            assert_eq!(asked.asks[0].id.as_str(), "c-1/doubt/1");
        })
    });
    let run = bench
        .live()
        .start(&program, bench.request(), Watch::default())
        .await;
    assert_eq!(run.unwrap_err().code().as_str(), "RAG0306");
    goes_on_with_what_it_was_told(&bench).await;
}

#[tokio::test]
async fn who_is_taken_over_is_fenced_and_the_run_goes_on() {
    let bench = Bench::new();
    let watch = Watch::default();
    watch.cancel.cancel();
    let program = bench.program(WORD);
    let runtime = bench.live();
    runtime
        .start(&program, bench.request(), watch)
        .await
        .unwrap();
    let owner = Owner {
        process: 7,
        since_ms: 0,
    };
    let stuck = bench.journal.claim(&name("t"), owner).await.unwrap();
    let resume = || Resume {
        thread: name("t"),
        decisions: vec![],
    };
    let program = bench.program(WORD);
    let refused = runtime
        .resume(&program, resume(), Watch::default())
        .await
        .unwrap_err();
    assert_eq!(refused.code().as_str(), "RAG0305");

    let taking = bench.live().taking_over(true);
    let report = taking
        .resume(&program, resume(), Watch::default())
        .await
        .unwrap();
    assert_eq!(report.status, Status::Completed);
    let batch = Batch {
        thread: name("t"),
        author: Author::Driver(stuck.epoch),
        heads: vec![],
        entries: vec![],
        messages: vec![],
        contents: vec![],
        at_ms: 0,
    };
    let fenced = bench.journal.append(batch).await.unwrap_err();
    assert_eq!(fenced.code().as_str(), "RAG0306");
    assert!(fenced.to_string().contains("was taken over"), "{fenced}");
}

#[tokio::test]
async fn a_thread_that_nobody_drives_is_claimed_as_always() {
    let bench = Bench::new();
    bench.say("t", WORD, json!(1)).await;
    let runtime = bench.live().taking_over(true);
    let report = runtime
        .start(&bench.program(WORD), bench.request(), Watch::default())
        .await;
    assert_eq!(report.unwrap().status, Status::Completed);
    let owner = bench.journal.owner(&name("t")).await.unwrap();
    assert_eq!(owner, None);
}
