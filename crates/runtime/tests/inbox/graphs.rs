//! The same for graphs of one's own.

use std::{future::pending, sync::Arc};

use rustagents_core::{
    code::Coded,
    ids::ThreadId,
    journal::{Journal, Kind, Select, kind},
};
use rustagents_graph::{Graph, GraphBuilder, GraphState, Outcome};
use rustagents_runtime::{Answered, GraphRunError, GraphRunner, Status};
use rustagents_store::MemoryJournal;
use rustagents_testkit::{clock::TestClock, hooked::HookedJournal, ids::CountingIds};
use serde_json::json;

#[derive(Clone, Debug, GraphState)]
struct Order {
    answer: String,
}

/// A node that never ends.
fn hanging() -> Graph<Order> {
    let graph = GraphBuilder::<Order>::typed("hanging");
    let graph = graph.function("wait", |_, _| pending());
    graph.start(["wait"]).finish("wait").compile().unwrap()
}

/// A node that asks.
fn asking() -> Graph<Order> {
    GraphBuilder::<Order>::typed("asking")
        .function("sign", |_, context| async move {
            let answer = context.ask("sign?").await?;
            Ok(Order::update().answer(answer.to_string()).into())
        })
        .start(["sign"])
        .finish("sign")
        .compile()
        .unwrap()
}

fn runner(journal: &Arc<dyn Journal>) -> GraphRunner {
    let clock = Arc::new(TestClock::new());
    GraphRunner::on(Arc::clone(journal), clock, Arc::new(CountingIds::default()))
}

async fn has(journal: &Arc<dyn Journal>, kind: Kind) -> bool {
    let select = Select::all().of(kind).limit(1);
    let thread = ThreadId::new("t").unwrap();
    !journal.read(&thread, select).await.unwrap().is_empty()
}

/// Waits until the thread has a record of `kind`.
async fn until(journal: &Arc<dyn Journal>, kind: Kind) {
    let mut last = 0;
    while !has(journal, kind).await {
        let thread = ThreadId::new("t").unwrap();
        last = journal.changed(&thread, last).await.unwrap();
    }
}

fn is_given_up(ended: &Result<impl std::fmt::Debug, GraphRunError>) -> bool {
    let cancelled = |status: &Status| *status == Status::Cancelled;
    matches!(ended, Err(GraphRunError::Stands { status, .. }) if cancelled(status))
}

#[tokio::test(start_paused = true)]
async fn a_runner_gives_up_its_run_when_another_one_asks() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let driver = runner(&journal);
    let run = tokio::spawn(async move { driver.run(&hanging(), "t", Order::update()).await });
    until(&journal, kind::CHECKPOINT).await;
    let other = runner(&journal);
    assert!(!other.request_cancel("t", None).await.unwrap().is_repeated);
    let ended = run.await.unwrap();
    assert!(is_given_up(&ended), "{ended:?}");
    let refused = other.request_cancel("t", None).await.unwrap_err();
    assert_eq!(refused.code().as_str(), "RAG0416");
}

#[tokio::test(start_paused = true)]
async fn a_resume_heeds_what_no_runner_read() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let driver = runner(&journal);
    let run = tokio::spawn(async move { driver.run(&hanging(), "t", Order::update()).await });
    until(&journal, kind::CHECKPOINT).await;
    run.abort();
    assert!(run.await.unwrap_err().is_cancelled());
    let other = runner(&journal);
    other.request_cancel("t", Some("enough")).await.unwrap();
    let ended = other.resume(&hanging(), "t", ()).await;
    assert!(is_given_up(&ended), "{ended:?}");
    let thread = ThreadId::new("t").unwrap();
    let attempts = Select::all().of(kind::RUN_ATTEMPT);
    assert_eq!(journal.read(&thread, attempts).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn an_answer_at_the_last_moment_is_gone_on_with() {
    let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let behind = Arc::clone(&inner);
    // The run waits, and its runner has not looked for answers yet.
    let journal = HookedJournal::new(Arc::clone(&inner)).before_read(move |_| {
        let inner = Arc::clone(&behind);
        Box::pin(async move {
            if has(&inner, kind::RUN_SUSPENDED).await && !has(&inner, kind::ANSWER).await {
                let answer = [("sign:1.0/1", json!("yes"))];
                runner(&inner).answer("t", answer).await.unwrap();
            }
            Ok(())
        })
    });
    let journal: Arc<dyn Journal> = Arc::new(journal);
    let run = runner(&journal).run(&asking(), "t", Order::update()).await;
    let done = run.unwrap();
    assert!(matches!(done.outcome, Outcome::Completed), "{done:?}");
    assert_eq!(done.state.answer, "\"yes\"");
}

#[tokio::test]
async fn an_answer_to_a_thread_that_nobody_drives_is_left_to_a_resume() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let runner = runner(&journal);
    runner.run(&asking(), "t", Order::update()).await.unwrap();
    let answers = [("sign:1.0/1", json!("yes"))];
    assert_eq!(runner.answer("t", answers).await.unwrap(), Answered::Left);
    let done = runner.resume(&asking(), "t", ()).await.unwrap();
    assert!(matches!(done.outcome, Outcome::Completed));
}
