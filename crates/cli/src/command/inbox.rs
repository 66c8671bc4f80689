//! What `rag run --on-busy` and `rag resume` do with inputs that wait.

use std::process::ExitCode;

use rustagents_core::{CancellationToken, ids::ThreadId, journal::Journal, recorder::Durability};
use rustagents_runtime::{
    Cancelling, OnBusy, Program, Report, RunError, Runtime, Start, Watch,
    inbox::{QueuedInput, Turn, queue},
    threads::find,
};

use crate::{
    arguments::{Busy, Common, Recorded},
    command::{
        cancel::PATIENCE, driven, finish, finish_with, must_record, resume::recorded_plan, watch,
    },
    failure::Failure,
    output::Output,
    signals::Signals,
};

/// What is done with a busy thread; `None` where the input is refused.
pub(super) fn policy(busy: Busy) -> Option<OnBusy> {
    match busy {
        Busy::Reject => None,
        Busy::Enqueue => Some(OnBusy::Enqueue),
        Busy::Interrupt => Some(OnBusy::Interrupt),
        Busy::Rollback => Some(OnBusy::Rollback),
    }
}

/// Where a command works, and whom it tells.
pub(super) struct Work<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) journal: &'a dyn Journal,
    pub(super) output: &'a Output,
    pub(super) signals: &'a Signals,
    pub(super) common: &'a Common,
}

impl Work<'_> {
    fn watch(&self) -> Watch {
        let durability: Durability = self.common.durability.into();
        Watch {
            durability,
            ..watch(self.output, self.signals, self.common, true)
        }
    }

    /// Opens a run on an input once its thread is free for it.
    pub(super) async fn queued(
        &self,
        program: &Program,
        start: Start,
        busy: OnBusy,
    ) -> Result<ExitCode, Failure> {
        must_record(self.common, "an input that waits is recorded")?;
        let thread = match &start.thread {
            Some(thread) if find(self.journal, thread).await?.is_some() => thread.clone(),
            // A new thread has nothing to wait for.
            _ => return self.started(program, start).await,
        };
        if queue(self.journal, &thread).await?.is_empty() {
            match self
                .runtime
                .start(program, start.clone(), self.watch())
                .await
            {
                Err(error) if is_busy(&error) => {}
                started => return driven(&started?, self.output, self.signals),
            }
        }
        let item = self.runtime.enqueue(program, start, busy).await?;
        self.output.queued(&thread, &item);
        if busy != OnBusy::Enqueue {
            self.give_up(&thread).await?;
        }
        self.until_taken(program, &thread, &item).await
    }

    async fn started(&self, program: &Program, start: Start) -> Result<ExitCode, Failure> {
        let report = self.runtime.start(program, start, self.watch()).await?;
        driven(&report, self.output, self.signals)
    }

    /// Gives up the run that the input found. One that does not end in time is waited
    /// for as any other.
    async fn give_up(&self, thread: &ThreadId) -> Result<(), Failure> {
        let reason = Some("a new input takes its place");
        let cancelling = self.runtime.cancel_within(thread, reason, PATIENCE);
        if let Cancelling::Standing(_) = cancelling.await? {
            self.output
                .note("the run is driven still; the request to end it stands");
        }
        Ok(())
    }

    /// Waits for the thread, and opens the runs that come before the input, and its own.
    async fn until_taken(
        &self,
        program: &Program,
        thread: &ThreadId,
        item: &QueuedInput,
    ) -> Result<ExitCode, Failure> {
        loop {
            let Some(turn) = self.turn(thread, item).await? else {
                self.output.stays(thread, item)?;
                return Ok(ExitCode::from(self.signals.status()));
            };
            match turn {
                Turn::Ready(next) if next.id == item.id => {
                    if let Some(report) = self.opened(program, thread, &next).await? {
                        return driven(&report, self.output, self.signals);
                    }
                }
                Turn::Ready(next) => {
                    let other = self.program(thread, &next)?;
                    self.output.taking(&next);
                    if let Some(report) = self.opened(&other, thread, &next).await?
                        && !report.is_closed
                    {
                        return self.behind(&report, item);
                    }
                }
                Turn::Taken(report) => return finish(&report, self.output, self.signals),
                Turn::Waits(report) => return self.behind(&report, item),
                Turn::Unfinished { has_plan } => {
                    let thread = thread.clone();
                    self.output.note("the input is in the queue");
                    let failure = Failure::from(RunError::Unfinished { thread, has_plan });
                    return Err(failure.of_queued(&item.id));
                }
                _ => {
                    self.output.withdrawn(thread, &item.id)?;
                    return Ok(ExitCode::FAILURE);
                }
            }
        }
    }

    /// A run before the input does not end by itself.
    fn behind(&self, report: &Report, item: &QueuedInput) -> Result<ExitCode, Failure> {
        let code = finish_with(report, Some(&item.id), self.output, self.signals)?;
        self.output
            .note("the input is in the queue; the resume that ends this run goes on with it");
        Ok(code)
    }

    /// `None` if the process was told to stop.
    async fn turn(&self, thread: &ThreadId, item: &QueuedInput) -> Result<Option<Turn>, Failure> {
        let stopped = |token: &CancellationToken| token.clone().cancelled_owned();
        tokio::select! {
            turn = self.runtime.turn(thread, item) => Ok(Some(turn?)),
            () = stopped(&self.signals.cancel) => Ok(None),
            () = stopped(&self.signals.drain) => Ok(None),
        }
    }

    /// Opens a run on an input and drives it; `None` if somebody else was quicker.
    async fn opened(
        &self,
        program: &Program,
        thread: &ThreadId,
        item: &QueuedInput,
    ) -> Result<Option<Report>, Failure> {
        let started = self.runtime.start_next(program, thread, item, self.watch());
        match started.await {
            Err(error) if is_busy(&error) => Ok(None),
            started => Ok(started?),
        }
    }

    /// What the run of somebody else's input executes: the plan that it names.
    fn program(&self, thread: &ThreadId, item: &QueuedInput) -> Result<Program, Failure> {
        let own = Recorded {
            target: None,
            models: Vec::new(),
            takeover: false,
        };
        let config = self.common.config.as_deref();
        let ready = recorded_plan(&own, config, &item.body.target).map_err(|failure| {
            let hint = failure.hint.clone().unwrap_or_default();
            failure.hint(format!(
                "{hint}; or take the input that needs it out of the queue with `rag cancel \
                 {thread} --queued {}`",
                item.id
            ))
        })?;
        Ok(ready.program)
    }

    /// Opens the first run of a thread on the input that waits first; `None` where none
    /// does, or somebody else is quicker.
    pub(super) async fn first(&self, thread: &ThreadId) -> Result<Option<Report>, Failure> {
        let waiting = queue(self.journal, thread).await?;
        let Some(next) = waiting.first() else {
            return Ok(None);
        };
        let program = self.program(thread, next)?;
        self.output.taking(next);
        self.opened(&program, thread, next).await
    }

    /// Goes on with what waits for a thread whose last run is over. What is told is
    /// the last run; says whether one was driven here.
    pub(super) async fn rest(
        &self,
        thread: &ThreadId,
        report: Report,
    ) -> Result<(Report, bool), Failure> {
        let (mut report, mut worked) = (report, false);
        while report.is_closed && !self.is_told_to_stop() {
            let waiting = queue(self.journal, thread).await?;
            let Some(next) = waiting.first() else {
                break;
            };
            let program = match self.program(thread, next) {
                Ok(program) => program,
                // What is done is told all the same.
                Err(failure) => {
                    self.output.stuck(&failure);
                    break;
                }
            };
            self.output.taking(next);
            let Some(done) = self.opened(&program, thread, next).await? else {
                // Somebody else goes on with them.
                break;
            };
            self.output.left(&report);
            (report, worked) = (done, true);
        }
        Ok((report, worked))
    }

    fn is_told_to_stop(&self) -> bool {
        self.signals.cancel.is_cancelled() || self.signals.drain.is_cancelled()
    }
}

/// Whether a thread takes no input just now.
fn is_busy(error: &RunError) -> bool {
    use rustagents_core::journal::JournalError;
    matches!(
        error,
        RunError::Journal(JournalError::Busy { .. })
            | RunError::Suspended { .. }
            | RunError::Unfinished { .. }
    )
}
