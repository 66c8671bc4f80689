//! What the writer remembers of a thread, and who else writes to it meanwhile.

use rustagents_core::{
    ids::{Namespace, ThreadId},
    journal::{
        Author, Batch, Chain, Compaction, Journal, JournalError, Owner, Select, Seq, ThreadQuery,
    },
};
use rustagents_store_sqlite::SqliteJournal;

use crate::support::{commit, fact, root, thread};

/// More chains than the writer remembers of a thread.
const CHAINS: usize = 100;

/// More threads than it remembers.
const THREADS: usize = 4_200;

struct Store {
    _folder: tempfile::TempDir,
    /// Two handles, as two processes have them.
    one: SqliteJournal,
    other: SqliteJournal,
}

fn store() -> Store {
    let folder = crate::support::quick_folder();
    let open = || SqliteJournal::open(folder.path().join("journal.db")).unwrap();
    let (one, other) = (open(), open());
    Store {
        _folder: folder,
        one,
        other,
    }
}

/// An answer from outside.
fn answer(name: &ThreadId, key: &str) -> Batch {
    Batch {
        author: Author::Outside,
        ..fact(name, 0, key, "{}")
    }
}

fn chain(number: usize) -> Chain {
    Chain {
        namespace: Namespace::from(format!("n{number}")),
        ..root()
    }
}

/// The same batch on another chain.
fn commit_on(chain: &Chain, mut batch: Batch) -> Batch {
    for (head, _) in &mut batch.heads {
        head.clone_from(chain);
    }
    for entry in &mut batch.entries {
        entry.chain.clone_from(chain);
    }
    batch
}

async fn append(journal: &SqliteJournal, batch: Batch) -> Seq {
    *journal.append(batch).await.unwrap().last().unwrap()
}

async fn row(journal: &SqliteJournal, name: &ThreadId) -> (Seq, u64) {
    let rows = journal.threads(ThreadQuery::all()).await.unwrap();
    let row = rows.iter().find(|row| row.thread == *name).unwrap();
    (row.last_seq, row.updated_at_ms)
}

#[tokio::test]
async fn what_others_write_between_two_batches_is_seen_by_the_second() {
    let store = store();
    let name = thread("t");
    let claim = store.one.claim(&name, Owner::default()).await.unwrap();
    let mut head = None;
    for turn in 0..5 {
        let seq = append(&store.one, commit(&name, claim.epoch, head, "{}")).await;
        assert_eq!(head.map_or(1, |head| head + 2), seq, "none is given twice");
        head = Some(seq);
        append(&store.other, answer(&name, &format!("a{turn}"))).await;
    }
    let taken = store.one.append(fact(&name, claim.epoch, "a3", "{}")).await;
    assert!(
        matches!(taken, Err(JournalError::AlreadyRecorded { .. })),
        "{taken:?}"
    );
    let records = store.other.read(&name, Select::all()).await.unwrap();
    let seqs: Vec<_> = records.iter().map(|record| record.seq).collect();
    assert_eq!(seqs, (1..=10).collect::<Vec<_>>());
}

#[tokio::test]
async fn of_two_keys_that_are_taken_the_first_is_told() {
    let store = store();
    let name = thread("t");
    let claim = store.one.claim(&name, Owner::default()).await.unwrap();
    for key in ["a", "b"] {
        append(&store.one, fact(&name, claim.epoch, key, "{}")).await;
    }
    let mut batch = fact(&name, claim.epoch, "a", "{}");
    let second = fact(&name, claim.epoch, "b", "{}");
    batch.entries.extend(second.entries);
    let refused = store.one.append(batch).await.unwrap_err();
    let JournalError::AlreadyRecorded { existing } = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(existing.seq, 1);
    assert_eq!(
        append(&store.one, fact(&name, claim.epoch, "c", "{}")).await,
        3
    );
}

#[tokio::test]
async fn a_thread_that_changed_hands_goes_on_where_it_was() {
    let store = store();
    let name = thread("t");
    let mut head = None;
    for turn in 1..=6 {
        let (now, then) = if turn % 2 == 0 {
            (&store.one, &store.other)
        } else {
            (&store.other, &store.one)
        };
        let claim = now.claim(&name, Owner::default()).await.unwrap();
        assert_eq!(claim.epoch, turn);
        for _ in 0..3 {
            head = Some(append(now, commit(&name, turn, head, "{}")).await);
        }
        let late = then.append(commit(&name, turn - 1, head, "{}")).await;
        assert!(
            turn == 1 || matches!(late, Err(JournalError::Fenced { .. })),
            "{late:?}"
        );
    }
    assert_eq!(head, Some(18));
}

#[tokio::test]
async fn a_thread_that_another_removed_and_made_again_is_another_one() {
    let store = store();
    let name = thread("t");
    let claim = store.one.claim(&name, Owner::default()).await.unwrap();
    append(&store.one, commit(&name, 1, None, "{}")).await;
    drop(claim);
    let claim = store.other.claim(&name, Owner::default()).await.unwrap();
    store.other.remove(&name, claim.epoch).await.unwrap();
    let gone = store.one.append(commit(&name, 1, Some(1), "{}")).await;
    assert!(
        matches!(gone, Err(JournalError::UnknownThread { .. })),
        "{gone:?}"
    );
    drop(claim);
    let claim = store.other.claim(&name, Owner::default()).await.unwrap();
    let fenced = store.one.append(commit(&name, 1, None, "{}")).await;
    assert!(
        matches!(fenced, Err(JournalError::Fenced { .. })),
        "{fenced:?}"
    );
    assert_eq!(
        append(&store.other, commit(&name, claim.epoch, None, "{}")).await,
        1
    );
}

#[tokio::test]
async fn more_chains_than_are_remembered_keep_their_heads() {
    let store = store();
    let name = thread("t");
    let claim = store.one.claim(&name, Owner::default()).await.unwrap();
    let mut heads = vec![None; CHAINS];
    for _ in 0..3 {
        for (number, head) in heads.iter_mut().enumerate() {
            let extend = |head| commit_on(&chain(number), commit(&name, claim.epoch, head, "{}"));
            let wrong = store.one.append(extend(Some(9_999))).await;
            assert!(
                matches!(&wrong, Err(JournalError::HeadMoved { found, .. }) if found == head),
                "{wrong:?}"
            );
            *head = Some(append(&store.one, extend(*head)).await);
        }
    }
    let on = Select::all().on(chain(42));
    assert_eq!(store.other.read(&name, on).await.unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_threads_than_are_remembered_go_on_where_they_were() {
    let store = store();
    let names: Vec<_> = (0..THREADS).map(|n| thread(&format!("t{n}"))).collect();
    let claims = names
        .iter()
        .map(|name| store.one.claim(name, Owner::default()));
    let mut claims = futures::future::try_join_all(claims).await.unwrap();
    for head in [None, Some(1), Some(2)] {
        let batches = names.iter().map(|name| commit(name, 1, head, "{}"));
        let appends = batches.map(|batch| store.one.append(batch));
        let seqs = futures::future::try_join_all(appends).await.unwrap();
        assert!(seqs.iter().all(|seqs| *seqs == [head.unwrap_or(0) + 1]));
    }
    claims.clear();
}

#[tokio::test]
async fn a_list_tells_of_the_last_record_before_and_after_a_claim() {
    let store = store();
    let name = thread("t");
    let at = |batch: Batch, at_ms| Batch { at_ms, ..batch };
    let claim = store.one.claim(&name, Owner::default()).await.unwrap();
    assert_eq!(row(&store.other, &name).await.0, 0);
    append(&store.one, at(commit(&name, 1, None, "{}"), 7_000)).await;
    append(&store.one, at(commit(&name, 1, Some(1), "{}"), 8_000)).await;
    assert_eq!(row(&store.other, &name).await, (2, 8_000));
    let later = ThreadQuery {
        updated_since_ms: 8_001,
        ..ThreadQuery::all()
    };
    assert!(store.other.threads(later).await.unwrap().is_empty());
    // A batch of the other handle looks at what is stored of the thread.
    append(&store.other, at(answer(&name, "a"), 6_000)).await;
    assert_eq!(row(&store.one, &name).await, (3, 6_000));
    drop(claim);
    let claim = store.one.claim(&name, Owner::default()).await.unwrap();
    let (last, updated) = row(&store.one, &name).await;
    assert_eq!(last, 3);
    assert!(
        updated > 8_000,
        "the store's own clock says when it was claimed"
    );
    append(
        &store.one,
        at(commit(&name, claim.epoch, Some(2), "{}"), 9_000),
    )
    .await;
    assert_eq!(row(&store.one, &name).await, (4, 9_000));
}

#[tokio::test]
async fn what_a_compaction_drops_leaves_no_place_to_be_given_again() {
    let store = store();
    let name = thread("t");
    let claim = store.one.claim(&name, Owner::default()).await.unwrap();
    for key in ["a", "b", "c"] {
        append(&store.one, fact(&name, claim.epoch, key, "{}")).await;
    }
    let compaction = Compaction {
        batch: fact(&name, claim.epoch, "last", "{}"),
        drop: vec![1..=4],
    };
    store.one.compact(compaction).await.unwrap();
    assert_eq!(row(&store.one, &name).await.0, 4, "all that was written");
    let next = append(&store.one, fact(&name, claim.epoch, "a", "{}")).await;
    assert_eq!(next, 5);
}
