use std::{fs::File, sync::Arc, time::Duration};

use rustagents_core::{
    Code, Coded,
    journal::{Journal, Owner},
    recorder::Durability,
};
use rustagents_runtime::{
    GraphRunError, GraphRunner, OnBusy, RunError, Start, Status, Watch,
    inbox::queue,
    inspect::{Filter, Standing, list},
    threads::{Fork, find, fork},
};
use rustagents_store::MemoryJournal;
use rustagents_store_file::FileJournal;
use rustagents_store_sqlite::SqliteJournal;
use serde_json::json;

use super::{WORD, name};
use crate::bench::Bench;

/// A bench on each backend, with threads that were claimed and have no run.
async fn claimed(folder: &tempfile::TempDir, threads: &[&str]) -> Vec<Bench> {
    let journals: [Arc<dyn Journal>; 3] = [
        Arc::new(MemoryJournal::new()),
        Arc::new(FileJournal::open(folder.path().join("files")).unwrap()),
        Arc::new(SqliteJournal::open(folder.path().join("s.db")).unwrap()),
    ];
    let benches = journals.map(Bench::on);
    for bench in &benches {
        for thread in threads {
            drop(bench.journal.claim(&name(thread), Owner::default()).await);
        }
    }
    benches.into()
}

async fn listed(bench: &Bench, filter: &Filter, limit: usize) -> Vec<(String, &'static str)> {
    let listed = list(&*bench.journal, filter, limit).await.unwrap();
    let rows = listed.iter();
    rows.map(|row| (row.thread.to_string(), row.standing.as_str()))
        .collect()
}

#[tokio::test]
async fn a_thread_without_a_run_is_listed_page_by_page() {
    let folder = tempfile::tempdir().unwrap();
    for bench in claimed(&folder, &["a", "c", "d"]).await {
        bench.say("b", WORD, json!(1)).await;
        let row = |thread: &str, standing| (thread.to_owned(), standing);
        let first = listed(&bench, &Filter::default(), 3).await;
        assert_eq!(
            first,
            [row("a", "empty"), row("b", "completed"), row("c", "empty")]
        );
        let rest = Filter {
            after: Some(name("c")),
            ..Filter::default()
        };
        assert_eq!(listed(&bench, &rest, 3).await, [row("d", "empty")]);
        let empty = Filter {
            standing: Some(Standing::Empty.as_str().to_owned()),
            ..Filter::default()
        };
        let two = listed(&bench, &empty, 2).await;
        assert_eq!(two, [row("a", "empty"), row("c", "empty")]);
        let held = bench.journal.claim(&name("d"), Owner::default()).await;
        assert_eq!(listed(&bench, &rest, 3).await, [row("d", "running")]);
        drop(held);
    }
}

#[tokio::test]
async fn nothing_is_resumed_where_nothing_was_started_and_a_run_can_be() {
    let folder = tempfile::tempdir().unwrap();
    for bench in claimed(&folder, &["t", "gone"]).await {
        let refused = bench.resume(WORD, vec![]).await.unwrap_err();
        let RunError::UnknownThread { is_empty: true, .. } = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(refused.code(), Code::NoRun);
        let hint = refused.hint().unwrap();
        assert!(hint.contains("rag run TARGET --thread t"), "{hint}");
        let runtime = bench.live();
        let refused = runtime.cancel(&name("t")).await.unwrap_err();
        assert_eq!(refused.code(), Code::NoRun);
        let refused = runtime.request_cancel(&name("t"), None).await.unwrap_err();
        assert_eq!(refused.code(), Code::NoRun);
        let refused = runtime.cancel(&name("nobody")).await.unwrap_err();
        assert_eq!(refused.code(), Code::UnknownThread);
        let runner = GraphRunner::new(Arc::clone(&bench.journal));
        let refused = runner.cancel("t").await.unwrap_err();
        assert!(
            matches!(refused, GraphRunError::UnknownThread { is_empty: true, .. }),
            "{refused:?}"
        );
        assert_eq!(refused.code(), Code::NoRun);

        let copy = Fork {
            from: name("t"),
            to: name("copy"),
            checkpoint: None,
            repeats: false,
        };
        fork(&*bench.journal, &copy).await.unwrap();
        runtime.delete(&name("gone"), false).await.unwrap();
        assert!(
            find(&*bench.journal, &name("gone"))
                .await
                .unwrap()
                .is_none()
        );
        let done = bench.start(WORD).await.unwrap();
        assert_eq!(done.status, Status::Completed);
        let rows = listed(&bench, &Filter::default(), 9).await;
        assert_eq!(
            rows,
            [("copy".to_owned(), "empty"), ("t".to_owned(), "completed")]
        );
    }
}

#[tokio::test]
async fn an_input_that_waits_for_a_thread_without_a_run_opens_its_first() {
    let folder = tempfile::tempdir().unwrap();
    for bench in claimed(&folder, &["t"]).await {
        let (runtime, program) = (bench.live(), bench.program(WORD));
        let item = runtime.enqueue(&program, bench.request(), OnBusy::Enqueue);
        let item = item.await.unwrap();
        let waiting = queue(&*bench.journal, &name("t")).await.unwrap();
        assert_eq!(waiting.len(), 1);
        let rows = listed(&bench, &Filter::default(), 9).await;
        assert_eq!(rows, [("t".to_owned(), "empty")]);
        let thread = name("t");
        let taken = runtime.start_next(&program, &thread, &item, Watch::default());
        let report = taken.await.unwrap().unwrap();
        assert_eq!(report.status, Status::Completed);
        let waiting = queue(&*bench.journal, &name("t")).await.unwrap();
        assert!(waiting.is_empty());
    }
}

#[tokio::test]
async fn a_run_that_records_nothing_leaves_no_thread_that_nobody_named() {
    let folder = tempfile::tempdir().unwrap();
    for bench in claimed(&folder, &[]).await {
        let start = Start {
            thread: None,
            ..bench.request()
        };
        let watch = Watch {
            durability: Durability::None,
            ..Watch::default()
        };
        let program = bench.program(WORD);
        let report = bench.live().start(&program, start, watch).await.unwrap();
        assert_eq!(report.status, Status::Completed);
        assert_eq!(listed(&bench, &Filter::default(), 9).await, []);
    }
}

#[tokio::test]
async fn a_thread_that_cannot_be_read_now_is_listed_with_who_is_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::open(folder.path()).unwrap();
    let journal = journal.waiting_up_to(Duration::from_millis(100));
    let bench = Bench::on(Arc::new(journal));
    for thread in ["before", "stuck", "whole"] {
        bench.say(thread, WORD, json!(1)).await;
    }
    // As a process does that is stopped while it writes.
    let lock = folder.path().join("threads/t-stuck/lock");
    let lock = File::open(lock).unwrap();
    lock.lock().unwrap();
    let everything = Filter::default();
    let listed = list(&*bench.journal, &everything, 10).await.unwrap();
    let standings: Vec<_> = listed.iter().map(|row| row.standing.as_str()).collect();
    assert_eq!(standings, ["completed", "unavailable", "completed"]);
    let stuck = &listed[1];
    assert!(stuck.updated_at_ms > 0, "what its log tells is told");
    let problem = stuck.problem.as_deref().unwrap();
    assert!(problem.contains("has held its lock"), "{problem}");
    let only = Filter {
        standing: Some(Standing::Unavailable.as_str().to_owned()),
        ..Filter::default()
    };
    let found = list(&*bench.journal, &only, 10).await.unwrap();
    assert_eq!(found.len(), 1);
    lock.unlock().unwrap();
    let listed = list(&*bench.journal, &everything, 10).await.unwrap();
    assert!(listed.iter().all(|row| row.problem.is_none()));
}
