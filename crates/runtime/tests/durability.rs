//! When what a run does is durable, and what a crash may take.

use std::{
    fmt::Write,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use futures::poll;
use rustagents_core::{
    budget::Limits,
    code::{Code, Coded},
    event::{Event, Events},
    journal::{Batch, Journal, JournalError, Kind, Select, ThreadQuery, kind},
    recorder::Durability,
    tool::EffectClass,
};
use rustagents_graph::{
    END, GraphBuilder, GraphState, NodeOutput, Outcome, Reducer, Update, Writes,
};
use rustagents_lang::compile;
use rustagents_runtime::{GraphRunner, Program, RunError, Start, Status, Watch};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};
use rustagents_testkit::{
    hooked::HookedJournal,
    model::{FakeModel, Reply},
    tool::FakeTool,
};
use tokio::sync::Semaphore;

use crate::{
    bench::{Bench, DESK, approve},
    crash::drive,
};

/// Eight nodes in a row, each with a model call.
fn row() -> String {
    let mut plan = "graph row {\n channel messages messages\n start n0\n".to_owned();
    for number in 0..8 {
        let next = if number == 7 {
            "END".to_owned()
        } else {
            format!("n{}", number + 1)
        };
        let kind = "kind agent  model \"last\"  prompt \"Go.\"";
        let _ = writeln!(plan, "node n{number} {{ {kind}  next {next} }}");
    }
    plan + "}"
}

/// The kinds of what each batch wrote.
type Batches = Arc<Mutex<Vec<Vec<&'static str>>>>;

/// A journal that notes the kinds of each batch.
fn noting(inner: Arc<dyn Journal>) -> (Arc<dyn Journal>, Batches) {
    let batches = Batches::default();
    let noted = Arc::clone(&batches);
    let journal = HookedJournal::new(inner).before_append(move |batch: &Batch| {
        let kinds = batch.entries.iter().map(|entry| entry.kind.name).collect();
        noted.lock().unwrap().push(kinds);
        Box::pin(async { Ok(()) })
    });
    (Arc::new(journal), batches)
}

async fn batches_of(durability: Durability) -> Vec<Vec<&'static str>> {
    let (journal, batches) = noting(Arc::new(MemoryJournal::new()));
    let bench = Bench {
        durability,
        ..Bench::on(journal)
    };
    let report = bench.start(&row()).await.unwrap();
    assert_eq!(report.status, Status::Completed);
    assert_eq!(report.steps, 8);
    let batches = batches.lock().unwrap();
    batches.clone()
}

#[tokio::test]
async fn commits_are_counted() {
    // The opening, and for each node its answer and its checkpoint.
    assert_eq!(batches_of(Durability::Sync).await.len(), 1 + 2 * 8);
    let at_the_end = batches_of(Durability::Exit).await;
    assert_eq!(at_the_end.len(), 1);
    let of = |kind: Kind| {
        at_the_end[0]
            .iter()
            .filter(|name| **name == kind.name)
            .count()
    };
    assert_eq!((of(kind::CHECKPOINT), of(kind::RUN_CLOSED)), (9, 1));
    assert_eq!(batches_of(Durability::None).await.len(), 0);
}

#[test]
fn unless_said_otherwise_a_run_is_durable_before_it_goes_on() {
    assert_eq!(Watch::default().durability, Durability::Sync);
}

/// Two nodes in a row.
fn two(name: &str) -> GraphBuilder {
    ["a", "b"]
        .into_iter()
        .fold(GraphBuilder::new(name), |builder, node| {
            builder
                .channel(node, Reducer::Overwrite)
                .function(node, move |_, _| async move {
                    Ok(NodeOutput::new().write(node, Update::Value(true.into())))
                })
        })
        .start(["a"])
        .edge("a", "b")
}

/// The batches of a run of two nodes, and between them a child of two nodes.
async fn batches_around_a_child(durability: Durability) -> Vec<Vec<&'static str>> {
    let child = two("child").finish("b").compile().unwrap();
    let graph = two("parent")
        .subgraph("sub", child)
        .edge("b", "sub")
        .finish("sub")
        .compile()
        .unwrap();
    let (journal, batches) = noting(Arc::new(MemoryJournal::new()));
    let runner = GraphRunner::new(journal).watched(Watch {
        durability,
        ..Watch::default()
    });
    let run = runner.run(&graph, "t", Writes::new()).await.unwrap();
    assert!(matches!(run.outcome, Outcome::Completed), "{run:?}");
    let batches = batches.lock().unwrap();
    batches.clone()
}

#[tokio::test]
async fn a_child_is_as_durable_as_its_run() {
    let checkpoints = |batches: &[Vec<&str>]| {
        let kinds = batches.iter().flatten();
        kinds.filter(|name| **name == kind::CHECKPOINT.name).count()
    };
    // The inputs of both graphs, and their steps: three and two.
    let sync = batches_around_a_child(Durability::Sync).await;
    assert_eq!((sync.len(), checkpoints(&sync)), (7, 7), "{sync:?}");
    let at_the_end = batches_around_a_child(Durability::Exit).await;
    assert_eq!((at_the_end.len(), checkpoints(&at_the_end)), (1, 7));
    let behind = batches_around_a_child(Durability::Async).await;
    assert_eq!(behind.concat(), sync.concat(), "in the same order");
    assert!(batches_around_a_child(Durability::None).await.is_empty());
}

#[tokio::test]
async fn what_was_queued_meanwhile_goes_as_one() {
    // The first append comes back when three more were made behind it.
    let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let (noted, batches) = noting(inner);
    let slow = HookedJournal::new(noted).before_append(|_| {
        Box::pin(async {
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            Ok(())
        })
    });
    let bench = Bench {
        durability: Durability::Async,
        ..Bench::on(Arc::new(slow))
    };
    let report = bench.start(&row()).await.unwrap();
    assert_eq!(report.status, Status::Completed);
    let batches = batches.lock().unwrap().clone();
    assert!(batches.len() <= 3, "{batches:?}");
    let synchronous = batches_of(Durability::Sync).await.concat();
    assert_eq!(batches.concat(), synchronous, "in the same order");
    assert_eq!(bench.view().await.report().steps, 8);
}

#[tokio::test]
async fn what_must_not_happen_twice_is_durable_before_it_starts() {
    for durability in [Durability::Exit, Durability::Async] {
        let (journal, batches) = noting(Arc::new(MemoryJournal::new()));
        let bench = Bench {
            durability,
            ..Bench::on(journal)
        };
        let waiting = bench.start(DESK).await.unwrap();
        assert_eq!(waiting.status, Status::Suspended, "{durability:?}");
        let calls = waiting.asks.iter().filter_map(|ask| ask.call());
        let decisions = calls.map(|call| approve(call.call.as_str())).collect();
        let done = bench.resume(DESK, decisions).await.unwrap();
        assert_eq!(done.status, Status::Completed, "{durability:?}");
        let batches = batches.lock().unwrap().clone();
        let with_intent = batches
            .iter()
            .filter(|kinds| kinds.contains(&kind::INTENT.name));
        assert!(with_intent.count() >= 1);
        for kinds in &batches {
            // Nothing that happened after an intent is in its batch.
            let intent = kinds.iter().position(|name| *name == kind::INTENT.name);
            let result = kinds.iter().position(|name| *name == kind::RESULT.name);
            assert!(intent.is_none() || result < intent, "{kinds:?}");
        }
    }
}

#[tokio::test]
async fn a_crash_at_any_write_pays_twice_in_all_whatever_is_durable_when() {
    for durability in [Durability::Exit, Durability::Async] {
        let never = FaultPoint {
            write: u64::MAX,
            side: Side::Before,
        };
        let journal = FaultJournal::new(Arc::new(MemoryJournal::new()), never, || {});
        let journal = Arc::new(journal);
        let bench = Bench {
            durability,
            ..Bench::on(journal.clone())
        };
        let expected = drive(&bench).await.unwrap();
        for write in 1..=journal.writes() {
            for side in [Side::Before, Side::After] {
                let inner = Arc::new(MemoryJournal::new());
                let fault = FaultJournal::new(inner.clone(), FaultPoint { write, side }, || {});
                let dying = Bench {
                    durability,
                    ..Bench::on(Arc::new(fault))
                };
                assert!(drive(&dying).await.is_none(), "write {write} {side:?}");
                let bench = Bench {
                    world: dying.world.clone(),
                    durability,
                    ..Bench::on(inner)
                };
                let report = drive(&bench).await.unwrap();
                assert_eq!(report.output, expected.output, "write {write} {side:?}");
                assert_eq!(
                    bench.world.changes().len(),
                    2,
                    "{durability:?}, write {write} {side:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_write_that_fails_behind_the_run_fails_it_and_says_what_is_durable() {
    let full = |batch: &Batch| {
        // The disk is full from the fourth checkpoint on.
        let late = |body: &str| body.contains(r#""checkpoint":4,"#);
        let is_full = batch.entries.iter().any(|entry| late(&entry.body));
        let failure = JournalError::Unavailable {
            store: "s".into(),
            reason: "the disk is full".into(),
        };
        let result = if is_full { Err(failure) } else { Ok(()) };
        let result = std::future::ready(result);
        Box::pin(result) as rustagents_core::BoxFuture<'static, _>
    };
    let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let bench = Bench {
        durability: Durability::Async,
        ..Bench::on(Arc::new(
            HookedJournal::new(inner.clone()).before_append(full),
        ))
    };
    let error = bench.start(&row()).await.unwrap_err();
    assert_eq!(error.code(), Code::StoreUnavailable);
    let text = error.to_string();
    assert!(text.contains("the disk is full"), "{text}");
    assert!(text.contains("up to checkpoint 3 is durable"), "{text}");
    let again = Bench::on(inner);
    assert_eq!(
        again.view().await.report().steps,
        2,
        "what was acknowledged is there"
    );
    let report = again.resume(&row(), vec![]).await.unwrap();
    assert_eq!((report.status, report.steps), (Status::Completed, 8));
}

#[tokio::test]
async fn a_run_of_which_nothing_could_be_recorded_says_so_and_is_started_again() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let full = |_: &Batch| {
            let failure = Err(JournalError::Unavailable {
                store: "s".into(),
                reason: "the disk is full".into(),
            });
            Box::pin(std::future::ready(failure)) as rustagents_core::BoxFuture<'static, _>
        };
        let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
        let bench = Bench {
            durability,
            ..Bench::on(Arc::new(
                HookedJournal::new(inner.clone()).before_append(full),
            ))
        };
        let error = bench.start(&row()).await.unwrap_err();
        assert!(matches!(error, RunError::NotRecorded(_)), "{error:?}");
        assert_eq!(error.code(), Code::StoreUnavailable);
        let text = error.to_string();
        assert!(
            text.starts_with("nothing of the run is recorded: "),
            "{text}"
        );
        assert!(text.contains("the disk is full"), "{text}");
        let hint = error.hint().unwrap();
        assert!(hint.starts_with("start it again"), "{hint}");

        let nameless = Start {
            thread: None,
            ..bench.request()
        };
        let program = bench.program(&row());
        let runtime = bench.runtime();
        let error = runtime.start(&program, nameless, bench.watch()).await;
        assert!(matches!(error, Err(RunError::NotRecorded(_))), "{error:?}");
        let again = Bench::on(inner);
        let known = again.journal.threads(ThreadQuery::all()).await.unwrap();
        let known: Vec<_> = known.iter().map(|row| row.thread.as_str()).collect();
        assert_eq!(known, ["t"], "a name that nobody gave is not left");
        let report = again.start(&row()).await.unwrap();
        assert_eq!((report.status, report.steps), (Status::Completed, 8));
    }
}

#[tokio::test]
async fn a_cancelled_run_is_durable_when_it_says_so() {
    for durability in [Durability::Exit, Durability::Async] {
        let bench = Bench {
            durability,
            ..Bench::new()
        };
        let watch = bench.watch();
        let (cancel, at) = (watch.cancel.clone(), AtomicBool::new(false));
        let events = Events::listen(move |event| {
            let third = matches!(event, Event::CheckpointSaved { checkpoint: 3, .. });
            if third && !at.swap(true, Ordering::SeqCst) {
                cancel.cancel();
            }
        });
        let watch = Watch { events, ..watch };
        let program = bench.program(&row());
        let report = bench
            .runtime()
            .start(&program, bench.request(), watch)
            .await;
        assert_eq!(report.unwrap().status, Status::Cancelled);
        assert_eq!(bench.view().await.report().steps, 2, "{durability:?}");
        let done = bench.resume(&row(), vec![]).await.unwrap();
        assert_eq!((done.status, done.steps), (Status::Completed, 8));
    }
}

#[tokio::test]
async fn a_run_that_records_nothing_leaves_nothing() {
    let bench = Bench {
        durability: Durability::None,
        ..Bench::new()
    };
    assert_eq!(bench.start(&row()).await.unwrap().status, Status::Completed);
    assert_eq!(bench.records().await, 0);
    let error = bench.resume(&row(), vec![]).await.unwrap_err();
    assert!(matches!(error, RunError::UnknownThread { .. }), "{error:?}");
}

#[tokio::test]
async fn a_run_that_records_nothing_fails_where_it_would_wait_for_a_person() {
    let bench = Bench {
        durability: Durability::None,
        ..Bench::new()
    };
    let report = bench.start(DESK).await.unwrap();
    assert_eq!((report.status, report.asks.len()), (Status::Failed, 0));
    assert_eq!(report.error.unwrap().code, "RAG0418");
    assert!(report.hint.unwrap().contains("without approval"));
    assert_eq!(bench.records().await, 0);
    assert_eq!(bench.world.changes().len(), 0);
    // Nothing stands in the way of the next one.
    let again = Bench {
        durability: Durability::Exit,
        ..Bench::on(bench.journal.clone())
    };
    assert_eq!(again.start(DESK).await.unwrap().asks.len(), 2);
}

#[tokio::test]
async fn answers_are_durable_before_they_count() {
    let bench = Bench {
        durability: Durability::Exit,
        ..Bench::new()
    };
    let waiting = bench.start(DESK).await.unwrap();
    let call = waiting.asks[0].call().unwrap().call.to_string();
    let again = Bench {
        durability: Durability::None,
        world: bench.world.clone(),
        ..Bench::on(bench.journal.clone())
    };
    again.resume(DESK, vec![approve(&call)]).await.unwrap();
    assert_eq!(bench.count(kind::ANSWER).await, 1);
    assert_eq!(bench.count(kind::INTENT).await, 1);
}

#[tokio::test]
async fn what_was_written_goes_on_its_way_while_the_run_waits_for_something_else() {
    let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let slow = HookedJournal::new(inner.clone()).before_append(|_| {
        Box::pin(async {
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            Ok(())
        })
    });
    let bench = Bench {
        durability: Durability::Async,
        ..Bench::on(Arc::new(slow))
    };
    let plan = r#"graph waiting {
  channel messages messages
  start first
  node first { kind agent  model "last"  prompt "Go."  next second }
  node second { kind agent  model "last"  prompt "Go."  next endless }
  node endless { kind agent  model "stuck"  prompt "Wait."  next END }
}"#;
    let mut capabilities = bench.capabilities();
    let stuck = FakeModel::new((0..5).map(|_| Reply::Hang));
    capabilities.model("stuck", Arc::new(stuck));
    let compiled = compile(plan, &capabilities.snapshot().unwrap());
    let program = Program::lower(&compiled.blueprint.unwrap(), &capabilities).unwrap();
    let runtime = bench.runtime();
    let watch = bench.watch();
    let cancel = watch.cancel.clone();
    let run = runtime.start(&program, bench.request(), watch);
    let thread = Bench::thread();
    let watching = async {
        // The third checkpoint is written while nothing else happens in the run.
        let mut seen = 0;
        loop {
            let select = Select::all().of(kind::CHECKPOINT);
            if inner.read(&thread, select).await.unwrap().len() >= 3 {
                return cancel.cancel();
            }
            seen = inner.changed(&thread, seen).await.unwrap();
        }
    };
    let (report, ()) = tokio::join!(run, watching);
    assert_eq!(report.unwrap().status, Status::Cancelled);
}

#[tokio::test]
async fn a_call_with_a_key_is_durable_before_it_starts() {
    for durability in [Durability::Exit, Durability::Async] {
        let bench = Bench {
            durability,
            ..Bench::new()
        };
        let journal = bench.journal.clone();
        let send = FakeTool::new("send", EffectClass::Idempotent, move |_, _| {
            let journal = journal.clone();
            async move {
                let messages = journal.messages(&Bench::thread(), 0, 10).await.unwrap();
                let calls = messages
                    .iter()
                    .any(|(_, message)| !message.calls().is_empty());
                Ok(serde_json::json!({ "recorded": calls }))
            }
        });
        let mut capabilities = bench.capabilities();
        let calls = Reply::Calls(vec![("send", "{}".to_owned())]);
        let model = FakeModel::new([calls, Reply::Text("sent")]);
        capabilities.model("sender", Arc::new(model));
        capabilities.tool(Arc::new(send));
        let plan = r#"graph g {
  channel messages messages
  start send
  node send { kind agent  model "sender"  prompt "Send."  tools ["send"]  next END }
}"#;
        let compiled = compile(plan, &capabilities.snapshot().unwrap());
        let program = Program::lower(&compiled.blueprint.unwrap(), &capabilities).unwrap();
        let runtime = bench.runtime();
        let started = runtime.start(&program, bench.request(), bench.watch());
        assert_eq!(started.await.unwrap().status, Status::Completed);
        let messages = bench
            .journal
            .messages(&Bench::thread(), 0, 10)
            .await
            .unwrap();
        let told = messages
            .iter()
            .any(|(_, m)| m.text().contains(r#""recorded":true"#));
        assert!(told, "{durability:?}: {messages:?}");
    }
}

#[derive(Clone, Debug, GraphState)]
struct Pile {
    #[channel(counter)]
    count: u64,
    text: String,
}

/// How many supersteps a run does whose journal takes nothing, when each writes so many
/// bytes. Then the journal takes all, and the run comes to its end.
async fn steps_ahead(durability: Durability, bytes: usize) -> u64 {
    const STEPS: u64 = 300;
    let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicU64::new(0)));
    let (shut, counted) = (Arc::clone(&gate), Arc::clone(&begun));
    let journal = HookedJournal::new(Arc::new(MemoryJournal::new())).before_append(move |_| {
        let shut = Arc::clone(&shut);
        Box::pin(async move {
            drop(shut.acquire().await.unwrap());
            Ok(())
        })
    });
    let graph = GraphBuilder::<Pile>::typed("pile")
        .function("put", move |_, _| {
            counted.fetch_add(1, Ordering::SeqCst);
            async move { Ok(Pile::update().count(1).text("x".repeat(bytes)).into()) }
        })
        .start(["put"])
        .branch(
            "put",
            |pile: &Pile| pile.count < STEPS,
            [(true, "put"), (false, END)],
        )
        .recursion_limit(STEPS)
        .compile()
        .unwrap();
    let limits = Limits {
        steps: STEPS,
        ..Limits::default()
    };
    let watch = Watch {
        durability,
        ..Watch::default()
    };
    let runner = GraphRunner::new(Arc::new(journal));
    let runner = runner.limited(limits).watched(watch);
    let mut run = Box::pin(runner.run(&graph, "t", Pile::update()));
    for _ in 0..2_000 {
        assert!(poll!(&mut run).is_pending(), "the journal takes nothing");
    }
    let ahead = begun.load(Ordering::SeqCst);
    gate.add_permits(1);
    let run = run.await.unwrap();
    assert!(matches!(run.outcome, Outcome::Completed));
    assert_eq!((run.state.count, run.steps), (STEPS, STEPS));
    ahead
}

#[tokio::test]
async fn a_run_is_only_so_many_writes_and_bytes_ahead_of_its_journal() {
    // 64 writes wait, or 2 MiB, behind those that are in flight: of a run that is
    // durable at its end, those are as many again.
    for (durability, times) in [(Durability::Async, 1), (Durability::Exit, 2)] {
        let writes = steps_ahead(durability, 1).await;
        assert!(
            (32..=66 * times).contains(&writes),
            "{durability:?}: {writes} writes"
        );
        let large = steps_ahead(durability, 100 << 10).await;
        assert!(
            (10..=22 * times).contains(&large),
            "{durability:?}: {large} large writes"
        );
    }
}
