//! What a store holds, and what a call changes of it: plain data.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    ops::Bound::{Excluded, Included, Unbounded},
};

use rustagents_core::store::{
    Address, Delete, Item, ItemKey, ItemPage, NamespacePage, NamespacePath, NamespaceQuery,
    SearchQuery, StoreError, StoreLimits, Version, Write, check, scan::Scan,
};
use serde::{Deserialize, Serialize};

/// An item with the size of its value as JSON text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Held {
    /// The item.
    pub item: Item,
    /// The bytes of its value.
    pub bytes: usize,
}

impl Held {
    /// What it counts for in memory.
    fn size(&self) -> usize {
        self.bytes.saturating_add(self.item.address.bytes())
    }
}

/// What a call does to a table; decided first, then made durable, then applied.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Change {
    /// What is there afterwards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub put: Vec<Held>,
    /// What is not there any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<Address>,
    /// The highest version that was ever removed.
    pub floor: Version,
}

impl Change {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.put.is_empty() && self.removed.is_empty()
    }
}

/// The answer to each write of a batch.
pub type Versions = Vec<Option<Version>>;

/// The items of a store.
#[derive(Debug, Default)]
pub struct Table {
    namespaces: BTreeMap<NamespacePath, BTreeMap<ItemKey, Held>>,
    floor: Version,
    bytes: usize,
}

impl Table {
    /// The highest version that was ever removed.
    pub fn floor(&self) -> Version {
        self.floor
    }

    /// The bytes of all values and names.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// All that is held, by address.
    pub fn all(&self) -> impl Iterator<Item = &Held> {
        self.namespaces.values().flat_map(BTreeMap::values)
    }

    fn held(&self, address: &Address) -> Option<&Held> {
        self.namespaces.get(&address.namespace)?.get(&address.key)
    }

    /// The item at `address`, if its time is not over.
    pub fn get(&self, address: &Address, now_ms: u64) -> Option<&Item> {
        let item = &self.held(address)?.item;
        item.is_visible(now_ms).then_some(item)
    }

    /// What `writes` change, if all of them may be performed.
    ///
    /// # Errors
    /// As [`Store::write`](rustagents_core::store::Store::write).
    pub fn plan_writes(
        &self,
        writes: Vec<Write>,
        limits: StoreLimits,
        now_ms: u64,
    ) -> Result<(Change, Versions), StoreError> {
        let texts = check::texts(&writes, limits)?;
        let mut change = self.unchanged();
        let mut versions = Vec::with_capacity(writes.len());
        for (write, text) in writes.into_iter().zip(texts) {
            let held = self.held(write.address());
            versions.push(match write {
                Write::Put(put) => {
                    let stamp = held.map(|held| held.item.stamp());
                    let item = put.item(stamp, self.floor, now_ms)?;
                    let version = item.version;
                    let bytes = text.len();
                    change.put.push(Held { item, bytes });
                    Some(version)
                }
                Write::Delete(delete) => self.plan_delete(delete, &mut change, now_ms)?,
            });
        }
        self.check_room(&change, limits)?;
        Ok((change, versions))
    }

    fn unchanged(&self) -> Change {
        Change {
            floor: self.floor,
            ..Change::default()
        }
    }

    fn plan_delete(
        &self,
        delete: Delete,
        change: &mut Change,
        now_ms: u64,
    ) -> Result<Option<Version>, StoreError> {
        let version = self.get(&delete.address, now_ms).map(|item| item.version);
        delete.expect.check(&delete.address, version)?;
        if let Some(version) = version {
            change.floor = change.floor.max(version);
            change.removed.push(delete.address);
        }
        Ok(version)
    }

    fn check_room(&self, change: &Change, limits: StoreLimits) -> Result<(), StoreError> {
        let put = change.put.iter().map(|held| &held.item.address);
        let gone = put.chain(&change.removed).filter_map(|at| self.held(at));
        let left = self.bytes.saturating_sub(gone.map(Held::size).sum());
        let bytes = left.saturating_add(change.put.iter().map(Held::size).sum());
        // What makes the store smaller is never refused.
        if bytes > limits.held_bytes && bytes > self.bytes {
            return Err(StoreError::TooLarge {
                what: "store",
                bytes,
                limit: limits.held_bytes,
            });
        }
        Ok(())
    }

    /// What a refreshing read changes, and what it reads.
    pub fn plan_refresh(&self, address: &Address, now_ms: u64) -> (Change, Option<Item>) {
        let mut change = self.unchanged();
        let Some(held) = self
            .held(address)
            .filter(|held| held.item.is_visible(now_ms))
        else {
            return (change, None);
        };
        let mut held = held.clone();
        let item = &mut held.item;
        let refreshed = item.refresh(now_ms);
        let item = item.clone();
        if refreshed {
            change.put.push(held);
        }
        (change, Some(item))
    }

    /// The removal of up to `limit` items whose time is over.
    pub fn plan_sweep(&self, limit: usize, now_ms: u64) -> (Change, usize) {
        let mut change = self.unchanged();
        let over = self.all().filter(|held| !held.item.is_visible(now_ms));
        for held in over.take(limit) {
            change.floor = change.floor.max(held.item.version);
            change.removed.push(held.item.address.clone());
        }
        let count = change.removed.len();
        (change, count)
    }

    /// Makes a change that was planned on this table, or read back.
    pub fn apply(&mut self, change: Change) {
        self.floor = self.floor.max(change.floor);
        for address in &change.removed {
            self.remove(address);
        }
        for held in change.put {
            self.bytes = self.bytes.saturating_add(held.size());
            let address = held.item.address.clone();
            let keys = self.namespaces.entry(address.namespace).or_default();
            if let Some(before) = keys.insert(address.key, held) {
                self.bytes = self.bytes.saturating_sub(before.size());
            }
        }
    }

    fn remove(&mut self, address: &Address) {
        let Some(keys) = self.namespaces.get_mut(&address.namespace) else {
            return;
        };
        if let Some(held) = keys.remove(&address.key) {
            self.bytes = self.bytes.saturating_sub(held.size());
        }
        if keys.is_empty() {
            self.namespaces.remove(&address.namespace);
        }
    }

    /// A page of items.
    ///
    /// # Errors
    /// As [`SearchQuery::check`].
    pub fn search(&self, query: SearchQuery, now_ms: u64) -> Result<ItemPage, StoreError> {
        let (prefix, after) = (query.prefix.clone(), query.after.clone());
        let mut scan = Scan::new(query)?;
        let start = after
            .as_ref()
            .map_or(&prefix, |after| (&after.namespace).max(&prefix));
        let namespaces = self
            .namespaces
            .range::<NamespacePath, _>((Included(start), Unbounded))
            .take_while(|(namespace, _)| prefix.holds(namespace));
        for (namespace, keys) in namespaces {
            let from = match &after {
                Some(after) if after.namespace == *namespace => Excluded(&after.key),
                _ => Unbounded,
            };
            for (_, held) in keys.range::<ItemKey, _>((from, Unbounded)) {
                if scan.is_full() {
                    return Ok(scan.finish(false));
                }
                if held.item.is_visible(now_ms) {
                    scan.offer(Cow::Borrowed(&held.item), held.bytes);
                }
            }
        }
        Ok(scan.finish(true))
    }

    /// A page of namespaces.
    ///
    /// # Errors
    /// As [`NamespaceQuery::check`].
    pub fn namespaces(
        &self,
        query: &NamespaceQuery,
        now_ms: u64,
    ) -> Result<NamespacePage, StoreError> {
        query.page(|start| {
            let mut from = self
                .namespaces
                .range::<str, _>((Included(start), Unbounded));
            let visible =
                |keys: &BTreeMap<_, Held>| keys.values().any(|held| held.item.is_visible(now_ms));
            Ok(from
                .find(|(_, keys)| visible(keys))
                .map(|(namespace, _)| namespace.clone()))
        })
    }
}
