//! What others ask of a thread that somebody drives.

mod answer;
mod cancel;
mod graphs;
mod queue;

use std::sync::Arc;

use rustagents_core::{
    ids::{Branch, FactKey, Namespace, RunId},
    journal::{Author, Batch, Chain, Entry, Kind, Place},
};
use rustagents_runtime::{Report, RunError};
use tokio::task::JoinHandle;

use crate::bench::Bench;

/// An agent whose model never answers.
const HANGING: &str = r#"graph hanging {
  channel messages messages
  start wait
  node wait { kind agent  model "hang"  prompt "Wait."  next END }
}"#;

/// An agent inside a call that must not happen twice, and never ends.
const STICKING: &str = r#"graph sticking {
  channel messages messages
  start wait
  node wait { kind agent  model "sticking"  prompt "Wait."  tools ["stick"]  next END }
}"#;

const TALK: &str = r#"graph talk {
  channel messages messages
  start last
  node last { kind agent  model "last"  prompt "Talk."  next END }
}"#;

/// Starts a run, and waits until a record of `kind` is there.
async fn started(
    bench: &Arc<Bench>,
    source: &'static str,
    kind: Kind,
) -> JoinHandle<Result<Report, RunError>> {
    let before = bench.count(kind).await;
    let driver = Arc::clone(bench);
    let run = tokio::spawn(async move { driver.start(source).await });
    until(bench, kind, before + 1).await;
    run
}

/// Waits until so many records of `kind` are there.
async fn until(bench: &Bench, kind: Kind, count: usize) {
    while bench.count(kind).await < count {
        let last = bench.log().await.last_seq();
        bench.journal.changed(&Bench::thread(), last).await.unwrap();
    }
}

/// Writes a fact from outside.
async fn outside(bench: &Bench, key: String, kind: Kind, run: &RunId, body: &str) {
    let entry = Entry {
        chain: Chain {
            branch: Branch::main(),
            namespace: Namespace::root(),
        },
        place: Place::Fact(FactKey::from(&*key)),
        kind,
        run: run.clone(),
        attempt: 1,
        effect: None,
        digest: None,
        body: body.to_owned(),
    };
    let batch = Batch {
        thread: Bench::thread(),
        author: Author::Outside,
        heads: Vec::new(),
        entries: vec![entry],
        messages: Vec::new(),
        contents: Vec::new(),
        at_ms: 1,
    };
    bench.journal.append(batch).await.unwrap();
}
