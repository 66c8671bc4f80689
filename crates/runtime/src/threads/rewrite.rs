//! Takes records out of a thread, in one batch with what makes up for them.

use std::ops::RangeInclusive;

use rustagents_core::{
    encode::{EncodeError, MAX_READ_DEPTH, json_within},
    ids::{RunId, ThreadId},
    journal::{Author, Batch, Claim, Compaction, Entry, Journal, JournalError, Place, Seq},
    log::ThreadLog,
};
use rustagents_graph::record::Snapshot;

use super::{ThreadsError, root, state, survey::Survey};
use crate::runs::Runtime;

/// How many messages are read at a time.
const PAGE: usize = 1_000;

/// What was taken out of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// How many records.
    pub records: u64,
    /// How many messages, which nothing mentions any more.
    pub messages: u64,
    /// How many bytes of bodies and messages the thread has less.
    pub bytes: u64,
}

/// A thread that is rewritten by its driver.
pub(super) struct Rewrite<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) thread: &'a ThreadId,
    pub(super) claim: &'a Claim,
    pub(super) survey: &'a Survey,
    pub(super) log: &'a ThreadLog,
}

impl Rewrite<'_> {
    /// Takes out what `drops` says, and adds a snapshot of the state at checkpoint
    /// `number`, as that of checkpoint `reached`: those in between are among what
    /// goes. The newest snapshot of a thread has to be that of the highest
    /// checkpoint, so one of a later checkpoint is written again behind it.
    pub(super) async fn around(
        &self,
        number: u64,
        reached: u64,
        drops: impl Fn(Seq) -> bool,
    ) -> Result<Removed, ThreadsError> {
        let journal = self.runtime.journal();
        let survey = self.survey;
        let own = state::snapshot(journal, self.thread, survey, self.log, number).await?;
        let mut snapshots = vec![Snapshot {
            checkpoint: reached,
            at: own.at.filter(|_| reached == number),
            ..own
        }];
        let later = survey.highest_after(reached, &drops);
        let mut replaced = None;
        if let Some((_, at, seq)) = later {
            let known = state::read_snapshot(journal, self.thread, seq).await?;
            snapshots.push(Snapshot {
                at: Some(at),
                messages: self.log.last_message(),
                calls: self.log.last_call(),
                ..known
            });
            replaced = Some(seq);
        }
        let gone = |seq| drops(seq) || Some(seq) == replaced;
        self.write(&snapshots, gone).await
    }

    async fn write(
        &self,
        snapshots: &[Snapshot],
        drops: impl Fn(Seq) -> bool,
    ) -> Result<Removed, ThreadsError> {
        let journal = self.runtime.journal();
        let head = self.log.commits(&root().branch, &root().namespace);
        let head = head.map(|record| record.seq).next_back();
        let entries = snapshots.iter().map(entry);
        let entries = entries.collect::<Result<Vec<_>, JournalError>>()?;
        let written: usize = entries.iter().map(|entry| entry.body.len()).sum();
        let (messages, message_bytes) = messages(journal, self.thread).await?;
        let dropped = || self.survey.rows.iter().filter(|row| drops(row.seq));
        let compaction = Compaction {
            batch: Batch {
                thread: self.thread.clone(),
                author: Author::Driver(self.claim.epoch),
                heads: vec![(root(), head)],
                entries,
                messages: Vec::new(),
                contents: Vec::new(),
                at_ms: self.runtime.now_ms(),
            },
            drop: ranges(survey_rows(self.survey).map(|seq| (seq, drops(seq)))),
        };
        journal.compact(compaction).await?;
        let (left, left_bytes) = messages_left(journal, self.thread, messages).await?;
        let bytes: usize = dropped().map(|row| row.bytes).sum();
        let bytes = (bytes + message_bytes).saturating_sub(written + left_bytes);
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        Ok(Removed {
            records: count(dropped().count()),
            messages: count(messages - left),
            bytes: count(bytes),
        })
    }
}

/// The record of a snapshot that belongs to no run.
fn entry(snapshot: &Snapshot) -> Result<Entry, JournalError> {
    let body =
        json_within(MAX_READ_DEPTH, snapshot, str::to_owned).map_err(EncodeError::of_record)?;
    Ok(Entry {
        chain: root(),
        place: Place::Commit,
        kind: snapshot.kind(),
        run: RunId::from(""),
        attempt: 1,
        effect: None,
        digest: None,
        body,
    })
}

/// How many messages a thread has, and how long they are.
async fn messages(
    journal: &dyn Journal,
    thread: &ThreadId,
) -> Result<(usize, usize), JournalError> {
    let (mut after, mut count, mut bytes) = (0, 0, 0);
    loop {
        let page = journal.messages(thread, after, PAGE).await?;
        for (place, message) in &page {
            after = *place;
            count += 1;
            bytes += message.text_bytes();
        }
        if page.len() < PAGE {
            return Ok((count, bytes));
        }
    }
}

/// The same after the compaction, which is over: what cannot be counted is no error.
async fn messages_left(
    journal: &dyn Journal,
    thread: &ThreadId,
    before: usize,
) -> Result<(usize, usize), JournalError> {
    let (left, bytes) = messages(journal, thread).await?;
    Ok((left.min(before), bytes))
}

fn survey_rows(survey: &Survey) -> impl Iterator<Item = Seq> {
    survey.rows.iter().map(|row| row.seq)
}

/// The places that go, as ranges with none between them that stays.
fn ranges(places: impl Iterator<Item = (Seq, bool)>) -> Vec<RangeInclusive<Seq>> {
    let mut ranges: Vec<RangeInclusive<Seq>> = Vec::new();
    let mut goes_on = false;
    for (seq, goes) in places {
        match ranges.last_mut() {
            Some(last) if goes && goes_on => *last = *last.start()..=seq,
            _ if goes => ranges.push(seq..=seq),
            _ => {}
        }
        goes_on = goes;
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_become_one_range() {
        let places = [(1, true), (2, true), (3, false), (5, true), (9, true)];
        assert_eq!(ranges(places.into_iter()), [1..=2, 5..=9]);
    }
}
