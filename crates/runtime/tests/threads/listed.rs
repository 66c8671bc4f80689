use std::{fs::File, sync::Arc, time::Duration};

use rustagents_runtime::inspect::{Filter, Standing, list};
use rustagents_store_file::FileJournal;
use serde_json::json;

use super::WORD;
use crate::bench::Bench;

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
