//! The event journal in a folder keeps its contract, and its files are safe from it.

use std::{fs, sync::Arc};

use rustagents_core::{
    code::Coded as _,
    event_journal::{EventJournal, EventQuery, Offset, Retention, RunEvent},
    ids::{Namespace, RunId, ThreadId},
    store::StoreError,
};
use rustagents_store_file::{
    FileEvents,
    fault::{DiskFault, Failure},
};
use rustagents_testkit::contract::events;
use serde_json::json;

use crate::support::quick_folder;

fn event(bytes: usize) -> RunEvent {
    RunEvent {
        thread: ThreadId::new("t").unwrap(),
        run: RunId::from("r"),
        root_run: RunId::from("r"),
        kind: "run.started".into(),
        namespace: Namespace::from(""),
        at_ms: 1,
        payload: json!("x".repeat(bytes)),
    }
}

async fn places(journal: &FileEvents) -> Vec<Offset> {
    let page = journal.read(EventQuery::from(1)).await.unwrap();
    page.events.iter().map(|placed| placed.offset).collect()
}

#[tokio::test]
async fn files_keep_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let mut number = 0;
    events::suite(|| {
        number += 1;
        let journal = FileEvents::new(folder.path().join(number.to_string()));
        async { journal }
    })
    .await;
}

#[tokio::test]
async fn another_opening_hears_and_goes_on() {
    let folder = quick_folder();
    let path = folder.path().join("events");
    let (one, other) = (FileEvents::new(&path), FileEvents::new(&path));
    let heard = tokio::spawn(async move { other.changed(0).await });
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    assert!(!path.exists(), "who waits makes nothing");
    one.append(vec![event(1)]).await.unwrap();
    assert_eq!(heard.await.unwrap().unwrap(), 1);
    for _ in 0..4 {
        let journal = FileEvents::new(&path);
        journal.append(vec![event(1)]).await.unwrap();
    }
    let page = one.read(EventQuery::from(1)).await.unwrap();
    assert_eq!((page.events.len(), page.first, page.next), (5, 1, 6));
}

#[tokio::test]
async fn files_that_hold_nothing_any_more_are_removed() {
    let folder = quick_folder();
    let journal = FileEvents::new(folder.path());
    for _ in 0..20 {
        journal.append(vec![event(1_000_000)]).await.unwrap();
    }
    let files = || {
        let names = fs::read_dir(folder.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.contains(".jsonl")).count()
    };
    assert_eq!(files(), 3);
    journal.drop_events(Retention::KeepLast(5)).await.unwrap();
    assert_eq!(places(&journal).await, [16, 17, 18, 19, 20]);
    assert!(files() < 3);
    journal.drop_events(Retention::KeepLast(0)).await.unwrap();
    assert_eq!(files(), 0);
    let again = FileEvents::new(folder.path());
    assert_eq!(again.append(vec![event(1)]).await.unwrap(), [21]);
    let few = again.keeping(2);
    for _ in 0..20 {
        few.append(vec![event(1_000_000)]).await.unwrap();
    }
    assert!((1..=2).contains(&files()), "old files go by themselves");
    let last = few.read(EventQuery::from(40)).await.unwrap();
    assert_eq!((last.events.len(), last.next), (2, 42));
}

#[tokio::test]
async fn a_torn_line_is_cut_off_and_another_damage_is_told() {
    let folder = quick_folder();
    let open = || FileEvents::new(folder.path());
    open().append(vec![event(1)]).await.unwrap();
    let file = folder.path().join("00000000000000000001.jsonl");
    let whole = fs::read(&file).unwrap();
    open().append(vec![event(2)]).await.unwrap();
    let both = fs::read(&file).unwrap();
    for cut in (whole.len()..both.len()).step_by(7) {
        fs::write(&file, &both[..cut]).unwrap();
        assert_eq!(places(&open()).await, [1]);
        assert_eq!(open().append(vec![event(2)]).await.unwrap(), [2]);
        assert_eq!(fs::read(&file).unwrap(), both);
    }
    let text = String::from_utf8(both).unwrap();
    fs::write(&file, text.replace("\"offset\":1", "\"offset\":7")).unwrap();
    let error = open().read(EventQuery::from(1)).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    fs::write(folder.path().join("events.json"), "{}").unwrap();
    let error = open().append(vec![event(1)]).await.unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
}

/// An event of a thread, with what nobody else says.
fn secret(thread: &str) -> RunEvent {
    RunEvent {
        thread: ThreadId::new(thread).unwrap(),
        payload: json!(format!("the secret of {thread}")),
        ..event(1)
    }
}

#[tokio::test]
async fn a_removed_thread_leaves_nothing_in_any_file_and_no_reader_astray() {
    let folder = quick_folder();
    let open = || FileEvents::new(folder.path());
    let (journal, other) = (open(), open());
    for _ in 0..20 {
        let events = vec![secret("t"), event(1_000_000), secret("u")];
        journal.append(events).await.unwrap();
    }
    // It has measured the last file, and goes on from what it knows.
    assert_eq!(other.changed(0).await.unwrap(), 60);
    let head = || fs::read_to_string(folder.path().join("events.json")).unwrap();
    assert!(head().contains(r#""format":1"#), "{}", head());
    // What was dropped may still stand in the first file.
    journal.drop_events(Retention::Before(5)).await.unwrap();
    let removed = journal.remove_thread(ThreadId::new("u").unwrap()).await;
    assert_eq!(removed.unwrap(), 19, "one of them was dropped");
    assert!(head().contains(r#""format":2"#), "{}", head());
    let mut text = String::new();
    for entry in fs::read_dir(folder.path()).unwrap() {
        text += &fs::read_to_string(entry.unwrap().path()).unwrap();
    }
    assert!(!text.contains("secret of u"), "nothing of it is left");
    assert_eq!(text.matches("secret of t").count(), 20);
    assert_eq!(other.append(vec![secret("v")]).await.unwrap(), [61]);
    for journal in [&journal, &other, &open()] {
        let last = journal.read(EventQuery::from(58)).await.unwrap();
        let events = last.events.iter();
        let read: Vec<_> = events
            .map(|e| (e.offset, e.event.payload.clone()))
            .collect();
        assert_eq!(read.len(), 3);
        assert_eq!(read[0], (58, json!("the secret of t")));
        assert_eq!(read[2], (61, json!("the secret of v")));
    }
}

/// Removes a thread on a disk that fails at `step`, and says whether it had so many.
async fn removal_fails_at(step: u64, failure: Failure) -> bool {
    let root = quick_folder();
    let folder = root.path().join("events");
    let pair = || vec![secret("t"), secret("u")];
    let thread = || ThreadId::new("t").unwrap();
    let fault = Arc::new(DiskFault::new(step, failure));
    let journal = FileEvents::with_fault(&folder, Arc::clone(&fault));
    if journal.append(pair()).await.is_err() {
        return true;
    }
    let told = journal.remove_thread(thread()).await;
    drop(journal);
    fault.lose_power(&folder).unwrap();
    let again = FileEvents::new(&folder);
    let found = places(&again).await;
    let place = format!("{failure:?} at step {step}: {told:?}, then {found:?}");
    match told {
        Ok(count) => assert_eq!((count, &found[..]), (1, &[2][..]), "{place}"),
        Err(_) => assert!(found == [1, 2] || found == [2], "{place}"),
    }
    again.remove_thread(thread()).await.unwrap();
    assert_eq!(places(&again).await, [2], "{place}");
    assert_eq!(again.append(pair()).await.unwrap(), [3, 4], "{place}");
    step <= fault.steps()
}

#[tokio::test]
async fn a_removal_on_a_disk_that_fails_anywhere_is_done_anew() {
    for failure in [
        Failure::Stop,
        Failure::Torn,
        Failure::Once,
        Failure::OnceTorn,
    ] {
        let mut step = 1;
        while removal_fails_at(step, failure).await {
            step += 1;
        }
        assert!(step > 20, "the scenario has steps: {step}");
    }
}

/// Appends pairs on a disk that fails at `step`, and says whether it had so many.
async fn fails_at(step: u64, failure: Failure) -> bool {
    let root = quick_folder();
    let folder = root.path().join("events");
    let fault = Arc::new(DiskFault::new(step, failure));
    let journal = FileEvents::with_fault(&folder, Arc::clone(&fault)).keeping(4);
    let mut told = Vec::new();
    for _ in 0..4 {
        match journal.append(vec![event(1), event(1)]).await {
            Ok(offsets) => told.extend(offsets),
            Err(_) => break,
        }
    }
    drop(journal);
    fault.lose_power(&folder).unwrap();
    let again = FileEvents::new(&folder);
    let found = places(&again).await;
    let place = format!("{failure:?} at step {step}: told {told:?}, found {found:?}");
    let kept: Vec<_> = told.iter().rev().take(2).collect();
    assert!(
        kept.into_iter().all(|offset| found.contains(offset)),
        "{place}"
    );
    let next = again.append(vec![event(1)]).await.unwrap();
    assert!(told.iter().all(|offset| *offset < next[0]), "{place}");
    step <= fault.steps()
}

#[tokio::test]
async fn a_disk_that_fails_anywhere_loses_nothing_that_was_told() {
    for failure in [
        Failure::Stop,
        Failure::Torn,
        Failure::Once,
        Failure::OnceTorn,
    ] {
        let mut step = 1;
        while fails_at(step, failure).await {
            step += 1;
        }
        assert!(step > 15, "the scenario has steps");
    }
}

#[tokio::test]
async fn a_journal_of_a_newer_program_is_refused_and_left_alone() {
    let folder = quick_folder();
    FileEvents::new(folder.path())
        .append(vec![event(1)])
        .await
        .unwrap();
    let head = folder.path().join("events.json");
    let newer = r#"{"store":"rustagents.events","format":3,"first":1,"new":true}"#;
    fs::write(&head, newer).unwrap();
    let files = || {
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut files: Vec<_> = entries
            .map(|entry| entry.unwrap().path())
            .map(|path| (fs::read(&path).unwrap(), path))
            .collect();
        files.sort();
        files
    };
    let before = files();
    let journal = FileEvents::new(folder.path());
    for error in [
        journal.append(vec![event(1)]).await.unwrap_err(),
        journal.read(EventQuery::from(1)).await.unwrap_err(),
        journal
            .drop_events(Retention::KeepLast(0))
            .await
            .unwrap_err(),
        journal.changed(0).await.unwrap_err(),
    ] {
        assert_eq!(error.code().as_str(), "RAG0302");
        assert!(
            matches!(
                error,
                StoreError::Newer {
                    found: 3,
                    supported: 2,
                    ..
                }
            ),
            "{error:?}"
        );
    }
    assert_eq!(files(), before);
}
