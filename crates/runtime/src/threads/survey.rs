//! What stands where in a thread: one pass over its records, without their bodies.

use std::collections::{BTreeMap, BTreeSet};

use rustagents_agent::call::IntentBody;
use rustagents_core::{
    ids::{Branch, CallId, FactKey, Namespace, RunId, ThreadId},
    journal::{Journal, JournalError, Place, Record, Select, Seq, kind},
};
use rustagents_graph::{
    effect::record::StepStart,
    record::{Checkpoint, Pending, Snapshot, Source},
};

use super::{ThreadsError, calls::Calls, root};
use crate::{doubt::Tasks, inbox::item_of_key, record::RunAttempt};

/// How many records are read at a time.
const PAGE: usize = 1_000;

/// The records of a thread in order, each as little as a decision needs of it.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) rows: Vec<Row>,
    pub(super) calls: Calls,
    /// Where somebody changed a state between two steps, and what was left to do then:
    /// tasks that may have begun before.
    left: Vec<(Seq, Pending)>,
}

/// A record.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) seq: Seq,
    pub(super) run: RunId,
    pub(super) at_ms: u64,
    /// How long its body is.
    pub(super) bytes: usize,
    /// The chain that it is on, or that its key names.
    about: Namespace,
    pub(super) what: What,
}

/// What a record is to who rewrites a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// It opens its run.
    Opened,
    /// It begins a try.
    Attempt {
        /// It says something of the run that holds from there on: another definition,
        /// other limits, or that the run is open again.
        tells: bool,
    },
    /// It closes its run.
    Closed,
    /// A checkpoint on the root chain.
    Checkpoint(Mark),
    /// A snapshot on the root chain.
    Snapshot { of: u64, at: Option<Seq> },
    /// The intent of a call that changes something, or of a step: its place is the
    /// call then.
    Intent {
        call: CallId,
        tool: String,
        namespace: Namespace,
    },
    /// Another fact.
    Fact(FactKey),
    /// Something on a branch that nobody here knows: it is never touched.
    Elsewhere,
    /// Anything else.
    Other,
}

/// A checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) number: u64,
    /// It can be the first one of a run.
    pub(super) begins: bool,
    /// Nothing runs next.
    pub(super) is_last: bool,
}

/// A checkpoint and its record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point<'a> {
    pub(super) mark: Mark,
    pub(super) row: &'a Row,
}

impl Survey {
    /// Reads the whole thread, page by page.
    pub(super) async fn of(journal: &dyn Journal, thread: &ThreadId) -> Result<Self, JournalError> {
        let mut survey = Self::default();
        let mut after = 0;
        loop {
            let select = Select::all().after(after).limit(PAGE);
            let page = journal.read(thread, select).await?;
            let is_last = page.len() < PAGE;
            for record in &page {
                after = record.seq;
                survey.calls.take(record)?;
                survey.left.extend(left(record)?);
                survey.rows.push(Row {
                    seq: record.seq,
                    run: record.run.clone(),
                    at_ms: record.at_ms,
                    bytes: record.body.len(),
                    about: about(record),
                    what: what(record)?,
                });
            }
            if is_last {
                return Ok(survey);
            }
        }
    }

    /// The record at `seq`.
    pub(super) fn row(&self, seq: Seq) -> Option<&Row> {
        let index = self.rows.binary_search_by_key(&seq, |row| row.seq).ok()?;
        self.rows.get(index)
    }

    /// The inputs that wait in the queue.
    pub(super) fn waiting(&self) -> BTreeSet<String> {
        let mut waiting = BTreeSet::new();
        for (item, is_taken, _) in self.items() {
            if is_taken {
                waiting.remove(item);
            } else {
                waiting.insert(item.to_owned());
            }
        }
        waiting
    }

    /// The inputs that `run` took out of the queue.
    pub(super) fn taken_by(&self, run: &RunId) -> BTreeSet<&str> {
        let items = self.items();
        let own = items.filter(|(_, is_taken, row)| *is_taken && row.run == *run);
        own.map(|(item, ..)| item).collect()
    }

    /// What is told of inputs that wait or waited: which one, and whether it is taken.
    fn items(&self) -> impl Iterator<Item = (&str, bool, &Row)> {
        self.rows.iter().filter_map(|row| match &row.what {
            What::Fact(key) => item_of_key(key.as_str()).map(|(item, taken)| (item, taken, row)),
            _ => None,
        })
    }

    /// The checkpoints, in order.
    pub(super) fn points(&self) -> impl DoubleEndedIterator<Item = Point<'_>> {
        self.rows.iter().filter_map(|row| match row.what {
            What::Checkpoint(mark) => Some(Point { mark, row }),
            _ => None,
        })
    }

    /// The snapshots, in order: the checkpoint of each, where that stands or stood,
    /// and its own place.
    pub(super) fn snapshots(&self) -> impl DoubleEndedIterator<Item = (u64, Seq, Seq)> {
        self.rows.iter().filter_map(|row| match row.what {
            What::Snapshot { of, at } => {
                Some((of, at.unwrap_or(row.seq.saturating_sub(1)), row.seq))
            }
            _ => None,
        })
    }

    /// The last checkpoint that the thread reached.
    pub(super) fn reached(&self) -> u64 {
        let reached = self.points().map(|point| point.mark.number);
        let reached = reached.chain(self.snapshots().map(|(of, ..)| of)).max();
        reached.unwrap_or_default()
    }

    /// The snapshot from which the state at checkpoint `number` is made: that of
    /// the highest checkpoint that is not after it.
    pub(super) fn covering(&self, number: u64) -> Option<(u64, Seq, Seq)> {
        let snapshots = self.snapshots().filter(|(of, ..)| *of <= number);
        snapshots.max_by_key(|(of, _, seq)| (*of, *seq))
    }

    /// The snapshot of the highest checkpoint after `number` that stays.
    pub(super) fn highest_after(
        &self,
        number: u64,
        drops: impl Fn(Seq) -> bool,
    ) -> Option<(u64, Seq, Seq)> {
        let snapshots = self.snapshots().filter(|(.., seq)| !drops(*seq));
        let later = snapshots.filter(|(of, ..)| *of > number);
        later.max_by_key(|(of, _, seq)| (*of, *seq))
    }

    /// The checkpoint `number` of `thread`.
    ///
    /// # Errors
    /// [`ThreadsError::UnknownCheckpoint`].
    pub(super) fn point(
        &self,
        thread: &ThreadId,
        checkpoint: u64,
    ) -> Result<Point<'_>, ThreadsError> {
        let mut points = self.points();
        let found = points.find(|point| point.mark.number == checkpoint);
        found.ok_or_else(|| {
            let number = |point: Point<'_>| point.mark.number;
            let first = self.points().next().map(number);
            let last = self.points().next_back().map(number);
            ThreadsError::UnknownCheckpoint {
                thread: thread.clone(),
                checkpoint,
                known: first.zip(last),
            }
        })
    }

    /// Where the run was opened.
    pub(super) fn opened(&self, run: &RunId) -> Option<&Row> {
        let mut rows = self.rows.iter();
        rows.find(|row| row.what == What::Opened && row.run == *run)
    }

    /// Where a thread ends that goes up to `point`: at the end of its run, if
    /// nothing of the run follows, or if the run was over then.
    pub(super) fn cut(&self, point: Point<'_>) -> Seq {
        match self.telling_after(point).next() {
            Some(next)
                if next.what == What::Closed
                    && next.run == point.row.run
                    && (point.mark.is_last || self.is_over_at(point)) =>
            {
                next.seq
            }
            _ => point.row.seq,
        }
    }

    /// Where the end of a run is told again that was over at `point`, if not right
    /// behind it: several changes of the state, `point` among them, stand before it.
    pub(super) fn end_behind(&self, point: Point<'_>) -> Option<Seq> {
        if !self.is_over_at(point) || self.cut(point) != point.row.seq {
            return None;
        }
        let mut told = self.telling_after(point);
        let end = told.find(|row| row.what == What::Closed && row.run == point.row.run);
        end.map(|row| row.seq)
    }

    /// What tells of runs behind `point`.
    fn telling_after(&self, point: Point<'_>) -> impl Iterator<Item = &Row> {
        let behind = move |row: &&Row| row.seq > point.row.seq;
        self.rows.iter().filter(behind).filter(|row| {
            !matches!(
                row.what,
                What::Snapshot { .. } | What::Elsewhere | What::Fact(_)
            )
        })
    }

    /// Whether the run of `point` had ended before it: somebody changed the state.
    fn is_over_at(&self, point: Point<'_>) -> bool {
        let before = self.rows.iter().filter(|row| row.seq < point.row.seq);
        let own = before.filter(|row| row.run == point.row.run);
        let mut telling = own.filter(|row| matches!(row.what, What::Closed | What::Attempt { .. }));
        telling
            .next_back()
            .is_some_and(|row| row.what == What::Closed)
    }

    /// The ends of runs that are told once more behind changes of the state, none of
    /// which stands at `first` or later.
    pub(super) fn told_again(&self, first: Seq) -> BTreeSet<Seq> {
        let mut open: BTreeMap<&RunId, Seq> = BTreeMap::new();
        let mut again = BTreeSet::new();
        for row in &self.rows {
            match row.what {
                What::Closed => again.extend(open.insert(&row.run, row.seq)),
                What::Attempt { .. } => drop(open.remove(&row.run)),
                What::Checkpoint(_) if row.seq >= first => drop(open.remove(&row.run)),
                _ => {}
            }
        }
        again
    }

    /// The calls that change something and were begun after `seq`, each once.
    pub(super) fn begun_after(&self, seq: Seq) -> Vec<(CallId, String)> {
        self.begun(|after, _| after > seq)
    }

    /// The same, with those that tasks had begun before that are left to do there: they
    /// begin anew where the tasks do.
    pub(super) fn begun_since(&self, seq: Seq, pending: &Pending) -> Vec<(CallId, String)> {
        let tasks = Tasks::of(pending);
        self.begun(|after, namespace| after > seq || tasks.hold(namespace.as_str()))
    }

    /// What tasks had done before a checkpoint at `first` or later at which they are
    /// left to do. They keep their ids there, so that who goes on from it finds that.
    pub(super) fn done_before(&self, first: Seq) -> BTreeSet<Seq> {
        let mut done = BTreeSet::new();
        for (at, pending) in self.left.iter().filter(|(at, _)| *at >= first) {
            let tasks = Tasks::of(pending);
            let before = self.rows.iter().take_while(|row| row.seq < *at);
            let own = before.filter(|row| tasks.hold(row.about.as_str()));
            done.extend(own.map(|row| row.seq));
        }
        done
    }

    fn begun(&self, counts: impl Fn(Seq, &Namespace) -> bool) -> Vec<(CallId, String)> {
        let calls = self.rows.iter().filter_map(|row| match &row.what {
            What::Intent {
                call,
                tool,
                namespace,
            } if counts(row.seq, namespace) => Some((call.clone(), tool.clone())),
            _ => None,
        });
        let mut seen = BTreeSet::new();
        calls
            .filter(|(call, _)| seen.insert(call.clone()))
            .collect()
    }
}

/// What a checkpoint leaves to do whose tasks may have begun before it, and its place.
fn left(record: &Record) -> Result<Option<(Seq, Pending)>, JournalError> {
    if record.chain != root() || !record.is(kind::CHECKPOINT) {
        return Ok(None);
    }
    let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT)?;
    let keeps_tasks = matches!(checkpoint.source, Source::Update | Source::Migration);
    Ok(keeps_tasks.then_some((record.seq, checkpoint.pending)))
}

/// The chain that a record is on. Facts that a root chain has about a task have its name
/// in their keys, behind their kind.
fn about(record: &Record) -> Namespace {
    let chain = &record.chain.namespace;
    match record.key().and_then(|key| key.as_str().split_once('/')) {
        Some((_, name)) if chain.is_root() => Namespace::from(name),
        _ => chain.clone(),
    }
}

fn what(record: &Record) -> Result<What, JournalError> {
    let chain = root();
    if record.chain.branch != Branch::main() {
        return Ok(What::Elsewhere);
    }
    if let Place::Fact(key) = &record.place {
        let namespace = &record.chain.namespace;
        if record.is(kind::INTENT) {
            let IntentBody { call, tool, .. } = record.decode(kind::INTENT)?;
            return Ok(What::Intent {
                call,
                tool,
                namespace: namespace.clone(),
            });
        }
        if record.is(kind::STEP_INTENT) {
            let StepStart { step, .. } = record.decode(kind::STEP_INTENT)?;
            return Ok(What::Intent {
                call: CallId::from(format_args!("{namespace}/{step}")),
                tool: "step".into(),
                namespace: namespace.clone(),
            });
        }
        return Ok(What::Fact(key.clone()));
    }
    if record.chain != chain {
        return Ok(What::Other);
    }
    Ok(if record.is(kind::RUN_OPENED) {
        What::Opened
    } else if record.is(kind::RUN_ATTEMPT) {
        let attempt: RunAttempt = record.decode(kind::RUN_ATTEMPT)?;
        What::Attempt {
            tells: attempt.definition.is_some() || attempt.limits.is_some() || attempt.retries,
        }
    } else if record.is(kind::RUN_CLOSED) {
        What::Closed
    } else if record.is(kind::CHECKPOINT) {
        let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT)?;
        What::Checkpoint(Mark {
            number: checkpoint.checkpoint,
            begins: begins(checkpoint.source),
            is_last: checkpoint.pending.next.is_empty(),
        })
    } else if record.is(kind::SNAPSHOT) {
        let snapshot: Snapshot = record.decode(kind::SNAPSHOT)?;
        What::Snapshot {
            of: snapshot.checkpoint,
            at: snapshot.at,
        }
    } else {
        What::Other
    })
}

/// Whether a run can begin with a checkpoint of this source.
fn begins(source: Source) -> bool {
    matches!(source, Source::Input | Source::Fork | Source::Migration)
}
