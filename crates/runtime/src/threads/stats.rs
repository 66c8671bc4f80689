//! Counts what a thread holds.

use std::collections::{BTreeMap, BTreeSet};

use rustagents_core::{
    digest::Digest,
    ids::{RunId, ThreadId},
    journal::{Journal, JournalError, Record, Select, kind, mention},
};

use super::known;

/// How many records or messages are read at a time.
const PAGE: usize = 1_000;

/// What one thread holds, or several together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// How many threads.
    pub threads: u64,
    /// How many records.
    pub records: u64,
    /// How many records of each kind.
    pub kinds: BTreeMap<String, u64>,
    /// How many runs.
    pub runs: u64,
    /// How many checkpoints.
    pub checkpoints: u64,
    /// How many messages.
    pub messages: u64,
    /// How many contents. One that several threads mention counts for each.
    pub contents: u64,
    /// The bytes of records' bodies.
    pub record_bytes: u64,
    /// The bytes of messages' texts.
    pub message_bytes: u64,
    /// The bytes of contents.
    pub content_bytes: u64,
}

/// Counts what `thread` holds.
///
/// # Errors
/// Whatever the journal says; an unknown thread is an error.
pub async fn stats(journal: &dyn Journal, thread: &ThreadId) -> Result<Stats, JournalError> {
    known(journal, thread).await?;
    let mut stats = Stats {
        threads: 1,
        ..Stats::default()
    };
    let (mut runs, mut digests) = (BTreeSet::new(), BTreeSet::new());
    let mut after = 0;
    loop {
        let select = Select::all().after(after).limit(PAGE);
        let page = journal.read(thread, select).await?;
        for record in &page {
            after = record.seq;
            stats.add(record, &mut runs);
            mentioned(record, &mut digests)?;
        }
        if page.len() < PAGE {
            break;
        }
    }
    stats.runs = number(runs.len());
    let mut after = 0;
    loop {
        let page = journal.messages(thread, after, PAGE).await?;
        for (place, message) in &page {
            after = *place;
            stats.messages += 1;
            stats.message_bytes += number(message.text_bytes());
            mention::digests(&message.text(), &mut |digest| {
                digests.insert(digest);
            });
        }
        if page.len() < PAGE {
            break;
        }
    }
    for digest in digests {
        if let Some(bytes) = journal.content(thread, digest).await? {
            stats.contents += 1;
            stats.content_bytes += number(bytes.len());
        }
    }
    Ok(stats)
}

impl Stats {
    fn add(&mut self, record: &Record, runs: &mut BTreeSet<RunId>) {
        self.records += 1;
        self.record_bytes += number(record.body.len());
        *self.kinds.entry(record.kind.to_string()).or_default() += 1;
        self.checkpoints += u64::from(record.is(kind::CHECKPOINT));
        // A record that belongs to no run has an empty one.
        if !record.run.as_str().is_empty() && !runs.contains(&record.run) {
            runs.insert(record.run.clone());
        }
    }

    /// Both together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for (kind, count) in other.kinds {
            *self.kinds.entry(kind).or_default() += count;
        }
        self.threads += other.threads;
        self.records += other.records;
        self.runs += other.runs;
        self.checkpoints += other.checkpoints;
        self.messages += other.messages;
        self.contents += other.contents;
        self.record_bytes += other.record_bytes;
        self.message_bytes += other.message_bytes;
        self.content_bytes += other.content_bytes;
        self
    }

    /// All bytes together.
    pub fn bytes(&self) -> u64 {
        self.record_bytes + self.message_bytes + self.content_bytes
    }
}

/// Adds the digests that stand in the body of `record`.
pub(super) fn mentioned(
    record: &Record,
    digests: &mut BTreeSet<Digest>,
) -> Result<(), JournalError> {
    let found = mention::strings(&record.body, &mut |text| {
        mention::digests(text, &mut |digest| {
            digests.insert(digest);
        });
    });
    found.map_err(|error| JournalError::Corrupt {
        place: format!("record {} ({})", record.seq, record.kind),
        reason: error.to_string(),
    })
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
