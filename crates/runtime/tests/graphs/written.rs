//! A thread with steps, failed tries and migrations that an earlier version wrote goes on.
//!
//! It is `spec/journal/kinds/steps-9.jsonl`. `RAG_WRITE_FIXTURE=FILE` writes what this
//! version makes of the same, for a fixture of a new format.

use std::{collections::BTreeSet, fs, path::Path};

use rustagents_graph::{Migration, NodeSpec, RetryPolicy};
use rustagents_runtime::threads::transfer;
use rustagents_store_file::FileJournal;
use rustagents_store_sqlite::SqliteJournal;

use super::*;

/// The state of the program of before.
#[derive(Clone, Debug, PartialEq, GraphState)]
struct Old {
    euros: u64,
    #[channel(append)]
    notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, GraphState)]
struct Charge {
    cents: u64,
    #[channel(append)]
    notes: Vec<String>,
}

fn old() -> Graph<Old> {
    GraphBuilder::<Old>::typed("charge")
        .function("ask", |_: Arc<Old>, context: TaskContext| async move {
            context.ask("charge?").await?;
            Ok(Old::update().notes("asked before".to_owned()).into())
        })
        .start(["ask"])
        .finish("ask")
        .compile()
        .unwrap()
}

/// Charges once, after a try that changed nothing, and asks what to do with the receipt.
fn charging(world: &World) -> Graph<Charge> {
    let world = world.clone();
    let charge = move |charge: Arc<Charge>, context: TaskContext| {
        let world = world.clone();
        async move {
            let (tries, cents) = (context.tries(), charge.cents);
            let work = move |step: StepContext| async move {
                if tries == 1 {
                    step.changed_nothing();
                    return Err("the line was busy");
                }
                world.change(format!("charged {cents}"));
                Ok(format!("receipt for {cents}"))
            };
            let receipt = context.step_once("charge", work).await?;
            let kept = context.ask(format!("keep the {receipt}?")).await?;
            let note = format!("{receipt}: {}", kept.as_str().unwrap_or("?"));
            Ok(Charge::update().notes(note).into())
        }
    };
    let again = NodeSpec::new().retry(RetryPolicy::new().pause(Duration::ZERO, 1.0));
    GraphBuilder::<Charge>::typed("charge")
        .function("ask", |_: Arc<Charge>, context: TaskContext| async move {
            context.ask("charge?").await?;
            Ok(Charge::update().notes("asked".to_owned()).into())
        })
        .function("charge", charge)
        .spec("charge", again)
        .start(["ask"])
        .edge("ask", "charge")
        .finish("charge")
        .with_migration(Migration::change_channel("cents", "euros", |euros| {
            Ok(json!(euros.as_u64().unwrap_or(0) * 100))
        }))
        .with_migration(Migration::rename_channel("euros", "euros", "cents"))
        .compile()
        .unwrap()
}

/// The question that the thread ends with.
const KEEP: &str = "charge:3.0/1";

/// Writes the thread: the program of before asks, that of now goes on.
async fn write_thread(bench: &Bench) {
    let (runner, input) = (bench.runner(), Old::update().euros(9));
    let run = runner.run(&old(), "t", input).await.unwrap();
    let answer = [(run.asks()[0].id.clone(), "yes")];
    let graph = charging(&bench.world);
    let run = runner.resume(&graph, "t", answer).await.unwrap();
    assert_eq!(ids(run.asks()), [KEEP]);
}

async fn exported(bench: &Bench) -> String {
    let thread = ThreadId::new("t").unwrap();
    let image = transfer::image(&*bench.journal, &thread).await.unwrap();
    let mut bytes = Vec::new();
    transfer::write(&image, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn such_a_thread_holds_steps_tries_and_migrations() {
    let bench = Bench::new();
    write_thread(&bench).await;
    let thread = ThreadId::new("t").unwrap();
    let log = ThreadLog::load_whole(&*bench.journal, &thread).await;
    let log = log.unwrap();
    let written = log.records().iter().map(|r| (&*r.kind, r.version));
    let written: BTreeSet<_> = written.collect();
    for kind in [
        kind::STEP_INTENT,
        kind::STEP_RELEASED,
        kind::STEP_RESULT,
        kind::FAILED_TRY,
        kind::CHECKPOINT,
        kind::SNAPSHOT,
    ] {
        assert!(written.contains(&(kind.name, kind.version)), "{kind:?}");
    }
    if let Ok(path) = std::env::var("RAG_WRITE_FIXTURE") {
        fs::write(path, exported(&bench).await).unwrap();
    }
}

#[tokio::test]
async fn one_that_was_written_before_goes_on_in_every_store() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/journal/kinds");
    let text = fs::read_to_string(fixture.join("steps-9.jsonl")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let journals: [Arc<dyn Journal>; 3] = [
        Arc::new(MemoryJournal::new()),
        Arc::new(FileJournal::open(folder.path().join("journal")).unwrap()),
        Arc::new(SqliteJournal::open(folder.path().join("journal.db")).unwrap()),
    ];
    for journal in journals {
        let bench = Bench::on(journal);
        let image = transfer::read(&mut text.as_bytes()).unwrap();
        bench.journal.install(image).await.unwrap();
        bench.is_whole().await;
        assert_eq!(exported(&bench).await, text);
        let answer = [(AskId::from(KEEP), "yes")];
        let graph = charging(&bench.world);
        let run = bench.runner().resume(&graph, "t", answer).await.unwrap();
        assert!(matches!(run.outcome, Outcome::Completed));
        assert_eq!((run.state.cents, run.state.notes.len()), (900, 2));
        assert_eq!(run.state.notes[1], "receipt for 900: yes");
        assert_eq!(bench.world.changes(), [""; 0], "it was charged before");
        bench.is_whole().await;
    }
}
