//! Questions that a node asks itself.

use std::time::Duration;

use rustagents_core::{
    ask::{Answer, Ask, Subject},
    ids::AskId,
    journal::{JournalError, Record, kind},
    scope::Halt,
};
use serde_json::Value;

use crate::node::{NodeError, TaskContext};

/// How a question may be answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskOptions {
    /// The only answers, as text; none allows any JSON.
    pub options: Vec<String>,
    /// How long the answer counts as in time, from when it was first asked.
    pub deadline: Option<Duration>,
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// The answer.
    Answered(Value),
    /// Nobody answered in time.
    Expired,
}

impl TaskContext {
    /// Asks a person, and returns the answer: any JSON.
    ///
    /// Without an answer the node is not polled again after this poll, whatever
    /// else it waits for and whatever it returns: no step begins any more, those in
    /// flight come to their end, and then the task is suspended. The next attempt
    /// runs the node from its top, and this call then returns the answer. Asks are
    /// told apart by their order, so a node must ask in the same order each time.
    ///
    /// # Errors
    /// [`NodeError::Halt`] where the recorded answer cannot be read;
    /// [`StepError::Outside`](crate::StepError::Outside) for a question that the node
    /// does not ask itself.
    pub async fn ask(&self, prompt: impl Into<String>) -> Result<Value, NodeError> {
        self.ask_one_of(prompt, Vec::new()).await
    }

    /// Asks a person for one of `options`; without any, as [`ask`](Self::ask).
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub async fn ask_one_of(
        &self,
        prompt: impl Into<String>,
        options: Vec<String>,
    ) -> Result<Value, NodeError> {
        self.check_inside("a question")?;
        let id = self.next_ask();
        match self.answer(&id)? {
            Some(Asked::Answered(answer)) => Ok(answer),
            Some(Asked::Expired) => Err(self.stopped_by(NodeError::Halt(Halt::Incompatible {
                what: format!("question `{id}`"),
                difference: "it has expired, and its node now waits for an answer".into(),
            }))),
            None => self.wait(id, prompt.into(), options, None).await,
        }
    }

    /// Asks a person who has some time to answer: `deadline`, from when the wait for
    /// the answer was first recorded.
    ///
    /// # Errors
    /// As [`ask_with`](Self::ask_with).
    pub async fn ask_until(
        &self,
        prompt: impl Into<String>,
        deadline: Duration,
    ) -> Result<Asked, NodeError> {
        let options = AskOptions {
            deadline: Some(deadline),
            ..AskOptions::default()
        };
        self.ask_with(prompt, options).await
    }

    /// Asks a person as `options` say.
    ///
    /// A task that runs again after the deadline, and finds no answer, records that
    /// the question has expired, and gets [`Asked::Expired`], in each attempt from
    /// then on; a later answer is refused. An answer that came after the deadline
    /// and before such an attempt still counts. A deadline wakes nobody: the run
    /// waits until it is resumed.
    ///
    /// # Errors
    /// As [`ask`](Self::ask), and whatever the journal says, which stops the task.
    pub async fn ask_with(
        &self,
        prompt: impl Into<String>,
        options: AskOptions,
    ) -> Result<Asked, NodeError> {
        self.check_inside("a question")?;
        let id = self.next_ask();
        if let Some(asked) = self.answer(&id)? {
            return Ok(asked);
        }
        let AskOptions { options, deadline } = options;
        let now = self.scope().run().clock.now_ms();
        let until = match (deadline, self.scope().fact(&Ask::fact_key(&id))) {
            (None, _) => None,
            (Some(deadline), None) => Some(after(now, deadline)),
            (Some(deadline), Some(record)) => {
                let until = promised(record, deadline)?;
                if until <= now && !self.stops() {
                    return self.expire(&id).await;
                }
                Some(until)
            }
        };
        let answer = self.wait(id, prompt.into(), options, until).await;
        answer.map(Asked::Answered)
    }

    fn next_ask(&self) -> AskId {
        let mut held = self.held();
        held.asked += 1;
        AskId::from(format_args!("{}/{}", self.scope().namespace(), held.asked))
    }

    fn answer(&self, id: &AskId) -> Result<Option<Asked>, Halt> {
        let record = self.scope().fact(&Ask::answer_key(id));
        record.map_or(Ok(None), asked)
    }

    /// Records that nobody answered in time, unless somebody just did.
    async fn expire(&self, id: &AskId) -> Result<Asked, NodeError> {
        match self.record_expiry(id).await {
            Ok(()) => Ok(Asked::Expired),
            Err(JournalError::AlreadyRecorded { existing }) => {
                Ok(asked(&existing)?.unwrap_or(Asked::Expired))
            }
            Err(error) => Err(self.stopped_by(NodeError::Halt(error.into()))),
        }
    }

    /// Durable before it is told: people answer from outside, and only the journal
    /// knows who came first.
    async fn record_expiry(&self, id: &AskId) -> Result<(), JournalError> {
        let mut expired = self.scope().write();
        expired.fact(Ask::answer_key(id), kind::ANSWER, &Answer::Expired);
        self.scope().append_at_once(expired).await
    }

    async fn wait(
        &self,
        id: AskId,
        prompt: String,
        options: Vec<String>,
        until_ms: Option<u64>,
    ) -> Result<Value, NodeError> {
        let node = self.node().clone();
        let ask = Ask {
            id,
            node,
            prompt,
            subject: Subject::Interrupt { options, until_ms },
        };
        match self.suspend(vec![ask]).await {}
    }
}

/// When a question that was recorded before expires. What people were told stays.
fn promised(record: &Record, deadline: Duration) -> Result<u64, Halt> {
    let ask: Ask = record.decode(kind::ASK)?;
    Ok(match ask.subject {
        Subject::Interrupt {
            until_ms: Some(until),
            ..
        } => until,
        _ => after(record.at_ms, deadline),
    })
}

/// Milliseconds since the Unix epoch, as far as a JSON number reaches exactly.
fn after(now: u64, deadline: Duration) -> u64 {
    let deadline = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
    now.saturating_add(deadline).min(1 << 53)
}

/// What a recorded answer says to a question of a node's own.
fn asked(record: &Record) -> Result<Option<Asked>, Halt> {
    Ok(match record.decode::<Answer>(kind::ANSWER)? {
        Answer::Value { value } => Some(Asked::Answered(value)),
        Answer::Expired => Some(Asked::Expired),
        _ => None,
    })
}
