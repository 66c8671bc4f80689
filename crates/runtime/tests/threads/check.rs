use rustagents_core::{
    code::Coded,
    ids::FactKey,
    journal::{Journal, Kind, Place, ThreadImage, kind},
};
use rustagents_runtime::threads::{check::check, transfer::image};
use rustagents_store::MemoryJournal;
use serde_json::json;

use super::{WORD, name};
use crate::bench::Bench;

/// What is wrong with a thread after `damage` was done to it.
async fn problems(damage: impl FnOnce(&mut ThreadImage)) -> Vec<String> {
    let bench = Bench::new();
    bench.paid("t", json!(1)).await;
    bench.say("t", WORD, json!(2)).await;
    let mut image = image(&*bench.journal, &name("t")).await.unwrap();
    damage(&mut image);
    let journal = MemoryJournal::new();
    journal.install(image).await.unwrap();
    let problems = check(&journal, &name("t")).await.unwrap();
    problems.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn a_whole_thread_has_no_problem_and_an_unknown_one_is_an_error() {
    assert_eq!(problems(|_| {}).await, [""; 0]);
    let error = check(&MemoryJournal::new(), &name("t")).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0401");
}

#[tokio::test]
async fn a_message_or_a_content_that_is_missing_is_named_with_who_needs_it() {
    let found = problems(|image| drop(image.messages.remove(0))).await;
    assert!(
        found[0].starts_with("record 1 (run.opened): it names the message m-1"),
        "{found:?}"
    );
    let found = problems(|image| image.contents.clear()).await;
    assert!(found[0].contains("is missing"), "{found:?}");
}

#[tokio::test]
async fn a_body_that_is_not_of_its_kind_is_named() {
    for (kind, body) in [
        (kind::RUN_CLOSED, "{}"),
        (kind::TRANSITION, "[1]"),
        (kind::ASK, "{\"id\":1}"),
    ] {
        let found = problems(|image| {
            let record = image.records.iter_mut().find(|r| r.is(kind)).unwrap();
            record.body = body.into();
        })
        .await;
        assert!(
            found[0].contains(kind.name) && found[0].contains("cannot be read"),
            "{found:?}"
        );
    }
}

/// What is no record of this kind, but JSON. What a tool started is in its own words.
fn is_no_record(kind: Kind) -> &'static str {
    match kind.name {
        "effect.started" => "{",
        _ => "7",
    }
}

#[tokio::test]
async fn a_body_that_is_no_record_of_its_kind_is_named_whatever_the_kind() {
    for kind in kind::ALL {
        let damage = |image: &mut ThreadImage| {
            let mut record = image.records.last().unwrap().clone();
            record.seq += 1;
            record.place = Place::Fact(FactKey::from("model/no"));
            record.kind = kind.name.into();
            record.version = kind.version;
            record.body = is_no_record(kind).into();
            image.records.push(record);
        };
        let found = problems(damage).await;
        let named = format!("({}): it cannot be read", kind.name);
        assert!(found.iter().any(|told| told.contains(&named)), "{found:?}");
    }
}

#[tokio::test]
async fn a_gap_in_the_checkpoints_is_named_unless_a_snapshot_covers_it() {
    let found = problems(|image| {
        let second = image
            .records
            .iter()
            .filter(|r| r.is(kind::CHECKPOINT))
            .nth(1);
        let seq = second.unwrap().seq;
        image.records.retain(|record| record.seq != seq);
    })
    .await;
    assert!(
        found[0].ends_with("checkpoint 3 follows checkpoint 1, and no snapshot is between"),
        "{found:?}"
    );
}

#[tokio::test]
async fn a_run_without_its_opening_or_behind_its_end_is_named() {
    let found = problems(|image| drop(image.records.remove(0))).await;
    assert!(
        found[0].ends_with("its run was not opened before"),
        "{found:?}"
    );
    let found = problems(|image| {
        let last = image.records.last().unwrap().clone();
        image.records.push(rustagents_core::journal::Record {
            seq: last.seq + 1,
            ..last
        });
    })
    .await;
    assert!(found[0].ends_with("its run was closed before"), "{found:?}");
}

#[tokio::test]
async fn an_epoch_that_goes_back_is_named() {
    let found = problems(|image| image.records.last_mut().unwrap().epoch = 1).await;
    assert!(found[0].contains("its epoch is 1"), "{found:?}");
}
