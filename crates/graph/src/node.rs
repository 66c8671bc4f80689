//! What a node is given, and what it gives back.

use std::{
    any::Any,
    cell::Cell,
    convert::Infallible,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use rustagents_core::{
    BoxFuture,
    ask::Ask,
    code::{Class, Code, Coded},
    event::Event,
    ids::{AskId, Namespace, NodeName, TaskId},
    scope::{Halt, Scope},
    store::{NoStore, Store, StoreError},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    dropping::Lost,
    effect::{StepError, Work},
    inside::{Children, KeptState},
    kept::{CallBefore, Memory},
    record::{Goto, Task, Unkept},
    state::{ChannelName, GraphState, State, Update, Writes},
    topology::GraphTopology,
    way_out::WayOut,
};

/// A node: runs once for each task, on the committed state of its step.
///
/// Cancellation: the future may be dropped at any await. What it did through its
/// [`TaskContext`] and recorded is found again by the next try.
pub trait Node<S: GraphState = State>: Send + Sync {
    /// Runs one task.
    fn run(
        &self,
        state: Arc<S>,
        context: TaskContext,
    ) -> BoxFuture<'_, Result<NodeOutput<S>, NodeError>>;

    /// What does its work, in a word, for drawings.
    fn kind(&self) -> Option<&'static str> {
        None
    }

    /// The graph that it runs, for drawings.
    fn graph(&self) -> Option<&GraphTopology> {
        None
    }

    /// Adds where the graph stands that it runs for the task of `scope`, on the state
    /// `around` it; for a node that runs no graph, nothing.
    ///
    /// # Errors
    /// [`Halt`] where the records cannot be read.
    fn look(&self, around: &S, scope: &Scope, children: &mut Children) -> Result<(), Halt> {
        let _ = (around, scope, children);
        Ok(())
    }

    /// Says whether the graph that it runs can go on for the task of `scope`, on the
    /// state `around` it, where it has begun.
    ///
    /// # Errors
    /// [`Halt`] where it cannot.
    fn check_inside(&self, around: &S, scope: &Scope) -> Result<(), Halt> {
        let _ = (around, scope);
        Ok(())
    }

    /// Adds what is pending in the graph that it runs, where that has begun, and does not
    /// fit it any more.
    ///
    /// # Errors
    /// [`Halt`] where the records cannot be read.
    fn lost_inside(&self, around: &S, scope: &Scope, lost: &mut Lost) -> Result<(), Halt> {
        let _ = (around, scope, lost);
        Ok(())
    }

    /// What does its work, for who knows of which type that is.
    fn worker(&self) -> Option<&(dyn Any + Send + Sync)> {
        None
    }

    /// Whether the graph that it runs is on the state of the one around it.
    fn shares_state(&self) -> bool {
        false
    }

    /// What is kept of the graph that it runs since the call on `chain`; for a node that
    /// runs no graph, nothing. `scope` is that of the graph around it.
    ///
    /// # Errors
    /// [`Halt`] where the records cannot be read.
    fn look_back(&self, chain: &Namespace, scope: &Scope) -> Result<Option<KeptState>, Halt> {
        let _ = (chain, scope);
        Ok(None)
    }

    /// Whether it looks itself whether the run is cancelled, and settles then what
    /// it has in flight. Any other node is dropped where it waits; its steps are not.
    fn stops_itself(&self) -> bool {
        false
    }
}

/// What a task gives back: what it writes, and where it says that the graph goes on.
#[derive(Clone, Debug)]
pub struct NodeOutput<S: GraphState = State> {
    /// What it writes.
    pub update: S::Update,
    /// For a node with routes: which one it takes.
    pub route: Option<String>,
    /// For a node that commands: where the graph goes on. An empty list is nowhere.
    pub goto: Option<Vec<Goto>>,
    /// In a subgraph: where the graph around it goes on.
    pub parent: Option<Vec<Goto>>,
    /// Its last words, for people.
    pub summary: String,
    /// Whether it hands a failure to the error handler.
    pub(crate) is_handled: bool,
    /// What it writes beside, as it is recorded.
    pub(crate) written: Option<Box<Writes>>,
    /// What it wrote beside in an attempt before, to channels that no record keeps.
    pub(crate) lost: Vec<(ChannelName, Unkept)>,
    /// How its graph ended, where its state is kept.
    pub(crate) memory: Option<Memory>,
}

impl<S: GraphState> Default for NodeOutput<S> {
    fn default() -> Self {
        Self::of(S::Update::default())
    }
}

impl NodeOutput {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes `update` to `channel`.
    #[must_use]
    pub fn write(mut self, channel: impl Into<ChannelName>, update: Update) -> Self {
        self.update.push(channel, update);
        self
    }
}

impl<S: GraphState> NodeOutput<S> {
    /// Writes `update`.
    pub fn of(update: S::Update) -> Self {
        Self {
            update,
            route: None,
            goto: None,
            parent: None,
            summary: String::new(),
            is_handled: false,
            written: None,
            lost: Vec::new(),
            memory: None,
        }
    }

    /// Brings what it writes into the form of records.
    pub(crate) fn settle(&mut self) {
        let mut written: Writes = std::mem::take(&mut self.update).into();
        if let Some(more) = self.written.take() {
            written.merge(*more);
        }
        self.written = Some(Box::new(written));
    }

    /// Takes the route with this label: text, or an enum that prints as one.
    #[must_use]
    pub fn route(mut self, label: impl fmt::Display) -> Self {
        self.route = Some(label.to_string());
        self
    }

    /// Goes on at `target`, a node or [`END`](crate::END), beside where else it
    /// says. A node that several lead to runs once.
    #[must_use]
    pub fn goto(mut self, target: impl fmt::Display) -> Self {
        let goto = self.goto.get_or_insert_default();
        goto.push(Goto::from_name(&target));
        self
    }

    /// Runs `node` for `argument`, which it finds in its context; once for each
    /// that is sent.
    #[must_use]
    pub fn send(mut self, node: impl fmt::Display, argument: impl Into<Value>) -> Self {
        let goto = self.goto.get_or_insert_default();
        goto.push(Goto::send(&node, argument.into()));
        self
    }

    /// Runs `node` once for each of `arguments`; for none, it goes nowhere.
    #[must_use]
    pub fn send_each<A: Into<Value>>(
        mut self,
        node: impl fmt::Display,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let goto = self.goto.get_or_insert_default();
        let arguments = arguments.into_iter();
        goto.extend(arguments.map(|argument| Goto::send(&node, argument.into())));
        self
    }

    /// Ends the subgraph that the node is in, and goes on in the graph around it
    /// at `target`. The node that holds the subgraph must be allowed to go there.
    #[must_use]
    pub fn goto_parent(mut self, target: impl fmt::Display) -> Self {
        let parent = self.parent.get_or_insert_default();
        parent.push(Goto::from_name(&target));
        self
    }

    /// Ends the subgraph that the node is in and those around it, `levels` in all, and
    /// goes on at `target` in the graph around the last of them: with 1 as
    /// [`goto_parent`](Self::goto_parent), with 0 as [`goto`](Self::goto). The node
    /// there that holds the subgraphs must be allowed to go there.
    #[must_use]
    pub fn goto_outer(mut self, levels: usize, target: impl fmt::Display) -> Self {
        let Some(further) = levels.checked_sub(1) else {
            return self.goto(target);
        };
        let parent = self.parent.get_or_insert_default();
        parent.push(Goto::outer(further, &target));
        self
    }

    /// Hands a failure to `handler`.
    pub(crate) fn handled_by(self, handler: &NodeName, failure: Value) -> Self {
        Self {
            is_handled: true,
            ..self.send(handler, failure)
        }
    }

    /// Goes on where a child said.
    pub(crate) fn go_on(&mut self, gotos: Option<Vec<Goto>>) {
        if let Some(gotos) = gotos {
            (self.goto, self.parent) = Goto::arrived(gotos);
        }
    }

    /// Says what people are told of it.
    #[must_use]
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = summary.into();
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
    /// Whether trying again may help.
    pub class: Class,
}

impl NodeError {
    /// A failure of the node itself.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed(NodeFailure {
            code: Code::NodeFailed,
            message: message.into(),
            hint: None,
            class: Class::Retryable,
        })
    }
}

/// The most bytes of a failure's message that are recorded and told; a longer one ends
/// with how many it had.
pub const MAX_FAILURE_BYTES: usize = 64 << 10;

/// What is recorded of a message.
pub(crate) fn bounded(message: String) -> String {
    if message.len() <= MAX_FAILURE_BYTES {
        return message;
    }
    let end = message.floor_char_boundary(MAX_FAILURE_BYTES);
    let begins = message.get(..end).unwrap_or_default();
    format!("{begins}… ({} bytes in all)", message.len())
}

impl NodeFailure {
    /// What is recorded of it.
    fn bounded(self) -> Self {
        Self {
            message: bounded(self.message),
            hint: self.hint.map(bounded),
            ..self
        }
    }

    /// The failure that an error with a code is.
    pub(crate) fn coded(error: &impl Coded) -> Self {
        Self {
            code: error.code(),
            message: error.to_string(),
            hint: error.hint(),
            class: error.class(),
        }
    }
}

impl NodeError {
    /// What is recorded of it.
    pub(crate) fn bounded(self) -> Self {
        match self {
            Self::Failed(failure) => Self::Failed(failure.bounded()),
            Self::Interrupted { reason } => Self::Interrupted {
                reason: bounded(reason),
            },
            halt @ Self::Halt(_) => halt,
        }
    }

    /// The failure that an error with a code is.
    fn coded(error: &impl Coded) -> Self {
        Self::Failed(NodeFailure::coded(error))
    }
}

impl From<NoStore> for NodeError {
    fn from(error: NoStore) -> Self {
        Self::coded(&error)
    }
}

impl From<StoreError> for NodeError {
    fn from(error: StoreError) -> Self {
        Self::coded(&error)
    }
}

/// What a task works with. Clones are the same task.
#[derive(Clone)]
pub struct TaskContext(Arc<Inner>);

/// What a task knows of the graph that its node holds.
pub(crate) struct Holds {
    /// Where its state is kept from call to call.
    pub(crate) call: Option<CallBefore>,
    /// Where the graph may send the one around it.
    pub(crate) out: Arc<WayOut>,
}

struct Inner {
    scope: Scope,
    node: NodeName,
    task: TaskId,
    argument: Option<Value>,
    tries: u32,
    holds: Option<Box<Holds>>,
    /// The thread that polls the task right now; 0 if none does.
    polled: AtomicUsize,
    /// Whether anybody looked at what it holds: most tasks hold nothing.
    is_held: AtomicBool,
    held: Mutex<Held>,
}

/// What a task asked and began.
#[derive(Default)]
pub(crate) struct Held {
    /// How many questions it asked, answered ones included.
    pub(crate) asked: u32,
    /// The questions that nobody has answered.
    pub(crate) pending: Vec<Ask>,
    /// Those among them that a graph inside has told of.
    pub(crate) told: Vec<AskId>,
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
    pub(crate) fn new(parent: &Scope, task: &Task, tries: u32, holds: Option<Box<Holds>>) -> Self {
        let scope = parent.child(&task.task);
        // What is in flight in a task with a time around it is told apart by tasks.
        let scope = if scope.is_limited() {
            scope.limited()
        } else {
            scope
        };
        Self::at(scope, task, tries, holds)
    }

    /// As [`new`](Self::new), of a task whose time is limited.
    pub(crate) fn limited(
        parent: &Scope,
        task: &Task,
        tries: u32,
        holds: Option<Box<Holds>>,
    ) -> Self {
        Self::at(parent.child(&task.task).limited(), task, tries, holds)
    }

    fn at(scope: Scope, task: &Task, tries: u32, holds: Option<Box<Holds>>) -> Self {
        Self(Arc::new(Inner {
            scope,
            node: task.node.clone(),
            task: task.task.clone(),
            argument: task.argument.clone(),
            tries,
            holds,
            polled: AtomicUsize::new(0),
            is_held: AtomicBool::default(),
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

    /// The application store of the run: what is remembered across threads.
    ///
    /// What is done there goes straight to the store and is in no record of the run. A
    /// task that is tried again does it again; inside [`step`](Self::step), it is not
    /// done again once the step's result is recorded, and what was read stays what it
    /// was. A write that must not happen twice belongs into
    /// [`step_once`](Self::step_once).
    ///
    /// # Errors
    /// [`NoStore`]: nobody gave the run one.
    pub fn store(&self) -> Result<&Arc<dyn Store>, NoStore> {
        self.0.scope.run().store.get()
    }

    /// What was sent to the node, as JSON; `None` where nothing was.
    pub fn argument_json(&self) -> Option<&Value> {
        self.0.argument.as_ref()
    }

    /// What was sent to the node.
    ///
    /// # Errors
    /// [`NodeError::Failed`]: nothing was sent, or it is not a `T`.
    pub fn argument<T: DeserializeOwned>(&self) -> Result<T, NodeError> {
        let argument = self.argument_json();
        let argument = argument.ok_or_else(|| NodeError::failed("nothing was sent to the node"))?;
        T::deserialize(argument)
            .map_err(|error| NodeError::failed(format!("what was sent to the node: {error}")))
    }

    /// The call before, where the node keeps the state of its graph.
    pub(crate) fn call(&self) -> Option<&CallBefore> {
        self.0.holds.as_ref()?.call.as_ref()
    }

    /// Where the graph that the node holds may send the one around it.
    pub(crate) fn way_out(&self) -> Option<Arc<WayOut>> {
        self.0.holds.as_ref().map(|holds| Arc::clone(&holds.out))
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

    /// Takes the questions of a graph inside, which were told of there.
    pub(crate) fn wait_for(&self, asks: Vec<Ask>) {
        let mut held = self.held();
        held.told.extend(asks.iter().map(|ask| ask.id.clone()));
        held.pending.extend(asks);
    }

    /// Tells whoever watches the run of something, for once: it is not recorded. It
    /// also says that the task is alive.
    pub fn tell(&self, value: impl Into<Value>) {
        self.0.scope.emit(|| Event::Custom {
            node: self.0.node.clone(),
            task: TaskId::from(self.0.scope.namespace().as_str()),
            value: value.into(),
        });
    }

    /// Says that the task is alive, for a time-out that waits for a sign of it: one of
    /// its own node, or of a node around the graph that it is in.
    pub fn heartbeat(&self) {
        self.0.scope.sign_of_life();
    }

    /// Whether the node may have asked or begun something.
    pub(crate) fn is_held(&self) -> bool {
        self.0.is_held.load(Ordering::Relaxed)
    }

    pub(crate) fn held(&self) -> MutexGuard<'_, Held> {
        self.0.is_held.store(true, Ordering::Relaxed);
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

/// A node that is a function.
pub(crate) struct Function<F>(pub(crate) F);

impl<S, F, R> Node<S> for Function<F>
where
    S: GraphState,
    F: Fn(Arc<S>, TaskContext) -> R + Send + Sync,
    R: Future<Output = Result<NodeOutput<S>, NodeError>> + Send + 'static,
{
    fn run(
        &self,
        state: Arc<S>,
        context: TaskContext,
    ) -> BoxFuture<'_, Result<NodeOutput<S>, NodeError>> {
        Box::pin((self.0)(state, context))
    }

    fn kind(&self) -> Option<&'static str> {
        Some("function")
    }
}

/// A node from an async function of state and context, for a graph whose channels
/// its builder declares; others take functions by
/// [`GraphBuilder::function`](crate::GraphBuilder::function).
pub fn node_fn<F, R>(function: F) -> impl Node
where
    F: Fn(Arc<State>, TaskContext) -> R + Send + Sync,
    R: Future<Output = Result<NodeOutput, NodeError>> + Send + 'static,
{
    Function(function)
}
