//! Contents that threads of one family share, and their collection.

use std::sync::Arc;

use rustagents_core::{
    digest::Digest,
    ids::ThreadId,
    journal::{Compaction, Content, Family, Journal, JournalError, Owner, Select, ThreadImage},
};
use rustagents_store_file::FileJournal;
use tokio::task::{JoinHandle, JoinSet};

use crate::support::{bodies, commit, handles, thread};

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
async fn a_new_thread_has_no_part_in_the_family_of_its_name() {
    let (_folder, handles) = handles(1);
    let (journal, name, copy) = (&handles[0], thread("t"), thread("u"));
    let claim = journal.claim(&name, Owner::default()).await.unwrap();
    let digest = Digest::of(b"shared");
    let mut write = commit(&name, 1, None, &format!("\"{digest}\""));
    write.contents = vec![Content {
        digest,
        bytes: b"shared".to_vec(),
    }];
    journal.append(write).await.unwrap();
    journal.copy(&name, &copy, None).await.unwrap();
    journal.remove(&name, claim.epoch).await.unwrap();
    drop(journal.claim(&name, Owner::default()).await.unwrap());
    assert!(journal.content(&copy, digest).await.unwrap().is_some());
    assert_eq!(journal.content(&name, digest).await.unwrap(), None);
}

/// Each of forty batches of `t` brings a content, which a compaction takes again.
fn writing(journal: Arc<FileJournal>, name: ThreadId) -> JoinHandle<()> {
    tokio::spawn(async move {
        for number in 0..40_u64 {
            let bytes = number.to_string().into_bytes();
            let digest = Digest::of(&bytes);
            let first = number * 2 + 1;
            let head = (number > 0).then(|| first - 1);
            let mut write = commit(&name, 1, head, &format!("\"{digest}\""));
            write.contents = vec![Content { digest, bytes }];
            journal.append(write).await.unwrap();
            let compaction = Compaction {
                batch: commit(&name, 1, Some(first), "{}"),
                drop: vec![1..=first],
            };
            journal.compact(compaction).await.unwrap();
        }
    })
}

fn mentioned(body: &str) -> Option<Digest> {
    Digest::from_hex(body.trim_matches('"'))
}

async fn has_what_it_mentions(journal: &FileJournal, name: &ThreadId) {
    for digest in bodies(journal, name)
        .await
        .iter()
        .filter_map(|b| mentioned(b))
    {
        let content = journal.content(name, digest).await.unwrap();
        assert!(content.is_some(), "`{name}` has it");
    }
}

/// A copy has the contents that it mentions, whatever is collected meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn copies_keep_their_contents_from_the_collector() {
    let (_folder, handles) = handles(2);
    let name = thread("t");
    drop(handles[0].claim(&name, Owner::default()).await.unwrap());
    let writing = writing(Arc::clone(&handles[0]), name.clone());
    let mut number = 0;
    while !writing.is_finished() {
        number += 1;
        let copy = thread(&format!("copy-{number}"));
        handles[1].copy(&name, &copy, None).await.unwrap();
        has_what_it_mentions(&handles[0], &copy).await;
    }
    writing.await.unwrap();
}

/// So has a thread that joins the family, or it is not made.
#[tokio::test(flavor = "multi_thread")]
async fn threads_that_join_a_family_keep_what_they_share_from_the_collector() {
    let (_folder, handles) = handles(2);
    let name = thread("t");
    drop(handles[0].claim(&name, Owner::default()).await.unwrap());
    let writing = writing(Arc::clone(&handles[0]), name.clone());
    let mut number = 0;
    while !writing.is_finished() {
        number += 1;
        let records = handles[1].read(&name, Select::all()).await.unwrap();
        let shared = records.iter().filter_map(|record| mentioned(&record.body));
        let image = ThreadImage {
            thread: thread(&format!("joined-{number}")),
            epoch: 1,
            family: Some(Family {
                of: name.clone(),
                shared: shared.collect(),
            }),
            records,
            messages: vec![],
            contents: vec![],
        };
        let joined = image.thread.clone();
        match handles[1].install(image).await {
            Ok(()) => has_what_it_mentions(&handles[0], &joined).await,
            Err(error) => assert!(
                matches!(error, JournalError::ContentGone { .. }),
                "{error:?}"
            ),
        }
    }
    writing.await.unwrap();
}
