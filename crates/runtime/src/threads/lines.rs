//! The lines of an export. Each is one JSON object: a header, then contents,
//! messages and records in this order, and an end that counts them.

use base64::{Engine, engine::general_purpose::STANDARD};
use rustagents_core::{
    digest::Digest,
    ids::{Branch, FactKey, Namespace, RunId},
    journal::{Chain, Content, Epoch, Place, Record, Seq, ThreadImage},
    message::Message,
    tool::EffectClass,
};
use serde::{Deserialize, Serialize};

/// The name of the schema that is written, and the newest that is read.
pub(super) const SCHEMA: &str = "rag.export/1";

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) schema: String,
    pub(super) thread: String,
    pub(super) epoch: Epoch,
}

/// A line of its own kind.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    Content(ContentLine),
    Message(Message),
    Record(RecordLine),
    End(End),
}

impl Line {
    /// Where in the order of the lines it stands.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::Content(_) => 0,
            Self::Message(_) => 1,
            Self::Record(_) => 2,
            Self::End(_) => 3,
        }
    }
}

/// Bytes: as they are where they are text.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ContentLine {
    digest: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl ContentLine {
    pub(super) fn of(content: &Content) -> Self {
        let text = std::str::from_utf8(&content.bytes).ok();
        Self {
            digest: content.digest,
            text: text.map(str::to_owned),
            base64: text.is_none().then(|| STANDARD.encode(&content.bytes)),
        }
    }

    /// The content, if its bytes are those of its digest.
    pub(super) fn content(self) -> Result<Content, String> {
        let bytes = match (self.text, self.base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(text)) => STANDARD.decode(text).map_err(|error| error.to_string())?,
            _ => return Err("a content has either `text` or `base64`".into()),
        };
        if Digest::of(&bytes) != self.digest {
            return Err(format!(
                "the content's digest is not {}",
                self.digest.short()
            ));
        }
        Ok(Content {
            digest: self.digest,
            bytes,
        })
    }
}

/// A record with its place. The body stays the exact text.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RecordLine {
    seq: Seq,
    branch: Branch,
    namespace: Namespace,
    /// Facts only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<FactKey>,
    kind: String,
    version: u16,
    run: RunId,
    attempt: u32,
    epoch: Epoch,
    at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    effect: Option<EffectClass>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<Digest>,
    body: String,
}

impl RecordLine {
    pub(super) fn of(record: &Record) -> Self {
        Self {
            seq: record.seq,
            branch: record.chain.branch.clone(),
            namespace: record.chain.namespace.clone(),
            key: record.key().cloned(),
            kind: record.kind.to_string(),
            version: record.version,
            run: record.run.clone(),
            attempt: record.attempt,
            epoch: record.epoch,
            at: record.at_ms,
            effect: record.effect,
            digest: record.digest,
            body: record.body.clone(),
        }
    }

    pub(super) fn record(self) -> Record {
        Record {
            seq: self.seq,
            chain: Chain {
                branch: self.branch,
                namespace: self.namespace,
            },
            place: self.key.map_or(Place::Commit, Place::Fact),
            kind: self.kind.into(),
            version: self.version,
            run: self.run,
            attempt: self.attempt,
            epoch: self.epoch,
            at_ms: self.at,
            effect: self.effect,
            digest: self.digest,
            body: self.body,
        }
    }
}

/// How many lines of each kind an export has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Contents.
    pub contents: u64,
    /// Messages.
    pub messages: u64,
    /// Records.
    pub records: u64,
}

impl Counts {
    /// Those of the lines that `image` makes.
    pub fn of(image: &ThreadImage) -> Self {
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        Self {
            contents: count(image.contents.len()),
            messages: count(image.messages.len()),
            records: count(image.records.len()),
        }
    }
}

/// The last line.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct End {
    pub(super) contents: u64,
    pub(super) messages: u64,
    pub(super) records: u64,
    /// The digest of all lines before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<Digest>,
}

impl End {
    pub(super) fn of(counts: Counts, digest: Digest) -> Self {
        Self {
            contents: counts.contents,
            messages: counts.messages,
            records: counts.records,
            digest: Some(digest),
        }
    }
}
