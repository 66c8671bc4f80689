//! What is done with whole threads.

mod asked_anew;
mod beside;
mod beside_late;
mod branches;
mod check;
mod delete;
mod fork;
mod listed;
mod prune;
mod shared;
mod take_over;
mod transfer;

use std::sync::Arc;

use rustagents_core::{
    ids::ThreadId,
    journal::{Record, kind},
    log::ThreadLog,
};
use rustagents_runtime::{
    Report, Resume, Runtime, Start, ThreadView, Watch,
    host::{SystemClock, UuidIds},
    inspect, threads,
    threads::Removed,
};
use serde_json::{Value, json};

use crate::bench::{Bench, approve};

/// Two clerks who pay, and a last word; with a value and a list beside.
pub(crate) const MIXED: &str = r#"graph mixed {
  channel messages messages
  channel note overwrite
  channel list append
  start left, right
  node left { kind agent  model "clerk"  prompt "Left."  tools ["pay"]  next last }
  node right { kind agent  model "clerk"  prompt "Right."  tools ["pay"]  next last }
  node last { kind agent  model "last"  prompt "Last."  next END }
}"#;

/// The same channels, and one word.
pub(crate) const WORD: &str = r#"graph word {
  channel messages messages
  channel note overwrite
  channel list append
  start last
  node last { kind agent  model "last"  prompt "Word."  next END }
}"#;

pub(crate) fn name(text: &str) -> ThreadId {
    ThreadId::new(text).unwrap()
}

impl Bench {
    /// A runtime on real time, which gives no name twice.
    pub(crate) fn live(&self) -> Runtime {
        let clock = Arc::new(SystemClock::new());
        Runtime::new(Arc::clone(&self.journal), clock, Arc::new(UuidIds))
    }

    /// Starts a run that also sets a value and adds to a list.
    pub(crate) async fn say(&self, thread: &str, source: &str, note: Value) -> Report {
        let start = Start {
            thread: Some(name(thread)),
            set: vec![("note".into(), note.clone()), ("list".into(), note)],
            ..self.request()
        };
        let runtime = self.live();
        let program = self.program(source);
        runtime
            .start(&program, start, Watch::default())
            .await
            .unwrap()
    }

    /// A run that overwrites a value, and says one word.
    pub(crate) async fn note(&self, thread: &str, note: &str) {
        let start = Start {
            thread: Some(name(thread)),
            set: vec![("note".into(), note.into())],
            ..self.request()
        };
        let (runtime, program) = (self.live(), self.program(WORD));
        let report = runtime.start(&program, start, Watch::default()).await;
        assert!(report.unwrap().is_closed);
    }

    /// Approves everything that the thread waits for.
    pub(crate) async fn approve_all(&self, thread: &str, source: &str) -> Report {
        let thread = name(thread);
        let view = ThreadView::load(&*self.journal, &thread).await;
        let view = view.unwrap().unwrap();
        let resume = Resume {
            thread,
            decisions: view.pending().map(|ask| approve(ask.id.as_str())).collect(),
        };
        let program = self.program(source);
        let runtime = self.live();
        runtime
            .resume(&program, resume, Watch::default())
            .await
            .unwrap()
    }

    /// Approves what the thread asks until its run is over.
    pub(crate) async fn finish(&self, thread: &str) {
        for _ in 0..5 {
            if self.approve_all(thread, MIXED).await.is_closed {
                return;
            }
        }
        panic!("no end after five resumes");
    }

    /// A run of two clerks to its end, with every call approved.
    pub(crate) async fn paid(&self, thread: &str, note: Value) -> Report {
        self.say(thread, MIXED, note).await;
        self.approve_all(thread, MIXED).await
    }

    pub(crate) async fn all(&self, thread: &str) -> Vec<Record> {
        let log = ThreadLog::load_whole(&*self.journal, &name(thread)).await;
        log.unwrap().records().to_vec()
    }

    /// What one more input comes to: each record of its run, without its place.
    pub(crate) async fn one_more(&self, thread: &str) -> Vec<(String, String, String)> {
        let report = self.say(thread, WORD, json!("more")).await;
        let records = self.all(thread).await;
        let own = records.iter().filter(|record| record.run == report.run);
        own.filter(|record| !record.is(kind::SNAPSHOT))
            .map(told)
            .collect()
    }

    pub(crate) async fn is_whole(&self, thread: &str) {
        let problems = threads::check::check(&*self.journal, &name(thread)).await;
        assert_eq!(problems.unwrap(), []);
    }

    pub(crate) async fn checkpoints(&self, thread: &str) -> Vec<u64> {
        let thread = name(thread);
        let history = inspect::history(&*self.journal, &thread, 1_000, None).await;
        let history = history.unwrap();
        history.iter().map(|moment| moment.checkpoint).collect()
    }
}

/// A record as everybody would have written it, whatever places there were before.
pub(crate) fn told(record: &Record) -> (String, String, String) {
    let key = record.key().map_or("", |key| key.as_str());
    let body = match record.body.split_once(",\"queue_after\":") {
        Some((before, place)) => format!("{before}{}", place.trim_start_matches(char::is_numeric)),
        None => record.body.clone(),
    };
    (record.kind.to_string(), key.to_owned(), body)
}

pub(crate) const NOTHING: Removed = Removed {
    records: 0,
    messages: 0,
    bytes: 0,
};
