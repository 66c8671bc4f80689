//! Takes out of a thread what nobody needs who goes on with it.

use std::collections::BTreeSet;

use rustagents_core::{
    ids::{Branch, CallId, RunId, ThreadId},
    journal::{Journal, Seq, kind},
    log::ThreadLog,
};
use rustagents_graph::record::Checkpoint;

use super::{
    Removed, ThreadsError, known,
    rewrite::Rewrite,
    state,
    survey::{Row, Survey, What},
};
use crate::{inbox::item_of_key, runs::Runtime, view::ThreadView};

/// Which checkpoints stay. The last one always does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The last so many.
    Last(u64),
    /// Those since this time, in milliseconds since the Unix epoch.
    Since(u64),
}

/// What a pruning came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// What was taken out; nothing, where there was nothing to take.
    pub removed: Removed,
    /// How many checkpoints are left.
    pub checkpoints: u64,
}

/// What stays.
struct Kept {
    /// The first checkpoint that stays, and its place.
    first: (u64, Seq),
    /// From here on everything stays: the last run is not over, or can be reopened.
    from: Option<Seq>,
    runs: BTreeSet<RunId>,
    /// Ends that are told once more later.
    told_again: BTreeSet<Seq>,
    /// Calls that change something and were begun after the first checkpoint, or by
    /// tasks that are left to do there.
    calls: BTreeSet<CallId>,
    /// Inputs that wait in the queue.
    waiting: BTreeSet<String>,
    /// Checkpoints of calls whose state is kept.
    called: BTreeSet<Seq>,
    /// What tasks had done that are left to do at a checkpoint that stays.
    done: BTreeSet<Seq>,
}

impl Runtime {
    /// Takes out of a thread what stands before the checkpoints that are kept, and
    /// the inner records of runs that ended. The state at the first kept checkpoint
    /// becomes a snapshot. A last run that did not end, or that
    /// [`retry`](Self::retry) reopens, keeps everything of its own.
    ///
    /// # Errors
    /// What the journal says: somebody drives the thread, or there is none.
    pub async fn prune(&self, thread: &ThreadId, keep: Keep) -> Result<Pruned, ThreadsError> {
        known(self.journal(), thread).await?;
        self.wait_until_free(thread).await?;
        // Where there is nothing to take, not even a claim is written.
        let plan = Plan::of(self.journal(), thread, keep).await?;
        if plan.needless == 0 {
            return Ok(plan.told(Removed::default()));
        }
        let claim = self.claim(thread).await?;
        let plan = Plan::of(self.journal(), thread, keep).await?;
        let Some(kept) = plan.kept.as_ref().filter(|_| plan.needless > 0) else {
            return Ok(plan.told(Removed::default()));
        };
        let rewrite = Rewrite {
            runtime: self,
            thread,
            claim: &claim,
            survey: &plan.survey,
            log: &plan.log,
        };
        let goes = |seq: Seq| plan.survey.row(seq).is_some_and(|row| !kept.keeps(row));
        let removed = rewrite.around(kept.first.0, kept.first.0, goes).await?;
        Ok(plan.told(removed))
    }
}

/// A thread, and what of it stays.
struct Plan {
    survey: Survey,
    log: ThreadLog,
    /// `None` for a thread without a checkpoint.
    kept: Option<Kept>,
    /// How many records go, beside a snapshot that only makes room for another.
    needless: usize,
}

impl Plan {
    async fn of(
        journal: &dyn Journal,
        thread: &ThreadId,
        keep: Keep,
    ) -> Result<Self, ThreadsError> {
        let survey = Survey::of(journal, thread).await?;
        let log = ThreadLog::load(journal, thread, &Branch::main()).await?;
        let view = ThreadView::of(thread, log.clone())?;
        let open = view.filter(ThreadView::goes_on);
        let open = open.and_then(|view| survey.opened(&view.run).map(|row| row.seq));
        let mut kept = Kept::of(&survey, keep, open);
        if let Some(kept) = &mut kept {
            let (_, at) = kept.first;
            let first = state::record(journal, thread, at).await?;
            let first: Checkpoint = first.decode(kind::CHECKPOINT)?;
            let begun = survey.begun_since(at, &first.pending).into_iter();
            kept.calls = begun.map(|(call, _)| call).collect();
            let stays = |seq| survey.row(seq).is_some_and(|row| kept.keeps(row));
            kept.called = survey.calls.needed(kept.first.0, stays);
        }
        let rows = survey.rows.iter();
        let counted = rows.filter(|row| !matches!(row.what, What::Snapshot { .. }));
        let needless = kept
            .as_ref()
            .map_or(0, |kept| counted.filter(|row| !kept.keeps(row)).count());
        Ok(Self {
            survey,
            log,
            kept,
            needless,
        })
    }

    fn told(&self, removed: Removed) -> Pruned {
        let first = self.kept.as_ref().map_or(0, |kept| kept.first.1);
        let left = self.survey.points().filter(|point| point.row.seq >= first);
        Pruned {
            removed,
            checkpoints: u64::try_from(left.count()).unwrap_or(u64::MAX),
        }
    }
}

impl Kept {
    /// `None` for a thread without a checkpoint.
    fn of(survey: &Survey, keep: Keep, from: Option<Seq>) -> Option<Self> {
        let last = survey.points().next_back()?;
        let first = match keep {
            Keep::Last(count) => {
                let count = usize::try_from(count.max(1)).unwrap_or(usize::MAX);
                survey.points().rev().take(count).last()
            }
            Keep::Since(time) => survey.points().find(|point| point.row.at_ms >= time),
        };
        let own = from.and_then(|from| survey.points().find(|point| point.row.seq > from));
        let first = first.unwrap_or(last);
        let first = own
            .filter(|own| own.row.seq < first.row.seq)
            .unwrap_or(first);
        let first = (first.mark.number, first.row.seq);
        let runs = survey.points().filter(|point| point.row.seq >= first.1);
        Some(Self {
            first,
            from,
            told_again: survey.told_again(first.1),
            runs: runs.map(|point| point.row.run.clone()).collect(),
            calls: BTreeSet::new(),
            waiting: survey.waiting(),
            called: BTreeSet::new(),
            done: survey.done_before(first.1),
        })
    }

    fn keeps(&self, row: &Row) -> bool {
        if self.from.is_some_and(|from| row.seq >= from) || self.done.contains(&row.seq) {
            return true;
        }
        match &row.what {
            What::Elsewhere => true,
            What::Closed if self.told_again.contains(&row.seq) => false,
            What::Opened | What::Attempt { tells: true } | What::Closed => {
                self.runs.contains(&row.run)
            }
            What::Checkpoint(_) => row.seq >= self.first.1,
            // One of a later checkpoint makes up for what was deleted before it.
            What::Snapshot { of, .. } => *of > self.first.0,
            // A fork at a checkpoint that stays is told of them.
            What::Intent { call, .. } => self.calls.contains(call),
            What::Fact(key) => match item_of_key(key.as_str()) {
                Some((item, _)) => self.waiting.contains(item),
                None => self.is_of_a_call(key.as_str()),
            },
            What::Other => self.called.contains(&row.seq),
            What::Attempt { .. } => false,
        }
    }

    /// Whether a fact says how a kept call ended, or what a person said of it.
    fn is_of_a_call(&self, key: &str) -> bool {
        let mut parts = key.split('/');
        let of = matches!(parts.next(), Some("call" | "answer"));
        of && parts
            .next()
            .is_some_and(|call| self.calls.contains(&CallId::from(call)))
    }
}
