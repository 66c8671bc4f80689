//! Inputs that wait for their thread.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use rustagents_core::{
    code::Coded,
    ids::ThreadId,
    journal::{Journal, JournalError, Seq, kind},
    recorder::Durability,
};
use rustagents_runtime::{
    OnBusy, Start, Status, Watch,
    inbox::{QueuedInput, Turn, queue},
    record::RunOpened,
    threads::{self, Fork, Keep, check, fork, transfer},
};
use rustagents_store::MemoryJournal;
use rustagents_testkit::hooked::HookedJournal;
use tokio::sync::Mutex;

use super::{HANGING, TALK, started};
use crate::bench::{Bench, DESK, approve};

fn said(bench: &Bench, input: &str) -> Start {
    Start {
        input: Some(input.into()),
        ..bench.request()
    }
}

async fn enqueue(bench: &Bench, input: &str, busy: OnBusy) -> QueuedInput {
    let program = bench.program(TALK);
    let runtime = bench.runtime();
    let queued = runtime.enqueue(&program, said(bench, input), busy);
    queued.await.unwrap()
}

async fn waiting_in(journal: &dyn Journal, thread: &ThreadId) -> Vec<String> {
    let items = queue(journal, thread).await.unwrap().into_iter();
    items.map(|item| item.body.input.unwrap()).collect()
}

async fn waiting(bench: &Bench) -> Vec<String> {
    waiting_in(&*bench.journal, &Bench::thread()).await
}

async fn next(bench: &Bench, item: &QueuedInput) -> bool {
    let program = bench.program(TALK);
    let runtime = bench.runtime();
    let thread = Bench::thread();
    let started = runtime.start_next(&program, &thread, item, bench.watch());
    started.await.unwrap().is_some()
}

async fn is_whole(bench: &Bench) {
    let problems = check::check(&*bench.journal, &Bench::thread()).await;
    assert_eq!(problems.unwrap(), []);
}

#[tokio::test]
async fn inputs_are_taken_in_order_and_each_once() {
    let bench = Bench::new();
    bench.start(TALK).await.unwrap();
    let one = enqueue(&bench, "one", OnBusy::Enqueue).await;
    let two = enqueue(&bench, "two", OnBusy::Enqueue).await;
    let urgent = enqueue(&bench, "urgent", OnBusy::Interrupt).await;
    assert_eq!(waiting(&bench).await, ["urgent", "one", "two"]);
    assert!(!next(&bench, &one).await, "another one is next");
    for item in [&urgent, &one, &two] {
        assert!(next(&bench, item).await);
        assert!(!next(&bench, item).await, "it is taken");
    }
    let log = bench.log().await;
    let messages = ["m-3", "m-5", "m-7"].map(|id| log.message(&id.into()).unwrap().text());
    assert_eq!(messages, ["urgent", "one", "two"]);
    assert_eq!(bench.count(kind::RUN_OPENED).await, 4);
    is_whole(&bench).await;
}

#[tokio::test]
async fn what_does_not_fit_is_refused_before_it_waits() {
    let bench = Bench::new();
    let program = bench.program(TALK);
    let runtime = bench.runtime();
    let unknown = runtime.enqueue(&program, said(&bench, "x"), OnBusy::Enqueue);
    assert_eq!(unknown.await.unwrap_err().code().as_str(), "RAG0401");
    bench.start(TALK).await.unwrap();
    let records = bench.records().await;
    let wrong = Start {
        set: vec![("nothing".into(), serde_json::json!(1))],
        ..bench.request()
    };
    let refused = runtime.enqueue(&program, wrong, OnBusy::Enqueue).await;
    assert_eq!(refused.unwrap_err().code().as_str(), "RAG0411");
    let huge = said(&bench, &"x".repeat(9 << 20));
    let refused = runtime.enqueue(&program, huge, OnBusy::Enqueue).await;
    assert_eq!(refused.unwrap_err().code().as_str(), "RAG0309");
    assert_eq!(bench.records().await, records);
}

#[tokio::test]
async fn a_withdrawn_input_is_never_opened() {
    let bench = Bench::new();
    bench.start(TALK).await.unwrap();
    let item = enqueue(&bench, "one", OnBusy::Enqueue).await;
    let (runtime, thread) = (bench.runtime(), Bench::thread());
    assert!(runtime.withdraw(&thread, &item.id).await.unwrap());
    assert!(!runtime.withdraw(&thread, &item.id).await.unwrap());
    assert!(!next(&bench, &item).await);
    let turn = runtime.turn(&thread, &item).await.unwrap();
    assert!(matches!(turn, Turn::Withdrawn), "{turn:?}");
    assert_eq!(bench.count(kind::RUN_OPENED).await, 1);
}

#[tokio::test(start_paused = true)]
async fn who_waits_hears_what_became_of_the_thread() {
    let bench = Arc::new(Bench::new());
    let run = started(&bench, HANGING, kind::CHECKPOINT).await;
    let item = enqueue(&bench, "one", OnBusy::Enqueue).await;
    let (other, own) = (Arc::clone(&bench), item.clone());
    let turn = tokio::spawn(async move {
        let runtime = other.runtime();
        runtime.turn(&Bench::thread(), &own).await
    });
    tokio::time::sleep(std::time::Duration::from_mins(1)).await;
    assert!(!turn.is_finished(), "the thread is driven");
    let (runtime, thread) = (bench.runtime(), Bench::thread());
    runtime.request_cancel(&thread, None).await.unwrap();
    run.await.unwrap().unwrap();
    let ready = turn.await.unwrap().unwrap();
    assert!(matches!(ready, Turn::Ready(next) if *next == item));
    assert!(next(&bench, &item).await);
    match runtime.turn(&thread, &item).await.unwrap() {
        Turn::Taken(report) => assert_eq!(report.status, Status::Completed),
        other => panic!("{other:?}"),
    }
    let asking = Bench::new();
    asking.start(DESK).await.unwrap();
    let behind = enqueue(&asking, "two", OnBusy::Enqueue).await;
    match asking.runtime().turn(&thread, &behind).await.unwrap() {
        Turn::Waits(report) => assert_eq!(report.asks.len(), 2),
        other => panic!("{other:?}"),
    }
}

/// Ends before anybody said anything.
const BROKEN: &str = r#"graph broken {
  channel messages messages
  start fail
  node fail { kind agent  model "broken"  prompt "Fail."  next END }
}"#;

#[tokio::test(start_paused = true)]
async fn a_driver_that_comes_between_two_looks_leaves_nothing_unfinished() {
    let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let bench = Arc::new(Bench::on(inner.clone()));
    bench.start(BROKEN).await.unwrap();
    let item = enqueue(&bench, "one", OnBusy::Enqueue).await;
    let (running, other) = (Arc::new(Mutex::new(None)), Arc::clone(&bench));
    let run = Arc::clone(&running);
    // Nobody drives the thread when it is looked at, and somebody does when it is read.
    let between = HookedJournal::new(inner).before_read(move |_| {
        let (other, run) = (Arc::clone(&other), Arc::clone(&run));
        Box::pin(async move {
            if run.lock().await.is_none() {
                let started = started(&other, HANGING, kind::CHECKPOINT).await;
                *run.lock().await = Some(started);
            }
            Ok(())
        })
    });
    let beside = Bench {
        ids: Arc::clone(&bench.ids),
        ..Bench::on(Arc::new(between))
    };
    let own = item.clone();
    let turn = tokio::spawn(async move { beside.runtime().turn(&Bench::thread(), &own).await });
    tokio::time::sleep(std::time::Duration::from_mins(1)).await;
    assert!(!turn.is_finished(), "the thread is driven");
    let (runtime, thread) = (bench.runtime(), Bench::thread());
    runtime.request_cancel(&thread, None).await.unwrap();
    let run = running.lock().await.take().unwrap();
    run.await.unwrap().unwrap();
    let ready = turn.await.unwrap().unwrap();
    assert!(matches!(ready, Turn::Ready(next) if *next == item));
}

#[tokio::test]
async fn that_an_input_is_taken_is_recorded_whatever_the_durability() {
    for durability in [Durability::None, Durability::Exit, Durability::Async] {
        let bench = Bench::new();
        bench.start(TALK).await.unwrap();
        let item = enqueue(&bench, "one", OnBusy::Enqueue).await;
        let watch = Watch {
            durability,
            ..Watch::default()
        };
        let program = bench.program(TALK);
        let thread = Bench::thread();
        let runtime = bench.runtime();
        let report = runtime.start_next(&program, &thread, &item, watch).await;
        assert_eq!(report.unwrap().unwrap().status, Status::Completed);
        assert_eq!(waiting(&bench).await, [""; 0], "{durability:?}");
    }
}

#[tokio::test]
async fn a_rollback_that_died_in_its_middle_is_finished() {
    let bench = Bench::new();
    bench.start(TALK).await.unwrap();
    bench.start(DESK).await.unwrap();
    let item = enqueue(&bench, "instead", OnBusy::Rollback).await;
    let (runtime, thread) = (bench.runtime(), Bench::thread());
    runtime.cancel(&thread).await.unwrap();
    // It went back, and died before it opened the run.
    let back = threads::Rewind {
        thread: thread.clone(),
        checkpoint: 2,
        target: None,
        repeats: true,
    };
    runtime.rewind(&bench.program(TALK), back).await.unwrap();
    let forks = bench.count(kind::SNAPSHOT).await;
    assert!(next(&bench, &item).await);
    assert_eq!(
        bench.count(kind::SNAPSHOT).await,
        forks,
        "it went back once"
    );
    let state = threads::whole_at(&*bench.journal, &thread, None).await;
    let messages = state.unwrap().state["messages"].as_array().unwrap().len();
    assert_eq!(messages, 4, "two inputs and their answers");
    is_whole(&bench).await;
}

/// A thread whose first run waits, and an input in the place of its own.
async fn first_undone(journal: Arc<dyn Journal>) -> (Bench, QueuedInput) {
    let bench = Bench::on(journal);
    bench.start(DESK).await.unwrap();
    let item = enqueue(&bench, "instead", OnBusy::Rollback).await;
    bench.runtime().cancel(&Bench::thread()).await.unwrap();
    (bench, item)
}

/// Whether the thread stands as if "instead" had been its first input.
async fn is_first(bench: &Bench) {
    let thread = Bench::thread();
    let state = threads::whole_at(&*bench.journal, &thread, None).await;
    let state = state.unwrap().state;
    let messages = state["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 2, "an input and its answer: {state}");
    assert!(messages[0].to_string().contains("instead"), "{state}");
    is_whole(bench).await;
}

#[tokio::test]
async fn the_first_input_is_rolled_back_as_if_it_had_never_been() {
    let (bench, item) = first_undone(Arc::new(MemoryJournal::new())).await;
    assert!(next(&bench, &item).await);
    is_first(&bench).await;
    assert!(!next(&bench, &item).await, "it is taken");
    // The thread goes on from there, and can be pruned and copied like any other.
    let (runtime, thread) = (bench.runtime(), Bench::thread());
    runtime.prune(&thread, Keep::Last(1)).await.unwrap();
    is_first(&bench).await;
    bench.start(TALK).await.unwrap();
    is_whole(&bench).await;
    // No checkpoint has the number of what stands before all of them.
    let back = threads::Rewind {
        thread,
        checkpoint: 0,
        target: None,
        repeats: true,
    };
    let unknown = runtime.rewind(&bench.program(TALK), back).await;
    assert_eq!(unknown.unwrap_err().code().as_str(), "RAG0414");
}

#[tokio::test]
async fn a_rollback_of_the_first_input_that_dies_anywhere_is_finished() {
    let mut died = 0;
    for number in 1.. {
        let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
        let (bench, item) = first_undone(Arc::clone(&inner)).await;
        let writes = Arc::new(AtomicU32::new(0));
        let dying = HookedJournal::new(inner).before_append(move |_| {
            let is_dead = writes.fetch_add(1, Ordering::SeqCst) + 1 >= number;
            Box::pin(async move {
                let (store, reason) = ("memory".into(), "it died".into());
                if is_dead {
                    return Err(JournalError::Unavailable { store, reason });
                }
                Ok(())
            })
        });
        let dying = Bench::on(Arc::new(dying));
        let (runtime, program) = (dying.live(), dying.program(TALK));
        let thread = Bench::thread();
        let started = runtime.start_next(&program, &thread, &item, Watch::default());
        let was_killed = started.await.is_err();
        if waiting(&bench).await.is_empty() {
            bench.resume(TALK, vec![]).await.unwrap();
        } else {
            let started = bench.live();
            let started = started.start_next(&program, &thread, &item, Watch::default());
            assert!(started.await.unwrap().is_some());
        }
        is_first(&bench).await;
        if !was_killed {
            break;
        }
        died += 1;
    }
    assert!(died >= 3, "{died}");
}

#[tokio::test]
async fn a_pruned_thread_keeps_what_waits_and_forgets_what_was_taken() {
    let bench = Bench::new();
    bench.start(TALK).await.unwrap();
    let taken = enqueue(&bench, "taken", OnBusy::Enqueue).await;
    enqueue(&bench, "kept", OnBusy::Enqueue).await;
    assert!(next(&bench, &taken).await);
    bench.start(TALK).await.unwrap();
    let runtime = bench.runtime();
    let pruned = runtime
        .prune(&Bench::thread(), Keep::Last(1))
        .await
        .unwrap();
    assert!(pruned.removed.records > 0);
    assert_eq!(bench.count(kind::ITEM).await, 1);
    assert_eq!(waiting(&bench).await, ["kept"]);
    is_whole(&bench).await;
}

#[tokio::test]
async fn a_deleted_run_does_not_bring_its_input_back() {
    let bench = Bench::new();
    bench.start(TALK).await.unwrap();
    let taken = enqueue(&bench, "taken", OnBusy::Enqueue).await;
    enqueue(&bench, "kept", OnBusy::Enqueue).await;
    assert!(next(&bench, &taken).await);
    let run = bench.view().await.run;
    let runtime = bench.runtime();
    runtime.delete_run(&Bench::thread(), &run).await.unwrap();
    assert_eq!(waiting(&bench).await, ["kept"]);
    assert_eq!(bench.count(kind::TAKEN).await, 0);
    is_whole(&bench).await;
}

#[tokio::test]
async fn copies_have_what_waits_too() {
    let bench = Bench::new();
    bench.start(DESK).await.unwrap();
    enqueue(&bench, "one", OnBusy::Enqueue).await;
    let to = ThreadId::new("copy").unwrap();
    let copy = Fork {
        from: Bench::thread(),
        to: to.clone(),
        checkpoint: None,
        repeats: false,
    };
    fork(&*bench.journal, &copy).await.unwrap();
    assert_eq!(waiting_in(&*bench.journal, &to).await, ["one"]);
    let image = transfer::image(&*bench.journal, &Bench::thread()).await;
    let other = MemoryJournal::new();
    other.install(image.unwrap()).await.unwrap();
    assert_eq!(waiting_in(&other, &Bench::thread()).await, ["one"]);
    let done = bench
        .resume(DESK, vec![approve("c-1"), approve("c-2")])
        .await;
    assert_eq!(done.unwrap().status, Status::Completed);
    assert_eq!(waiting(&bench).await, ["one"]);
}

/// The place up to which none waits, as the last opening says.
async fn none_up_to(bench: &Bench) -> Seq {
    let log = bench.log().await;
    let opened = log.records().iter().rev();
    let opened = opened.clone().find(|record| record.is(kind::RUN_OPENED));
    let opened: RunOpened = opened.unwrap().decode(kind::RUN_OPENED).unwrap();
    opened.queue_after
}

#[tokio::test]
async fn an_opening_says_up_to_where_none_waits() {
    let bench = Bench::new();
    bench.start(TALK).await.unwrap();
    assert_eq!(none_up_to(&bench).await, 0, "nothing is before the first");
    let last = bench.log().await.last_seq();
    bench.start(TALK).await.unwrap();
    assert_eq!(none_up_to(&bench).await, last);
    let last = bench.log().await.last_seq();
    let one = enqueue(&bench, "one", OnBusy::Enqueue).await;
    let two = enqueue(&bench, "two", OnBusy::Enqueue).await;
    bench.start(TALK).await.unwrap();
    assert_eq!(none_up_to(&bench).await, last, "both wait behind it");
    assert!(next(&bench, &one).await);
    assert_eq!(none_up_to(&bench).await, last + 1, "the other one does");
    assert_eq!(waiting(&bench).await, ["two"]);
    let urgent = enqueue(&bench, "urgent", OnBusy::Interrupt).await;
    assert!(next(&bench, &urgent).await);
    assert_eq!(none_up_to(&bench).await, last + 1, "it still does");
    assert_eq!(waiting(&bench).await, ["two"]);
    assert!(next(&bench, &two).await);
    assert_eq!(waiting(&bench).await, [] as [&str; 0]);
    is_whole(&bench).await;
}

#[tokio::test]
async fn a_look_reads_what_came_since_and_no_more() {
    let bench = Bench::new();
    let mut reads = Vec::new();
    for _ in 0..12 {
        bench.start(TALK).await.unwrap();
        enqueue(&bench, "late", OnBusy::Enqueue).await;
        let item = queue(&*bench.journal, &Bench::thread()).await.unwrap();
        assert!(next(&bench, &item[0]).await);
        let last = bench.log().await.last_seq();
        reads.push(last - none_up_to(&bench).await);
    }
    assert!(reads[1..].iter().all(|read| *read == reads[1]), "{reads:?}");
}
