//! Answering what a run asks while somebody else drives it.

use rustagents_core::{
    ask::Ask,
    ids::ThreadId,
    journal::{JournalError, Owner, Select, kind},
    scope::Scope,
};

use super::{LOOK, Outside, root};
use crate::{
    answers::{AnswerError, Answers, Decision},
    runs::{LOOKS, PATIENCE, RunError, Runtime},
    view::{Phase, ThreadView},
};

/// What becomes of answers that were recorded while somebody drove the thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answered {
    /// Who drives the thread goes on with them, once the run would wait.
    Heard(Owner),
    /// Nobody drives the thread any more: a resume goes on with them.
    Left,
}

/// Whether somebody answered, since the attempt of `scope` began, what the run has come
/// to wait for.
pub(crate) async fn is_answered(scope: &Scope) -> Result<bool, JournalError> {
    let run = scope.run();
    if scope.boundary().is_err() {
        return Ok(false);
    }
    let answers = Select::all().on(root()).of(kind::ANSWER);
    let answers = answers.after(scope.log().last_seq()).limit(LOOK);
    let answers = run.journal.read(&run.thread, answers).await?;
    Ok(answers.iter().any(|answer| answer.run == run.run))
}

impl Runtime {
    /// Records answers for the run of a thread that somebody else drives. All of them
    /// are recorded, or none; of two answers to one question, the first counts. The
    /// driver looks for them where the run would wait, and goes on with them.
    ///
    /// ```
    /// # use rustagents_core::ids::ThreadId;
    /// # use rustagents_runtime::{Decision, RunError, Runtime, inbox::Answered};
    /// # async fn approve(runtime: Runtime, thread: ThreadId) -> Result<(), RunError> {
    /// let decision = Decision::Approve { call: "c-3".into(), hash: None };
    /// match runtime.answer(&thread, &[decision]).await? {
    ///     Answered::Heard(owner) => println!("process {} goes on", owner.process),
    ///     _ => println!("resume the thread to go on"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RunError::Answer`]: nothing pending takes such an answer; nothing is written.
    pub async fn answer(
        &self,
        thread: &ThreadId,
        decisions: &[Decision],
    ) -> Result<Answered, RunError> {
        let view = self.known(thread).await?;
        let answers = Answers::resolve(&view, decisions)?;
        let mut outside = Outside::about(&view.run, view.attempts);
        for (id, answer) in answers.iter() {
            outside.fact(Ask::answer_key(id), kind::ANSWER, answer)?;
        }
        let batch = outside.batch(self, thread);
        match self.journal().append(batch).await {
            Ok(_) => Ok(self.heard(thread).await?),
            Err(JournalError::AlreadyRecorded { existing }) => {
                let key = existing.key().map_or("", |key| key.as_str());
                let name = key.strip_prefix("answer/").unwrap_or(key).to_owned();
                Err(AnswerError::Already { name }.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the driver will still look. One that is about to let the thread go has
    /// looked before, so that it is waited for.
    async fn heard(&self, thread: &ThreadId) -> Result<Answered, JournalError> {
        for _ in 0..LOOKS {
            let Some(owner) = self.journal().owner(thread).await? else {
                return Ok(Answered::Left);
            };
            let view = ThreadView::load(self.journal(), thread).await?;
            if view.is_none_or(|view| view.phase != Phase::Suspended) {
                return Ok(Answered::Heard(owner));
            }
            self.clock().sleep(PATIENCE / LOOKS).await;
        }
        Ok(Answered::Left)
    }
}
