//! Threads that take turns: each finds its own rows among those of the others.

use rustagents_core::{
    ids::ThreadId,
    journal::{Compaction, Journal, Owner, Record, Select, Seq},
};
use rustagents_store_sqlite::SqliteJournal;

use crate::support::{commit, fact, quick_folder, thread};

struct Store {
    folder: tempfile::TempDir,
    journal: SqliteJournal,
    claims: Vec<rustagents_core::journal::Claim>,
}

impl Store {
    async fn of(names: &[&str]) -> Self {
        let folder = quick_folder();
        let journal = SqliteJournal::open(folder.path().join("journal.db")).unwrap();
        let mut claims = Vec::new();
        for name in names {
            claims.push(
                journal
                    .claim(&thread(name), Owner::default())
                    .await
                    .unwrap(),
            );
        }
        Self {
            folder,
            journal,
            claims,
        }
    }

    /// Appends a fact to each of the threads, one after the other.
    async fn turn(&self, names: &[&str], key: &str) {
        for name in names {
            let batch = fact(
                &thread(name),
                1,
                key,
                &format!("{{\"of\":\"{name} {key}\"}}"),
            );
            self.journal.append(batch).await.unwrap();
        }
    }

    /// Opens the store again, as another process does.
    fn reopened(self) -> Self {
        drop(self.claims);
        drop(self.journal);
        let journal = SqliteJournal::open(self.folder.path().join("journal.db")).unwrap();
        Self {
            journal,
            claims: Vec::new(),
            folder: self.folder,
        }
    }

    async fn all(&self, name: &str) -> Vec<Record> {
        let all = Select::all();
        self.journal.read(&thread(name), all).await.unwrap()
    }

    /// How many rows the store has that say where a thread's records are.
    fn spans(&self, name: &str) -> u32 {
        let store = rusqlite::Connection::open(self.folder.path().join("journal.db")).unwrap();
        let count = "SELECT count(*) FROM record_spans s JOIN threads t ON t.id = s.start >> 32
                      WHERE t.name = ?1";
        store.query_row(count, [name], |row| row.get(0)).unwrap()
    }

    async fn is_sound(&self) {
        let patience = std::time::Duration::from_mins(1);
        let health = self.journal.check(patience).await.unwrap().unwrap();
        assert!(health.is_complete);
    }
}

fn places(records: &[Record]) -> Vec<(Seq, &str)> {
    let place = |record: &Record| record.seq;
    records
        .iter()
        .map(|record| (place(record), record.key().unwrap().as_str()))
        .collect()
}

#[tokio::test]
async fn a_thread_that_writes_alone_makes_one_span_and_leaves_it_as_it_is() {
    let store = Store::of(&["alone"]).await;
    for key in 0..20 {
        store.turn(&["alone"], &key.to_string()).await;
    }
    assert_eq!(store.spans("alone"), 1);
    assert_eq!(store.all("alone").await.len(), 20);
    store.is_sound().await;
}

#[tokio::test]
async fn threads_that_take_turns_each_read_their_own_in_any_way() {
    let names = ["a", "b", "c"];
    let mut store = Store::of(&names).await;
    for key in 0..6 {
        if key == 3 {
            store = store.reopened();
        }
        store.turn(&names, &format!("k{key}")).await;
    }
    store.turn(&["b"], "k6").await;
    store.is_sound().await;
    for name in names {
        let records = store.all(name).await;
        let count = if name == "b" { 7 } else { 6 };
        let expected: Vec<_> = (0..count).map(|key| format!("k{key}")).collect();
        let expected: Vec<_> = (1..).zip(expected.iter().map(String::as_str)).collect();
        assert_eq!(places(&records), expected);
        let name = thread(name);
        let read = async |select| store.journal.read(&name, select).await.unwrap();
        for after in 0..8 {
            for before in 0..9 {
                let inside = records.iter().filter(|r| r.seq > after && r.seq < before);
                let inside: Vec<_> = inside.cloned().collect();
                let select = Select {
                    before: Some(before),
                    ..Select::all().after(after)
                };
                assert_eq!(read(select.clone()).await, inside, "{after} {before}");
                let newest = Select {
                    newest_first: true,
                    ..select.limit(2)
                };
                let backwards: Vec<_> = inside.iter().rev().take(2).cloned().collect();
                assert_eq!(read(newest).await, backwards, "{after} {before}");
            }
        }
    }
}

#[tokio::test]
async fn a_copy_between_turns_and_a_thread_that_goes_leave_the_others_as_they_are() {
    let names = ["a", "b"];
    let store = Store::of(&names).await;
    for key in ["k0", "k1", "k2"] {
        store.turn(&names, key).await;
    }
    let (a, b) = (store.all("a").await, store.all("b").await);
    let copy: ThreadId = thread("copy");
    store
        .journal
        .copy(&thread("b"), &copy, Some(2))
        .await
        .unwrap();
    // The thread that wrote last goes on, behind the copy.
    store.turn(&["b"], "k3").await;
    assert_eq!(store.all("copy").await, b[..2]);
    let claim = store.journal.claim(&copy, Owner::default()).await.unwrap();
    let next = fact(&copy, claim.epoch, "k2", "{}");
    assert_eq!(store.journal.append(next).await.unwrap(), [3]);
    store.is_sound().await;
    store.journal.remove(&thread("b"), 1).await.unwrap();
    store.turn(&["a"], "k3").await;
    let left = store.all("a").await;
    assert_eq!((left.len(), &left[..3]), (4, &a[..]));
    assert_eq!(store.all("copy").await.len(), 3);
    store.is_sound().await;
}

#[tokio::test]
async fn what_is_dropped_leaves_holes_and_what_comes_is_not_taken_for_it() {
    let names = ["a", "b"];
    let store = Store::of(&names).await;
    for key in ["k0", "k1", "k2", "k3"] {
        store.turn(&names, key).await;
    }
    let b = store.all("b").await;
    let compaction = Compaction {
        batch: commit(&thread("a"), 1, None, "{}"),
        drop: vec![1..=1, 3..=5],
    };
    store.journal.compact(compaction).await.unwrap();
    store.turn(&["b", "a"], "k4").await;
    let left: Vec<_> = store.all("a").await.iter().map(|r| r.seq).collect();
    assert_eq!(left, [2, 6]);
    let others = store.all("b").await;
    assert_eq!((others.len(), &others[..4]), (5, &b[..]));
    store.is_sound().await;
}

#[tokio::test]
async fn a_check_finds_rows_that_nobody_holds() {
    let store = Store::of(&["a", "b"]).await;
    store.turn(&["a", "b"], "k").await;
    let path = store.folder.path().join("journal.db");
    rusqlite::Connection::open(path)
        .unwrap()
        .execute("DELETE FROM record_spans WHERE start >> 32 = 1", [])
        .unwrap();
    let patience = std::time::Duration::from_mins(1);
    let error = store.journal.check(patience).await.unwrap_err().to_string();
    assert!(
        error.contains("`record_spans` tell of 1 rows, and hold 1 of the 2"),
        "{error}"
    );
}
