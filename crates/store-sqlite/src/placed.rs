//! A record as it goes into its row, and the sums by which rows are known to be whole.

use rustagents_core::{
    digest::Digest,
    ids::FactKey,
    journal::{Chain, Entry, Epoch, Place, Record, Seq},
    tool::EffectClass,
};

/// A record with its place, as it goes into its row.
pub(crate) struct Placed<'a> {
    pub(crate) seq: Seq,
    pub(crate) chain: &'a Chain,
    place: &'a Place,
    pub(crate) kind: &'a str,
    pub(crate) version: u16,
    pub(crate) run: &'a str,
    pub(crate) attempt: u32,
    pub(crate) epoch: Epoch,
    pub(crate) at_ms: u64,
    pub(crate) effect: Option<EffectClass>,
    pub(crate) digest: Option<&'a Digest>,
    pub(crate) body: &'a str,
}

impl<'a> Placed<'a> {
    pub(crate) fn entry(entry: &'a Entry, seq: Seq, epoch: Epoch, at_ms: u64) -> Self {
        Self {
            seq,
            chain: &entry.chain,
            place: &entry.place,
            kind: entry.kind.name,
            version: entry.kind.version,
            run: entry.run.as_str(),
            attempt: entry.attempt,
            epoch,
            at_ms,
            effect: entry.effect,
            digest: entry.digest.as_ref(),
            body: &entry.body,
        }
    }

    pub(crate) fn record(record: &'a Record) -> Self {
        Self {
            seq: record.seq,
            chain: &record.chain,
            place: &record.place,
            kind: &record.kind,
            version: record.version,
            run: record.run.as_str(),
            attempt: record.attempt,
            epoch: record.epoch,
            at_ms: record.at_ms,
            effect: record.effect,
            digest: record.digest.as_ref(),
            body: &record.body,
        }
    }

    pub(crate) fn key(&self) -> Option<&'a FactKey> {
        match self.place {
            Place::Commit => None,
            Place::Fact(key) => Some(key),
        }
    }

    /// The sum of all that a reader is given of it. A row that is read at another place,
    /// or on another chain, has another one.
    pub(crate) fn sum(&self) -> u32 {
        let key = self.key().map(FactKey::as_str);
        let effect = self.effect.map(EffectClass::as_str);
        let mut sum = Sum::default();
        sum.number(self.seq);
        sum.text(self.chain.branch.as_str());
        sum.text(self.chain.namespace.as_str());
        sum.maybe(key.map(str::as_bytes));
        sum.text(self.kind);
        sum.number(self.version.into());
        sum.text(self.run);
        sum.number(self.attempt.into());
        sum.number(self.epoch);
        sum.number(self.at_ms);
        sum.maybe(effect.map(str::as_bytes));
        sum.maybe(self.digest.map(|digest| &digest.as_bytes()[..]));
        sum.text(self.body);
        sum.value()
    }
}

/// The sum of a message's row.
pub(crate) fn message_sum(name: &str, body: &[u8]) -> u32 {
    let mut sum = Sum::default();
    sum.text(name);
    sum.bytes(body);
    sum.value()
}

/// CRC-32 (that of IEEE 802.3) over fields, each of which says where it ends. It finds
/// what a disk did to a row, and is no guard against who means harm.
struct Sum {
    hasher: crc32fast::Hasher,
    /// What is not in the sum yet: fields are short, and it is fast with long ones.
    held: [u8; HELD_BYTES],
    length: usize,
}

const HELD_BYTES: usize = 256;

impl Default for Sum {
    fn default() -> Self {
        Self {
            hasher: crc32fast::Hasher::new(),
            held: [0; HELD_BYTES],
            length: 0,
        }
    }
}

impl Sum {
    fn push(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        if let Some(room) = self.held.get_mut(self.length..end) {
            room.copy_from_slice(bytes);
            self.length = end;
        } else {
            self.settle();
            self.hasher.update(bytes);
        }
    }

    fn settle(&mut self) {
        let held = self.held.get(..self.length).unwrap_or_default();
        self.hasher.update(held);
        self.length = 0;
    }

    fn number(&mut self, number: u64) {
        self.push(&number.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.push(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// A field that may be missing, which is another thing than an empty one.
    fn maybe(&mut self, bytes: Option<&[u8]>) {
        self.push(&[u8::from(bytes.is_some())]);
        self.bytes(bytes.unwrap_or_default());
    }

    fn value(mut self) -> u32 {
        self.settle();
        self.hasher.finalize()
    }
}
