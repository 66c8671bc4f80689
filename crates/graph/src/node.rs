//! What a node is given, and what it gives back.

use std::{
    cell::Cell,
    convert::Infallible,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use rustagents_core::{
    BoxFuture,
    ask::Ask,
    code::Code,
    ids::{NodeName, TaskId},
    scope::{Halt, Scope},
};

use crate::{
    effect::{StepError, Work},
    state::{State, Update},
};

/// A node: runs once for each task, on the committed state of its step.
///
/// Cancellation: the future may be dropped at any await. What it did through its
/// [`TaskContext`] and recorded is found again by the next try.
pub trait Node: Send + Sync {
    /// Runs one task.
    fn run(
        &self,
        state: Arc<State>,
        context: TaskContext,
    ) -> BoxFuture<'_, Result<NodeOutput, NodeError>>;
}

/// What a task gives back.
#[derive(Clone, Debug, Default)]
pub struct NodeOutput {
    /// What it writes, in order.
    pub writes: Vec<(String, Update)>,
    /// For a node with routes: which one it takes.
    pub route: Option<String>,
    /// Its last words, for people.
    pub summary: String,
}

impl NodeOutput {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes `update` to `channel`.
    #[must_use]
    pub fn write(mut self, channel: impl Into<String>, update: Update) -> Self {
        self.writes.push((channel.into(), update));
        self
    }

    /// Takes the route with this label.
    #[must_use]
    pub fn route(mut self, label: impl Into<String>) -> Self {
        self.route = Some(label.into());
        self
    }
}

/// Why a task has no output.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// The machine stopped; the task goes on in a later attempt.
    #[error(transparent)]
    Halt(#[from] Halt),
    /// A policy stopped the work for good.
    #[error("{reason}")]
    Interrupted {
        /// Why.
        reason: String,
    },
    /// The task failed.
    #[error("{}", .0.message)]
    Failed(NodeFailure),
}

/// How a task failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFailure {
    /// The stable code.
    pub code: Code,
    /// One line.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl NodeError {
    /// A failure of the node itself.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed(NodeFailure {
            code: Code::NodeFailed,
            message: message.into(),
            hint: None,
        })
    }
}

/// What a task works with. Clones are the same task.
#[derive(Clone)]
pub struct TaskContext(Arc<Inner>);

struct Inner {
    scope: Scope,
    node: NodeName,
    task: TaskId,
    tries: u32,
    /// The thread that polls the task right now; 0 if none does.
    polled: AtomicUsize,
    held: Mutex<Held>,
}

/// What a task asked and began.
#[derive(Default)]
pub(crate) struct Held {
    /// How many questions it asked, answered ones included.
    pub(crate) asked: u32,
    /// The questions that nobody has answered.
    pub(crate) pending: Vec<Ask>,
    /// Its steps; most tasks have none.
    pub(crate) work: Option<Box<Work>>,
}

/// Ends a poll, however it ends.
struct Polled<'a>(&'a AtomicUsize);

impl Drop for Polled<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

thread_local! {
    static HERE: Cell<u8> = const { Cell::new(0) };
}

/// What tells this thread of execution from all others that live.
fn here() -> usize {
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

impl fmt::Debug for TaskContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TaskContext").field(&self.0.task).finish()
    }
}

impl TaskContext {
    /// The context of try `tries` at the task, from 1.
    pub(crate) fn new(parent: &Scope, node: NodeName, task: TaskId, tries: u32) -> Self {
        let scope = parent.child(&task);
        Self(Arc::new(Inner {
            scope,
            node,
            task,
            tries,
            polled: AtomicUsize::new(0),
            held: Mutex::default(),
        }))
    }

    /// The scope of the task's own chain.
    pub fn scope(&self) -> &Scope {
        &self.0.scope
    }

    /// The node.
    pub fn node(&self) -> &NodeName {
        &self.0.node
    }

    /// The task.
    pub fn task(&self) -> &TaskId {
        &self.0.task
    }

    /// Which try at the task this is, from 1.
    pub fn tries(&self) -> u32 {
        self.0.tries
    }

    /// Suspends the task on questions that were raised inside it. It must be polled
    /// with the node, or in what the node [spawned](Self::spawn): not inside a step.
    pub async fn suspend(&self, asks: Vec<Ask>) -> Infallible {
        self.held().pending.extend(asks);
        std::future::pending().await
    }

    pub(crate) fn held(&self) -> MutexGuard<'_, Held> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does `poll`, and meanwhile counts what this thread calls as the node's.
    pub(crate) fn inside<R>(&self, poll: impl FnOnce() -> R) -> R {
        self.0.polled.store(here(), Ordering::Relaxed);
        let _polled = Polled(&self.0.polled);
        poll()
    }

    /// Refuses `what` if it is not polled with the node.
    pub(crate) fn check_inside(&self, what: &str) -> Result<(), StepError> {
        if self.0.polled.load(Ordering::Relaxed) == here() {
            return Ok(());
        }
        Err(StepError::Outside {
            what: what.to_owned(),
            task: self.0.task.clone(),
        })
    }
}

struct Function<F>(F);

impl<F, R> Node for Function<F>
where
    F: Fn(Arc<State>, TaskContext) -> R + Send + Sync,
    R: Future<Output = Result<NodeOutput, NodeError>> + Send + 'static,
{
    fn run(
        &self,
        state: Arc<State>,
        context: TaskContext,
    ) -> BoxFuture<'_, Result<NodeOutput, NodeError>> {
        Box::pin((self.0)(state, context))
    }
}

/// A node from an async function of state and context.
pub fn node_fn<F, R>(function: F) -> impl Node
where
    F: Fn(Arc<State>, TaskContext) -> R + Send + Sync,
    R: Future<Output = Result<NodeOutput, NodeError>> + Send + 'static,
{
    Function(function)
}
