//! The application store: what agents remember across threads, and the contract
//! of its backends. It is not the journal: nothing of a run depends on it.
//!
//! An [`Item`] is a JSON value under an [`Address`], that is a namespace and a
//! key. Each write of an item counts its version up, and a write may insist on
//! the version that it replaces. An item may have a time to live; once it is
//! over, nobody sees the item, whether it was swept or not.
//!
//! Reading order: [`name`] (namespaces and keys), [`item`] (items and what is
//! written), [`filter`] and [`query`] (what is looked for), [`check`] and
//! [`scan`] (what each backend does in the same way), [`error`], [`given`] (how tools
//! and nodes reach it).
//!
//! A backend passes the suite `contract::store` of `rustagents-testkit`.

pub mod check;
pub mod error;
pub mod filter;
pub mod given;
pub mod item;
pub mod name;
pub mod query;
pub mod scan;

use futures::FutureExt;
use serde_json::Value;

use crate::BoxFuture;

pub use error::StoreError;
pub use filter::{Condition, Filter, Test, ValuePath};
pub use given::{GivenStore, NoStore};
pub use item::{Delete, Expect, Item, Put, PutOptions, Reading, Version, Write};
pub use name::{Address, ItemKey, NameError, NamespacePath};
pub use query::{ItemPage, NamespacePage, NamespaceQuery, SearchQuery};

/// Limits that a backend is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreLimits {
    /// The most bytes of one value, as JSON text without white space.
    pub value_bytes: usize,
    /// The most bytes of values, namespaces and keys that a backend holds which
    /// keeps them all in memory. Others ignore it.
    pub held_bytes: usize,
}

impl StoreLimits {
    /// Values of up to `bytes`.
    #[must_use]
    pub const fn values_up_to(self, bytes: usize) -> Self {
        Self {
            value_bytes: bytes,
            ..self
        }
    }

    /// Up to `bytes` in memory.
    #[must_use]
    pub const fn hold_up_to(self, bytes: usize) -> Self {
        Self {
            held_bytes: bytes,
            ..self
        }
    }
}

impl Default for StoreLimits {
    /// 1 MiB a value, 256 MiB in memory.
    fn default() -> Self {
        Self {
            value_bytes: 1 << 20,
            held_bytes: 256 << 20,
        }
    }
}

/// A store of items, with versions, searches and times to live.
///
/// Time comes from the [`Clock`](crate::clock::Clock) that a backend is made
/// with, and is read when a call begins.
///
/// Cancellation: a [`write`](Store::write), a [`sweep`](Store::sweep) and a
/// refreshing [`get`](Store::get) that were handed over run to their end,
/// whoever waits for them. Each is atomic. Other reads may be dropped at any time.
pub trait Store: Send + Sync {
    /// Performs all of `writes` durably, or none of them.
    ///
    /// The answer has a place for each write: the new version of an item that was
    /// put, the version of an item that was deleted, and `None` where there was
    /// nothing to delete.
    ///
    /// [`StoreError::Conflict`] if an expectation does not hold,
    /// [`StoreError::TooLarge`] and [`StoreError::Malformed`] by the rules in
    /// [`check`].
    fn write(&self, writes: Vec<Write>) -> BoxFuture<'_, Result<Vec<Option<Version>>, StoreError>>;

    /// The item at `address`, if there is one and its time is not over.
    fn get<'a>(
        &'a self,
        address: &'a Address,
        reading: Reading,
    ) -> BoxFuture<'a, Result<Option<Item>, StoreError>>;

    /// A page of the items that `query` asks for, by namespace and key.
    fn search(&self, query: SearchQuery) -> BoxFuture<'_, Result<ItemPage, StoreError>>;

    /// A page of the namespaces that hold items.
    fn namespaces(&self, query: NamespaceQuery)
    -> BoxFuture<'_, Result<NamespacePage, StoreError>>;

    /// Removes up to `limit` items whose time is over, and says how many it
    /// removed. Nobody sees a difference, but for the room that they took.
    fn sweep(&self, limit: usize) -> BoxFuture<'_, Result<usize, StoreError>>;

    /// Puts one value, and gives the item's new version.
    fn put(
        &self,
        address: Address,
        value: Value,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<Version, StoreError>> {
        let written = self.write(vec![Write::Put(Put {
            address,
            value,
            options,
        })]);
        async move {
            let version = written.await?.into_iter().next().flatten();
            version.ok_or(StoreError::Malformed {
                rule: "a put has a version",
            })
        }
        .boxed()
    }

    /// Deletes one item, and says whether there was one.
    fn delete(&self, address: Address, expect: Expect) -> BoxFuture<'_, Result<bool, StoreError>> {
        let written = self.write(vec![Write::Delete(Delete { address, expect })]);
        async move { Ok(written.await?.into_iter().any(|removed| removed.is_some())) }.boxed()
    }
}
