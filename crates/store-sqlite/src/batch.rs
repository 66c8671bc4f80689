//! One batch inside the writer's transaction: first everything is checked, then
//! everything is written.

use rusqlite::ErrorCode;
use rustagents_core::{
    ids::FactKey,
    journal::{Author, Batch, Entry, JournalError, Place, Record, Seq},
    message::Message,
};

use crate::{
    known::Group,
    placed::Placed,
    reader, schema,
    target::{Target, check_epoch},
};

/// Why something was not written.
pub(crate) enum Refused {
    /// Nothing of it was.
    Clean(JournalError),
    /// Some of it may have been: its transaction has to go.
    Dirty(JournalError),
}

impl From<Refused> for JournalError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Clean(error) | Refused::Dirty(error) => error,
        }
    }
}

/// Writes a batch.
pub(crate) fn append(group: &mut Group<'_, '_>, batch: &Batch) -> Result<Vec<Seq>, Refused> {
    batch.check().map_err(Refused::Clean)?;
    let mut target = group.target(&batch.thread).map_err(Refused::Clean)?;
    let messages = check(&mut target, batch).map_err(Refused::Clean)?;
    write(&mut target, batch, &messages)
}

/// Checks what the journal's contract asks, and says which messages are new.
fn check<'b>(
    target: &mut Target<'_, '_>,
    batch: &'b Batch,
) -> Result<Vec<(&'b Message, String)>, JournalError> {
    check_author(target, batch)?;
    check_heads(target, batch)?;
    let (left, checked) = left_to_insertion(target, &batch.entries)?;
    let keys = check_keys(target, checked);
    let new = keys.and_then(|()| new_messages(target, batch));
    new.map_err(|refused| {
        // A key that is taken is the first thing that is wrong.
        check_keys(target, left).err().unwrap_or(refused)
    })
}

/// The first entry, if inserting it is the first thing that is written and shows whether
/// its key is taken; and those whose keys are to be looked up.
fn left_to_insertion<'b>(
    target: &mut Target<'_, '_>,
    entries: &'b [Entry],
) -> Result<(&'b [Entry], &'b [Entry]), JournalError> {
    let Some(first) = entries.first() else {
        return Ok((&[], &[]));
    };
    let is_left = target.inserts_alone(&first.chain, &first.body);
    let is_left = is_left.map_err(|error| target.failed(&error))?;
    Ok(entries.split_at(usize::from(is_left)))
}

/// The messages that are not there yet, as they are stored.
fn new_messages<'b>(
    target: &mut Target<'_, '_>,
    batch: &'b Batch,
) -> Result<Vec<(&'b Message, String)>, JournalError> {
    let mut new = Vec::with_capacity(batch.messages.len());
    for message in &batch.messages {
        let body = encoded(message)?;
        match target.message(message).map_err(|e| target.failed(&e))? {
            None => new.push((&**message, body)),
            Some(stored) if stored == body.as_bytes() => {}
            Some(_) => {
                return Err(JournalError::Malformed {
                    rule: "a message never changes",
                });
            }
        }
    }
    Ok(new)
}

/// Refuses the first fact whose key is taken.
fn check_keys(target: &mut Target<'_, '_>, entries: &[Entry]) -> Result<(), JournalError> {
    for entry in entries {
        let Place::Fact(key) = &entry.place else {
            continue;
        };
        let taken = target.fact(&entry.chain.branch, key);
        if let Some(seq) = taken.map_err(|e| target.failed(&e))? {
            let existing = reader::record(target.path, target.connection, target.row().id, seq)?;
            let existing = Box::new(existing);
            return Err(JournalError::AlreadyRecorded { existing });
        }
    }
    Ok(())
}

/// A message as it is stored.
pub(crate) fn encoded(message: &Message) -> Result<String, JournalError> {
    serde_json::to_string(message).map_err(|error| JournalError::Encode {
        reason: error.to_string(),
    })
}

fn check_author(target: &mut Target<'_, '_>, batch: &Batch) -> Result<(), JournalError> {
    match &batch.author {
        Author::Outside => batch.answers().try_for_each(|(answer, question)| {
            let found = fact(target, answer, &question)?;
            batch.check_answer(answer, found.as_ref())
        }),
        Author::Driver(own) => check_epoch(&batch.thread, *own, target.row()),
        Author::Late { intent, .. } => {
            let found = late_intent(target, batch, intent)?;
            batch.check_intent(found.as_ref(), target.row().epoch)
        }
    }
}

/// The fact that a late driver names, in the branch of what it writes.
fn late_intent(
    target: &mut Target<'_, '_>,
    batch: &Batch,
    intent: &FactKey,
) -> Result<Option<Record>, JournalError> {
    let Some(entry) = batch.entries.first() else {
        return Ok(None);
    };
    fact(target, entry, intent)
}

/// The fact under `key` in the branch of `entry`.
fn fact(
    target: &mut Target<'_, '_>,
    entry: &Entry,
    key: &FactKey,
) -> Result<Option<Record>, JournalError> {
    let found = target.fact(&entry.chain.branch, key);
    let found = found.map_err(|e| target.failed(&e))?;
    found
        .map(|seq| reader::record(target.path, target.connection, target.row().id, seq))
        .transpose()
}

fn check_heads(target: &mut Target<'_, '_>, batch: &Batch) -> Result<(), JournalError> {
    for (chain, expected) in &batch.heads {
        let found = target.head(chain).map_err(|e| target.failed(&e))?;
        if found != *expected {
            return Err(JournalError::HeadMoved {
                thread: batch.thread.clone(),
                chain: chain.clone(),
                expected: *expected,
                found,
            });
        }
    }
    Ok(())
}

fn write(
    target: &mut Target<'_, '_>,
    batch: &Batch,
    messages: &[(&Message, String)],
) -> Result<Vec<Seq>, Refused> {
    let path = target.path;
    let dirty = |error: rusqlite::Error| Refused::Dirty(schema::failed(path, &error));
    let epoch = target.row().epoch;
    let mut seqs = Vec::with_capacity(batch.entries.len());
    for entry in &batch.entries {
        let seq = target.row().last_seq + 1;
        let inserted = target.insert(&Placed::entry(entry, seq, epoch, batch.at_ms));
        if seqs.is_empty() && is_taken(&inserted) {
            // Nothing was written yet.
            check_keys(target, std::slice::from_ref(entry)).map_err(Refused::Clean)?;
        }
        inserted.map_err(dirty)?;
        seqs.push(seq);
    }
    for (message, body) in messages {
        let id = message.id.as_str();
        target.insert_message(id, body).map_err(dirty)?;
    }
    for content in &batch.contents {
        let bytes = &content.bytes;
        target
            .insert_content(content.digest, bytes)
            .map_err(dirty)?;
    }
    if seqs.is_empty() {
        target.touch(batch.at_ms).map_err(dirty)?;
    }
    Ok(seqs)
}

/// Whether a row was not inserted since another has its key.
fn is_taken(inserted: &rusqlite::Result<()>) -> bool {
    let error = inserted.as_ref().err();
    error.and_then(rusqlite::Error::sqlite_error_code) == Some(ErrorCode::ConstraintViolation)
}
