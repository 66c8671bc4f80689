//! Filling a page, for backends.

use std::borrow::Cow;

use super::{
    Address, Item, ItemPage, SearchQuery, StoreError,
    query::{MAX_SCAN, PAGE_BYTES, SCAN_BYTES},
};

/// Fills a page from items that come in order. For backends.
#[derive(Debug)]
pub struct Scan {
    query: SearchQuery,
    items: Vec<Item>,
    last: Option<Address>,
    seen: usize,
    seen_bytes: usize,
    bytes: usize,
}

impl Scan {
    /// An empty page for `query`.
    ///
    /// # Errors
    /// [`StoreError::Malformed`].
    pub fn new(query: SearchQuery) -> Result<Self, StoreError> {
        query.check()?;
        Ok(Self {
            query,
            items: Vec::new(),
            last: None,
            seen: 0,
            seen_bytes: 0,
            bytes: 0,
        })
    }

    /// Whether no more items should be offered.
    pub fn is_full(&self) -> bool {
        let looked = self.seen >= MAX_SCAN || self.seen_bytes >= SCAN_BYTES;
        looked || self.items.len() >= self.query.limit || self.bytes >= PAGE_BYTES
    }

    /// Takes the item, whose value has `bytes`, if it is among those looked for.
    pub fn offer(&mut self, item: Cow<'_, Item>, bytes: usize) {
        self.seen += 1;
        self.seen_bytes = self.seen_bytes.saturating_add(bytes);
        self.last = Some(item.address.clone());
        if self.query.matches(&item) {
            self.bytes = self.bytes.saturating_add(bytes);
            self.items.push(item.into_owned());
        }
    }

    /// The page; `ended` if there was nothing more to offer.
    pub fn finish(self, ended: bool) -> ItemPage {
        ItemPage {
            items: self.items,
            next: self.last.filter(|_| !ended),
        }
    }
}
