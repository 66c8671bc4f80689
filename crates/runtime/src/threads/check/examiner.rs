//! Everything that has to hold inside one thread.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use rustagents_core::{
    digest::Digest,
    ids::{FactKey, MessageId, Namespace, RunId},
    journal::{Chain, Epoch, Record, Seq, kind},
    message::Message,
};
use rustagents_graph::record::{Checkpoint, Source};

use super::{
    super::{calls::Calls, root},
    MAX_PROBLEMS, Problem,
    mentions::{self, Mentions},
    unreadable,
};
use crate::record::RunAttempt;

/// Takes messages, then records in order, and finds what is wrong with them.
#[derive(Debug)]
pub(in crate::threads) struct Examiner {
    epoch: Epoch,
    problems: Vec<Problem>,
    messages: HashSet<MessageId>,
    wanted: BTreeMap<Digest, String>,
    last: Seq,
    last_epoch: Epoch,
    keys: HashSet<(Chain, FactKey)>,
    runs: HashMap<RunId, Progress>,
    turns: HashMap<Namespace, u32>,
    checkpoints: Vec<(u64, Seq)>,
    snapshots: Vec<(u64, Seq)>,
    calls: Calls,
}

/// How far a run is on the root chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Open,
    Closed,
    /// Closed, and its state was changed since: it is closed once more.
    Changed,
}

impl Examiner {
    pub(in crate::threads) fn new(epoch: Epoch) -> Self {
        Self {
            epoch,
            problems: Vec::new(),
            messages: HashSet::new(),
            wanted: BTreeMap::new(),
            last: 0,
            last_epoch: 0,
            keys: HashSet::new(),
            runs: HashMap::new(),
            turns: HashMap::new(),
            checkpoints: Vec::new(),
            snapshots: Vec::new(),
            calls: Calls::default(),
        }
    }

    pub(in crate::threads) fn first_problem(&self) -> Option<&Problem> {
        self.problems.first()
    }

    pub(in crate::threads) fn message(&mut self, message: &Message) {
        let place = format!("message {}", message.id);
        if let Some(digest) = mentions::artifact(message) {
            self.wanted.entry(digest).or_insert_with(|| place.clone());
        }
        if !self.messages.insert(message.id.clone()) {
            self.problem(place, "there is another one of that id".into());
        }
    }

    pub(in crate::threads) fn record(&mut self, record: &Record) {
        let place = format!("record {} ({})", record.seq, record.kind);
        let mut found = Vec::new();
        self.check_order(record, &mut found);
        match Mentions::of(record) {
            Ok(mentions) => self.check_mentions(&mentions, &place, &mut found),
            Err(error) => found.push(unreadable(&error).what),
        }
        if let Err(error) = self.calls.take(record)
            && found.is_empty()
        {
            found.push(unreadable(&error).what);
        }
        for what in found {
            self.problem(place.clone(), what);
        }
    }

    fn check_order(&mut self, record: &Record, found: &mut Vec<String>) {
        if record.seq <= self.last {
            found.push(format!("it stands behind record {}", self.last));
        }
        if record.epoch < self.last_epoch || record.epoch > self.epoch {
            found.push(format!(
                "its epoch is {}, after {} and with the thread's at {}",
                record.epoch, self.last_epoch, self.epoch
            ));
        }
        self.last = self.last.max(record.seq);
        self.last_epoch = self.last_epoch.max(record.epoch);
        match record.key() {
            Some(key) => {
                let branch = Chain {
                    namespace: Namespace::root(),
                    ..record.chain.clone()
                };
                if !self.keys.insert((branch, key.clone())) {
                    found.push(format!("another fact has the key `{key}`"));
                }
            }
            None if record.chain == root() => self.check_run(record, found),
            None => {}
        }
    }

    /// A run's commits begin with its opening, and end with its closing. Behind it
    /// stand only updates of the state, each with the same closing again, and what
    /// reopens the run.
    fn check_run(&mut self, record: &Record, found: &mut Vec<String>) {
        if record.run.as_str().is_empty() {
            return;
        }
        let progress = self.runs.get(&record.run).copied();
        let opens = record.is(kind::RUN_OPENED);
        match progress {
            None if !opens => found.push("its run was not opened before".into()),
            Some(_) if opens => found.push("its run was opened before".into()),
            Some(Progress::Closed) if !may_follow_the_end(record) => {
                found.push("its run was closed before".into());
            }
            _ => {}
        }
        let next = match progress {
            _ if record.is(kind::RUN_CLOSED) => Progress::Closed,
            _ if record.is(kind::RUN_ATTEMPT) => Progress::Open,
            Some(Progress::Closed) if record.is(kind::CHECKPOINT) => Progress::Changed,
            progress => progress.unwrap_or(Progress::Open),
        };
        self.runs.insert(record.run.clone(), next);
    }

    fn check_mentions(&mut self, mentions: &Mentions, place: &str, found: &mut Vec<String>) {
        for message in &mentions.messages {
            if !self.messages.contains(message) {
                found.push(format!("it names the message {message}, which is missing"));
            }
        }
        for digest in &mentions.contents {
            self.wanted
                .entry(*digest)
                .or_insert_with(|| place.to_owned());
        }
        if let Some(number) = mentions.checkpoint {
            self.checkpoints.push((number, self.last));
        }
        if let Some(number) = mentions.snapshot {
            self.snapshots.push((number, self.last));
        }
        if let Some((namespace, turn)) = &mentions.turn {
            let last = self.turns.entry(namespace.clone()).or_default();
            if turn < last {
                found.push(format!("its turn {turn} follows turn {last}"));
            }
            *last = *turn;
        }
    }

    fn problem(&mut self, place: String, what: String) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { place, what });
        }
    }

    /// What is wrong, and the contents that have to be there, each with who says so.
    pub(in crate::threads) fn finish(mut self) -> (Vec<Problem>, BTreeMap<Digest, String>) {
        self.check_count();
        for (place, what) in self.calls.missing() {
            self.problem(place, what);
        }
        (self.problems, self.wanted)
    }

    /// Checkpoints count without a gap, except where a snapshot makes up for it.
    fn check_count(&mut self) {
        let covered: BTreeSet<u64> = self.snapshots.iter().map(|(of, _)| *of).collect();
        let mut last = 0;
        for (number, seq) in std::mem::take(&mut self.checkpoints) {
            let place = format!("record {seq} (graph.checkpoint)");
            let is_covered =
                covered.contains(&number) || covered.contains(&number.saturating_sub(1));
            if number <= last {
                self.problem(
                    place,
                    format!("checkpoint {number} follows checkpoint {last}"),
                );
            } else if number > last + 1 && !is_covered {
                let what = format!(
                    "checkpoint {number} follows checkpoint {last}, and no snapshot is between"
                );
                self.problem(place, what);
            }
            last = last.max(number);
        }
        let highest = self.snapshots.iter().map(|(of, _)| *of).max();
        if let Some((newest, seq)) = self.snapshots.last().copied()
            && Some(newest) != highest
        {
            let place = format!("record {seq} (graph.snapshot)");
            let what = "an older snapshot is of a later checkpoint".into();
            self.problem(place, what);
        }
    }
}

/// Whether a closed run may have such a record.
fn may_follow_the_end(record: &Record) -> bool {
    if record.is(kind::RUN_ATTEMPT) {
        let attempt = record.decode::<RunAttempt>(kind::RUN_ATTEMPT);
        return attempt.is_ok_and(|attempt| attempt.retries);
    }
    if record.is(kind::CHECKPOINT) {
        let checkpoint = record.decode::<Checkpoint>(kind::CHECKPOINT);
        return checkpoint.is_ok_and(|checkpoint| {
            matches!(checkpoint.source, Source::Update | Source::Migration)
        });
    }
    record.is(kind::SNAPSHOT)
}
