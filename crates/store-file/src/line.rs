//! What stands in a line of a log, and the sum that holds the lines together.
//!
//! A line is a JSON object whose last field is `sum`: the first 16 hex digits of
//! the BLAKE3 of the sum before it and of everything that stands before `sum` in
//! the line. So a line is whole only after exactly the lines that it followed.

use std::{borrow::Cow, sync::Arc};

use rustagents_core::{
    digest::Digest,
    ids::{Branch, FactKey, Namespace, RunId, ThreadId},
    journal::{Chain, Content, Epoch, JournalError, MAX_BATCH_BYTES, Owner, Place, Record, Seq},
    message::Message,
    tool::EffectClass,
};
use rustagents_store::parts::{INLINE_BYTES, Recipe};
use serde::{Deserialize, Serialize};

use crate::apart::{Contents, other};

/// The longest line. JSON writes a control character as six bytes, and names and
/// numbers stand beside the texts.
pub(crate) const MAX_LINE_BYTES: usize = 6 * MAX_BATCH_BYTES + (16 << 20);

/// What stands between a line's own fields and its sum.
const BEFORE_SUM: &[u8] = br#","sum":""#;

/// What stands after the sum.
const AFTER_SUM: &[u8] = b"\"}\n";

/// How many digits a sum has.
const DIGITS: usize = 16;

/// How many bytes at the end of a line hold the sum, and tell where it ends.
pub(crate) const SUM_BYTES: usize = DIGITS + AFTER_SUM.len();

/// A line of a log.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    /// The first line: whose log it is.
    Log(Head),
    /// What was written together.
    Batch(Batch),
    /// A driver took the thread.
    Claim(Claim),
    /// A message, where a log was written anew.
    Message(u64, Said),
    /// A record, where a log was written anew.
    Record(Row),
    /// How the thread stood, after the messages and records.
    Marks(Marks),
}

/// Whose log it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) format: u32,
    pub(crate) thread: ThreadId,
    pub(crate) family: String,
}

/// What was written together.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Batch {
    pub(crate) at: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) messages: Vec<Said>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) records: Vec<Row>,
}

/// A driver took the thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Claim {
    pub(crate) epoch: Epoch,
    pub(crate) generation: u64,
    pub(crate) owner: Owner,
}

/// How a thread stood when its log was written anew.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Marks {
    pub(crate) epoch: Epoch,
    pub(crate) generation: u64,
    pub(crate) owner: Owner,
    pub(crate) last_seq: Seq,
    pub(crate) last_place: u64,
    pub(crate) updated_at: u64,
}

/// A message, or the parts of its JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Said {
    Parts { parts: Recipe },
    Whole(Arc<Message>),
}

/// A record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    seq: Seq,
    branch: Branch,
    namespace: Namespace,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<FactKey>,
    kind: Cow<'static, str>,
    version: u16,
    run: RunId,
    attempt: u32,
    epoch: Epoch,
    at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    effect: Option<EffectClass>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<Digest>,
    /// Empty where it is in parts.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    body: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parts: Option<Recipe>,
}

impl From<Record> for Row {
    fn from(record: Record) -> Self {
        let key = record.key().cloned();
        Self {
            seq: record.seq,
            branch: record.chain.branch,
            namespace: record.chain.namespace,
            key,
            kind: record.kind,
            version: record.version,
            run: record.run,
            attempt: record.attempt,
            epoch: record.epoch,
            at: record.at_ms,
            effect: record.effect,
            digest: record.digest,
            body: record.body,
            parts: None,
        }
    }
}

impl From<Row> for Record {
    fn from(row: Row) -> Self {
        let (branch, namespace) = (row.branch, row.namespace);
        Self {
            seq: row.seq,
            chain: Chain { branch, namespace },
            place: row.key.map_or(Place::Commit, Place::Fact),
            kind: row.kind,
            version: row.version,
            run: row.run,
            attempt: row.attempt,
            epoch: row.epoch,
            at_ms: row.at,
            effect: row.effect,
            digest: row.digest,
            body: row.body,
        }
    }
}

impl Row {
    pub(crate) fn is_long(&self) -> bool {
        self.body.len() > INLINE_BYTES
    }

    pub(crate) fn take_apart(&mut self, contents: &mut Vec<Content>) {
        if let Some((parts, more)) = Recipe::of(&self.body) {
            contents.extend(more);
            (self.body, self.parts) = (String::new(), Some(parts));
        }
    }

    pub(crate) fn put_together(&mut self, contents: &mut Contents<'_>) -> Result<(), JournalError> {
        if let Some(parts) = self.parts.take() {
            let text = parts.text(contents)?;
            self.body = String::from_utf8(text).map_err(|error| other(&error))?;
        }
        Ok(())
    }
}

/// The sum of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sum([u8; DIGITS]);

impl Sum {
    /// What the first line follows.
    pub(crate) const START: Self = Self([b'0'; DIGITS]);

    fn of(before: Self, fields: &[u8]) -> Self {
        let text = Digest::of_parts([&before.0[..], fields]).to_string();
        let mut digits = [0; DIGITS];
        for (to, from) in digits.iter_mut().zip(text.bytes()) {
            *to = from;
        }
        Self(digits)
    }

    /// Whether these are the last bytes of the line with this sum.
    pub(crate) fn ends(self, bytes: &[u8]) -> bool {
        bytes.strip_suffix(AFTER_SUM) == Some(&self.0)
    }
}

impl Line {
    /// The line's bytes and its sum, after a line with the sum `before`.
    pub(crate) fn encode(&self, before: Sum) -> Result<(Vec<u8>, Sum), JournalError> {
        let encoded = serde_json::to_vec(self);
        let mut bytes = encoded.map_err(|error| JournalError::Encode {
            reason: error.to_string(),
        })?;
        // The brace at the end comes after the sum.
        bytes.pop();
        let length = bytes.len() + BEFORE_SUM.len() + SUM_BYTES;
        if length > MAX_LINE_BYTES {
            return Err(JournalError::TooLarge {
                what: "batch",
                bytes: length,
                limit: MAX_LINE_BYTES,
            });
        }
        let sum = Sum::of(before, &bytes);
        bytes.extend_from_slice(BEFORE_SUM);
        bytes.extend_from_slice(&sum.0);
        bytes.extend_from_slice(AFTER_SUM);
        Ok((bytes, sum))
    }
}

/// The sum of a line that is whole and follows `before`. The buffer keeps the
/// line's own fields.
pub(crate) fn open(line: &mut Vec<u8>, before: Sum) -> Option<Sum> {
    let fields = line.len().checked_sub(SUM_BYTES + BEFORE_SUM.len())?;
    let sum = Sum::of(before, line.get(..fields)?);
    let end = line.get(fields..)?.strip_prefix(BEFORE_SUM)?;
    if !sum.ends(end) {
        return None;
    }
    line.truncate(fields);
    line.push(b'}');
    Some(sum)
}

/// Whether more follows in `bytes` than one line, as far as the damage lets one see.
pub(crate) fn is_more_than_one(bytes: &[u8]) -> bool {
    let within = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    // In a text the quotes have backslashes, so this stands before a sum only.
    let mut windows = bytes.windows(BEFORE_SUM.len());
    let end = windows.position(|window| window == BEFORE_SUM);
    let end = end.map_or(usize::MAX, |at| {
        at.saturating_add(BEFORE_SUM.len() + SUM_BYTES)
    });
    within.contains(&b'\n') || bytes.len() > end
}
