//! A fork of a thread that waits has the contents of its source, each once.

use std::{fs, path::Path, sync::Arc};

use rustagents_core::{
    code::{Code, Coded},
    ids::ThreadId,
    journal::{Journal, JournalError},
};
use rustagents_runtime::threads::{Fork, Keep, find, fork};
use rustagents_store::MemoryJournal;
use rustagents_store_file::FileJournal;
use rustagents_store_sqlite::SqliteJournal;
use rustagents_testkit::hooked::HookedJournal;
use serde_json::json;

use super::{MIXED, name};
use crate::bench::Bench;

/// A run that says nothing before it fails.
const BROKEN: &str = r#"graph broken {
  channel messages messages
  channel note overwrite
  channel list append
  start clerk
  node clerk { kind agent  model "broken"  prompt "Fail."  next END }
}"#;

/// How many contents stand in a folder's families, and their bytes.
fn stored(root: &Path) -> (usize, u64) {
    let Ok(families) = fs::read_dir(root.join("families")) else {
        return (0, 0);
    };
    let folders = families.map(|family| family.unwrap().path());
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
    let bytes: Vec<_> = files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .collect();
    (bytes.len(), bytes.iter().sum())
}

fn at(from: &str, checkpoint: impl Into<Option<u64>>, to: &str) -> Fork {
    Fork {
        from: name(from),
        to: name(to),
        checkpoint: checkpoint.into(),
        repeats: false,
    }
}

#[tokio::test]
async fn a_fork_of_a_thread_that_waits_stores_no_content_again() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("journal");
    let bench = Bench::on(Arc::new(FileJournal::open(&root).unwrap()));
    bench.say("t", BROKEN, json!(1)).await;
    let waits = bench.say("t", MIXED, json!(2)).await;
    assert_eq!(waits.asks.len(), 2);
    let before = stored(&root);
    assert_eq!(before.0, 2, "the plans of both runs");
    let last = *bench.checkpoints("t").await.last().unwrap();
    for (from, checkpoint, to) in [("t", None, "u"), ("t", Some(last), "v"), ("u", None, "w")] {
        let fork = fork(&*bench.journal, &at(from, checkpoint, to)).await;
        assert_eq!(fork.unwrap(), [], "{to}");
        assert_eq!(stored(&root), before, "{to}");
    }
    let live = bench.live();
    for removed in ["t", "v", "w"] {
        live.delete(&name(removed), true).await.unwrap();
        assert_eq!(stored(&root), before, "the others have it");
    }
    bench.is_whole("u").await;
    bench.finish("u").await;
    live.delete(&name("u"), true).await.unwrap();
    assert_eq!(stored(&root), (0, 0), "nobody has it");
}

/// How many contents stand in a database, and their bytes.
fn stored_in(path: &Path) -> (usize, u64) {
    let database = rusqlite::Connection::open(path).unwrap();
    let sql = "SELECT count(*), coalesce(sum(length(bytes)), 0) FROM contents";
    let all = database.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
    all.unwrap()
}

/// Overwrites a channel with one large value in two runs, makes three forks of the
/// thread while it waits, and takes the thread away: `stored` says how many contents
/// there are, and their bytes.
async fn a_large_value_is_stored_once(
    journal: Arc<dyn Journal>,
    stored: impl Fn() -> (usize, u64),
) {
    const LARGE: usize = 300_000;
    let bench = Bench::on(journal);
    let page = json!("p".repeat(LARGE));
    for _ in 0..2 {
        bench.say("t", BROKEN, page.clone()).await;
    }
    let once = stored();
    let (contents, bytes) = once;
    // It was written to the value and, twice, to the list.
    assert!(contents <= 4, "{contents}");
    assert!(bytes < LARGE as u64 * 3 / 2, "{bytes} bytes");
    let waits = bench.say("t", MIXED, page).await;
    assert_eq!(waits.asks.len(), 2);
    let before = stored();
    assert!(before.1 < once.1 + 20_000, "{before:?}, after {once:?}");
    let first = bench.checkpoints("t").await[0];
    for (checkpoint, to) in [(None, "u"), (Some(first), "v")] {
        fork(&*bench.journal, &at("t", checkpoint, to))
            .await
            .unwrap();
    }
    let copied = bench.journal.copy(&name("t"), &name("w"), None).await;
    copied.unwrap();
    assert_eq!(stored(), before, "forks share it");
    let live = bench.live();
    for removed in ["t", "v", "w"] {
        live.delete(&name(removed), true).await.unwrap();
    }
    bench.is_whole("u").await;
    bench.finish("u").await;
    live.prune(&name("u"), Keep::Last(1)).await.unwrap();
    bench.is_whole("u").await;
    live.delete(&name("u"), true).await.unwrap();
    assert_eq!(stored(), (0, 0), "nobody has it");
}

#[tokio::test]
async fn a_large_value_is_stored_once_in_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = Arc::new(SqliteJournal::open(&path).unwrap());
    a_large_value_is_stored_once(journal, || stored_in(&path)).await;
}

#[tokio::test]
async fn a_large_value_is_stored_once_in_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("journal");
    let journal = Arc::new(FileJournal::open(&root).unwrap());
    a_large_value_is_stored_once(journal, || stored(&root)).await;
    let another = FileJournal::open(&root).unwrap();
    assert_eq!(find(&another, &name("u")).await.unwrap(), None);
}

/// A thread that waits, and whose first run had a plan that no other one has.
async fn waiting() -> Arc<dyn Journal> {
    let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let bench = Bench::on(inner.clone());
    bench.say("t", BROKEN, json!(1)).await;
    bench.say("t", MIXED, json!(2)).await;
    inner
}

/// A journal where what the first run of `t` had is gone before the first fork of it is
/// written.
fn pruned_before_the_write(inner: &Arc<dyn Journal>) -> HookedJournal {
    let pruning = inner.clone();
    HookedJournal::new(inner.clone()).before_install(move |_: &ThreadId| {
        let bench = Bench::on(pruning.clone());
        Box::pin(async move {
            // The second time there is nothing to take.
            let pruned = bench.live().prune(&name("t"), Keep::Last(1)).await;
            pruned.unwrap();
            Ok(())
        })
    })
}

#[tokio::test]
async fn a_fork_is_made_anew_when_what_it_shares_is_collected_before_it_is_written() {
    let inner = waiting().await;
    let beside = pruned_before_the_write(&inner);
    fork(&beside, &at("t", None, "u")).await.unwrap();
    let bench = Bench::on(inner);
    let (source, made) = (bench.all("t").await, bench.all("u").await);
    assert_eq!(source[0].seq, made[0].seq);
    assert!(source[0].seq > 1, "both are pruned");
    bench.is_whole("u").await;
    bench.finish("u").await;
    bench.is_whole("u").await;
}

#[tokio::test]
async fn a_fork_of_a_thread_that_is_deleted_before_it_is_written_is_not_made() {
    let inner = waiting().await;
    let deleting = inner.clone();
    let beside = HookedJournal::new(inner.clone()).before_install(move |_: &ThreadId| {
        let bench = Bench::on(deleting.clone());
        Box::pin(async move {
            bench.live().delete(&name("t"), true).await.unwrap();
            Ok::<_, JournalError>(())
        })
    });
    let refused = fork(&beside, &at("t", None, "u")).await.unwrap_err();
    assert_eq!(refused.code(), Code::UnknownThread);
    assert_eq!(Bench::on(inner).all("u").await, []);
}
