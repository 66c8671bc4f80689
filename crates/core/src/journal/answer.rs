//! What somebody outside may answer: a question of the run that it was asked in.
//!
//! Who answers has looked at the thread before, and drives nothing. In between the
//! thread may be removed, and another one made under its name, which comes to give the
//! same names to questions of its own.

use super::{Author, Batch, Entry, JournalError, Place, Record, kind};
use crate::{
    ask::Ask,
    ids::{AskId, FactKey},
};

impl Batch {
    /// The answers that somebody outside writes, each with the key of its question.
    pub fn answers(&self) -> impl Iterator<Item = (&Entry, FactKey)> {
        let is_outside = self.author == Author::Outside;
        let answers = self
            .entries
            .iter()
            .filter(move |entry| is_outside && entry.kind.name == kind::ANSWER.name);
        answers.filter_map(|entry| Some((entry, Ask::fact_key(&answered(entry)?))))
    }

    /// Whether one of these [`answers`](Self::answers) may be written; `found` is the
    /// fact under the key of its question, in the branch of the answer.
    ///
    /// # Errors
    /// [`JournalError::QuestionGone`]: the run of the answer has no such question.
    pub fn check_answer(&self, answer: &Entry, found: Option<&Record>) -> Result<(), JournalError> {
        if found.is_some_and(|asked| asked.is(kind::ASK) && asked.run == answer.run) {
            return Ok(());
        }
        Err(JournalError::QuestionGone {
            thread: self.thread.clone(),
            ask: answered(answer).unwrap_or_else(|| AskId::from("")),
        })
    }
}

/// The question that an answer is to.
fn answered(entry: &Entry) -> Option<AskId> {
    let Place::Fact(key) = &entry.place else {
        return None;
    };
    key.as_str().strip_prefix("answer/").map(AskId::from)
}
