//! 10,000 suspended runs that one process started.

use std::sync::Arc;

use rustagents_core::{ids::ThreadId, journal::Journal};
use rustagents_lang::compile;
use rustagents_runtime::{
    Capabilities, Program, Runtime, Start, Status, Watch,
    host::{SystemClock, UuidIds},
    record::Target,
};
use rustagents_store_sqlite::{SqliteJournal, Synchronous};

use super::Figure;

const RUNS: u32 = 10_000;

/// What they may take, in megabytes.
const LIMIT: f64 = 100.0;

const PLAN: &str = r#"graph ask {
  channel messages messages
  start ask
  node ask { kind interrupt  prompt "Go on?"  next END }
}"#;

pub(crate) fn parked() -> Vec<Figure> {
    let folder = tempfile::tempdir().unwrap();
    let runtime = crate::row::runtime();
    let path = folder.path().join("a.db");
    let journal = SqliteJournal::open_with(path, Synchronous::Normal).unwrap();
    let journal: Arc<dyn Journal> = Arc::new(journal);
    let capabilities = Capabilities::default();
    let compiled = compile(PLAN, &capabilities.snapshot().unwrap());
    let blueprint = compiled.blueprint.ok_or(compiled.diagnostics);
    let program = Program::lower(&blueprint.unwrap(), &capabilities).unwrap();
    let runs = Runtime::new(journal, Arc::new(SystemClock::new()), Arc::new(UuidIds));
    runtime.block_on(async {
        for number in 0..RUNS {
            let start = Start {
                thread: Some(ThreadId::new(&format!("t-{number}")).unwrap()),
                target: Target::default(),
                input: Some("hello".into()),
                set: Vec::new(),
                limits: rustagents_core::budget::Limits::default(),
            };
            let report = runs.start(&program, start, Watch::default()).await;
            assert_eq!(report.unwrap().status, Status::Suspended);
        }
    });
    vec![Figure::new(
        "journal-parked",
        "MB",
        super::status("VmRSS:"),
        LIMIT,
    )]
}
