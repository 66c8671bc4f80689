//! BLAKE3 digests: what approvals, requests and definitions are bound by.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::encode;

/// How many hex digits of a digest are shown to a person.
const SHOWN: usize = 8;

/// The fewest hex digits that an abbreviation may have.
const FEWEST: usize = 4;

/// A BLAKE3 digest of 32 bytes.
///
/// ```
/// use rustagents_core::digest::Digest;
/// let digest = Digest::of(b"{}");
/// assert!(digest.matches(&digest.short()));
/// assert!(!digest.matches("ab"), "an abbreviation has at least four digits");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The digest of `parts`; where one ends and the next begins counts.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            push(&mut hasher, part);
        }
        Self(*hasher.finalize().as_bytes())
    }

    /// The digest's 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A digest from its 32 bytes; `None` for another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// A digest from its 64 hex digits; `None` for any other text.
    pub fn from_hex(text: &str) -> Option<Self> {
        let hash = blake3::Hash::from_hex(text).ok()?;
        Some(Self(*hash.as_bytes()))
    }

    /// The first eight hex digits, as people see and type them.
    pub fn short(&self) -> String {
        let mut text = self.to_string();
        text.truncate(SHOWN);
        text
    }

    /// Whether `prefix` abbreviates this digest: four or more of its first hex digits.
    pub fn matches(&self, prefix: &str) -> bool {
        prefix.len() >= FEWEST && self.to_string().starts_with(&prefix.to_ascii_lowercase())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({})", self.short())
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::from_hex(&text).ok_or_else(|| de::Error::custom("a digest has 64 hex digits"))
    }
}

/// The digest of parts of which each is hashed together with the digest of those
/// before it. It is known after each part, costs the part alone, and is no larger than
/// a digest: for lists of many short parts.
///
/// ```
/// use rustagents_core::digest::Chained;
/// let mut chained = Chained::default();
/// chained.push(|part| part.text("ab"));
/// let one = chained.digest();
/// chained.push(|_| ());
/// assert_ne!(chained.digest(), one, "an empty part counts");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chained(Digest);

impl Default for Chained {
    fn default() -> Self {
        Self(Digest([0; 32]))
    }
}

impl Chained {
    /// Adds a part: what `write` writes.
    pub fn push(&mut self, write: impl FnOnce(&mut Fields<'_>)) {
        self.0 = encode::with_bytes(|bytes| {
            bytes.extend_from_slice(self.0.as_bytes());
            write(&mut Fields(bytes));
            Digest::of(bytes)
        });
    }

    /// The digest of all parts so far.
    pub fn digest(&self) -> Digest {
        self.0
    }
}

/// The fields of a value, as bytes that another value cannot have: each number says
/// where it ends, and each text how long it is.
#[derive(Debug)]
pub struct Fields<'b>(&'b mut Vec<u8>);

impl Fields<'_> {
    /// Adds a number, in the variable-length form of LEB128.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(low_bits(number) | 0x80);
            number >>= 7;
        }
        self.0.push(low_bits(number));
    }

    /// Adds a text.
    pub fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Adds a text that may not be there.
    pub fn optional(&mut self, text: Option<&str>) {
        self.number(text.is_some().into());
        if let Some(text) = text {
            self.text(text);
        }
    }
}

fn low_bits(number: u64) -> u8 {
    number.to_le_bytes()[0] & 0x7f
}

/// The digest of many bytes that come in parts: each [`push`](Rolling::push) costs the
/// pushed part only.
///
/// A hasher holds two kilobytes; boxed, whoever owns it stays cheap to move.
#[derive(Clone, Default)]
pub struct Rolling(Box<blake3::Hasher>);

impl fmt::Debug for Rolling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rolling").field(&self.digest()).finish()
    }
}

impl Rolling {
    /// Adds a part. Parts are length-prefixed, so `["ab"]` and `["a", "b"]` differ.
    pub fn push(&mut self, part: &[u8]) {
        push(&mut self.0, part);
    }

    /// The digest of all parts so far.
    pub fn digest(&self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }
}

fn push(hasher: &mut blake3::Hasher, part: &[u8]) {
    hasher.update(&(part.len() as u64).to_le_bytes());
    hasher.update(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest of one part with these fields.
    fn of(write: impl FnOnce(&mut Fields<'_>)) -> Digest {
        let mut chained = Chained::default();
        chained.push(write);
        chained.digest()
    }

    #[test]
    fn fields_say_where_they_end() {
        let digests = [
            of(|_| ()),
            of(|part| part.text("")),
            of(|part| part.text("ab")),
            of(|part| {
                part.text("a");
                part.text("b");
            }),
            of(|part| part.optional(Some(""))),
            of(|part| part.optional(None)),
            of(|part| part.number(0x80)),
            of(|part| part.number(0x4000)),
            of(|part| part.number(u64::MAX)),
        ];
        // No number and an empty text are written alike: one field follows another
        // of its own kind.
        let kinds: std::collections::BTreeSet<_> = digests.into_iter().collect();
        assert_eq!(kinds.len(), digests.len() - 1);
    }
}
