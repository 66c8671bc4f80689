//! Whether a thread is whole: everything that a reader may come to need is there,
//! and is what it says.

mod examiner;
mod mentions;

use std::fmt;

use rustagents_core::{
    digest::Digest,
    ids::ThreadId,
    journal::{Journal, JournalError, Record, Select, Seq, ThreadRow},
};

use super::known;

pub(super) use examiner::Examiner;
pub(super) use mentions::artifact;

/// The contents that a record needs. One that cannot be read says nothing of them.
pub(super) fn needed(record: &Record) -> Vec<Digest> {
    let mentions = mentions::Mentions::of(record);
    mentions.map(|found| found.contents).unwrap_or_default()
}

/// How many records or messages are read at a time. One may have megabytes.
const PAGE: usize = 100;

/// How often a thread is read that is written to meanwhile.
const TRIES: u32 = 5;

/// How many problems of one thread are named.
const MAX_PROBLEMS: usize = 20;

/// Something that is wrong in a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: String,
    /// What.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// Reads a thread whole, and names what is wrong with it, up to some number.
///
/// # Errors
/// There is no such thread. What of it cannot be read is a problem, no error.
pub async fn check(journal: &dyn Journal, thread: &ThreadId) -> Result<Vec<Problem>, JournalError> {
    let mut row = known(journal, thread).await?;
    for _ in 1..TRIES {
        let problems = check_now(journal, &row).await?;
        let now = known(journal, thread).await?;
        if problems.is_empty() || now == row {
            return Ok(problems);
        }
        // What was written meanwhile may be a compaction.
        row = now;
    }
    check_now(journal, &row).await
}

async fn check_now(journal: &dyn Journal, row: &ThreadRow) -> Result<Vec<Problem>, JournalError> {
    let thread = &row.thread;
    let mut examiner = Examiner::new(row.epoch);
    if let Err(error) = read(journal, thread, row.last_seq, &mut examiner).await {
        let (mut problems, _) = examiner.finish();
        problems.push(unreadable(&error));
        return Ok(problems);
    }
    let (mut problems, wanted) = examiner.finish();
    for (digest, place) in wanted {
        let what = match journal.content(thread, digest).await {
            Ok(Some(bytes)) if Digest::of(&bytes) == digest => continue,
            Ok(Some(_)) => format!("the content {} has other bytes", digest.short()),
            Ok(None) => format!("the content {} is missing", digest.short()),
            Err(error) => error.to_string(),
        };
        problems.push(Problem { place, what });
    }
    problems.truncate(MAX_PROBLEMS);
    Ok(problems)
}

async fn read(
    journal: &dyn Journal,
    thread: &ThreadId,
    last: Seq,
    examiner: &mut Examiner,
) -> Result<(), JournalError> {
    // Messages are written with the records that name them, or before: the last
    // record was there before they are read.
    let mut after = 0;
    loop {
        let page = journal.messages(thread, after, PAGE).await?;
        for (place, message) in &page {
            after = *place;
            examiner.message(message);
        }
        if page.len() < PAGE {
            break;
        }
    }
    let mut after = 0;
    loop {
        let select = Select::all().after(after).before(last + 1).limit(PAGE);
        let page = journal.read(thread, select).await?;
        for record in &page {
            after = record.seq;
            examiner.record(record);
        }
        if page.len() < PAGE {
            return Ok(());
        }
    }
}

fn unreadable(error: &JournalError) -> Problem {
    match error {
        JournalError::Corrupt { place, reason } => Problem {
            place: place.clone(),
            what: format!("it cannot be read: {reason}"),
        },
        other => Problem {
            place: "the thread".into(),
            what: other.to_string(),
        },
    }
}
