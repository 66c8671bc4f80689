//! A store in which bits are flipped, or of which a part is missing.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rustagents_core::{
    digest::Digest,
    ids::{FactKey, MessageId, ThreadId},
    journal::{
        Compaction, Content, Entry, Journal, JournalError, Owner, Place, PlacedMessage, Record,
        Select,
    },
    message::Message,
    tool::EffectClass,
};
use rustagents_store_sqlite::SqliteJournal;
use rustagents_testkit::batch;
use tempfile::TempDir;

use crate::support::{fact, thread};

/// Stands in a body, and nowhere else.
const MARK: &str = "here is what somebody approved: 12900 cents";

/// A thread, a copy of it, and the file that holds both.
struct Written {
    folder: TempDir,
    bytes: Vec<u8>,
    records: Vec<Record>,
    messages: Vec<PlacedMessage>,
    content: Content,
}

/// What a store says of a thread.
type Told = Result<(Vec<Record>, Vec<PlacedMessage>, Option<Vec<u8>>), JournalError>;

impl Written {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("whole.db");
        let journal = SqliteJournal::open(&path).unwrap();
        let name = thread("t");
        let claim = journal.claim(&name, Owner::default()).await.unwrap();
        let content = Content {
            digest: Digest::of(b"a content"),
            bytes: b"a content".to_vec(),
        };
        let mentions = format!("[\"{}\"]", content.digest);
        let long = format!("\"{}\"", "long ".repeat(4_000));
        let marked = format!("\"{MARK}\"");
        for (key, body) in [("a", &*mentions), ("b", &long), ("c", &marked), ("d", "{}")] {
            let mut write = fact(&name, claim.epoch, key, body);
            write.contents = vec![content.clone()];
            let text = if key == "b" { &long } else { key };
            let id = MessageId::from(format!("m-{key}"));
            write.messages = vec![Arc::new(Message::user(id, text))];
            write.entries.push(Entry {
                effect: Some(EffectClass::Once),
                digest: Some(content.digest),
                ..batch::entry(Place::Fact(FactKey::from(format!("{key}/intent"))), body)
            });
            journal.append(write).await.unwrap();
        }
        let copy = thread("u");
        journal.copy(&name, &copy, None).await.unwrap();
        let (records, messages, _) = told(&journal, &name, content.digest).await.unwrap();
        assert_eq!((records.len(), messages.len()), (8, 4));
        drop((claim, journal));
        let database = rusqlite::Connection::open(&path).unwrap();
        database
            .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
            .unwrap();
        drop(database);
        Self {
            bytes: fs::read(&path).unwrap(),
            folder,
            records,
            messages,
            content,
        }
    }

    /// A store with these bytes.
    fn with(&self, bytes: &[u8]) -> PathBuf {
        for end in ["", "-wal", "-shm"] {
            let name = self.folder.path().join(format!("other.db{end}"));
            let _ = fs::remove_file(name);
        }
        let path = self.folder.path().join("other.db");
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Says of both threads whether an error told of the damage. Nothing that is read
    /// is anything else than what was written, and the file is left alone.
    async fn is_told(&self, bytes: &[u8], damage: &str) -> bool {
        let path = self.with(bytes);
        let mut is_told = false;
        match SqliteJournal::open(&path) {
            Err(_) => is_told = true,
            Ok(journal) => {
                for name in ["t", "u"] {
                    let told = told(&journal, &thread(name), self.content.digest).await;
                    is_told |= told.is_err();
                    self.check(told, damage);
                }
            }
        }
        is_same(&path, bytes, damage);
        is_told
    }

    fn check(&self, told: Told, damage: &str) {
        let Ok((records, messages, content)) = told else {
            return;
        };
        for record in records {
            assert!(self.records.contains(&record), "{damage}: {record:?}");
        }
        for (_, message) in messages {
            let mut all = self.messages.iter();
            assert!(all.any(|(_, one)| *one == message), "{damage}: {message:?}");
        }
        if let Some(content) = content {
            assert_eq!(content, self.content.bytes, "{damage}");
        }
    }
}

fn is_same(path: &Path, bytes: &[u8], damage: &str) {
    assert!(
        fs::read(path).unwrap() == bytes,
        "{damage}: it was written to"
    );
}

async fn told(journal: &SqliteJournal, name: &ThreadId, content: Digest) -> Told {
    let records = journal.read(name, Select::all()).await?;
    let messages = journal.messages(name, 0, 100).await?;
    Ok((records, messages, journal.content(name, content).await?))
}

#[tokio::test]
async fn a_flipped_bit_is_never_read_as_another_value() {
    let written = Written::new().await;
    let mut told = 0;
    let places: Vec<_> = (0..written.bytes.len()).step_by(37).collect();
    for &at in &places {
        let mut bytes = written.bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        told += usize::from(written.is_told(&bytes, &format!("byte {at}")).await);
    }
    // The rest is room that nothing uses.
    assert!(told * 5 > places.len(), "{told} of {}", places.len());
}

#[tokio::test]
async fn a_flipped_bit_of_a_body_is_told_with_the_record() {
    let written = Written::new().await;
    let places: Vec<_> = (0..written.bytes.len() - MARK.len())
        .filter(|at| written.bytes[*at..].starts_with(MARK.as_bytes()))
        .collect();
    assert!(places.len() >= 2, "once in each thread: {places:?}");
    for at in places {
        for byte in at..at + MARK.len() {
            let mut bytes = written.bytes.clone();
            bytes[byte] ^= 1 << (byte % 7);
            let journal = SqliteJournal::open(written.with(&bytes)).unwrap();
            let mut wrong = Vec::new();
            for name in ["t", "u"] {
                let read = journal.read(&thread(name), Select::all()).await;
                wrong.extend(read.err());
            }
            let [JournalError::Corrupt { place, .. }] = &*wrong else {
                panic!("byte {byte}: {wrong:?}");
            };
            assert!(place == "record 5" || place == "record 6", "{place}");
        }
    }
}

#[tokio::test]
async fn a_store_that_was_cut_off_is_told() {
    let written = Written::new().await;
    let whole = written.bytes.len();
    for at in (1..whole).step_by(512) {
        let told = written
            .is_told(&written.bytes[..at], &format!("cut at {at}"))
            .await;
        assert!(told, "cut at {at} of {whole}");
    }
}

#[tokio::test]
async fn what_a_damaged_row_may_mention_stays() {
    let written = Written::new().await;
    let digest = written.content.digest.to_string();
    let other = digest.replace(
        &digest[..1],
        if digest.starts_with('0') { "1" } else { "0" },
    );
    let path = written.with(&written.bytes);
    let database = rusqlite::Connection::open(&path).unwrap();
    let damage = "UPDATE records SET body = CAST(replace(CAST(body AS TEXT), ?1, ?2) AS BLOB)
        WHERE chain IN (SELECT c.id FROM chains c JOIN threads t ON t.id = c.thread
                         WHERE t.name = 'u') AND instr(CAST(body AS TEXT), ?1) > 0";
    assert_eq!(database.execute(damage, [&digest, &other]).unwrap(), 2);
    drop(database);
    let journal = SqliteJournal::open(&path).unwrap();
    let (t, u) = (thread("t"), thread("u"));
    let error = journal.read(&u, Select::all()).await.unwrap_err();
    assert!(matches!(error, JournalError::Corrupt { .. }), "{error:?}");
    let claim = journal.claim(&t, Owner::default()).await.unwrap();
    journal.remove(&t, claim.epoch).await.unwrap();
    let kept = journal.content(&u, written.content.digest).await;
    assert_eq!(kept.unwrap(), Some(written.content.bytes.clone()));
    // Nor is the damaged thread compacted.
    let claim = journal.claim(&u, Owner::default()).await.unwrap();
    let compaction = Compaction {
        batch: fact(&u, claim.epoch, "more", "{}"),
        drop: vec![1..=1],
    };
    let error = journal.compact(compaction).await.unwrap_err();
    assert!(matches!(error, JournalError::Corrupt { .. }), "{error:?}");
}

#[tokio::test]
async fn what_a_missing_row_may_mention_stays() {
    let written = Written::new().await;
    let path = written.with(&written.bytes);
    let database = rusqlite::Connection::open(&path).unwrap();
    let loss = "DELETE FROM records
        WHERE chain IN (SELECT c.id FROM chains c JOIN threads t ON t.id = c.thread
                         WHERE t.name = 'u') AND instr(CAST(body AS TEXT), ?1) > 0";
    let digest = written.content.digest.to_string();
    assert_eq!(database.execute(loss, [&digest]).unwrap(), 2);
    drop(database);
    let journal = SqliteJournal::open(&path).unwrap();
    let (t, u) = (thread("t"), thread("u"));
    let claim = journal.claim(&t, Owner::default()).await.unwrap();
    journal.remove(&t, claim.epoch).await.unwrap();
    let kept = journal.content(&u, written.content.digest).await;
    assert_eq!(kept.unwrap(), Some(written.content.bytes.clone()));
}

#[tokio::test]
async fn a_damaged_part_is_right_again_when_its_value_is_written_again() {
    let written = Written::new().await;
    let path = written.with(&written.bytes);
    let database = rusqlite::Connection::open(&path).unwrap();
    let damage =
        "UPDATE contents SET bytes = CAST(replace(CAST(bytes AS TEXT), 'long', 'lung') AS BLOB)
        WHERE instr(CAST(bytes AS TEXT), 'long') > 0";
    assert!(database.execute(damage, []).unwrap() > 0);
    drop(database);
    let journal = SqliteJournal::open(&path).unwrap();
    let t = thread("t");
    let error = journal.read(&t, Select::all()).await.unwrap_err();
    assert!(
        matches!(&error, JournalError::Corrupt { place, .. } if place == "record 3"),
        "{error:?}"
    );
    let claim = journal.claim(&t, Owner::default()).await.unwrap();
    let long = written.records[2].body.clone();
    let again = fact(&t, claim.epoch, "again", &long);
    journal.append(again).await.unwrap();
    let read = journal.read(&t, Select::all()).await.unwrap();
    assert_eq!(read[..8], written.records);
    assert_eq!(read[8].body, long);
}

#[tokio::test]
async fn a_row_that_is_missing_is_told_by_who_reads_without_a_choice() {
    let written = Written::new().await;
    for (table, of) in [("records", "chain = 1"), ("messages", "thread = 1")] {
        // The last row of all has nothing behind it.
        for nth in 0..if table == "records" { 8 } else { 4 } {
            let path = written.with(&written.bytes);
            let database = rusqlite::Connection::open(&path).unwrap();
            let row = format!(
                "DELETE FROM {table} WHERE id = (SELECT id FROM {table} WHERE {of}
                  ORDER BY id LIMIT 1 OFFSET {nth})"
            );
            assert_eq!(database.execute(&row, []).unwrap(), 1);
            drop(database);
            let journal = SqliteJournal::open(&path).unwrap();
            let t = thread("t");
            let told = told(&journal, &t, written.content.digest).await;
            let error = told.unwrap_err();
            assert!(
                matches!(&error, JournalError::Corrupt { reason, .. } if reason == "it is missing"),
                "{table} {nth}: {error:?}"
            );
            if table == "records" {
                for page in 1..=3 {
                    pages(&journal, &t, page, nth).await;
                }
            }
            let checked = journal.check(Duration::from_mins(1)).await.unwrap_err();
            assert!(
                matches!(checked, JournalError::Corrupt { .. }),
                "{checked:?}"
            );
        }
    }
}

/// Reads page by page, in both directions: up to the place that is missing, and no
/// further.
async fn pages(journal: &SqliteJournal, name: &ThreadId, page: usize, nth: usize) {
    for newest_first in [false, true] {
        let mut seen = Vec::new();
        let mut select = Select::all().limit(page);
        select.newest_first = newest_first;
        let told = loop {
            match journal.read(name, select.clone()).await {
                Err(error) => break error,
                Ok(read) => {
                    let last = read.last().map(|record| record.seq);
                    seen.extend(read.iter().map(|record| record.seq));
                    let last = last.unwrap_or_else(|| panic!("nobody told: {seen:?}"));
                    select = if newest_first {
                        select.before(last)
                    } else {
                        select.after(last)
                    };
                }
            }
        };
        assert!(matches!(told, JournalError::Corrupt { .. }), "{told:?}");
        let missing = nth as u64 + 1;
        assert!(!seen.contains(&missing), "{seen:?}");
    }
}
