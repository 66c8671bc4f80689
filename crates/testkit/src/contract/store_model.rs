//! Random steps on a store and on a simple model of it, which must agree.
//!
//! A test makes lists of numbers, with a property-testing library or without;
//! [`Step::of`] reads a step from each. A list that ends in disagreement can
//! then be shrunk as any list of numbers.

mod step;

use std::{collections::BTreeMap, future::Future, sync::Arc};

use rustagents_core::{
    clock::Clock,
    store::{
        Address, Expect, Item, NamespaceQuery, Reading, SearchQuery, Store, StoreError, Version,
        Write,
    },
};

pub use step::Step;

use crate::clock::ManualClock;

/// Performs `steps` on the store that `open` gives, again and again for
/// [`Step::Reopen`], and on the model.
///
/// # Panics
/// Where the two disagree.
pub async fn run<S, F>(steps: &[Step], mut open: impl FnMut(Arc<dyn Clock>) -> F)
where
    S: Store,
    F: Future<Output = S>,
{
    let clock = ManualClock::new();
    let mut model = Model::default();
    let mut store = open(Arc::new(clock.clone())).await;
    for step in steps {
        match step {
            Step::Reopen => {
                drop(store);
                store = open(Arc::new(clock.clone())).await;
            }
            Step::Wait(duration) => clock.advance(*duration),
            step => model.perform(step, &store, clock.now_ms()).await,
        }
    }
}

/// What should be there. It says less than the contract about versions: which
/// one an item begins with is the backend's choice, if the item is new.
#[derive(Default)]
struct Model {
    items: BTreeMap<Address, Item>,
    /// The highest version that each address ever had.
    highest: BTreeMap<Address, Version>,
    /// The addresses of what is over and was not swept.
    over: BTreeMap<Address, u64>,
}

impl Model {
    async fn perform(&mut self, step: &Step, store: &impl Store, now: u64) {
        self.let_end(now);
        match step {
            Step::Write(writes) => {
                let found = store.write(writes.clone()).await;
                self.write(writes, found, now);
            }
            Step::Get(address, reading) => {
                let found = store.get(address, *reading).await.expect("readable");
                if let (Reading::Refresh, Some(item)) = (reading, self.items.get_mut(address)) {
                    item.expires_at_ms = item.ttl_ms.map(|ttl| now + ttl);
                }
                assert_eq!(found.as_ref(), self.items.get(address));
            }
            Step::Search(query) => self.search(query.clone(), store).await,
            Step::Namespaces(query) => self.namespaces(query.clone(), store).await,
            Step::Sweep(limit) => {
                let swept = store.sweep(*limit).await.expect("swept");
                assert_eq!(swept, self.over.len().min(*limit));
                // Which ones went first is the backend's choice.
                let rest = store.sweep(usize::MAX).await.expect("swept");
                assert_eq!(swept + rest, self.over.len());
                self.over.clear();
            }
            Step::Wait(_) | Step::Reopen => {}
        }
    }

    fn let_end(&mut self, now: u64) {
        let over = |item: &Item| item.expires_at_ms.is_some_and(|end| end <= now);
        for (address, item) in &self.items {
            if over(item) {
                self.over.insert(address.clone(), now);
            }
        }
        self.items.retain(|_, item| !over(item));
    }

    fn write(
        &mut self,
        writes: &[Write],
        found: Result<Vec<Option<Version>>, StoreError>,
        now: u64,
    ) {
        let conflict = writes.iter().find_map(|write| {
            let current = self.items.get(write.address()).map(|item| item.version);
            let expect = match write {
                Write::Put(put) => put.options.expect,
                Write::Delete(delete) => delete.expect,
            };
            let met = match expect {
                Expect::Any => true,
                Expect::Absent => current.is_none(),
                Expect::Version(version) => current == Some(version),
            };
            (!met).then_some((write.address(), current))
        });
        match (conflict, found) {
            (None, Ok(versions)) => {
                assert_eq!(versions.len(), writes.len());
                for (write, version) in writes.iter().zip(versions) {
                    self.written(write, version, now);
                }
            }
            (
                Some((at, version)),
                Err(StoreError::Conflict {
                    address, current, ..
                }),
            ) => {
                assert_eq!((at, version), (&*address, current));
            }
            (conflict, found) => panic!("expected {conflict:?}, found {found:?}"),
        }
    }

    fn written(&mut self, write: &Write, version: Option<Version>, now: u64) {
        let address = write.address().clone();
        let before = self.items.remove(&address);
        let Write::Put(put) = write else {
            assert_eq!(version, before.map(|item| item.version));
            return;
        };
        let version = version.expect("a put has a version");
        match (&before, self.highest.get(&address)) {
            (Some(before), _) => assert_eq!(version, before.version + 1),
            (None, Some(highest)) => assert!(version > *highest, "{version} is not new"),
            (None, None) => assert!(version > 0),
        }
        self.highest.insert(address.clone(), version);
        self.over.remove(&address);
        let ttl = put.options.ttl.map(|ttl| ttl.as_millis());
        let ttl_ms = ttl.map(|ttl| u64::try_from(ttl).expect("a short time"));
        let item = Item {
            address: address.clone(),
            value: put.value.clone(),
            version,
            created_at_ms: before.map_or(now, |item| item.created_at_ms),
            updated_at_ms: now,
            expires_at_ms: ttl_ms.map(|ttl| now + ttl),
            ttl_ms,
        };
        self.items.insert(address, item);
        self.let_end(now);
    }

    async fn search(&self, mut query: SearchQuery, store: &impl Store) {
        let mut found = Vec::new();
        loop {
            let page = store.search(query.clone()).await.expect("searched");
            found.extend(page.items);
            if page.next.is_none() {
                break;
            }
            query = query.after(page.next);
        }
        let expected = self.items.values().filter(|item| query.matches(item));
        assert_eq!(found, expected.cloned().collect::<Vec<_>>());
    }

    async fn namespaces(&self, mut query: NamespaceQuery, store: &impl Store) {
        let mut found = Vec::new();
        loop {
            let page = store.namespaces(query.clone()).await.expect("listed");
            found.extend(page.namespaces);
            if page.next.is_none() {
                break;
            }
            query = query.after(page.next);
        }
        let held = self.items.keys().map(|address| &address.namespace);
        let held = held.filter(|namespace| query.prefix.holds(namespace));
        let mut expected: Vec<_> = held.map(|namespace| query.listed(namespace)).collect();
        expected.dedup();
        assert_eq!(found, expected);
    }
}
