//! Whether a batch may be written to a thread.

use std::sync::Arc;

use rustagents_core::{
    ids::ThreadId,
    journal::{Author, Batch, Epoch, JournalError, Place},
    message::Message,
};

use super::Thread;

impl Thread {
    /// Whether the batch may be written now.
    ///
    /// # Errors
    /// What forbids it: [`JournalError::Fenced`], [`JournalError::HeadMoved`],
    /// [`JournalError::QuestionGone`], [`JournalError::AlreadyRecorded`] or
    /// [`JournalError::Malformed`].
    pub fn check(&self, batch: &Batch) -> Result<(), JournalError> {
        self.check_author(batch)?;
        for (chain, expected) in &batch.heads {
            let found = self.heads.get(chain).copied();
            if found != *expected {
                return Err(JournalError::HeadMoved {
                    thread: batch.thread.clone(),
                    chain: chain.clone(),
                    expected: *expected,
                    found,
                });
            }
        }
        for entry in &batch.entries {
            let Place::Fact(key) = &entry.place else {
                continue;
            };
            if let Some(existing) = self.fact(&entry.chain.branch, key) {
                return Err(JournalError::AlreadyRecorded {
                    existing: Box::new(existing.clone()),
                });
            }
        }
        let changed = |message: &&Arc<Message>| {
            let known = self.message(&message.id);
            known.is_some_and(|known| known != *message)
        };
        match batch.messages.iter().find(changed) {
            Some(_) => Err(JournalError::Malformed {
                rule: "a message never changes",
            }),
            None => Ok(()),
        }
    }

    /// Whether `own` is the epoch of the thread's driver.
    ///
    /// # Errors
    /// [`JournalError::Fenced`] if it is not.
    pub fn check_epoch(&self, thread: &ThreadId, own: Epoch) -> Result<(), JournalError> {
        if own == self.epoch {
            return Ok(());
        }
        Err(JournalError::Fenced {
            thread: thread.clone(),
            own,
            current: self.epoch,
        })
    }

    fn check_author(&self, batch: &Batch) -> Result<(), JournalError> {
        match &batch.author {
            Author::Outside => batch.answers().try_for_each(|(answer, question)| {
                let found = self.fact(&answer.chain.branch, &question);
                batch.check_answer(answer, found)
            }),
            Author::Driver(own) => self.check_epoch(&batch.thread, *own),
            Author::Late { intent, .. } => {
                let branch = batch.entries.first().map(|entry| &entry.chain.branch);
                let found = branch.and_then(|branch| self.fact(branch, intent));
                batch.check_intent(found, self.epoch)
            }
        }
    }
}
