//! Looking at threads: what a listing and a history show. Nothing is written.

use rustagents_core::{
    ids::{Branch, Namespace, NodeName, RunId, TaskId, ThreadId},
    journal::{Chain, Journal, JournalError, Record, Select, ThreadQuery, ThreadRow, kind},
};
use rustagents_graph::record::Checkpoint;
pub use rustagents_graph::record::Source;

use crate::{
    report::Status,
    view::{Phase, ThreadView},
};

/// How many names, or supersteps, are asked for at once.
const PAGE: usize = 500;

/// How a thread stands, for a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its last run ended, or waits for people.
    Told(Status),
    /// Somebody drives it now.
    Running,
    /// Its last run did not end, and nobody drives it: it can be resumed.
    Unfinished,
    /// It has no run, and nobody drives it: who claimed it did not come to open one, or
    /// recorded nothing, or its runs were deleted.
    Empty,
    /// What is recorded of it cannot be read.
    Damaged,
    /// It cannot be read now: a process that was stopped is in the way.
    Unavailable,
}

impl Standing {
    /// All stable names.
    pub const NAMES: [&'static str; 11] = [
        "running",
        "unfinished",
        "empty",
        "suspended",
        "completed",
        "failed",
        "interrupted",
        "budget_exceeded",
        "cancelled",
        "damaged",
        "unavailable",
    ];

    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Told(status) => status.as_str(),
            Self::Running => "running",
            Self::Unfinished => "unfinished",
            Self::Empty => "empty",
            Self::Damaged => "damaged",
            Self::Unavailable => "unavailable",
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
    /// The plan of its last run; empty where none can be told of.
    pub target: String,
    /// When it was last written to, in milliseconds since the Unix epoch.
    pub updated_at_ms: u64,
    /// How many questions wait for an answer.
    pub pending: usize,
    /// Why no more can be told of it, where that is so.
    pub problem: Option<String>,
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
    /// Where it comes from.
    pub source: Source,
    /// The checkpoint to which it went back, where it did.
    pub from: Option<u64>,
    /// The nodes whose writes are in it.
    pub done: Vec<NodeName>,
    /// The channels that it changed, each once.
    pub changed: Vec<String>,
    /// The nodes of the next superstep.
    pub next: Vec<NodeName>,
    /// When it was recorded, in milliseconds since the Unix epoch.
    pub at_ms: u64,
}

/// Which threads are listed.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only threads whose names follow this one.
    pub after: Option<ThreadId>,
    /// Only threads whose names begin so.
    pub prefix: String,
    /// Only threads that were written to at this time or later, in milliseconds
    /// since the Unix epoch.
    pub since_ms: u64,
    /// Only threads that stand so, by the stable name.
    pub standing: Option<String>,
}

/// Up to `limit` threads that `filter` asks for, by name. Reads the last run of
/// each that it meets, page after page, until there are enough.
///
/// # Errors
/// Whatever the journal says.
pub async fn list(
    journal: &dyn Journal,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<ThreadSummary>, JournalError> {
    let mut summaries = Vec::new();
    let mut query = ThreadQuery {
        after: filter.after.clone(),
        prefix: filter.prefix.clone(),
        updated_since_ms: filter.since_ms,
        limit: if filter.standing.is_some() {
            PAGE
        } else {
            limit.min(PAGE)
        },
    };
    while summaries.len() < limit {
        let page = journal.threads(query.clone()).await?;
        let is_last = page.len() < query.limit;
        query.after = page.last().map(|row| row.thread.clone());
        for row in page {
            let summary = summary(journal, row).await?;
            let wanted = filter.standing.as_deref();
            if wanted.is_none_or(|wanted| wanted == summary.standing.as_str()) {
                summaries.push(summary);
            }
            if summaries.len() == limit {
                break;
            }
        }
        if is_last {
            break;
        }
    }
    Ok(summaries)
}

/// The others are listed where one cannot be read.
async fn summary(journal: &dyn Journal, row: ThreadRow) -> Result<ThreadSummary, JournalError> {
    let (standing, error) = match readable(journal, &row).await {
        Err(error @ (JournalError::Corrupt { .. } | JournalError::Newer { .. })) => {
            (Standing::Damaged, error)
        }
        Err(error @ JournalError::Unavailable { .. }) => {
            // If it is the store, that is told of no single thread.
            journal.threads(ThreadQuery::all().limit(1)).await?;
            (Standing::Unavailable, error)
        }
        told => return told,
    };
    Ok(ThreadSummary {
        standing,
        target: String::new(),
        updated_at_ms: row.updated_at_ms,
        pending: 0,
        thread: row.thread,
        problem: Some(error.to_string()),
    })
}

async fn readable(journal: &dyn Journal, row: &ThreadRow) -> Result<ThreadSummary, JournalError> {
    let view = ThreadView::load(journal, &row.thread).await?;
    let view = view.as_ref();
    Ok(ThreadSummary {
        standing: standing(journal, &row.thread, view).await?,
        target: view.map_or_else(String::new, |view| view.opened.target.plan.clone()),
        updated_at_ms: row.updated_at_ms,
        pending: view.map_or(0, |view| view.pending().count()),
        thread: row.thread.clone(),
        problem: None,
    })
}

/// How a thread of the journal's listing stands, of which `view` is the last run.
///
/// # Errors
/// Whatever the journal says.
pub async fn standing(
    journal: &dyn Journal,
    thread: &ThreadId,
    view: Option<&ThreadView>,
) -> Result<Standing, JournalError> {
    if journal.owner(thread).await?.is_some() {
        return Ok(Standing::Running);
    }
    Ok(match view.map(|view| &view.phase) {
        None => Standing::Empty,
        Some(Phase::Closed(closed)) => Standing::Told(closed.status),
        Some(Phase::Suspended) => Standing::Told(Status::Suspended),
        Some(Phase::Open) => Standing::Unfinished,
    })
}

/// The newest `limit` supersteps of a thread, the oldest of them first; of those
/// before checkpoint `before`, where it is given.
///
/// # Errors
/// Whatever the journal says; [`JournalError::Corrupt`]: a checkpoint cannot be
/// read.
pub async fn history(
    journal: &dyn Journal,
    thread: &ThreadId,
    limit: usize,
    before: Option<u64>,
) -> Result<Vec<Moment>, JournalError> {
    let mut moments = Vec::new();
    if limit == 0 {
        return Ok(moments);
    }
    let page = if before.is_some() {
        PAGE
    } else {
        PAGE.min(limit)
    };
    backwards(journal, thread, page, &mut |moment| {
        if before.is_none_or(|before| moment.checkpoint < before) {
            moments.push(moment);
        }
        moments.len() < limit
    })
    .await?;
    moments.reverse();
    Ok(moments)
}

/// Reads all supersteps of a thread and keeps none, to see that each can be read.
///
/// # Errors
/// As [`history`].
pub async fn skim(journal: &dyn Journal, thread: &ThreadId) -> Result<(), JournalError> {
    backwards(journal, thread, PAGE, &mut |_| true).await
}

/// Shows the supersteps of a thread to `each`, the newest first and `page` at a time,
/// as long as it wants more.
async fn backwards(
    journal: &dyn Journal,
    thread: &ThreadId,
    page: usize,
    each: &mut (dyn FnMut(Moment) -> bool + Send),
) -> Result<(), JournalError> {
    let root = Chain {
        branch: Branch::main(),
        namespace: Namespace::root(),
    };
    let mut select = Select::all()
        .on(root)
        .of(kind::CHECKPOINT)
        .newest_first()
        .limit(page);
    loop {
        let newest = journal.read(thread, select.clone()).await?;
        for record in &newest {
            if !each(moment(record)?) {
                return Ok(());
            }
        }
        match newest.last() {
            Some(last) if newest.len() == page => select = select.before(last.seq),
            _ => return Ok(()),
        }
    }
}

fn moment(record: &Record) -> Result<Moment, JournalError> {
    let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT)?;
    let changed = checkpoint
        .deltas
        .into_iter()
        .map(|(channel, _)| channel.into_owned());
    let mut changed: Vec<_> = changed.collect();
    changed.sort();
    changed.dedup();
    Ok(Moment {
        checkpoint: checkpoint.checkpoint,
        run: record.run.clone(),
        step: checkpoint.step,
        source: checkpoint.source,
        from: checkpoint.from,
        done: checkpoint.done.iter().map(TaskId::node).collect(),
        changed,
        next: checkpoint
            .pending
            .next
            .into_iter()
            .map(|task| task.node)
            .collect(),
        at_ms: record.at_ms,
    })
}
