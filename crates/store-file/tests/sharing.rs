//! Several handles on one folder, as several processes are.

use std::{sync::Arc, time::Duration};

use rustagents_core::{
    digest::Digest,
    journal::{Author, Compaction, Content, Journal, JournalError, Owner, Select, ThreadQuery},
};
use rustagents_store_file::FileJournal;
use tempfile::TempDir;
use tokio::{task::JoinSet, time};

use crate::support::{bodies, commit, fact, thread};

const WRITERS: usize = 8;
const WRITES: usize = 12;

fn handles(count: usize) -> (TempDir, Vec<Arc<FileJournal>>) {
    let folder = tempfile::tempdir().unwrap();
    let open = |_| Arc::new(FileJournal::open(folder.path().join("journal")).unwrap());
    let handles = (0..count).map(open).collect();
    (folder, handles)
}

#[tokio::test(flavor = "multi_thread")]
async fn facts_on_one_thread_are_neither_lost_nor_doubled() {
    let (_folder, handles) = handles(2);
    let name = thread("t");
    let claim = handles[0].claim(&name, Owner::default()).await.unwrap();
    let mut tasks = JoinSet::new();
    for writer in 0..WRITERS {
        let (journal, name, epoch) = (handles[writer % 2].clone(), name.clone(), claim.epoch);
        tasks.spawn(async move {
            let mut placed = Vec::new();
            for number in 0..WRITES {
                // Each key is written by two writers: the first one wins.
                let key = format!("{}-{number}", writer / 2);
                match journal.append(fact(&name, epoch, &key, &key)).await {
                    Ok(seqs) => placed.extend(seqs),
                    Err(JournalError::AlreadyRecorded { existing }) => {
                        assert_eq!(existing.body, key);
                    }
                    Err(other) => panic!("{other:?}"),
                }
            }
            placed
        });
    }
    let mut placed: Vec<_> = tasks.join_all().await.into_iter().flatten().collect();
    placed.sort_unstable();
    let expected = (WRITERS / 2 * WRITES) as u64;
    assert_eq!(placed, (1..=expected).collect::<Vec<_>>());
    for journal in &handles {
        let records = journal.read(&name, Select::all()).await.unwrap();
        let seqs: Vec<_> = records.iter().map(|record| record.seq).collect();
        assert_eq!(seqs, placed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_chain_has_one_end() {
    let (_folder, handles) = handles(2);
    let name = thread("t");
    drop(handles[0].claim(&name, Owner::default()).await.unwrap());
    let mut tasks = JoinSet::new();
    for journal in handles.iter().cycle().take(4) {
        let (journal, name) = (Arc::clone(journal), name.clone());
        tasks.spawn(async move {
            let (mut head, mut written) = (None, 0);
            while written < WRITES {
                let body = head.map_or("none".into(), |head: u64| head.to_string());
                match journal.append(commit(&name, 1, head, &body)).await {
                    Ok(seqs) => {
                        head = seqs.last().copied();
                        written += 1;
                    }
                    Err(JournalError::HeadMoved { found, .. }) => head = found,
                    Err(other) => panic!("{other:?}"),
                }
            }
        });
    }
    tasks.join_all().await;
    let chain = bodies(&*handles[1], &name).await;
    let expected = (0..4 * WRITES).map(|number| match number {
        0 => "none".to_owned(),
        number => number.to_string(),
    });
    assert_eq!(
        chain,
        expected.collect::<Vec<_>>(),
        "each extends the one before"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn many_threads_are_written_side_by_side() {
    let (_folder, handles) = handles(3);
    let mut tasks = JoinSet::new();
    for (index, journal) in handles.iter().cycle().take(12).cloned().enumerate() {
        tasks.spawn(async move {
            let name = thread(&format!("t{index}"));
            let claim = journal.claim(&name, Owner::default()).await.unwrap();
            for key in 0..10 {
                let write = fact(&name, claim.epoch, &key.to_string(), "{}");
                assert_eq!(journal.append(write).await.unwrap(), [key + 1]);
            }
        });
    }
    tasks.join_all().await;
    let rows = handles[0].threads(ThreadQuery::all()).await.unwrap();
    assert_eq!(rows.len(), 12);
    assert!(rows.iter().all(|row| row.last_seq == 10));
}

#[tokio::test]
async fn a_claim_keeps_other_handles_out_until_it_is_taken_over() {
    let (_folder, handles) = handles(2);
    let (first, second, name) = (&handles[0], &handles[1], thread("t"));
    let owner = |process| Owner {
        process,
        since_ms: 1,
    };
    let held = first.claim(&name, owner(1)).await.unwrap();
    let error = second.claim(&name, owner(2)).await.unwrap_err();
    let JournalError::Busy { owner: busy, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(busy.process, 1);
    let taken = second.take_over(&name, owner(2)).await.unwrap();
    assert_eq!(taken.epoch, 2);
    assert_eq!(first.owner(&name).await.unwrap(), Some(owner(2)));
    let error = first.append(fact(&name, held.epoch, "k", "1")).await;
    let error = error.unwrap_err();
    assert!(matches!(error, JournalError::Fenced { .. }), "{error:?}");
    // The old lock is worth nothing, held or free.
    let error = first.claim(&name, owner(3)).await.unwrap_err();
    assert!(matches!(error, JournalError::Busy { .. }), "{error:?}");
    drop(held);
    let error = first.claim(&name, owner(3)).await.unwrap_err();
    assert!(matches!(error, JournalError::Busy { .. }), "{error:?}");
    let again = first.take_over(&name, owner(4)).await.unwrap();
    assert_eq!(again.epoch, 3, "and again");
    drop((taken, again));
    assert_eq!(second.owner(&name).await.unwrap(), None);
    assert_eq!(second.claim(&name, owner(5)).await.unwrap().epoch, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_take_over_each_has_an_epoch_of_its_own() {
    let (_folder, handles) = handles(2);
    let name = thread("t");
    let mut tasks = JoinSet::new();
    for journal in handles.iter().cycle().take(6) {
        let (journal, name) = (Arc::clone(journal), name.clone());
        tasks.spawn(async move { journal.take_over(&name, Owner::default()).await.unwrap() });
    }
    let claims = tasks.join_all().await;
    let mut epochs: Vec<_> = claims.iter().map(|claim| claim.epoch).collect();
    epochs.sort_unstable();
    assert_eq!(epochs, [1, 2, 3, 4, 5, 6]);
}

#[tokio::test]
async fn a_watcher_hears_of_what_another_handle_writes() {
    let (_folder, handles) = handles(2);
    let (name, watcher) = (thread("t"), handles[1].clone());
    let heard = tokio::spawn({
        let name = name.clone();
        async move { watcher.changed(&name, 1).await }
    });
    drop(handles[0].claim(&name, Owner::default()).await.unwrap());
    for key in ["a", "b"] {
        time::sleep(Duration::from_millis(200)).await;
        assert!(!heard.is_finished());
        handles[0].append(fact(&name, 1, key, "1")).await.unwrap();
    }
    let heard = time::timeout(Duration::from_secs(10), heard).await;
    assert_eq!(heard.unwrap().unwrap().unwrap(), 2);
}

#[tokio::test]
async fn a_log_that_was_written_anew_is_read_anew_by_others() {
    let (_folder, handles) = handles(2);
    let (first, second, name) = (&handles[0], &handles[1], thread("t"));
    let claim = first.claim(&name, Owner::default()).await.unwrap();
    for (head, body) in [(None, "1"), (Some(1), "2")] {
        let write = commit(&name, claim.epoch, head, body);
        first.append(write).await.unwrap();
    }
    assert_eq!(bodies(&**second, &name).await, ["1", "2"]);
    let compaction = Compaction {
        batch: commit(&name, claim.epoch, Some(2), "3"),
        drop: vec![1..=1],
    };
    first.compact(compaction).await.unwrap();
    assert_eq!(bodies(&**second, &name).await, ["2", "3"]);
    let outside = rustagents_core::journal::Batch {
        author: Author::Outside,
        ..fact(&name, 0, "k", "4")
    };
    assert_eq!(second.append(outside).await.unwrap(), [4]);
    first.remove(&name, claim.epoch).await.unwrap();
    assert!(bodies(&**second, &name).await.is_empty());
    let again = second.claim(&name, Owner::default()).await.unwrap();
    assert_eq!(again.epoch, 2, "though the old driver still holds its lock");
    let error = first.append(fact(&name, claim.epoch, "k", "1")).await;
    assert!(matches!(error, Err(JournalError::Fenced { .. })));
}

/// Contents that are written while others are collected are never lost.
#[tokio::test(flavor = "multi_thread")]
async fn collecting_takes_nothing_from_those_who_write() {
    let (_folder, handles) = handles(2);
    let (from, to) = (thread("t"), thread("u"));
    drop(handles[0].claim(&from, Owner::default()).await.unwrap());
    handles[0].copy(&from, &to, None).await.unwrap();
    let content = Content {
        digest: Digest::of(b"shared"),
        bytes: b"shared".to_vec(),
    };
    let mention = format!("\"{}\"", content.digest);
    let mut tasks = JoinSet::new();
    for (journal, name) in handles.iter().cloned().zip([from, to]) {
        let (content, mention) = (content.clone(), mention.clone());
        tasks.spawn(async move {
            for number in 0..15 {
                let first = number * 2 + 1;
                let mut write = commit(&name, 1, (number > 0).then(|| first - 1), &mention);
                write.contents = vec![content.clone()];
                journal.append(write).await.unwrap();
                let found = journal.content(&name, content.digest).await.unwrap();
                assert!(found.is_some(), "it is mentioned");
                let compaction = Compaction {
                    batch: commit(&name, 1, Some(first), "{}"),
                    drop: vec![1..=first],
                };
                journal.compact(compaction).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    let found = handles[0].content(&thread("t"), content.digest).await;
    assert_eq!(found.unwrap(), None, "nobody mentions it");
}

#[tokio::test]
async fn a_dropped_append_still_runs_to_its_end() {
    let (_folder, handles) = handles(2);
    let name = thread("t");
    drop(handles[0].claim(&name, Owner::default()).await.unwrap());
    let append = handles[0].append(fact(&name, 1, "k", "1"));
    // One poll hands the batch over; the future is dropped before the answer.
    let waited = time::timeout(Duration::ZERO, append).await;
    drop(waited);
    let heard = time::timeout(Duration::from_secs(10), handles[1].changed(&name, 0)).await;
    assert_eq!(heard.unwrap().unwrap(), 1);
}
