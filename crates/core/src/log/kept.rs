//! The calls that a thread goes on from: chains of earlier runs, whose state is kept.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{PAGE, SnapshotMark};
use crate::{
    ids::{Branch, Namespace, ThreadId},
    journal::{Chain, Journal, JournalError, Record, Select, Seq, kind},
};

/// What a checkpoint says of calls.
#[derive(Deserialize)]
struct CheckpointMark {
    checkpoint: u64,
    #[serde(default)]
    base: Option<BaseMark>,
    #[serde(default)]
    kept: BTreeMap<String, Namespace>,
}

#[derive(Deserialize)]
struct BaseMark {
    chain: Namespace,
}

/// What a chain says of calls.
struct Told {
    /// Whether nothing of it stands before its records.
    is_whole: bool,
    /// The call that it goes on from, where no snapshot makes up for it.
    base: Option<Namespace>,
    /// The last calls of its nodes.
    kept: Vec<Namespace>,
}

impl Told {
    /// What the chain of these records says, from some place on.
    fn by(records: &[&Record]) -> Result<Self, JournalError> {
        let checkpoints = || records.iter().filter(|record| record.is(kind::CHECKPOINT));
        let snapshot = records.iter().rfind(|record| record.is(kind::SNAPSHOT));
        let snapshot: Option<SnapshotMark> = snapshot
            .map(|record| record.decode(kind::SNAPSHOT))
            .transpose()?;
        let first = checkpoints().next();
        let first: Option<CheckpointMark> = first
            .map(|record| record.decode(kind::CHECKPOINT))
            .transpose()?;
        let is_first = first.as_ref().is_some_and(|first| first.checkpoint == 1);
        let base = first.and_then(|first| first.base);
        let base = base.filter(|_| snapshot.is_none());
        Ok(Self {
            is_whole: is_first || snapshot.is_some(),
            base: base.map(|base| base.chain),
            kept: last_calls(checkpoints().next_back(), snapshot)?,
        })
    }
}

/// The calls that a chain with this last checkpoint and this newest snapshot names.
fn last_calls(
    last: Option<&&Record>,
    snapshot: Option<SnapshotMark>,
) -> Result<Vec<Namespace>, JournalError> {
    let last: Option<CheckpointMark> = last
        .map(|record| record.decode(kind::CHECKPOINT))
        .transpose()?;
    let covered = snapshot.as_ref().map_or(0, |whole| whole.checkpoint);
    let last = last.filter(|last| last.checkpoint >= covered);
    let kept = last.map(|last| last.kept);
    let kept = kept.or(snapshot.map(|whole| whole.kept));
    Ok(kept.into_iter().flat_map(BTreeMap::into_values).collect())
}

/// A part of a thread: the records of a branch that were read, and where they begin.
pub(super) struct Part<'r> {
    pub(super) branch: &'r Branch,
    pub(super) records: &'r [Record],
    /// All records behind this place are there.
    pub(super) after: Seq,
}

impl<'r> Part<'r> {
    fn commits(&self) -> impl DoubleEndedIterator<Item = &'r Record> {
        let records = self.records.iter();
        records.filter(|record| record.key().is_none() && record.chain.branch == *self.branch)
    }

    /// The last calls of the root graph's nodes; `snapshot` is its newest one.
    fn last_calls(&self, snapshot: Option<SnapshotMark>) -> Result<Vec<Namespace>, JournalError> {
        let mut commits = self.commits();
        let last =
            commits.rfind(|record| record.chain.namespace.is_root() && record.is(kind::CHECKPOINT));
        last_calls(last.as_ref(), snapshot)
    }
}

/// Reads the calls that the thread goes on from, where they are not there yet: those
/// that the last checkpoint of the root chain names, those that their last ones name,
/// and the ones before each, back to its last snapshot.
pub(super) async fn read(
    journal: &dyn Journal,
    thread: &ThreadId,
    part: &Part<'_>,
    snapshot: Option<SnapshotMark>,
) -> Result<Vec<Record>, JournalError> {
    let calls = part.last_calls(snapshot)?;
    if calls.is_empty() {
        return Ok(Vec::new());
    }
    let mut there: BTreeMap<&Namespace, Vec<&Record>> = BTreeMap::new();
    for record in part.commits() {
        there
            .entry(&record.chain.namespace)
            .or_default()
            .push(record);
    }
    let mut open: Vec<_> = calls.into_iter().map(|call| (call, true)).collect();
    let mut seen = BTreeSet::new();
    let mut read = Vec::new();
    while let Some((call, is_last)) = open.pop() {
        if !seen.insert(call.clone()) {
            continue;
        }
        let lately = there.get(&call).map_or(&[][..], Vec::as_slice);
        let mut told = Told::by(lately)?;
        if !told.is_whole {
            let earlier = earlier(journal, thread, part, &call).await?;
            let whole: Vec<_> = earlier.iter().chain(lately.iter().copied()).collect();
            told = Told::by(&whole)?;
            read.extend(earlier);
        }
        open.extend(told.base.map(|base| (base, false)));
        if is_last {
            open.extend(told.kept.into_iter().map(|call| (call, true)));
        }
    }
    Ok(read)
}

/// The checkpoints of `call` that stand before `part`, back to its last snapshot.
async fn earlier(
    journal: &dyn Journal,
    thread: &ThreadId,
    part: &Part<'_>,
    call: &Namespace,
) -> Result<Vec<Record>, JournalError> {
    let select = Select::all().on(Chain {
        branch: part.branch.clone(),
        namespace: call.clone(),
    });
    let select = select.of(kind::CHECKPOINT).of(kind::SNAPSHOT);
    let select = select.newest_first().limit(PAGE);
    let (mut read, mut before) = (Vec::new(), part.after + 1);
    loop {
        let page = journal.read(thread, select.clone().before(before));
        let page = page.await?;
        let is_last = page.len() < PAGE;
        for record in page {
            before = record.seq;
            // The checkpoint of a snapshot stands right before it.
            let is_enough = read
                .last()
                .is_some_and(|last: &Record| last.is(kind::SNAPSHOT));
            read.push(record);
            if is_enough {
                read.reverse();
                return Ok(read);
            }
        }
        if is_last {
            read.reverse();
            return Ok(read);
        }
    }
}
