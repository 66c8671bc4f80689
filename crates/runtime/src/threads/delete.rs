//! Removes a thread, or one run of it.

use rustagents_core::{
    ids::{Branch, FactKey, RunId, ThreadId},
    journal::{Journal, JournalError, Seq},
    log::ThreadLog,
};

use super::{
    Removed, ThreadsError, find, known,
    rewrite::Rewrite,
    survey::{Survey, What},
};
use crate::{
    inbox::item_of_key,
    runs::Runtime,
    view::{Phase, ThreadView},
};

/// Around which checkpoint a run is taken out.
struct Hole {
    /// The checkpoint whose state is kept as a snapshot.
    number: u64,
    /// The number that the snapshot gets: what follows is numbered after it.
    reached: u64,
    /// Snapshots of these checkpoints go with the run.
    covered: std::ops::RangeInclusive<u64>,
}

impl Runtime {
    /// Removes a thread. One whose last run waits or did not end is removed only if
    /// `unfinished` says so, and then without being read.
    ///
    /// Its events go first, where this runtime [keeps](Self::keeping) events: also those
    /// that are left of a thread that is gone. If they cannot, the thread stays.
    ///
    /// Calls of a thread that is made under the same name later are numbered from 1
    /// again, and so are the keys that their tools get.
    ///
    /// # Errors
    /// [`ThreadsError::Waits`], [`ThreadsError::Unfinished`], and what the journal
    /// says: somebody drives the thread, or there is none.
    pub async fn delete(&self, thread: &ThreadId, unfinished: bool) -> Result<(), ThreadsError> {
        if find(self.journal(), thread).await?.is_none() && self.remove_events(thread).await? > 0 {
            return Ok(());
        }
        known(self.journal(), thread).await?;
        if unfinished && self.is_damaged(thread).await? {
            // Whether somebody drives it, only this can tell.
            self.journal().discard(thread, self.owner()).await?;
            self.remove_events(thread).await?;
            return Ok(());
        }
        self.wait_until_free(thread).await?;
        if !unfinished {
            refuse_unfinished(self.journal(), thread).await?;
        }
        let claim = self.claim(thread).await?;
        if !unfinished {
            refuse_unfinished(self.journal(), thread).await?;
        }
        // Nobody appends to them while the thread is claimed, and behind its removal
        // another one may have its name.
        self.remove_events(thread).await?;
        self.journal().remove(thread, claim.epoch).await?;
        Ok(())
    }

    /// Removes the kept events of a thread, and says how many.
    async fn remove_events(&self, thread: &ThreadId) -> Result<u64, ThreadsError> {
        let Some(keep) = self.kept_in() else {
            return Ok(0);
        };
        let removed = keep.journal().remove_thread(thread.clone()).await;
        removed.map_err(ThreadsError::Events)
    }

    /// Whether not even the thread's driver can be told.
    async fn is_damaged(&self, thread: &ThreadId) -> Result<bool, JournalError> {
        match self.journal().owner(thread).await {
            Err(JournalError::Corrupt { .. }) => Ok(true),
            told => told.map(|_| false),
        }
    }

    /// Takes a run that ended out of its thread. The last one leaves the thread as
    /// it was before, except that nothing is numbered again: no message, call,
    /// checkpoint or task, and so no question or step either. An earlier one leaves
    /// its state, as a snapshot, and what its nodes keep of graphs inside.
    ///
    /// # Errors
    /// [`ThreadsError::UnknownRun`]; [`ThreadsError::StateGone`]: what came before
    /// the run was pruned; the last run of the thread did not end; and what the
    /// journal says.
    pub async fn delete_run(
        &self,
        thread: &ThreadId,
        run: &RunId,
    ) -> Result<Removed, ThreadsError> {
        known(self.journal(), thread).await?;
        self.wait_until_free(thread).await?;
        refuse_unfinished(self.journal(), thread).await?;
        hole(&Survey::of(self.journal(), thread).await?, thread, run)?;
        let claim = self.claim(thread).await?;
        refuse_unfinished(self.journal(), thread).await?;
        let survey = Survey::of(self.journal(), thread).await?;
        let log = ThreadLog::load(self.journal(), thread, &Branch::main()).await?;
        let hole = hole(&survey, thread, run)?;
        // An input goes with what says that it is taken, or it would wait again.
        let taken = survey.taken_by(run);
        let is_taken = |key: &FactKey| {
            let item = item_of_key(key.as_str());
            item.is_some_and(|(item, _)| taken.contains(item))
        };
        let drops = |seq: Seq| {
            survey.row(seq).is_some_and(|row| match &row.what {
                What::Elsewhere => false,
                What::Snapshot { of, .. } => row.run == *run || hole.covered.contains(of),
                What::Fact(key) => row.run == *run || is_taken(key),
                _ => row.run == *run,
            })
        };
        // Later runs may go on from calls that were this one's.
        let needed = survey.calls.needed(hole.number, |seq| !drops(seq));
        let drops = |seq: Seq| drops(seq) && !needed.contains(&seq);
        let rewrite = Rewrite {
            runtime: self,
            thread,
            claim: &claim,
            survey: &survey,
            log: &log,
        };
        rewrite.around(hole.number, hole.reached, drops).await
    }
}

/// Finds what is left around `run`.
fn hole(survey: &Survey, thread: &ThreadId, run: &RunId) -> Result<Hole, ThreadsError> {
    let of_run = || survey.points().filter(|point| point.row.run == *run);
    let (Some(first), Some(last)) = (of_run().next(), of_run().next_back()) else {
        return Err(ThreadsError::UnknownRun {
            thread: thread.clone(),
            run: run.clone(),
        });
    };
    let is_last = survey.points().next_back().map(|point| point.row.seq) == Some(last.row.seq);
    if !is_last {
        return Ok(Hole {
            number: last.mark.number,
            reached: last.mark.number,
            covered: first.mark.number..=last.mark.number,
        });
    }
    let before = first.mark.number.saturating_sub(1);
    // Without the run's own input, or what its state began with, nobody can tell.
    let starts = survey.covering(before).map_or(0, |(of, ..)| of);
    let between = survey
        .points()
        .filter(|point| (starts + 1..=before).contains(&point.mark.number));
    let is_whole = u64::try_from(between.count()) == Ok(before - starts);
    if !first.mark.begins || !is_whole {
        return Err(ThreadsError::StateGone {
            thread: thread.clone(),
            checkpoint: before,
        });
    }
    Ok(Hole {
        number: before,
        reached: survey.reached(),
        covered: first.mark.number..=u64::MAX,
    })
}

pub(super) async fn refuse_unfinished(
    journal: &dyn Journal,
    thread: &ThreadId,
) -> Result<(), ThreadsError> {
    let view = ThreadView::load(journal, thread).await?;
    match view.map(|view| view.phase) {
        None | Some(Phase::Closed(_)) => Ok(()),
        Some(Phase::Suspended) => Err(ThreadsError::Waits {
            thread: thread.clone(),
        }),
        Some(Phase::Open) => Err(ThreadsError::Unfinished {
            thread: thread.clone(),
        }),
    }
}
