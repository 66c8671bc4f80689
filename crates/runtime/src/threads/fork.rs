//! Makes a thread of another one: of all of it, or of what led to a checkpoint.

use rustagents_core::{
    ids::{CallId, RunId, ThreadId},
    journal::{Journal, JournalError, Seq},
};

use super::{
    ThreadsError, known,
    state::record,
    survey::{Point, Survey},
    transfer,
};

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
    let Some(checkpoint) = fork.checkpoint else {
        journal.copy(&fork.from, &fork.to, None).await?;
        return Ok(Vec::new());
    };
    let survey = Survey::of(journal, &fork.from).await?;
    let point = point(&survey, fork, checkpoint)?;
    let cut = survey.cut(point);
    let calls = survey.begun_after(cut);
    if !(calls.is_empty() || fork.repeats) {
        return Err(ThreadsError::WouldRepeat {
            thread: fork.from.clone(),
            calls,
        });
    }
    match survey.covering(checkpoint) {
        Some((_, at, seq)) if seq > cut => behind(journal, fork, cut, (at, seq)).await?,
        _ => journal.copy(&fork.from, &fork.to, Some(cut)).await?,
    }
    Ok(calls)
}

fn point<'a>(survey: &'a Survey, fork: &Fork, checkpoint: u64) -> Result<Point<'a>, ThreadsError> {
    let mut points = survey.points();
    let found = points.find(|point| point.mark.number == checkpoint);
    found.ok_or_else(|| {
        let number = |point: Point<'_>| point.mark.number;
        let first = survey.points().next().map(number);
        let last = survey.points().next_back().map(number);
        ThreadsError::UnknownCheckpoint {
            thread: fork.from.clone(),
            checkpoint,
            known: first.zip(last),
        }
    })
}

/// Forks where the state comes from a snapshot that stands behind the cut, as after
/// a pruning: the snapshot goes along, right after the cut.
async fn behind(
    journal: &dyn Journal,
    fork: &Fork,
    cut: Seq,
    (at, seq): (Seq, Seq),
) -> Result<(), ThreadsError> {
    let mut snapshot = record(journal, &fork.from, seq).await?;
    let body = serde_json::from_str::<serde_json::Map<_, _>>(&snapshot.body);
    let mut body = body.map_err(|error| JournalError::Corrupt {
        place: format!("record {seq} ({})", snapshot.kind),
        reason: error.to_string(),
    })?;
    body.insert("at".into(), at.into());
    snapshot.body = serde_json::Value::Object(body).to_string();
    snapshot.seq = cut + 1;
    snapshot.run = RunId::from("");
    let mut image = transfer::image(journal, &fork.from).await?;
    image.thread = fork.to.clone();
    image.records.retain(|record| record.seq <= cut);
    image.records.push(snapshot);
    journal.install(image).await?;
    Ok(())
}
