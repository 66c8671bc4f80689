//! The state at any checkpoint, made from the recorded changes alone: no plan is
//! needed, since a change says what kind of channel it is for.

use std::collections::BTreeMap;

use rustagents_core::{
    ask::Ask,
    ids::{Branch, ThreadId},
    journal::{Journal, JournalError, Record, Select, Seq, kind},
    log::ThreadLog,
};
use rustagents_graph::{
    GraphState, Reducer, State,
    record::{Checkpoint, Snapshot, Task},
    state::{ChannelName, ChannelSpec, Delta},
};

use serde_json::Value;

use super::{ThreadsError, known, root, survey::Survey};
use crate::{program::Program, runs::Runtime, view::ThreadView};

/// How many records are read at a time.
const PAGE: usize = 200;

/// The state of a thread at one of its checkpoints, as the changes that make it of
/// an empty one; without a number, at the last one.
///
/// # Errors
/// [`ThreadsError::StateGone`]: what led to it was pruned; and what the journal says.
pub async fn state_at(
    journal: &dyn Journal,
    thread: &ThreadId,
    checkpoint: Option<u64>,
) -> Result<Vec<(ChannelName, Delta)>, ThreadsError> {
    Ok(snapshot_at(journal, thread, checkpoint).await?.state)
}

/// As [`state_at`], with the migrations that the state went through.
pub(crate) async fn snapshot_at(
    journal: &dyn Journal,
    thread: &ThreadId,
    checkpoint: Option<u64>,
) -> Result<Snapshot, ThreadsError> {
    known(journal, thread).await?;
    let survey = Survey::of(journal, thread).await?;
    let log = ThreadLog::load(journal, thread, &Branch::main()).await?;
    let number = checkpoint.unwrap_or_else(|| survey.reached());
    snapshot(journal, thread, &survey, &log, number).await
}

/// A state, and what was left to do.
#[derive(Clone, Debug)]
pub struct StateAt {
    /// The thread.
    pub thread: ThreadId,
    /// The number of the checkpoint; 0 is before the first one.
    pub checkpoint: u64,
    /// The committed state as JSON: an object of channels, messages in full. The
    /// recorded writes of finished tasks are not in it before their step is done.
    pub state: Value,
    /// The tasks that were next.
    pub next: Vec<Task>,
    /// The questions that wait for an answer; none at an earlier checkpoint.
    pub asks: Vec<Ask>,
}

/// How a thread stood at one of its checkpoints; without a number, how it stands.
/// Channels that were never written are left out, since no plan is read.
///
/// # Errors
/// As [`state_at`]; [`ThreadsError::UnknownCheckpoint`].
pub async fn whole_at(
    journal: &dyn Journal,
    thread: &ThreadId,
    checkpoint: Option<u64>,
) -> Result<StateAt, ThreadsError> {
    stood(journal, thread, checkpoint, |deltas| {
        let specs = deltas.iter().map(|(channel, delta)| {
            let reducer = match delta {
                Delta::Append(_) => Reducer::Append,
                Delta::Messages(_) => Reducer::Messages,
                _ => Reducer::Overwrite,
            };
            ChannelSpec::new(channel.clone(), reducer)
        });
        State::empty(&specs.collect::<Vec<_>>())
    })
    .await
}

impl Runtime {
    /// How a thread stood at one of its checkpoints; without a number, how it stands.
    /// The state has the channels of `program`, null where nothing was written.
    ///
    /// # Errors
    /// As [`whole_at`].
    pub async fn state(
        &self,
        program: &Program,
        thread: &ThreadId,
        checkpoint: Option<u64>,
    ) -> Result<StateAt, ThreadsError> {
        let empty = |_: &[_]| program.graph().empty_state();
        stood(self.journal(), thread, checkpoint, empty).await
    }
}

/// How a thread stood, in the state that `empty` makes for its changes.
async fn stood(
    journal: &dyn Journal,
    thread: &ThreadId,
    checkpoint: Option<u64>,
    empty: impl FnOnce(&[(ChannelName, Delta)]) -> State,
) -> Result<StateAt, ThreadsError> {
    known(journal, thread).await?;
    let survey = Survey::of(journal, thread).await?;
    let log = ThreadLog::load(journal, thread, &Branch::main()).await?;
    let last = survey.reached();
    let number = checkpoint.unwrap_or(last);
    if checkpoint.is_some_and(|number| number != last) {
        survey.point(thread, number)?;
    }
    let deltas = snapshot(journal, thread, &survey, &log, number)
        .await?
        .state;
    let mut state = empty(&deltas);
    apply(&mut state, &log, &deltas)?;
    let mut points = survey.points();
    let next = match points.find(|point| point.mark.number == number) {
        Some(point) => {
            let record = record(journal, thread, point.row.seq).await?;
            let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT)?;
            checkpoint.pending.next
        }
        None => Vec::new(),
    };
    let view = ThreadView::of(thread, log)?.filter(|_| number == last);
    Ok(StateAt {
        thread: thread.clone(),
        checkpoint: number,
        state: state.to_json(),
        next,
        asks: view.map_or_else(Vec::new, |view| view.pending().cloned().collect()),
    })
}

/// The snapshot of the state at checkpoint `number`; 0 is before the first one.
pub(super) async fn snapshot(
    journal: &dyn Journal,
    thread: &ThreadId,
    survey: &Survey,
    log: &ThreadLog,
    number: u64,
) -> Result<Snapshot, ThreadsError> {
    let mut state = State::default();
    let mut migrations = Vec::new();
    let (mut reached, mut after) = (0, 0);
    let mut kept = BTreeMap::new();
    if let Some((of, at, seq)) = survey.covering(number) {
        let covering = read_snapshot(journal, thread, seq).await?;
        apply(&mut state, log, &covering.state)?;
        migrations = covering.migrations;
        kept = covering.kept;
        (reached, after) = (of, at.saturating_sub(1));
    }
    let select = Select::all().on(root()).of(kind::CHECKPOINT);
    while reached < number {
        let page = select.clone().after(after).limit(PAGE);
        let page = journal.read(thread, page).await?;
        for record in &page {
            after = record.seq;
            let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT)?;
            if checkpoint.checkpoint == reached + 1 && reached < number {
                apply(&mut state, log, &checkpoint.deltas)?;
                if !checkpoint.migrations.is_empty() {
                    migrations = checkpoint.migrations;
                }
                kept = checkpoint.kept;
                reached += 1;
            }
        }
        if page.len() < PAGE {
            break;
        }
    }
    if reached != number {
        return Err(ThreadsError::StateGone {
            thread: thread.clone(),
            checkpoint: number,
        });
    }
    let points = survey.points();
    let mut at = points.filter(|point| point.mark.number == number);
    Ok(Snapshot {
        checkpoint: number,
        at: at.next().map(|point| point.row.seq),
        messages: log.last_message(),
        calls: log.last_call(),
        state: state.deltas(),
        kept,
        migrations,
    })
}

/// The snapshot whose record stands at `seq`.
pub(super) async fn read_snapshot(
    journal: &dyn Journal,
    thread: &ThreadId,
    seq: Seq,
) -> Result<Snapshot, JournalError> {
    record(journal, thread, seq).await?.decode(kind::SNAPSHOT)
}

/// The record at `seq`, which was there a moment ago.
pub(super) async fn record(
    journal: &dyn Journal,
    thread: &ThreadId,
    seq: Seq,
) -> Result<Record, JournalError> {
    let select = Select::all().after(seq.saturating_sub(1)).limit(1);
    let page = journal.read(thread, select).await?;
    let found = page.into_iter().find(|record| record.seq == seq);
    found.ok_or_else(|| JournalError::Corrupt {
        place: format!("record {seq}"),
        reason: "it was there, and is not any more".into(),
    })
}

fn apply(
    state: &mut State,
    log: &ThreadLog,
    deltas: &[(ChannelName, Delta)],
) -> Result<(), JournalError> {
    for (channel, delta) in deltas {
        state.change(channel, delta, |id| log.message(id))?;
    }
    Ok(())
}
