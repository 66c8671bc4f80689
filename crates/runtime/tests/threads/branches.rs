//! What stands on a branch that nobody here knows stays, whatever goes beside it.

use rustagents_core::{
    digest::Digest,
    ids::{Branch, Namespace, RunId},
    journal::{Author, Batch, Chain, Content, Entry, Kind, Owner, Place, Record, Seq},
};
use rustagents_runtime::threads::Keep;
use rustagents_testkit::batch;
use serde_json::json;

use super::{WORD, name};
use crate::bench::Bench;

fn side() -> Chain {
    Chain {
        branch: Branch::from("side"),
        namespace: Namespace::root(),
    }
}

/// What the records of the branch name, and nothing else does.
fn content() -> Content {
    Content {
        digest: Digest::of(b"beside"),
        bytes: b"beside".to_vec(),
    }
}

/// Puts a commit of `run` behind `head` of another branch, and a fact if it is the
/// first; both name a content.
async fn write_beside(bench: &Bench, run: &RunId, head: Option<Seq>) {
    let entry = |place| Entry {
        chain: side(),
        kind: Kind {
            name: "note",
            version: 1,
        },
        run: run.clone(),
        ..batch::entry(place, &json!([content().digest]).to_string())
    };
    let claim = bench.journal.claim(&name("t"), Owner::default()).await;
    let claim = claim.unwrap();
    let fact = head.is_none().then(|| entry(Place::Fact("note".into())));
    let batch = Batch {
        author: Author::Driver(claim.epoch),
        heads: vec![(side(), head)],
        contents: vec![content()],
        ..batch::batch(
            &name("t"),
            claim.epoch,
            [entry(Place::Commit)].into_iter().chain(fact).collect(),
        )
    };
    bench.journal.append(batch).await.unwrap();
}

async fn beside(bench: &Bench) -> Vec<Record> {
    let mut records = bench.all("t").await;
    records.retain(|record| record.chain == side());
    records
}

/// Three runs, and another branch with a commit and a fact of the first.
async fn with_branch() -> (Bench, RunId, Vec<Record>) {
    let bench = Bench::new();
    let run = bench.say("t", WORD, json!(1)).await.run;
    write_beside(&bench, &run, None).await;
    for note in 2..=3 {
        bench.say("t", WORD, json!(note)).await;
    }
    let records = beside(&bench).await;
    assert_eq!(records.len(), 2);
    (bench, run, records)
}

/// The branch is as it was, with what it names, and goes on.
async fn is_left_alone(bench: &Bench, run: &RunId, before: &[Record]) {
    assert_eq!(beside(bench).await, before);
    let content = content();
    let kept = bench.journal.content(&name("t"), content.digest).await;
    assert_eq!(kept.unwrap(), Some(content.bytes));
    write_beside(bench, run, Some(before[0].seq)).await;
    assert_eq!(beside(bench).await.len(), 3);
    bench.is_whole("t").await;
    bench.say("t", WORD, json!(4)).await;
    bench.is_whole("t").await;
}

#[tokio::test]
async fn a_prune_leaves_another_branch_alone() {
    let (bench, run, before) = with_branch().await;
    let told = bench.live().prune(&name("t"), Keep::Last(1)).await.unwrap();
    assert!(told.removed.records > 0);
    assert!(
        bench
            .all("t")
            .await
            .iter()
            .all(|record| record.run != run || record.chain == side())
    );
    is_left_alone(&bench, &run, &before).await;
}

#[tokio::test]
async fn the_deletion_of_a_run_leaves_another_branch_alone() {
    let (bench, run, before) = with_branch().await;
    let told = bench.live().delete_run(&name("t"), &run).await.unwrap();
    assert!(told.records > 0);
    assert!(
        bench
            .all("t")
            .await
            .iter()
            .all(|record| record.run != run || record.chain == side())
    );
    is_left_alone(&bench, &run, &before).await;
}
