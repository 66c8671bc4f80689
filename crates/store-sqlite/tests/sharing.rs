//! Several handles on one store, as several processes are.

use std::fs;

use rustagents_core::journal::{Journal, JournalError, Owner, Select};
use rustagents_store_sqlite::SqliteJournal;

use crate::support::{fact, thread};

#[tokio::test]
async fn a_second_handle_reads_what_the_first_wrote_and_is_kept_out_of_its_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/journal.db");
    let (first, second) = (
        SqliteJournal::open(&path).unwrap(),
        SqliteJournal::open(&path).unwrap(),
    );
    let name = thread("t");
    let claim = first
        .claim(
            &name,
            Owner {
                process: 1,
                since_ms: 2,
            },
        )
        .await
        .unwrap();
    first
        .append(fact(&name, claim.epoch, "k", "{}"))
        .await
        .unwrap();
    assert_eq!(second.read(&name, Select::all()).await.unwrap().len(), 1);
    let error = second.claim(&name, Owner::default()).await.unwrap_err();
    assert!(
        matches!(
            error,
            JournalError::Busy {
                owner: Owner { process: 1, .. },
                ..
            }
        ),
        "{error:?}"
    );
    drop(claim);
    let claim = second.claim(&name, Owner::default()).await.unwrap();
    assert_eq!(claim.epoch, 2);
    let error = first.append(fact(&name, 1, "l", "{}")).await.unwrap_err();
    assert!(matches!(error, JournalError::Fenced { .. }), "{error:?}");
}

#[tokio::test]
async fn a_dropped_append_still_runs_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    let name = thread("t");
    let claim = journal.claim(&name, Owner::default()).await.unwrap();
    // Another process writes just now, so that the answer has to wait.
    let other = fs::File::open(folder.path().join("journal.db.writer")).unwrap();
    other.lock().unwrap();
    {
        let mut append = journal.append(fact(&name, claim.epoch, "k", "{}"));
        // One poll hands the batch over; the future is dropped before the answer.
        assert!(futures_poll_once(&mut append).await.is_none());
    }
    other.unlock().unwrap();
    drop(claim);
    drop(journal);
    let journal = SqliteJournal::open(&path).unwrap();
    assert_eq!(journal.read(&name, Select::all()).await.unwrap().len(), 1);
}

async fn futures_poll_once<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(match std::pin::Pin::new(&mut *future).poll(context) {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn many_threads_share_the_writer_and_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let journals: Vec<_> = (0..3)
        .map(|_| std::sync::Arc::new(SqliteJournal::open(&path).unwrap()))
        .collect();
    let mut tasks = tokio::task::JoinSet::new();
    for (index, journal) in journals.iter().cycle().take(12).cloned().enumerate() {
        tasks.spawn(async move {
            let name = thread(&format!("t{index}"));
            let claim = journal.claim(&name, Owner::default()).await.unwrap();
            for key in 0..20 {
                let seqs = journal
                    .append(fact(&name, claim.epoch, &key.to_string(), "{}"))
                    .await;
                assert_eq!(seqs.unwrap(), [key + 1]);
            }
        });
    }
    tasks.join_all().await;
    for index in 0..12 {
        let records = journals[0]
            .read(&thread(&format!("t{index}")), Select::all())
            .await
            .unwrap();
        assert_eq!(records.len(), 20);
    }
}

#[tokio::test]
async fn what_another_process_writes_is_heard() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let (writer, watcher) = (
        SqliteJournal::open(&path).unwrap(),
        SqliteJournal::open(&path).unwrap(),
    );
    let name = thread("t");
    for number in 1..=3 {
        let heard = watcher.changed(&name, number - 1);
        let write = async {
            let claim = writer.claim(&name, Owner::default()).await.unwrap();
            let write = fact(&name, claim.epoch, &format!("k{number}"), "{}");
            writer.append(write).await.unwrap();
        };
        let (heard, ()) = tokio::join!(heard, write);
        assert_eq!(heard.unwrap(), number);
    }
}

#[tokio::test]
async fn a_thread_whose_owner_hangs_is_taken_over_and_claimed_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let (hung, other) = (
        SqliteJournal::open(&path).unwrap(),
        SqliteJournal::open(&path).unwrap(),
    );
    let name = thread("t");
    let first = hung.claim(&name, Owner::default()).await.unwrap();
    let second = other.take_over(&name, Owner::default()).await.unwrap();
    assert_eq!(second.epoch, 2);
    let error = hung.claim(&name, Owner::default()).await.unwrap_err();
    assert!(matches!(error, JournalError::Busy { .. }), "{error:?}");
    drop(second);
    assert_eq!(other.owner(&name).await.unwrap(), None);
    // The first one still holds a lock, which does not count any more.
    let third = other.claim(&name, Owner::default()).await.unwrap();
    assert_eq!(third.epoch, 3);
    drop((first, third));
    assert_eq!(hung.claim(&name, Owner::default()).await.unwrap().epoch, 4);
}

#[tokio::test]
async fn a_name_is_claimed_again_though_its_old_owners_still_hang() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let (hung, other) = (
        SqliteJournal::open(&path).unwrap(),
        SqliteJournal::open(&path).unwrap(),
    );
    let name = thread("t");
    let first = hung.claim(&name, Owner::default()).await.unwrap();
    let second = hung.take_over(&name, Owner::default()).await.unwrap();
    let third = other.take_over(&name, Owner::default()).await.unwrap();
    other.remove(&name, third.epoch).await.unwrap();
    // All three locks are still held, and none of them counts.
    let fourth = other.claim(&name, Owner::default()).await.unwrap();
    assert!(fourth.epoch > third.epoch);
    drop((first, second, third, fourth));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_take_overs_at_once_the_later_one_drives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let name = thread("t");
    let owner = SqliteJournal::open(&path).unwrap();
    let held = owner.claim(&name, Owner::default()).await.unwrap();
    let takers = (0..4).map(|_| {
        let (journal, name) = (SqliteJournal::open(&path).unwrap(), name.clone());
        tokio::spawn(async move { journal.take_over(&name, Owner::default()).await })
    });
    let mut claims = Vec::new();
    for taker in takers.collect::<Vec<_>>() {
        claims.push(taker.await.unwrap().unwrap());
    }
    let mut epochs: Vec<_> = claims.iter().map(|claim| claim.epoch).collect();
    epochs.sort_unstable();
    assert_eq!(epochs, [2, 3, 4, 5]);
    drop(held);
}
