//! The same work on many items inside one node: each item is a step of its own.

use std::{future::Future, time::Duration};

use futures::{
    StreamExt,
    future::{Either, select},
    stream,
};
use rustagents_core::{
    CancellationToken,
    code::{Class, Code},
    scope::Halt,
};
use serde::{Serialize, de::DeserializeOwned};

use crate::node::{NodeError, NodeFailure, TaskContext};

/// How the items of a [`map_reduce`](TaskContext::map_reduce) are worked on.
#[derive(Clone, Copy, Debug)]
pub struct MapReduce {
    concurrency: usize,
    policy: Policy,
    item_timeout: Option<Duration>,
    timeout: Option<Duration>,
}

/// When it is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    CollectAll,
    FailFast,
    Quorum(usize),
}

/// What an item came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ItemEnd<R> {
    /// It was done.
    Done(R),
    /// It failed.
    Failed(NodeFailure),
    /// It took longer than an item may.
    TimedOut,
    /// It was not needed any more, or there was no time left.
    Cancelled,
}

impl<R> ItemEnd<R> {
    /// What it came to, if it was done.
    pub fn done(self) -> Option<R> {
        match self {
            Self::Done(result) => Some(result),
            _ => None,
        }
    }
}

impl Default for MapReduce {
    fn default() -> Self {
        Self {
            concurrency: 8,
            policy: Policy::CollectAll,
            item_timeout: None,
            timeout: None,
        }
    }
}

impl MapReduce {
    /// All items, eight at a time, whatever becomes of each.
    pub fn new() -> Self {
        Self::default()
    }

    /// Fails with the first item that fails; the others are cancelled.
    #[must_use]
    pub fn fail_fast(mut self) -> Self {
        self.policy = Policy::FailFast;
        self
    }

    /// Is content with `enough` items that are done, from 1; the others are cancelled.
    /// It fails once so many cannot be reached.
    #[must_use]
    pub fn quorum(mut self, enough: usize) -> Self {
        self.policy = Policy::Quorum(enough.max(1));
        self
    }

    /// Is content with the first item that is done.
    #[must_use]
    pub fn race(self) -> Self {
        self.quorum(1)
    }

    /// How many items are worked on at the same time, from 1.
    #[must_use]
    pub fn concurrency(mut self, items: usize) -> Self {
        self.concurrency = items.max(1);
        self
    }

    /// How long an item may take.
    #[must_use]
    pub fn item_timeout(mut self, limit: Duration) -> Self {
        self.item_timeout = Some(limit);
        self
    }

    /// How long all may take; what is not done then is cancelled.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }
}

impl TaskContext {
    /// Does `work` on each of `items`, and returns what each came to, in the order
    /// of the items. Each item is a [step](Self::step_keyed) `name` under its place:
    /// those that were done are not worked on again by a later attempt.
    ///
    /// An item that is cancelled, or takes too long, is dropped at its next await.
    ///
    /// # Errors
    /// [`NodeError`]: an item failed and none may, or too few can still be done.
    ///
    /// ```
    /// use rustagents_graph::{MapReduce, NodeError, TaskContext};
    ///
    /// async fn lengths(context: &TaskContext, pages: Vec<String>) -> Result<usize, NodeError> {
    ///     let ends = context
    ///         .map_reduce("length", pages, MapReduce::new().concurrency(4), |page| async move {
    ///             Ok::<_, NodeError>(page.len())
    ///         })
    ///         .await?;
    ///     Ok(ends.into_iter().filter_map(|end| end.done()).sum())
    /// }
    /// # let _ = lengths;
    /// ```
    pub async fn map_reduce<T, R, E, F>(
        &self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        how: MapReduce,
        work: impl Fn(T) -> F,
    ) -> Result<Vec<ItemEnd<R>>, NodeError>
    where
        R: Serialize + DeserializeOwned + Send + 'static,
        E: Into<NodeError>,
        F: Future<Output = Result<R, E>> + Send + 'static,
    {
        let cancel = CancellationToken::new();
        let _dropped = cancel.clone().drop_guard();
        let items = items.into_iter().enumerate();
        let runs: Vec<_> = items
            .map(|(place, item)| {
                let work = work(item);
                let item = self.item(name, place, how.item_timeout, cancel.clone(), work);
                async move { (place, item.await) }
            })
            .collect();
        let mut tally = Tally::new(runs.len(), how.policy);
        let mut runs = stream::iter(runs).buffer_unordered(how.concurrency);
        let clock = &self.scope().run().clock;
        let mut late = how.timeout.map(|limit| clock.sleep(limit));
        while let Some(next) = within(runs.next(), &mut late).await {
            let Some((place, end)) = next else { break };
            if tally.take(place, end?)? {
                break;
            }
        }
        tally.finish()
    }

    /// One item: a step that its time, or that it is not needed, ends.
    async fn item<R, E, F>(
        &self,
        name: &str,
        place: usize,
        limit: Option<Duration>,
        cancel: CancellationToken,
        work: F,
    ) -> Result<ItemEnd<R>, Halt>
    where
        R: Serialize + DeserializeOwned + Send + 'static,
        E: Into<NodeError>,
        F: Future<Output = Result<R, E>> + Send + 'static,
    {
        let clock = self.scope().run().clock.clone();
        let done = self.step_keyed(name, place, move || async move {
            let over = async {
                let not_needed = Box::pin(cancel.cancelled());
                let Some(limit) = limit else {
                    not_needed.await;
                    return Code::Cancelled;
                };
                match select(clock.sleep(limit), not_needed).await {
                    Either::Left(_) => Code::NodeTimeout,
                    Either::Right(_) => Code::Cancelled,
                }
            };
            match select(Box::pin(work), Box::pin(over)).await {
                Either::Left((done, _)) => done.map_err(Into::into),
                Either::Right((code, _)) => Err(ended(code)),
            }
        });
        match done.await {
            Ok(result) => Ok(ItemEnd::Done(result)),
            Err(NodeError::Halt(halt)) => Err(halt),
            Err(NodeError::Failed(failure)) if failure.code == Code::NodeTimeout => {
                Ok(ItemEnd::TimedOut)
            }
            Err(NodeError::Failed(failure)) if failure.code == Code::Cancelled => {
                Ok(ItemEnd::Cancelled)
            }
            Err(NodeError::Failed(failure)) => Ok(ItemEnd::Failed(failure)),
            Err(NodeError::Interrupted { reason }) => Ok(ItemEnd::Failed(NodeFailure {
                code: Code::InterruptedByPolicy,
                class: Class::Caller,
                message: reason,
                hint: None,
            })),
        }
    }
}

/// What `work` comes to, or `None` once it is late.
async fn within<T>(
    work: impl Future<Output = T> + Unpin,
    late: &mut Option<rustagents_core::BoxFuture<'static, ()>>,
) -> Option<T> {
    match late {
        None => Some(work.await),
        Some(late) => match select(work, late).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(_) => None,
        },
    }
}

fn ended(code: Code) -> NodeError {
    NodeError::Failed(NodeFailure {
        code,
        class: Class::Cancelled,
        message: "the item was ended".into(),
        hint: None,
    })
}

/// What the items came to so far.
struct Tally<R> {
    ends: Vec<Option<ItemEnd<R>>>,
    policy: Policy,
    done: usize,
    failed: usize,
}

impl<R> Tally<R> {
    fn new(items: usize, policy: Policy) -> Self {
        Self {
            ends: std::iter::repeat_with(|| None).take(items).collect(),
            policy,
            done: 0,
            failed: 0,
        }
    }

    /// Takes an end, and says whether it is enough.
    fn take(&mut self, place: usize, end: ItemEnd<R>) -> Result<bool, NodeError> {
        match (&end, self.policy) {
            (ItemEnd::Done(_), _) => self.done += 1,
            (ItemEnd::Failed(failure), Policy::FailFast) => {
                return Err(NodeError::Failed(failure.clone()));
            }
            (_, Policy::FailFast) => {
                return Err(NodeError::failed(format!("item {place} took too long")));
            }
            _ => self.failed += 1,
        }
        if let Some(slot) = self.ends.get_mut(place) {
            *slot = Some(end);
        }
        match self.policy {
            Policy::Quorum(enough) if self.done >= enough => Ok(true),
            Policy::Quorum(enough) if self.ends.len() - self.failed < enough => {
                Err(self.too_few(enough))
            }
            _ => Ok(false),
        }
    }

    fn too_few(&self, enough: usize) -> NodeError {
        let items = self.ends.len();
        NodeError::failed(format!(
            "{enough} of {items} items are needed, and {} failed",
            self.failed
        ))
    }

    fn finish(self) -> Result<Vec<ItemEnd<R>>, NodeError> {
        match self.policy {
            Policy::Quorum(enough) if self.done < enough => Err(self.too_few(enough)),
            Policy::FailFast if self.done < self.ends.len() => {
                Err(NodeError::failed("there was no time for all items"))
            }
            _ => {
                let ends = self.ends.into_iter();
                Ok(ends.map(|end| end.unwrap_or(ItemEnd::Cancelled)).collect())
            }
        }
    }
}
