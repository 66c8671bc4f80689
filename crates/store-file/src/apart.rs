//! Lines whose long bodies and messages are in parts. The thread in memory has them
//! whole; a log has what the parts are made of in the family's contents.

use std::sync::Arc;

use rustagents_core::{
    digest::Digest,
    journal::{Batch, Content, JournalError, Record},
    message::Message,
};
use rustagents_store::parts::{INLINE_BYTES, Recipe};

use crate::line::{Line, Row, Said};

/// A line as a log has it, and the contents that it needs.
#[derive(Debug)]
pub(crate) struct Apart {
    pub(crate) line: Line,
    pub(crate) contents: Vec<Content>,
}

impl Line {
    /// The line with what is long in it taken apart; `None` if nothing is.
    pub(crate) fn apart(&self) -> Result<Option<Apart>, JournalError> {
        let (rows, messages) = match self {
            Self::Batch(batch) => (&*batch.records, &*batch.messages),
            Self::Record(row) => (std::slice::from_ref(row), &[][..]),
            Self::Message(_, said) => (&[][..], std::slice::from_ref(said)),
            Self::Log(_) | Self::Claim(_) | Self::Marks(_) => return Ok(None),
        };
        let is_long = |said: &Said| match said {
            Said::Whole(message) => is_long(message),
            Said::Parts { .. } => false,
        };
        if !rows.iter().any(Row::is_long) && !messages.iter().any(is_long) {
            return Ok(None);
        }
        let mut apart = Apart {
            line: self.clone(),
            contents: Vec::new(),
        };
        match &mut apart.line {
            Self::Batch(batch) => {
                for row in &mut batch.records {
                    row.take_apart(&mut apart.contents);
                }
                for said in &mut batch.messages {
                    said.take_apart(&mut apart.contents)?;
                }
            }
            Self::Record(row) => row.take_apart(&mut apart.contents),
            Self::Message(_, said) => said.take_apart(&mut apart.contents)?,
            _ => {}
        }
        Ok(Some(apart))
    }

    /// Leaves the messages of a batch out that are in parts.
    pub(crate) fn leave_messages_in_parts(&mut self) {
        if let Self::Batch(batch) = self {
            batch.messages.retain(|said| matches!(said, Said::Whole(_)));
        }
    }

    /// Puts what is in parts together again.
    pub(crate) fn put_together(&mut self, contents: &mut Contents<'_>) -> Result<(), JournalError> {
        match self {
            Self::Batch(batch) => {
                for row in &mut batch.records {
                    row.put_together(contents)?;
                }
                for said in &mut batch.messages {
                    said.put_together(contents)?;
                }
                Ok(())
            }
            Self::Record(row) => row.put_together(contents),
            Self::Message(_, said) => said.put_together(contents),
            Self::Log(_) | Self::Claim(_) | Self::Marks(_) => Ok(()),
        }
    }
}

/// Finds the bytes of a content.
pub(crate) type Contents<'a> = dyn FnMut(Digest) -> Result<Vec<u8>, JournalError> + 'a;

impl Said {
    fn take_apart(&mut self, contents: &mut Vec<Content>) -> Result<(), JournalError> {
        let Self::Whole(message) = self else {
            return Ok(());
        };
        let text = serde_json::to_string(&**message).map_err(|error| JournalError::Encode {
            reason: error.to_string(),
        })?;
        if let Some((parts, more)) = Recipe::of(&text) {
            contents.extend(more);
            *self = Self::Parts { parts };
        }
        Ok(())
    }

    fn put_together(&mut self, contents: &mut Contents<'_>) -> Result<(), JournalError> {
        if let Self::Parts { parts } = self {
            let text = parts.text(contents)?;
            let message = serde_json::from_slice(&text).map_err(|error| other(&error))?;
            *self = Self::Whole(message);
        }
        Ok(())
    }

    /// The message. One in parts was put together before.
    pub(crate) fn message(self) -> Result<Arc<Message>, JournalError> {
        match self {
            Self::Whole(message) => Ok(message),
            Self::Parts { .. } => Err(JournalError::Malformed {
                rule: "a message is put together before it is taken in",
            }),
        }
    }
}

/// The error for parts that make up something else than they should.
pub(crate) fn other(reason: &dyn std::fmt::Display) -> JournalError {
    JournalError::Corrupt {
        place: "its parts".into(),
        reason: reason.to_string(),
    }
}

/// Whether a batch may write contents that it does not name.
pub(crate) fn has_long(batch: &Batch) -> bool {
    let bodies = batch.entries.iter().map(|entry| entry.body.len());
    bodies.into_iter().any(|bytes| bytes > INLINE_BYTES)
        || batch.messages.iter().any(|message| is_long(message))
}

/// The same of records and messages of a whole thread.
pub(crate) fn have_long<'a>(
    mut records: impl Iterator<Item = &'a Record>,
    mut messages: impl Iterator<Item = &'a Arc<Message>>,
) -> bool {
    records.any(|record| record.body.len() > INLINE_BYTES)
        || messages.any(|message| is_long(message))
}

/// Whether its JSON is long. What cannot be encoded is refused where it is written.
fn is_long(message: &Message) -> bool {
    serde_json::to_vec(message).is_ok_and(|text| text.len() > INLINE_BYTES)
}
