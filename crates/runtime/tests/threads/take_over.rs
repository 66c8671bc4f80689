use rustagents_core::{
    code::Coded,
    journal::{Author, Batch, Owner},
};
use rustagents_runtime::{Resume, Status, Watch};
use serde_json::json;

use super::{WORD, name};
use crate::bench::Bench;

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
