use std::{collections::BTreeSet, sync::Arc};

use rustagents_core::{
    code::Coded,
    event_journal::{EventJournal, EventQuery},
    ids::RunId,
    journal::{Journal, Owner},
};
use rustagents_runtime::{
    KeepEvents, Start, ThreadView, Watch,
    threads::{Fork, Keep, ThreadsError, find, fork, transfer::image},
};
use rustagents_store::{
    MemoryEvents, MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};
use rustagents_store_sqlite::SqliteEvents;
use serde_json::json;

use super::{MIXED, WORD, name};
use crate::bench::Bench;

fn copy(to: &str) -> Fork {
    Fork {
        from: name("t"),
        to: name(to),
        checkpoint: None,
        repeats: false,
    }
}

async fn gone(bench: &Bench, run: &RunId) {
    bench.live().delete_run(&name("t"), run).await.unwrap();
    bench.is_whole("t").await;
    assert!(bench.all("t").await.iter().all(|record| record.run != *run));
}

#[tokio::test]
async fn a_thread_that_is_over_goes_whole_and_its_name_is_free() {
    let bench = Bench::new();
    bench.paid("t", json!(1)).await;
    bench.live().delete(&name("t"), false).await.unwrap();
    assert!(find(&*bench.journal, &name("t")).await.unwrap().is_none());
    assert_eq!(bench.all("t").await, []);
    bench.say("t", WORD, json!(1)).await;
    bench.is_whole("t").await;
}

/// How many events are kept of a thread.
async fn events_of(events: &MemoryEvents, thread: &str) -> usize {
    let query = EventQuery::from(1).of_thread(name(thread)).limit(1_000);
    events.read(query).await.unwrap().events.len()
}

#[tokio::test]
async fn the_kept_events_of_a_thread_go_with_it_and_no_others() {
    let bench = Bench::new();
    let events = Arc::new(MemoryEvents::default());
    let runtime = bench.live().keeping(KeepEvents::new(events.clone()));
    let program = bench.program(WORD);
    for thread in ["t", "tt"] {
        let start = Start {
            thread: Some(name(thread)),
            ..bench.request()
        };
        let run = runtime.start(&program, start, Watch::default());
        assert!(run.await.unwrap().is_closed);
    }
    let other = events_of(&events, "tt").await;
    assert!(events_of(&events, "t").await > 0 && other > 0);
    runtime.delete(&name("t"), false).await.unwrap();
    assert_eq!(events_of(&events, "t").await, 0);
    // Without who keeps events they are left, and go when they are asked for again.
    bench.live().delete(&name("tt"), false).await.unwrap();
    assert_eq!(events_of(&events, "tt").await, other);
    runtime.delete(&name("tt"), false).await.unwrap();
    assert_eq!(events_of(&events, "tt").await, 0);
    let error = runtime.delete(&name("tt"), false).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0401");
}

#[tokio::test]
async fn a_refused_deletion_and_one_whose_events_cannot_go_leave_the_thread() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    let events = Arc::new(MemoryEvents::default());
    let runtime = bench.live().keeping(KeepEvents::new(events.clone()));
    let program = bench.program(MIXED);
    let start = runtime.start(&program, bench.request(), Watch::default());
    assert!(!start.await.unwrap().is_closed);
    let kept = events_of(&events, "t").await;
    runtime.delete(&name("t"), false).await.unwrap_err();
    assert_eq!(events_of(&events, "t").await, kept);
    let path = folder.path().join("events.db");
    std::fs::write(&path, "this is no database, and never was one".repeat(99)).unwrap();
    let foreign = Arc::new(SqliteEvents::new(path));
    let runtime = bench.live().keeping(KeepEvents::new(foreign));
    let error = runtime.delete(&name("t"), true).await.unwrap_err();
    assert!(matches!(error, ThreadsError::Events(_)), "{error}");
    assert!(find(&*bench.journal, &name("t")).await.unwrap().is_some());
}

#[tokio::test]
async fn what_waits_or_is_driven_or_unknown_stays() {
    let bench = Bench::new();
    let refused = |error: ThreadsError| error.code().as_str();
    let runtime = bench.live();
    assert_eq!(
        refused(runtime.delete(&name("t"), true).await.unwrap_err()),
        "RAG0401"
    );
    let report = bench.say("t", MIXED, json!(1)).await;
    let before = bench.all("t").await;
    assert_eq!(
        refused(runtime.delete(&name("t"), false).await.unwrap_err()),
        "RAG0407"
    );
    let error = runtime
        .delete_run(&name("t"), &report.run)
        .await
        .unwrap_err();
    assert_eq!(refused(error), "RAG0407");
    let claim = bench
        .journal
        .claim(&name("t"), Owner::default())
        .await
        .unwrap();
    assert_eq!(
        refused(runtime.delete(&name("t"), true).await.unwrap_err()),
        "RAG0305"
    );
    assert_eq!(bench.all("t").await, before);
    drop(claim);
    runtime.delete(&name("t"), true).await.unwrap();
    assert_eq!(bench.all("t").await, []);
}

#[tokio::test]
async fn the_last_run_goes_and_the_thread_stands_as_before_it() {
    let bench = Bench::new();
    let first = bench.say("t", WORD, json!(1)).await;
    fork(&*bench.journal, &copy("u")).await.unwrap();
    let last = bench.paid("t", json!("gone")).await;
    let reached = bench.checkpoints("t").await.len() as u64;
    gone(&bench, &last.run).await;
    let view = bench.view().await;
    assert_eq!(
        (view.report().run, view.report().output),
        (first.run, first.output)
    );
    assert_eq!(bench.checkpoints("t").await, [1, 2]);
    let messages = bench.journal.messages(&name("t"), 0, 100).await.unwrap();
    assert_eq!(messages.len(), 2, "what only the run said is gone");

    let (after, alone) = (bench.one_more("t").await, bench.one_more("u").await);
    assert_eq!(after.len(), alone.len());
    let body = &after
        .iter()
        .find(|(kind, ..)| kind == "run.opened")
        .unwrap()
        .2;
    assert!(!body.contains("\"m-3\""), "no id is given again: {body}");
    assert_eq!(
        bench.checkpoints("t").await,
        [1, 2, reached + 1, reached + 2],
        "nor is the number of a checkpoint"
    );
    bench.is_whole("t").await;
}

#[tokio::test]
async fn an_only_run_leaves_an_empty_thread() {
    let bench = Bench::new();
    let only = bench.paid("t", json!(1)).await;
    let reached = bench.checkpoints("t").await.len() as u64;
    gone(&bench, &only.run).await;
    let view = ThreadView::load(&*bench.journal, &name("t")).await.unwrap();
    assert!(view.is_none());
    bench.say("t", WORD, json!(2)).await;
    assert_eq!(
        bench.checkpoints("t").await,
        [reached + 1, reached + 2],
        "numbers go on"
    );
    bench.is_whole("t").await;
}

#[tokio::test]
async fn all_runs_go_from_the_last_to_the_first_and_nothing_is_numbered_again() {
    let bench = Bench::new();
    let mut ids = BTreeSet::new();
    for _ in 0..2 {
        let mut runs = Vec::new();
        for note in 0..3 {
            runs.push(bench.paid("t", json!(note)).await.run);
        }
        let messages = bench.journal.messages(&name("t"), 0, 100).await.unwrap();
        for (_, message) in messages {
            assert!(ids.insert(message.id.to_string()), "{}", message.id);
            let calls = message.calls().iter().map(|call| call.id.to_string());
            for call in calls {
                assert!(ids.insert(call.clone()), "{call}");
            }
        }
        for number in bench.checkpoints("t").await {
            assert!(ids.insert(number.to_string()), "checkpoint {number}");
        }
        for run in runs.iter().rev() {
            gone(&bench, run).await;
        }
        assert_eq!(bench.checkpoints("t").await, [0_u64; 0]);
    }
}

#[tokio::test]
async fn an_earlier_run_goes_and_leaves_its_state() {
    let (bench, whole) = (Bench::new(), Bench::new());
    let mut runs = Vec::new();
    for bench in [&whole, &bench] {
        runs.clear();
        runs.push(bench.say("t", WORD, json!(1)).await.run);
        runs.push(bench.paid("t", json!(2)).await.run);
        runs.push(bench.say("t", WORD, json!(3)).await.run);
    }
    gone(&bench, &runs[1]).await;
    assert_eq!(bench.checkpoints("t").await, [1, 2, 6, 7]);
    assert_eq!(bench.one_more("t").await, whole.one_more("t").await);
    gone(&bench, &runs[0]).await;
    assert_eq!(bench.one_more("t").await, whole.one_more("t").await);
    let newest = bench.view().await.run;
    gone(&bench, &newest).await;
    let newest = whole.view().await.run;
    gone(&whole, &newest).await;
    assert_eq!(bench.one_more("t").await, whole.one_more("t").await);
}

#[tokio::test]
async fn runs_go_in_any_order_and_numbers_go_on() {
    let bench = Bench::new();
    let first = bench.say("t", WORD, json!(1)).await.run;
    let second = bench.say("t", WORD, json!(2)).await.run;
    gone(&bench, &first).await;
    gone(&bench, &second).await;
    // No checkpoint is left, only what the first run came to.
    assert_eq!(bench.checkpoints("t").await, [0_u64; 0]);
    bench.say("t", WORD, json!(3)).await;
    assert_eq!(bench.checkpoints("t").await, [5, 6]);
    bench.is_whole("t").await;
}

#[tokio::test]
async fn a_deletion_behind_a_pruning_and_a_pruning_behind_a_deletion_agree() {
    let (bench, whole) = (Bench::new(), Bench::new());
    let mut runs = Vec::new();
    for bench in [&whole, &bench] {
        runs.clear();
        for note in 0..4 {
            runs.push(bench.say("t", WORD, json!(note)).await.run);
        }
    }
    bench.live().prune(&name("t"), Keep::Last(6)).await.unwrap();
    gone(&bench, &runs[2]).await;
    bench.live().prune(&name("t"), Keep::Last(3)).await.unwrap();
    bench.is_whole("t").await;
    assert_eq!(bench.checkpoints("t").await, [4, 7, 8]);
    assert_eq!(bench.one_more("t").await, whole.one_more("t").await);
}

#[tokio::test]
async fn a_run_whose_beginning_was_pruned_cannot_go_alone() {
    let bench = Bench::new();
    bench.say("t", WORD, json!(1)).await;
    let last = bench.say("t", WORD, json!(2)).await.run;
    bench.live().prune(&name("t"), Keep::Last(1)).await.unwrap();
    let before = bench.all("t").await;
    for run in [last, RunId::from("nobody")] {
        let error = bench.live().delete_run(&name("t"), &run).await.unwrap_err();
        assert_eq!(error.code().as_str(), "RAG0414", "{error}");
    }
    assert_eq!(bench.all("t").await, before);
}

#[tokio::test]
async fn whatever_dies_in_the_middle_is_done_or_was_never_begun() {
    for (side, done) in [(Side::Before, false), (Side::After, true)] {
        // A claim is a write of its own; making a thread takes none.
        for (action, write) in [("delete", 2), ("delete run", 2), ("fork", 1), ("import", 1)] {
            let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
            let bench = Bench::on(Arc::clone(&inner));
            bench.say("t", WORD, json!(1)).await;
            let last = bench.say("t", WORD, json!(2)).await.run;
            let before = (bench.all("t").await, bench.all("u").await);
            let fault = FaultPoint { write, side };
            let dying = FaultJournal::new(Arc::clone(&inner), fault, || {});
            let dying = Bench::on(Arc::new(dying));
            let died = match action {
                "delete" => dying.live().delete(&name("t"), false).await.is_err(),
                "delete run" => {
                    let deleted = dying.live().delete_run(&name("t"), &last).await;
                    deleted.is_err()
                }
                "fork" => fork(&*dying.journal, &copy("u")).await.is_err(),
                _ => {
                    let mut image = image(&*inner, &name("t")).await.unwrap();
                    image.thread = name("u");
                    dying.journal.install(image).await.is_err()
                }
            };
            assert!(died, "{action} {side:?}");
            let after = (bench.all("t").await, bench.all("u").await);
            assert_eq!(after != before, done, "{action} {side:?}");
            for thread in ["t", "u"] {
                if find(&*inner, &name(thread)).await.unwrap().is_some() {
                    bench.is_whole(thread).await;
                }
            }
        }
    }
}
