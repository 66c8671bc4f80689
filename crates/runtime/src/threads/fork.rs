//! Makes a thread of another one: of all of it, or of what led to a checkpoint.

use rustagents_core::{
    ids::{CallId, RunId, ThreadId},
    journal::{Journal, JournalError, Owner, Record, Seq, kind},
};
use rustagents_graph::record::Snapshot;

use super::{ThreadsError, error::Again, known, survey::Survey, transfer};
use crate::ThreadView;

/// How often a thread is forked anew that is compacted meanwhile.
const TRIES: u32 = 5;

/// What is forked, and where.
#[derive(Clone, Debug)]
pub struct Fork {
    /// The thread.
    pub from: ThreadId,
    /// The new thread.
    pub to: ThreadId,
    /// The last checkpoint that the new thread has; all of the thread without one.
    pub checkpoint: Option<u64>,
    /// Whether calls that change something may come to be made again.
    pub repeats: bool,
}

/// Makes the fork. Returns the calls of the source that change something and stand
/// behind the checkpoint: the new thread may make them once more.
///
/// A fork at the last checkpoint of a run ends with the run. At any other one its
/// last run is unfinished, and can be resumed.
///
/// # Errors
/// [`ThreadsError::WouldRepeat`] if there are such calls and [`Fork::repeats`] does
/// not say so, [`ThreadsError::UnknownCheckpoint`], and what the journal says.
pub async fn fork(
    journal: &dyn Journal,
    fork: &Fork,
) -> Result<Vec<(CallId, String)>, ThreadsError> {
    known(journal, &fork.from).await?;
    if known(journal, &fork.to).await.is_ok() {
        return Err(ThreadsError::Journal(JournalError::ThreadExists {
            thread: fork.to.clone(),
        }));
    }
    // What cannot be read is not copied.
    ThreadView::load(journal, &fork.from).await?;
    let Some(checkpoint) = fork.checkpoint else {
        journal.copy(&fork.from, &fork.to, None).await?;
        return Ok(Vec::new());
    };
    for _ in 0..TRIES {
        if let Some(calls) = fork_now(journal, fork, checkpoint).await? {
            return Ok(calls);
        }
    }
    Err(ThreadsError::Journal(JournalError::Busy {
        thread: fork.from.clone(),
        owner: journal.owner(&fork.from).await?.unwrap_or_default(),
    }))
}

/// `None` if the thread was compacted between the look and the copy, which is gone
/// again then.
async fn fork_now(
    journal: &dyn Journal,
    fork: &Fork,
    checkpoint: u64,
) -> Result<Option<Vec<(CallId, String)>>, ThreadsError> {
    let survey = Survey::of(journal, &fork.from).await?;
    let cut = survey.cut(survey.point(&fork.from, checkpoint)?);
    // Tasks keep their ids, and what they did before the cut goes along.
    let calls = survey.begun_after(cut);
    let calls = repeated(calls, &fork.from, fork.repeats, Again::Fork)?;
    let carried = carried(&survey, checkpoint, cut);
    if carried.is_empty() {
        journal.copy(&fork.from, &fork.to, Some(cut)).await?;
        let seen = survey.rows.iter().map(|row| row.seq);
        let seen: Vec<_> = seen.filter(|seq| *seq <= cut).collect();
        if transfer::places(journal, &fork.to, Some(cut)).await? != seen {
            let claim = journal.claim(&fork.to, Owner::default()).await?;
            journal.remove(&fork.to, claim.epoch).await?;
            return Ok(None);
        }
    } else {
        let places = survey.rows.iter().map(|row| row.seq);
        let goes_along = |seq: &Seq| carried.iter().any(|(_, carried)| carried == seq);
        let seen: Vec<_> = places
            .filter(|seq| *seq <= cut && !goes_along(seq))
            .collect();
        if !behind(journal, fork, cut, &carried, &seen).await? {
            return Ok(None);
        }
    }
    Ok(Some(calls))
}

/// The `calls` that may come to be made again after going back.
///
/// # Errors
/// [`ThreadsError::WouldRepeat`] if there are any and `repeats` does not say so.
pub(super) fn repeated(
    calls: Vec<(CallId, String)>,
    thread: &ThreadId,
    repeats: bool,
    by: Again,
) -> Result<Vec<(CallId, String)>, ThreadsError> {
    if calls.is_empty() || repeats {
        return Ok(calls);
    }
    Err(ThreadsError::WouldRepeat {
        by,
        thread: thread.clone(),
        calls,
    })
}

/// The snapshots that stand behind the cut, as after a pruning, and make up for what
/// is missing before it: where the checkpoint of each stands, and its own place. The
/// one of the highest checkpoint is the last of them, wherever it stands.
fn carried(survey: &Survey, checkpoint: u64, cut: Seq) -> Vec<(Seq, Seq)> {
    let behind = survey.snapshots();
    let behind = behind.filter(|(of, _, seq)| *of <= checkpoint && *seq > cut);
    let mut carried: Vec<_> = behind.collect();
    if let (false, Some(highest)) = (carried.is_empty(), survey.covering(checkpoint)) {
        carried.retain(|snapshot| *snapshot != highest);
        carried.push(highest);
    }
    carried.into_iter().map(|(_, at, seq)| (at, seq)).collect()
}

/// Forks where snapshots have to go along, right after the cut. Says whether what
/// was `seen` up to there is still so; else nothing is made.
async fn behind(
    journal: &dyn Journal,
    fork: &Fork,
    cut: Seq,
    carried: &[(Seq, Seq)],
    seen: &[Seq],
) -> Result<bool, ThreadsError> {
    // Whole in itself, but perhaps compacted since the look: then the snapshots that
    // should go along are not there, or others are.
    let mut image = transfer::image(journal, &fork.from).await?;
    image.thread = fork.to.clone();
    let is_carried = |seq| carried.iter().any(|(_, carried)| *carried == seq);
    let (snapshots, records): (Vec<_>, Vec<_>) = image
        .records
        .into_iter()
        .filter(|record| record.seq <= cut || is_carried(record.seq))
        .partition(|record| is_carried(record.seq));
    let places: Vec<_> = records.iter().map(|record| record.seq).collect();
    if places != seen {
        return Ok(false);
    }
    image.records = records;
    let mut place = cut;
    for (at, seq) in carried {
        let Some(snapshot) = snapshots.iter().find(|record| record.seq == *seq) else {
            return Ok(false);
        };
        place += 1;
        let snapshot = placed(snapshot, *at, place)?;
        image.records.push(Record {
            epoch: image.epoch,
            ..snapshot
        });
    }
    journal.install(image).await?;
    Ok(true)
}

/// A snapshot at another place, which says where its checkpoint stands.
fn placed(snapshot: &Record, at: Seq, place: Seq) -> Result<Record, JournalError> {
    let body = Snapshot {
        at: Some(at),
        ..snapshot.decode(kind::SNAPSHOT)?
    };
    let body = serde_json::to_string(&body).map_err(|error| JournalError::Encode {
        reason: error.to_string(),
    })?;
    Ok(Record {
        seq: place,
        run: RunId::from(""),
        body,
        ..snapshot.clone()
    })
}
