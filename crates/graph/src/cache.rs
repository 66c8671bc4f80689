//! Outputs of nodes that are taken again instead of running the node.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustagents_core::{BoxFuture, canonical::Canonical, digest::Digest, ids::NodeName};
use serde_json::{Value, json};

use crate::{
    node::NodeOutput,
    record::TaskWrite,
    state::{GraphState, Writes},
};

/// Keeps outputs of nodes, across runs and threads. A cache that fails is passed
/// over: the node runs.
pub trait NodeCache: Send + Sync {
    /// The output under `key` that is still good at `now_ms`, milliseconds since the
    /// Unix epoch.
    ///
    /// # Errors
    /// Why it cannot be said.
    fn get(&self, key: Digest, now_ms: u64) -> BoxFuture<'_, Result<Option<TaskWrite>, String>>;

    /// Keeps an output until `until_ms`, or for ever.
    ///
    /// # Errors
    /// Why it cannot be kept.
    fn put(
        &self,
        key: Digest,
        write: TaskWrite,
        until_ms: Option<u64>,
    ) -> BoxFuture<'_, Result<(), String>>;
}

/// An output, and until when it is good.
type Entry = (TaskWrite, Option<u64>);

/// A cache in memory, of so many outputs; the one that came first goes first.
pub struct MemoryCache {
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    entries: HashMap<Digest, Entry>,
    order: VecDeque<Digest>,
}

impl fmt::Debug for MemoryCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryCache")
            .field("most", &self.most)
            .finish_non_exhaustive()
    }
}

impl MemoryCache {
    /// An empty cache of at most `most` outputs, from 1.
    pub fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            kept: Mutex::default(),
        }
    }

    /// Forgets everything.
    pub fn clear(&self) {
        *self.lock() = Kept::default();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NodeCache for MemoryCache {
    fn get(&self, key: Digest, now_ms: u64) -> BoxFuture<'_, Result<Option<TaskWrite>, String>> {
        let kept = self.lock();
        let entry = kept.entries.get(&key);
        let good = entry.filter(|(_, until)| until.is_none_or(|until| now_ms < until));
        let write = good.map(|(write, _)| write.clone());
        Box::pin(std::future::ready(Ok(write)))
    }

    fn put(
        &self,
        key: Digest,
        write: TaskWrite,
        until_ms: Option<u64>,
    ) -> BoxFuture<'_, Result<(), String>> {
        let mut kept = self.lock();
        if kept.entries.insert(key, (write, until_ms)).is_none() {
            kept.order.push_back(key);
        }
        while kept.order.len() > self.most {
            if let Some(oldest) = kept.order.pop_front() {
                kept.entries.remove(&oldest);
            }
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

/// What of a state, and of what was sent, an output depends on.
type Key<S> = Arc<dyn Fn(&S, Option<&Value>) -> Option<Value> + Send + Sync>;

/// For which tasks of a node the output of an earlier one is taken.
pub(crate) struct CacheRule<S: GraphState> {
    pub(crate) key: Key<S>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) cache: Arc<dyn NodeCache>,
}

impl<S: GraphState> Clone for CacheRule<S> {
    fn clone(&self) -> Self {
        Self {
            key: Arc::clone(&self.key),
            ttl: self.ttl,
            cache: Arc::clone(&self.cache),
        }
    }
}

impl<S: GraphState> CacheRule<S> {
    /// The key of a task, if its output may be another one's.
    pub(crate) fn key(
        &self,
        graph: &str,
        node: &NodeName,
        state: &S,
        argument: Option<&Value>,
    ) -> Option<Digest> {
        let key = (self.key)(state, argument)?;
        Some(Canonical::of(&json!([graph, node, key])).digest())
    }

    /// Keeps an output until its time is over.
    pub(crate) async fn keep(&self, key: Digest, write: TaskWrite, now_ms: u64) {
        let ttl = self
            .ttl
            .map(|ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX));
        let until = ttl.map(|ttl| now_ms.saturating_add(ttl));
        // Without it the node runs again, which is no more than it costs.
        drop(self.cache.put(key, write, until).await);
    }
}

/// What of an output may be another task's: all of it, unless it holds messages,
/// which are their thread's, or goes on in the graph around.
pub(crate) fn keepable<S: GraphState>(output: &NodeOutput<S>) -> Option<TaskWrite> {
    let writes = output.written.as_ref()?;
    let mut messages = writes.channels.iter().flat_map(|(_, w)| w.messages());
    if writes.failed.is_some() || messages.next().is_some() || output.parent.is_some() {
        return None;
    }
    Some(TaskWrite {
        writes: writes.channels.clone(),
        route: output.route.clone(),
        goto: output.goto.clone(),
        handled: Some(output.is_handled),
        ..TaskWrite::default()
    })
}

/// The output that was kept.
pub(crate) fn kept_output<S: GraphState>(write: TaskWrite) -> NodeOutput<S> {
    NodeOutput {
        written: Some(Box::new(Writes {
            channels: write.writes,
            ..Writes::new()
        })),
        route: write.route,
        goto: write.goto,
        ..NodeOutput::default()
    }
}
