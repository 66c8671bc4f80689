//! Items, and what is written of them.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Address, StoreError};

/// How often an item was written. The first write of an address is version 1,
/// and each later one is one more. An address never has a version twice: an item
/// that is written again after it was removed has a higher version than any that
/// was removed from the store before.
pub type Version = u64;

/// The last moment that a backend can keep.
const LAST_MS: u64 = i64::MAX.unsigned_abs();

/// A value, and what the store knows of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Where it stands.
    pub address: Address,
    /// What it is.
    pub value: Value,
    /// How often it was written.
    pub version: Version,
    /// When it was first written, in milliseconds since the Unix epoch.
    pub created_at_ms: u64,
    /// When it was last written.
    pub updated_at_ms: u64,
    /// From when on nobody sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<u64>,
    /// How long it lives from its last write or refreshing read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
}

impl Item {
    /// Whether its time is not over at `now_ms`.
    pub fn is_visible(&self, now_ms: u64) -> bool {
        is_visible(self.expires_at_ms, now_ms)
    }

    /// Begins its time to live anew. `false` if it lives for ever anyway.
    pub fn refresh(&mut self, now_ms: u64) -> bool {
        self.expires_at_ms = self.ttl_ms.map(|ttl| expiry(now_ms, ttl));
        self.ttl_ms.is_some()
    }

    /// What a later write needs to know of it.
    pub fn stamp(&self) -> Stamp {
        Stamp {
            version: self.version,
            created_at_ms: self.created_at_ms,
            expires_at_ms: self.expires_at_ms,
        }
    }
}

/// What a write needs to know of the item that it replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// How often it was written.
    pub version: Version,
    /// When it was first written.
    pub created_at_ms: u64,
    /// From when on nobody sees it.
    pub expires_at_ms: Option<u64>,
}

impl Stamp {
    /// Whether the item's time is not over at `now_ms`.
    pub fn is_visible(&self, now_ms: u64) -> bool {
        is_visible(self.expires_at_ms, now_ms)
    }
}

fn is_visible(expires_at_ms: Option<u64>, now_ms: u64) -> bool {
    expires_at_ms.is_none_or(|end| now_ms < end)
}

fn expiry(now_ms: u64, ttl_ms: u64) -> u64 {
    now_ms.saturating_add(ttl_ms).min(LAST_MS)
}

/// What a write expects to find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expect {
    /// Whatever is there.
    #[default]
    Any,
    /// Nothing that anybody sees.
    Absent,
    /// The item, in this version.
    Version(Version),
}

impl Expect {
    /// Compares with what is seen at `address`.
    ///
    /// # Errors
    /// [`StoreError::Conflict`].
    pub fn check(self, address: &Address, current: Option<Version>) -> Result<(), StoreError> {
        let met = match self {
            Self::Any => true,
            Self::Absent => current.is_none(),
            Self::Version(version) => current == Some(version),
        };
        if met {
            return Ok(());
        }
        Err(StoreError::Conflict {
            address: Box::new(address.clone()),
            expected: self,
            current,
        })
    }
}

/// How a value is put.
///
/// ```
/// use std::time::Duration;
/// use rustagents_core::store::PutOptions;
/// let options = PutOptions::default().at_version(3).live_for(Duration::from_secs(60));
/// assert_eq!(options.ttl, Some(Duration::from_secs(60)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PutOptions {
    /// What must be there before.
    pub expect: Expect,
    /// How long the item lives; without it, for ever.
    pub ttl: Option<Duration>,
}

impl PutOptions {
    /// Only if there is nothing yet.
    #[must_use]
    pub fn if_absent(self) -> Self {
        self.expecting(Expect::Absent)
    }

    /// Only in the place of this version.
    #[must_use]
    pub fn at_version(self, version: Version) -> Self {
        self.expecting(Expect::Version(version))
    }

    /// Only if `expect` holds.
    #[must_use]
    pub fn expecting(self, expect: Expect) -> Self {
        Self { expect, ..self }
    }

    /// The item ends after `ttl`; a part of a millisecond counts as a whole one.
    #[must_use]
    pub fn live_for(self, ttl: Duration) -> Self {
        Self {
            ttl: Some(ttl),
            ..self
        }
    }
}

/// A value to be put.
#[derive(Clone, Debug, PartialEq)]
pub struct Put {
    /// Where.
    pub address: Address,
    /// What.
    pub value: Value,
    /// How.
    pub options: PutOptions,
}

impl Put {
    /// The item that this write makes at `now_ms`. `held` is what the backend has
    /// at the address, whether its time is over or not, and `floor` the highest
    /// version that was ever removed from the store.
    ///
    /// # Errors
    /// [`StoreError::Conflict`].
    pub fn item(
        self,
        held: Option<Stamp>,
        floor: Version,
        now_ms: u64,
    ) -> Result<Item, StoreError> {
        let seen = held.filter(|held| held.is_visible(now_ms));
        self.options
            .expect
            .check(&self.address, seen.map(|seen| seen.version))?;
        let before = match (seen, held) {
            (Some(seen), _) => seen.version,
            (None, held) => held.map_or(0, |held| held.version).max(floor),
        };
        let ttl_ms = self
            .options
            .ttl
            .map(|ttl| u64::try_from(ttl.as_nanos().div_ceil(1_000_000)).unwrap_or(LAST_MS));
        let mut item = Item {
            address: self.address,
            value: self.value,
            version: before.saturating_add(1),
            created_at_ms: seen.map_or(now_ms, |seen| seen.created_at_ms),
            updated_at_ms: now_ms,
            expires_at_ms: None,
            ttl_ms: ttl_ms.map(|ttl| ttl.min(LAST_MS)),
        };
        item.refresh(now_ms);
        Ok(item)
    }
}

/// An item to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    /// Where.
    pub address: Address,
    /// What must be there before. With [`Expect::Any`], nothing is fine as well.
    pub expect: Expect,
}

/// One of the writes that are performed together.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Puts a value.
    Put(Put),
    /// Deletes an item.
    Delete(Delete),
}

impl Write {
    /// Where it writes.
    pub fn address(&self) -> &Address {
        match self {
            Self::Put(put) => &put.address,
            Self::Delete(delete) => &delete.address,
        }
    }
}

/// What a read does to an item's time to live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// Nothing.
    #[default]
    Plain,
    /// Begins it anew. That is a write, but gives no new version.
    Refresh,
}
