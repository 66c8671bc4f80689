//! Stores that number what is written to them: application stores and event journals,
//! for the tests that both must pass.

use futures::FutureExt;
use rustagents_core::{
    BoxFuture,
    event_journal::{EventJournal, EventQuery, Retention, RunEvent},
    ids::{Namespace, RunId, ThreadId},
    store::{
        Address, Expect, NamespacePath, NamespaceQuery, PutOptions, Reading, SearchQuery, Store,
        StoreError,
    },
};
use serde_json::json;

/// A store that gives each write the next number, from 1 on.
pub trait Numbered: Send + Sync {
    /// Writes something that takes the place of nothing but of what came before, and
    /// gives its number.
    fn add(&self, text: &str) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// The number of the last write; 0 if there was none.
    fn last(&self) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// What comes of everything else that can be asked of it.
    fn others(&self) -> BoxFuture<'_, Vec<Result<(), StoreError>>>;
}

/// An application store. Writes are versions of one item, each put on the one before.
#[derive(Clone, Debug)]
pub struct Items<S>(pub S);

impl<S: Store> Items<S> {
    fn address() -> Address {
        Address::new(["numbered"], "k").expect("a valid address")
    }

    async fn try_add(&self, text: &str) -> Result<u64, StoreError> {
        loop {
            let last = self.last().await?;
            let options = match last {
                0 => PutOptions::default().if_absent(),
                last => PutOptions::default().at_version(last),
            };
            let put = self.0.put(Self::address(), json!(text), options).await;
            match put {
                // Another was faster.
                Err(StoreError::Conflict { .. }) => {}
                put => return put,
            }
        }
    }
}

impl<S: Store> Numbered for Items<S> {
    fn add(&self, text: &str) -> BoxFuture<'_, Result<u64, StoreError>> {
        let text = text.to_owned();
        async move { self.try_add(&text).await }.boxed()
    }

    fn last(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        async {
            let item = self.0.get(&Self::address(), Reading::Plain).await?;
            Ok(item.map_or(0, |item| item.version))
        }
        .boxed()
    }

    fn others(&self) -> BoxFuture<'_, Vec<Result<(), StoreError>>> {
        async {
            let address = Self::address();
            vec![
                self.0.get(&address, Reading::Refresh).await.map(drop),
                self.0
                    .search(SearchQuery::under(NamespacePath::root()))
                    .await
                    .map(drop),
                self.0
                    .namespaces(NamespaceQuery::under(NamespacePath::root()))
                    .await
                    .map(drop),
                self.0.sweep(1).await.map(drop),
                self.0.delete(address, Expect::Any).await.map(drop),
            ]
        }
        .boxed()
    }
}

/// An event journal. Writes are events.
#[derive(Clone, Debug)]
pub struct Events<J>(pub J);

impl<J: EventJournal> Numbered for Events<J> {
    fn add(&self, text: &str) -> BoxFuture<'_, Result<u64, StoreError>> {
        let event = RunEvent {
            thread: ThreadId::new("numbered").expect("a valid name"),
            run: RunId::from("r"),
            root_run: RunId::from("r"),
            kind: "run.started".into(),
            namespace: Namespace::from(""),
            at_ms: 1,
            payload: json!(text),
        };
        async {
            let offsets = self.0.append(vec![event]).await?;
            Ok(offsets.first().copied().expect("one for each event"))
        }
        .boxed()
    }

    fn last(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        async {
            let mut query = EventQuery::from(1);
            loop {
                let page = self.0.read(query.clone()).await?;
                if page.events.is_empty() {
                    return Ok(page.next - 1);
                }
                query = query.on_from(page.next);
            }
        }
        .boxed()
    }

    fn others(&self) -> BoxFuture<'_, Vec<Result<(), StoreError>>> {
        async {
            let thread = ThreadId::new("numbered").expect("a valid name");
            vec![
                self.0.changed(0).await.map(drop),
                self.0.remove_thread(thread).await.map(drop),
                self.0.drop_events(Retention::KeepLast(0)).await.map(drop),
            ]
        }
        .boxed()
    }
}
