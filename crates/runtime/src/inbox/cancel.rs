//! Asking for the end of a run that somebody else drives.

use std::{pin::pin, time::Duration};

use futures::future::{Either, select};
use rustagents_core::{
    ask::Ask,
    ids::{FactKey, RunId, ThreadId},
    journal::{JournalError, Record, Select, Seq, kind},
};
use serde::{Deserialize, Serialize};

use super::{Outside, root};
use crate::{
    answers::Answers,
    doubt,
    record::{RunAttempt, RunClosed},
    report::Report,
    runs::{RunError, Runtime},
    view::{Phase, ThreadView},
};

/// The longest reason, in bytes.
const MAX_REASON: usize = 4 << 10;

/// How often it is looked whether the driver is gone: that rings no bell.
const LOOK: Duration = Duration::from_millis(100);

/// The body of the record that asks for the end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelBody {
    /// The process that asked.
    pub process: u32,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A recorded request to give up a run. It stands until the run ends: whoever drives
/// the run heeds it, and so does the next resume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelRequest {
    /// The run.
    pub run: RunId,
    /// The attempt that was at work.
    pub attempt: u32,
    /// Whether somebody had asked for the same before.
    pub is_repeated: bool,
    /// What is recorded of it.
    pub body: CancelBody,
    /// When it was recorded, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    seq: Seq,
}

/// What came of giving up a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Cancelling {
    /// The run is over.
    Closed(Box<Report>),
    /// The run is being driven still, and the request stands.
    Standing(CancelRequest),
}

/// Whether somebody asked for the end of the run, and it did not end since.
pub(crate) fn is_asked(view: &ThreadView) -> Result<bool, JournalError> {
    let of_run = |record: &&Record| record.run == view.run;
    for record in view.log().records().iter().rev().filter(of_run) {
        if record.is(kind::CANCEL) {
            return Ok(!matches!(view.phase, Phase::Closed(_)));
        }
        // What came before the end is done with, also where the run was reopened.
        let reopens =
            record.is(kind::RUN_ATTEMPT) && record.decode::<RunAttempt>(kind::RUN_ATTEMPT)?.retries;
        if reopens || record.is(kind::RUN_CLOSED) {
            return Ok(false);
        }
    }
    Ok(false)
}

/// What has to be answered before a run can be given up: the questions about its calls
/// and steps in doubt that `answers` do not decide. `None` if one was not asked yet.
pub(crate) fn still_asked(
    view: &ThreadView,
    answers: &Answers,
) -> Result<Option<Vec<Ask>>, JournalError> {
    let mut asked = Vec::new();
    for doubted in doubt::doubted(view)? {
        let about = format!("{}/doubt/", doubted.call);
        let is_about = |id: &str| id.starts_with(&about);
        if answers.iter().any(|(id, _)| is_about(id.as_str())) {
            continue;
        }
        let Some(ask) = view.pending().find(|ask| is_about(ask.id.as_str())) else {
            return Ok(None);
        };
        asked.push(ask.clone());
    }
    Ok(Some(asked))
}

impl Runtime {
    /// Asks whoever drives the last run of a thread to give it up, and does not wait
    /// for that. The request is durable: if the driver is gone before it reads it, the
    /// next [`resume`](Self::resume) closes the run before it does anything. A request
    /// is for one run: a later run of the thread is not touched by it.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use rustagents_runtime::{Runtime, host::{SystemClock, UuidIds}};
    /// # use rustagents_store::MemoryJournal;
    /// # async fn ask(thread: rustagents_core::ids::ThreadId) -> Result<(), rustagents_runtime::RunError> {
    /// let runtime = Runtime::new(
    ///     Arc::new(MemoryJournal::new()),
    ///     Arc::new(SystemClock::new()),
    ///     Arc::new(UuidIds),
    /// );
    /// let request = runtime.request_cancel(&thread, Some("the customer called")).await?;
    /// if request.is_repeated {
    ///     println!("process {} had asked before", request.body.process);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RunError::UnknownThread`]; [`RunError::Stands`] if the run is over, and
    /// nothing is written.
    pub async fn request_cancel(
        &self,
        thread: &ThreadId,
        reason: Option<&str>,
    ) -> Result<CancelRequest, RunError> {
        check_reason(reason)?;
        let view = self.known(thread).await?;
        if let Phase::Closed(closed) = &view.phase {
            let stands = closed.status.as_str();
            return Err(RunError::Stands {
                thread: thread.clone(),
                stands: format!("is {stands}, so there is nothing to cancel"),
                hint: "a run that is just being opened is not recorded yet; ask again".into(),
            });
        }
        let body = CancelBody {
            process: self.owner().process,
            reason: reason.map(str::to_owned),
        };
        let mut outside = Outside::about(&view.run, view.attempts);
        outside.fact(key(&view.run, view.attempts), kind::CANCEL, &body)?;
        let batch = outside.batch(self, thread);
        let at_ms = batch.at_ms;
        let (body, at_ms, seq, is_repeated) = match self.journal().append(batch).await {
            Ok(seqs) => (body, at_ms, seqs.first().copied().unwrap_or(0), false),
            Err(JournalError::AlreadyRecorded { existing }) => {
                let body = existing.decode(kind::CANCEL)?;
                (body, existing.at_ms, existing.seq, true)
            }
            Err(error) => return Err(error.into()),
        };
        Ok(CancelRequest {
            run: view.run,
            attempt: view.attempts,
            is_repeated,
            body,
            at_ms,
            seq,
        })
    }

    /// Gives up the last run of a thread: as [`cancel`](Self::cancel) where nobody
    /// drives it, else by a [request](Self::request_cancel), for whose effect it waits
    /// as long as `patience`. A driver that goes without heeding it is not waited for.
    ///
    /// Cancellation: a dropped call leaves the request standing.
    ///
    /// # Errors
    /// As [`cancel`](Self::cancel).
    pub async fn cancel_within(
        &self,
        thread: &ThreadId,
        reason: Option<&str>,
        patience: Duration,
    ) -> Result<Cancelling, RunError> {
        check_reason(reason)?;
        if self.takes_over() || !self.is_driven(thread).await? {
            return self.closed(thread, None).await;
        }
        let request = match self.request_cancel(thread, reason).await {
            Ok(request) => request,
            // Whatever the driver is about, it is no run that could be named.
            Err(RunError::Stands { .. } | RunError::UnknownThread { .. }) => {
                return self.closed(thread, None).await;
            }
            Err(error) => return Err(error),
        };
        let late = self.clock().sleep(patience);
        let ended = {
            let ends = pin!(self.waited_for(thread, &request));
            match select(ends, late).await {
                Either::Left((ended, _)) => Some(ended),
                Either::Right(_) => None,
            }
        };
        ended.unwrap_or(Ok(Cancelling::Standing(request)))
    }

    /// Waits until the run is over, or nobody is there to end it.
    async fn waited_for(
        &self,
        thread: &ThreadId,
        request: &CancelRequest,
    ) -> Result<Cancelling, RunError> {
        let mut after = request.seq;
        loop {
            let is_driven = self.is_driven(thread).await?;
            if let Some(report) = self.end_of(thread, request).await? {
                return Ok(Cancelling::Closed(Box::new(report)));
            }
            if !is_driven {
                match self.closed(thread, Some(&request.run)).await {
                    // Another driver was quicker, or even another run.
                    Err(RunError::Journal(JournalError::Busy { .. }) | RunError::Stands { .. }) => {
                        continue;
                    }
                    closed => return closed,
                }
            }
            let look = self.clock().sleep(LOOK);
            let changed = self.journal().changed(thread, after);
            if let Either::Left((last, look)) = select(changed, look).await {
                after = last?;
                // A driver at work changes the thread far more often.
                look.await;
            }
        }
    }

    /// How the run ended that was to be given up, if it did.
    async fn end_of(
        &self,
        thread: &ThreadId,
        request: &CancelRequest,
    ) -> Result<Option<Report>, RunError> {
        let ends = Select::all().on(root()).of(kind::RUN_CLOSED);
        let ends = self.journal().read(thread, ends.after(request.seq)).await?;
        let Some(end) = ends.iter().find(|record| record.run == request.run) else {
            return Ok(None);
        };
        let closed: RunClosed = end.decode(kind::RUN_CLOSED)?;
        let run = request.run.clone();
        Ok(Some(Report::of_closed(thread.clone(), run, closed)))
    }

    async fn closed(
        &self,
        thread: &ThreadId,
        only: Option<&RunId>,
    ) -> Result<Cancelling, RunError> {
        let report = self.cancel_run(thread, only).await?;
        Ok(Cancelling::Closed(Box::new(report)))
    }

    async fn is_driven(&self, thread: &ThreadId) -> Result<bool, JournalError> {
        Ok(self.journal().owner(thread).await?.is_some())
    }
}

fn key(run: &RunId, attempt: u32) -> FactKey {
    FactKey::from(format_args!("cancel/{run}/{attempt}"))
}

fn check_reason(reason: Option<&str>) -> Result<(), JournalError> {
    let bytes = reason.map_or(0, str::len);
    if bytes <= MAX_REASON {
        return Ok(());
    }
    Err(JournalError::TooLarge {
        what: "reason",
        bytes,
        limit: MAX_REASON,
    })
}
