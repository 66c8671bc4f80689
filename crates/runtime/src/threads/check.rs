//! Whether a thread is whole: everything that a reader may come to need is there,
//! and is what it says.

mod mentions;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fmt,
};

use rustagents_core::{
    digest::Digest,
    ids::{FactKey, MessageId, Namespace, RunId, ThreadId},
    journal::{Chain, Epoch, Journal, JournalError, Record, Select, Seq, kind},
    message::Message,
};

use super::{known, root};
use mentions::Mentions;

/// How many records or messages are read at a time.
const PAGE: usize = 1_000;

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
    let row = known(journal, thread).await?;
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
    // Messages are written with the records that name them, or before: those that
    // were there by then are read last.
    let mut after = 0;
    let mut records = Vec::new();
    loop {
        let select = Select::all().after(after).before(last + 1).limit(PAGE);
        let page = journal.read(thread, select).await?;
        let is_last = page.len() < PAGE;
        after = page.last().map_or(after, |record| record.seq);
        records.extend(page);
        if is_last {
            break;
        }
    }
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
    for record in &records {
        examiner.record(record);
    }
    Ok(())
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

/// Takes messages, then records in order, and finds what is wrong with them.
#[derive(Debug)]
pub(super) struct Examiner {
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
}

/// How far a run is on the root chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Open,
    Closed,
}

impl Examiner {
    pub(super) fn new(epoch: Epoch) -> Self {
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
        }
    }

    pub(super) fn first_problem(&self) -> Option<&Problem> {
        self.problems.first()
    }

    pub(super) fn message(&mut self, message: &Message) {
        let place = format!("message {}", message.id);
        if let Some(digest) = mentions::artifact(message) {
            self.wanted.entry(digest).or_insert_with(|| place.clone());
        }
        if !self.messages.insert(message.id.clone()) {
            self.problem(place, "there is another one of that id".into());
        }
    }

    pub(super) fn record(&mut self, record: &Record) {
        let place = format!("record {} ({})", record.seq, record.kind);
        let mut found = Vec::new();
        self.check_order(record, &mut found);
        match Mentions::of(record) {
            Ok(mentions) => self.check_mentions(&mentions, &place, &mut found),
            Err(error) => found.push(unreadable(&error).what),
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

    /// A run's commits begin with its opening, and end with its closing.
    fn check_run(&mut self, record: &Record, found: &mut Vec<String>) {
        if record.run.as_str().is_empty() {
            return;
        }
        let progress = self.runs.get(&record.run).copied();
        let opens = record.is(kind::RUN_OPENED);
        match progress {
            None if !opens => found.push("its run was not opened before".into()),
            Some(_) if opens => found.push("its run was opened before".into()),
            Some(Progress::Closed) => found.push("its run was closed before".into()),
            _ => {}
        }
        let next = if record.is(kind::RUN_CLOSED) {
            Progress::Closed
        } else {
            progress.unwrap_or(Progress::Open)
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
    pub(super) fn finish(mut self) -> (Vec<Problem>, BTreeMap<Digest, String>) {
        self.check_count();
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
