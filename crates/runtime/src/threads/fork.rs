//! Makes a thread of another one: of all of it, or of what led to a checkpoint.

use rustagents_core::{
    encode::{EncodeError, MAX_READ_DEPTH, json_within},
    ids::{CallId, RunId, ThreadId},
    journal::{Epoch, Journal, JournalError, Owner, Record, Seq, ThreadImage, kind},
};
use rustagents_graph::record::Snapshot;

use super::{ThreadsError, anew::anew, error::Again, known, survey::Survey, transfer};
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
/// A fork at the last checkpoint of a run ends with the run, and so does one at a
/// later change of its state. At any other one its last run is unfinished, and can be
/// resumed. So is a run that waits: what was asked and granted in the source is not in
/// the fork, whose calls without a result, and whose questions, have names of their own.
/// Who resumes it is asked anew.
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
    for _ in 0..TRIES {
        let made = match fork.checkpoint {
            Some(checkpoint) => fork_now(journal, fork, checkpoint).await?,
            None => copy_now(journal, fork).await?.then(Vec::new),
        };
        if let Some(calls) = made {
            return Ok(calls);
        }
    }
    Err(ThreadsError::Journal(JournalError::Busy {
        thread: fork.from.clone(),
        owner: journal.owner(&fork.from).await?.unwrap_or_default(),
    }))
}

/// Says whether the thread stood still between the look and the copy, which is gone
/// again else.
async fn copy_now(journal: &dyn Journal, fork: &Fork) -> Result<bool, ThreadsError> {
    // What cannot be read is not copied.
    let view = ThreadView::load(journal, &fork.from).await?;
    if view.as_ref().is_some_and(ThreadView::has_tasks) {
        let image = transfer::sharing(journal, &fork.from).await?;
        return install(journal, fork, image).await;
    }
    journal.copy(&fork.from, &fork.to, None).await?;
    let copied = ThreadView::load(journal, &fork.to).await?;
    let last = |view: Option<ThreadView>| view.map(|view| view.log().last_seq());
    if last(copied) == last(view) {
        return Ok(true);
    }
    remove(journal, fork).await?;
    Ok(false)
}

/// Installs what was read of the source, with names of its own, in the source's family.
/// Says whether it is there: the source may have been compacted since it was read, and
/// what was to be shared may be gone.
async fn install(
    journal: &dyn Journal,
    fork: &Fork,
    image: ThreadImage,
) -> Result<bool, ThreadsError> {
    let image = ThreadImage {
        thread: fork.to.clone(),
        ..anew(image)?
    };
    match journal.install(image).await {
        Ok(()) => Ok(true),
        Err(JournalError::ContentGone { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Takes back what was made of a thread that did not stand still.
async fn remove(journal: &dyn Journal, fork: &Fork) -> Result<(), JournalError> {
    let claim = journal.claim(&fork.to, Owner::default()).await?;
    journal.remove(&fork.to, claim.epoch).await
}

/// `None` if the thread was compacted between the look and the copy, which is gone
/// again then.
async fn fork_now(
    journal: &dyn Journal,
    fork: &Fork,
    checkpoint: u64,
) -> Result<Option<Vec<(CallId, String)>>, ThreadsError> {
    // What cannot be read is not copied.
    ThreadView::load(journal, &fork.from).await?;
    let survey = Survey::of(journal, &fork.from).await?;
    let point = survey.point(&fork.from, checkpoint)?;
    let cut = survey.cut(point);
    // What tasks did before the cut goes along.
    let calls = survey.begun_after(cut);
    let calls = repeated(calls, &fork.from, fork.repeats, Again::Fork)?;
    // The last telling record says how a thread stands, so an end goes first.
    let end = survey.end_behind(point).map(Carried::End);
    let carried: Vec<_> = end
        .into_iter()
        .chain(snapshots(&survey, checkpoint, cut))
        .collect();
    if carried.is_empty() && point.mark.is_last {
        journal.copy(&fork.from, &fork.to, Some(cut)).await?;
        let seen = survey.rows.iter().map(|row| row.seq);
        let seen: Vec<_> = seen.filter(|seq| *seq <= cut).collect();
        if transfer::places(journal, &fork.to, Some(cut)).await? != seen {
            remove(journal, fork).await?;
            return Ok(None);
        }
    } else {
        let places = survey.rows.iter().map(|row| row.seq);
        let goes_along = |seq: Seq| carried.iter().any(|carried| carried.seq() == seq);
        let seen: Vec<_> = places
            .filter(|seq| *seq <= cut && !goes_along(*seq))
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

/// A record of the source that the fork has right after the cut.
#[derive(Clone, Copy)]
enum Carried {
    /// The end of a run that was over at the cut.
    End(Seq),
    /// A snapshot, and where its checkpoint stands.
    Snapshot { at: Seq, seq: Seq },
}

impl Carried {
    /// Its place in the source.
    fn seq(self) -> Seq {
        match self {
            Self::End(seq) | Self::Snapshot { seq, .. } => seq,
        }
    }

    /// The record at another place, and of another epoch.
    fn placed(self, record: &Record, place: Seq, epoch: Epoch) -> Result<Record, JournalError> {
        let record = match self {
            Self::End(_) => record.clone(),
            Self::Snapshot { at, .. } => snapshot_of(record, at)?,
        };
        Ok(Record {
            seq: place,
            epoch,
            ..record
        })
    }
}

/// The snapshots that stand behind the cut, as after a pruning, and make up for what
/// is missing before it. The one of the highest checkpoint is the last of them,
/// wherever it stands.
fn snapshots(survey: &Survey, checkpoint: u64, cut: Seq) -> impl Iterator<Item = Carried> + use<> {
    let behind = survey.snapshots();
    let behind = behind.filter(|(of, _, seq)| *of <= checkpoint && *seq > cut);
    let mut carried: Vec<_> = behind.collect();
    if let (false, Some(highest)) = (carried.is_empty(), survey.covering(checkpoint)) {
        carried.retain(|snapshot| *snapshot != highest);
        carried.push(highest);
    }
    let carried = carried.into_iter();
    carried.map(|(_, at, seq)| Carried::Snapshot { at, seq })
}

/// Forks where tasks are left to do, or records have to go along, right after the cut.
/// Says whether what was `seen` up to there is still so; else nothing is made.
async fn behind(
    journal: &dyn Journal,
    fork: &Fork,
    cut: Seq,
    carried: &[Carried],
    seen: &[Seq],
) -> Result<bool, ThreadsError> {
    // Whole in itself, but perhaps compacted since the look: then the records that
    // should go along are not there, or others are.
    let mut image = transfer::sharing(journal, &fork.from).await?;
    let is_carried = |seq| carried.iter().any(|carried| carried.seq() == seq);
    let (behind, records): (Vec<_>, Vec<_>) = image
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
    for carried in carried {
        let Some(record) = behind.iter().find(|record| record.seq == carried.seq()) else {
            return Ok(false);
        };
        place += 1;
        let record = carried.placed(record, place, image.epoch)?;
        image.records.push(record);
    }
    install(journal, fork, image).await
}

/// A snapshot of no run, which says where its checkpoint stands.
fn snapshot_of(snapshot: &Record, at: Seq) -> Result<Record, JournalError> {
    let body = Snapshot {
        at: Some(at),
        ..snapshot.decode(kind::SNAPSHOT)?
    };
    let body = json_within(MAX_READ_DEPTH, &body, str::to_owned).map_err(EncodeError::of_record)?;
    Ok(Record {
        run: RunId::from(""),
        body,
        ..snapshot.clone()
    })
}
