//! Going on with a run that ended without success.

use std::time::Duration;

use rustagents_core::{
    budget::{Budget, Limits},
    ids::ThreadId,
    scope::Halt,
};

use super::{Another, RunError, Runtime, Watch};
use crate::{
    answers::Answers,
    ledger,
    program::Program,
    report::{Report, Status},
    view::{Phase, ThreadView},
};

/// How a run goes on that had ended.
#[derive(Clone, Debug)]
pub struct Retry {
    /// The thread.
    pub thread: ThreadId,
    /// What the run may consume from now on; what it consumed counts.
    pub limits: Limits,
}

impl Runtime {
    /// Reopens the last run of a thread, which failed, was stopped by a policy or
    /// reached a limit, and drives it. Finished tasks of the step that ended it are
    /// answered from their records; its other tasks run again. An agent keeps its
    /// messages and asks its model once more.
    ///
    /// Questions that nobody had answered are void until the run waits for them
    /// again. [`Durability::None`](rustagents_core::recorder::Durability::None)
    /// counts as `Exit`, as for a resume.
    ///
    /// # Errors
    /// [`RunError`], and nothing is written: the run stands otherwise
    /// ([`RunError::Stands`], [`RunError::Suspended`], [`RunError::Unfinished`]), or
    /// would stop at a limit before its first step.
    pub async fn retry(
        &self,
        program: &Program,
        retry: Retry,
        watch: Watch,
    ) -> Result<Report, RunError> {
        let thread = &retry.thread;
        self.wait_until_free(thread).await?;
        self.check_retry(program, &self.known(thread).await?, &retry, &watch)?;
        let claim = self.claim(thread).await?;
        let view = self.known(thread).await?;
        self.check_retry(program, &view, &retry, &watch)?;
        let again = Another {
            answers: &Answers::default(),
            limits: retry.limits,
            retries: true,
            forcing: None,
        };
        self.go_on(program, &view, &claim, again, watch).await
    }

    fn check_retry(
        &self,
        program: &Program,
        view: &ThreadView,
        retry: &Retry,
        watch: &Watch,
    ) -> Result<(), RunError> {
        refuse_success(view)?;
        let at = self.check_compatible(program, view, watch)?;
        refuse_limits(
            view,
            at.step,
            program.graph().recursion_limit(),
            retry.limits,
        )
    }
}

/// Refuses what would stop at a limit before its first step: the first step of
/// another attempt is taken whatever the limits are.
pub(crate) fn refuse_limits(
    view: &ThreadView,
    step: u64,
    recursion_limit: u64,
    limits: Limits,
) -> Result<(), RunError> {
    if step >= recursion_limit {
        let limit = recursion_limit;
        return Err(RunError::RecursionLimit { limit });
    }
    let budget = Budget::resumed(limits, ledger::spent(view.log(), &view.run)?);
    let time = budget.time_left(Duration::ZERO).map(drop);
    let step = || budget.begin_step().map(drop);
    Ok(time.and_then(|()| step()).map_err(Halt::Budget)?)
}

/// Refuses what has nothing to be tried again.
fn refuse_success(view: &ThreadView) -> Result<(), RunError> {
    let thread = view.thread.clone();
    let closed = match &view.phase {
        Phase::Closed(closed) => closed,
        Phase::Suspended => {
            return Err(RunError::Suspended {
                report: Box::new(view.report()),
            });
        }
        Phase::Open => {
            let has_plan = view.opened.target.has_plan();
            return Err(RunError::Unfinished { thread, has_plan });
        }
    };
    let hint = match closed.status {
        status if status.is_retried() => return Ok(()),
        Status::Completed => format!(
            "give it a new input with `rag run --thread`, or go back with `rag threads rewind \
             {thread}@CHECKPOINT`"
        ),
        _ => format!("go back with `rag threads rewind {thread}@CHECKPOINT`"),
    };
    Err(RunError::Stands {
        stands: format!(
            "is {}, so there is nothing to retry",
            closed.status.as_str()
        ),
        thread,
        hint,
    })
}
