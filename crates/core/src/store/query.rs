//! What is looked for, and the pages in which it comes.

use super::{Address, Filter, Item, NamespacePath, StoreError};

/// The most items or namespaces in one page.
pub const MAX_PAGE: usize = 1_000;

/// The most items that are looked at for one page.
pub const MAX_SCAN: usize = 10_000;

/// The most bytes of values that are looked at for one page, but for the last.
pub const SCAN_BYTES: usize = 64 << 20;

/// A page ends with the item that brings its values to as many bytes.
pub const PAGE_BYTES: usize = 8 << 20;

/// Which items are looked for.
///
/// There is no search by meaning yet. A backend that has vectors would get a
/// field `query` here, with the text or the vector to be near to, and would give
/// a page in the order of nearness, of the items that the other fields let
/// through; [`ItemPage`] would get the nearness of each. Backends without vectors
/// would refuse such a query as [`StoreError::Malformed`]. Until then nothing
/// here pretends to it.
///
/// ```
/// use rustagents_core::store::{Filter, NamespacePath, SearchQuery, Test};
/// let notes = SearchQuery::under(NamespacePath::new(["users", "42"])?)
///     .key_prefix("note-")
///     .filter(Filter::default().and("done", Test::Equal(false.into()))?)
///     .limit(20);
/// assert!(notes.check().is_ok());
/// # Ok::<(), rustagents_core::store::StoreError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SearchQuery {
    /// Only in this namespace and below it.
    pub prefix: NamespacePath,
    /// Only keys that begin so.
    pub key_prefix: String,
    /// Only values of which all this holds.
    pub filter: Filter,
    /// Only what stands after this address: [`ItemPage::next`] of the page before.
    pub after: Option<Address>,
    /// How many at the most, from 1 to [`MAX_PAGE`].
    pub limit: usize,
}

impl SearchQuery {
    /// All items in `prefix` and below it, 100 a page.
    pub fn under(prefix: NamespacePath) -> Self {
        Self {
            prefix,
            key_prefix: String::new(),
            filter: Filter::default(),
            after: None,
            limit: 100,
        }
    }

    /// Only keys that begin with `text`.
    #[must_use]
    pub fn key_prefix(self, text: impl Into<String>) -> Self {
        Self {
            key_prefix: text.into(),
            ..self
        }
    }

    /// Only values that `filter` lets through.
    #[must_use]
    pub fn filter(self, filter: Filter) -> Self {
        Self { filter, ..self }
    }

    /// Only what stands after `address`.
    #[must_use]
    pub fn after(self, address: Option<Address>) -> Self {
        Self {
            after: address,
            ..self
        }
    }

    /// At most `limit` a page.
    #[must_use]
    pub fn limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Checks what needs no look at the store.
    ///
    /// # Errors
    /// [`StoreError::Malformed`].
    pub fn check(&self) -> Result<(), StoreError> {
        check_limit(self.limit)
    }

    /// Whether an item is among those that are looked for, wherever the page begins.
    pub fn matches(&self, item: &Item) -> bool {
        self.prefix.holds(&item.address.namespace)
            && item.address.key.as_str().starts_with(&self.key_prefix)
            && self.filter.matches(&item.value)
    }
}

pub(crate) fn check_limit(limit: usize) -> Result<(), StoreError> {
    if (1..=MAX_PAGE).contains(&limit) {
        return Ok(());
    }
    let rule = "a page has a limit from 1 to 1000";
    Err(StoreError::Malformed { rule })
}

/// Some of the items that were looked for, in order.
///
/// A page may be shorter than the limit, and even empty, although more follow:
/// only `next` says whether they do.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ItemPage {
    /// The items.
    pub items: Vec<Item>,
    /// After which address the next page begins; `None` if there is none.
    pub next: Option<Address>,
}

/// Which namespaces are looked for. Only those count that hold an item.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamespaceQuery {
    /// Only this namespace and those below it.
    pub prefix: NamespacePath,
    /// Cut to so many parts below the prefix, and named once.
    pub depth: Option<usize>,
    /// Only what stands after this: [`NamespacePage::next`] of the page before.
    pub after: Option<NamespacePath>,
    /// How many at the most, from 1 to [`MAX_PAGE`].
    pub limit: usize,
}

impl NamespaceQuery {
    /// All namespaces in `prefix`, 100 a page.
    pub fn under(prefix: NamespacePath) -> Self {
        Self {
            prefix,
            depth: None,
            after: None,
            limit: 100,
        }
    }

    /// Cut to `depth` parts below the prefix.
    #[must_use]
    pub fn depth(self, depth: usize) -> Self {
        Self {
            depth: Some(depth),
            ..self
        }
    }

    /// Only what stands after `namespace`.
    #[must_use]
    pub fn after(self, namespace: Option<NamespacePath>) -> Self {
        Self {
            after: namespace,
            ..self
        }
    }

    /// At most `limit` a page.
    #[must_use]
    pub fn limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Checks what needs no look at the store.
    ///
    /// # Errors
    /// [`StoreError::Malformed`].
    pub fn check(&self) -> Result<(), StoreError> {
        check_limit(self.limit)
    }

    /// What a namespace that holds an item is listed as.
    pub fn listed(&self, found: &NamespacePath) -> NamespacePath {
        match self.depth {
            Some(depth) => found.cut(self.prefix.depth().saturating_add(depth)),
            None => found.clone(),
        }
    }

    /// Fills a page. `first` gives the first namespace with an item that
    /// anybody sees, whose encoded form is at least the given text. For backends.
    ///
    /// # Errors
    /// [`StoreError::Malformed`], and what `first` says.
    pub fn page<E: From<StoreError>>(
        &self,
        mut first: impl FnMut(&str) -> Result<Option<NamespacePath>, E>,
    ) -> Result<NamespacePage, E> {
        self.check()?;
        let mut page = NamespacePage::default();
        let mut from = match &self.after {
            Some(after) if *after >= self.prefix => self.beyond(&self.listed(after)),
            _ => Some(self.prefix.encoded().to_owned()),
        };
        while let Some(start) = from {
            let found = first(&start)?.filter(|found| self.prefix.holds(found));
            let Some(found) = found else {
                return Ok(page);
            };
            if page.namespaces.len() == self.limit {
                page.next = page.namespaces.last().cloned();
                return Ok(page);
            }
            let listed = self.listed(&found);
            from = self.beyond(&listed);
            page.namespaces.push(listed);
        }
        Ok(page)
    }

    /// The least encoded form of what is listed after `listed`.
    fn beyond(&self, listed: &NamespacePath) -> Option<String> {
        let deepest = self
            .depth
            .map(|depth| depth.saturating_add(self.prefix.depth()));
        if deepest.is_some_and(|deepest| listed.depth() >= deepest) {
            return listed.encoded_end();
        }
        // Only what is longer follows at once, and none has a control character.
        Some(format!("{}\u{1}", listed.encoded()))
    }
}

/// Some of the namespaces that were looked for, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamespacePage {
    /// The namespaces.
    pub namespaces: Vec<NamespacePath>,
    /// After which namespace the next page begins; `None` if there is none.
    pub next: Option<NamespacePath>,
}
