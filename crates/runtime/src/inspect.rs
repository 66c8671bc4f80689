//! Looking at threads: what a listing and a history show. Nothing is written.

use rustagents_core::{
    ids::{Branch, Namespace, NodeName, RunId, ThreadId},
    journal::{Journal, JournalError, ThreadQuery, kind},
};
use rustagents_graph::record::{Checkpoint, Source};

use crate::{
    report::Status,
    view::{Phase, ThreadView},
};

/// How a thread stands, for a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its last run ended, or waits for people.
    Told(Status),
    /// Somebody drives it now.
    Running,
    /// Its last run did not end, and nobody drives it: it can be resumed.
    Unfinished,
}

impl Standing {
    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Told(status) => status.as_str(),
            Self::Running => "running",
            Self::Unfinished => "unfinished",
        }
    }
}

/// A thread in a listing.
#[derive(Clone, Debug)]
pub struct ThreadSummary {
    /// Its name.
    pub thread: ThreadId,
    /// How it stands.
    pub standing: Standing,
    /// The plan of its last run.
    pub target: String,
    /// When it was last written to, in milliseconds since the Unix epoch.
    pub updated_at_ms: u64,
    /// How many questions wait for an answer.
    pub pending: usize,
}

/// A superstep in a history.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The number of the checkpoint in the thread.
    pub checkpoint: u64,
    /// The run that it belongs to.
    pub run: RunId,
    /// How many supersteps the run had done.
    pub step: u64,
    /// Whether it is the input of a run.
    pub is_input: bool,
    /// The nodes whose writes are in it.
    pub done: Vec<NodeName>,
    /// The channels that it changed, each once.
    pub changed: Vec<String>,
    /// The nodes of the next superstep.
    pub next: Vec<NodeName>,
    /// When it was recorded, in milliseconds since the Unix epoch.
    pub at_ms: u64,
}

/// Up to `limit` threads whose names follow `after`. Reads each of them whole.
///
/// # Errors
/// Whatever the journal says.
pub async fn list(
    journal: &dyn Journal,
    after: Option<&ThreadId>,
    limit: usize,
) -> Result<Vec<ThreadSummary>, JournalError> {
    let mut summaries = Vec::new();
    for row in journal
        .threads(ThreadQuery::all().after(after.cloned()).limit(limit))
        .await?
    {
        let Some(view) = ThreadView::load(journal, &row.thread).await? else {
            continue;
        };
        summaries.push(ThreadSummary {
            standing: standing(journal, &view).await?,
            target: view.opened.target.plan.clone(),
            updated_at_ms: row.updated_at_ms,
            pending: view.pending().count(),
            thread: row.thread,
        });
    }
    Ok(summaries)
}

/// How a thread stands.
///
/// # Errors
/// Whatever the journal says.
pub async fn standing(journal: &dyn Journal, view: &ThreadView) -> Result<Standing, JournalError> {
    if journal.owner(&view.thread).await?.is_some() {
        return Ok(Standing::Running);
    }
    Ok(match &view.phase {
        Phase::Closed(closed) => Standing::Told(closed.status),
        Phase::Suspended => Standing::Told(Status::Suspended),
        Phase::Open => Standing::Unfinished,
    })
}

/// The supersteps of a thread, the oldest first.
///
/// # Errors
/// [`JournalError::Corrupt`]: a checkpoint cannot be read.
pub fn history(view: &ThreadView) -> Result<Vec<Moment>, JournalError> {
    let commits = view.log().commits(&Branch::main(), &Namespace::root());
    let checkpoints = commits.filter(|record| record.is(kind::CHECKPOINT));
    checkpoints
        .map(|record| {
            let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT)?;
            let mut changed: Vec<_> = checkpoint
                .deltas
                .into_iter()
                .map(|(channel, _)| channel)
                .collect();
            changed.sort();
            changed.dedup();
            Ok(Moment {
                checkpoint: checkpoint.checkpoint,
                run: record.run.clone(),
                step: checkpoint.step,
                is_input: checkpoint.source == Source::Input,
                done: checkpoint
                    .done
                    .iter()
                    .map(rustagents_core::ids::TaskId::node)
                    .collect(),
                changed,
                next: checkpoint.next.into_iter().map(|task| task.node).collect(),
                at_ms: record.at_ms,
            })
        })
        .collect()
}
