//! What a task does once, over all its attempts: steps.
//!
//! A node runs again from its top after a crash, an answer or a deployment. What it
//! did as a step is not done again: its result is a fact, which the next attempt
//! finds by the step's name. Steps are told apart by name, key, and their order
//! among those of the same name and key; the order between different names is free.
//!
//! A step belongs to its task and not to the future that waits for it: one that is
//! dropped in flight, by a `select!` or a time-out, is polled to its end and
//! recorded all the same before the task ends.

mod called;
mod error;
mod left;
mod name;
mod plan;
pub mod record;
mod work;

use std::{
    error::Error,
    fmt,
    future::pending,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use futures::{FutureExt, channel::oneshot};
use rustagents_core::{
    CancellationToken,
    canonical::Canonical,
    code::{Code, Coded},
    digest::Digest,
    encode::json,
    ids::FactKey,
    journal::{JournalError, Kind, kind},
    scope::{Halt, Write},
    tool::{EffectClass, IdempotencyKey},
};
use serde::{Serialize, de::DeserializeOwned};

pub use self::error::StepError;
pub(crate) use self::work::{Asked, Running, Work};
use self::{
    name::{StepId, StepName},
    plan::Plan,
    record::{StepResult, StepStart},
};
use crate::node::{NodeError, TaskContext};

/// The most bytes of a step's name, and of its key.
pub const MAX_NAME_BYTES: usize = 200;

/// What a step is called, and what it does to the world.
#[derive(Clone, Debug)]
pub struct StepOptions {
    name: String,
    key: Option<String>,
    effect: EffectClass,
    input: Result<Digest, String>,
}

impl StepOptions {
    /// A step that may be repeated, without a key or an input.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            key: None,
            effect: EffectClass::Repeatable,
            input: Ok(Digest::of(b"null")),
        }
    }

    /// Tells the step apart from others of its name.
    #[must_use]
    pub fn key(mut self, key: impl fmt::Display) -> Self {
        self.key = Some(key.to_string());
        self
    }

    /// Says what the result depends on. Where a later attempt comes with another
    /// input, the recorded result does not count: the step is executed again; one
    /// that must not run twice stops the run with [`Halt::StepChanged`].
    #[must_use]
    pub fn input(mut self, input: &impl Serialize) -> Self {
        self.input = serde_json::to_value(input)
            .map(|input| Canonical::of(&input).digest())
            .map_err(|error| error.to_string());
        self
    }

    /// The step changes the world the same way each time under its idempotency key.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.effect = EffectClass::Idempotent;
        self
    }

    /// The step must never run twice, as [`TaskContext::step_once`] says.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.effect = EffectClass::Once;
        self
    }
}

/// What a step is told.
#[derive(Clone, Debug)]
pub struct StepContext {
    /// The same each time this step of this task is executed; safe to hand to the
    /// outside world.
    pub idempotency_key: IdempotencyKey,
    /// Fires when the step should stop. It is waited for all the same.
    pub cancel: CancellationToken,
    nothing: Arc<AtomicBool>,
}

impl StepContext {
    /// Says that the step changed nothing, and will not. If it fails then, its
    /// outcome is known: a later attempt executes it again and asks nobody.
    pub fn changed_nothing(&self) {
        self.nothing.store(true, Ordering::Relaxed);
    }
}

/// A step that is made, with what its records need.
#[derive(Clone, Debug)]
struct Step {
    id: StepId,
    effect: EffectClass,
    input: Digest,
}

impl TaskContext {
    /// Executes `work` and returns its result; a later attempt at the task returns
    /// the recorded result and does not call `work`.
    ///
    /// The result is recorded before it is returned, as durably as the run's
    /// [`Durability`](rustagents_core::recorder::Durability) says; what is returned
    /// is what was recorded, read back. A crash before that executes the step
    /// again. An error is not recorded: the node may handle it, and a later attempt
    /// executes the step again. Text is an error too, and so is any boxed one.
    ///
    /// ```
    /// use rustagents_graph::{NodeError, NodeOutput, TaskContext, Update, node_fn};
    ///
    /// async fn fetch(order: &str) -> Result<u64, std::num::ParseIntError> {
    ///     order.trim_start_matches("A-").parse()
    /// }
    ///
    /// let node = node_fn(|_, context: TaskContext| async move {
    ///     let cents = context
    ///         .step("price", || async { fetch("A-1042").await.map_err(|e| e.to_string()) })
    ///         .await?;
    ///     // The next attempt comes here with the same price, and asks nobody for it.
    ///     let answer = context.ask(format!("refund {cents}?")).await?;
    ///     Ok(NodeOutput::new().write("answer", Update::Value(answer)))
    /// });
    /// # drop(node);
    /// ```
    ///
    /// Two steps of one name in one task are `name#1` and `name#2`, in the order in
    /// which they are first polled; they must not be in flight together.
    ///
    /// Cancellation: dropping the call does not stop the step. It is recorded
    /// before the task ends, but an error of it is lost. If the task asks, a step
    /// that did not begin stays pending. A step must not wait for its node, which is
    /// not polled any more once it asked or returned.
    ///
    /// # Errors
    /// What `work` returns; [`StepError`] as [`NodeError::Failed`]: a panic, a bad
    /// name, a result that cannot be recorded. Then it counts as not executed, and a
    /// later attempt executes it again. [`NodeError::Halt`]: the journal failed, or
    /// the run is cancelled; the task stops whatever the node makes of that.
    pub async fn step<T, E, F>(&self, name: &str, work: impl FnOnce() -> F) -> Result<T, NodeError>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        E: Into<NodeError>,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.perform(StepOptions::new(name), || {
            let work = work();
            |_| work
        })
        .await
    }

    /// As [`step`](Self::step); `key` tells it apart from others of its name, so
    /// that they can be in flight together and come in any order.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub async fn step_keyed<T, E, F>(
        &self,
        name: &str,
        key: impl fmt::Display,
        work: impl FnOnce() -> F,
    ) -> Result<T, NodeError>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        E: Into<NodeError>,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.perform(StepOptions::new(name).key(key), || {
            let work = work();
            |_| work
        })
        .await
    }

    /// Executes `work`, which must never run twice.
    ///
    /// An intent is durable before `work` is called, and its result before it is
    /// returned, whatever the run's durability. If a later attempt finds the intent
    /// without a result, nobody knows what happened: `work` is not called, and a
    /// person is asked ([`StepInDoubt`](rustagents_core::ask::Subject::StepInDoubt)). The answer is the result, "not
    /// done", which is [`StepError::NotExecuted`], or "repeat", which calls `work`
    /// once more. A result that cannot be read as a `T` is asked for again.
    ///
    /// An error of `work` is handed to the node and not recorded. What `work` did by
    /// then, nobody knows, unless it said [`StepContext::changed_nothing`]: a later
    /// attempt, if there is one, asks. A node that makes the step once more in the
    /// same attempt makes another step, `name#2`, and takes that on itself.
    ///
    /// ```
    /// use rustagents_graph::{NodeOutput, StepContext, TaskContext, Update, node_fn};
    ///
    /// async fn charge(cents: u64, key: String) -> Result<String, &'static str> {
    ///     if cents == 0 { Err("nothing to charge") } else { Ok(format!("receipt {key}")) }
    /// }
    ///
    /// let node = node_fn(|_, context: TaskContext| async move {
    ///     let receipt: String = context
    ///         .step_once("charge", |step: StepContext| {
    ///             charge(12_900, step.idempotency_key.to_string())
    ///         })
    ///         .await?;
    ///     Ok(NodeOutput::new().write("receipt", Update::Value(receipt.into())))
    /// });
    /// # drop(node);
    /// ```
    ///
    /// Cancellation: as [`step`](Self::step).
    ///
    /// # Errors
    /// As [`step`](Self::step), but what was executed and could not be recorded is
    /// in doubt for a later attempt.
    pub async fn step_once<T, E, F>(
        &self,
        name: &str,
        work: impl FnOnce(StepContext) -> F + Send + 'static,
    ) -> Result<T, NodeError>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        E: Into<NodeError>,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.perform(StepOptions::new(name).once(), || work).await
    }

    /// As [`step_once`](Self::step_once); `key` tells it apart from others of its
    /// name.
    ///
    /// # Errors
    /// As [`step_once`](Self::step_once).
    pub async fn step_once_keyed<T, E, F>(
        &self,
        name: &str,
        key: impl fmt::Display,
        work: impl FnOnce(StepContext) -> F + Send + 'static,
    ) -> Result<T, NodeError>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        E: Into<NodeError>,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.perform(StepOptions::new(name).key(key).once(), || work)
            .await
    }

    /// A step as `options` say.
    ///
    /// # Errors
    /// As [`step`](Self::step) and [`step_once`](Self::step_once).
    pub async fn step_with<T, E, F>(
        &self,
        options: StepOptions,
        work: impl FnOnce(StepContext) -> F + Send + 'static,
    ) -> Result<T, NodeError>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        E: Into<NodeError>,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.perform(options, || work).await
    }

    /// Runs `future` beside the node, as a part of the task: it may ask and make
    /// steps. It is dropped when the node is over or the task asks; dropping the
    /// handle does not stop it.
    ///
    /// # Errors
    /// [`StepError::Outside`] and [`StepError::Limit`]; `future` is not run then.
    pub fn spawn<T, F>(&self, future: F) -> Result<Spawned<T>, NodeError>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.check_inside("spawned work")?;
        let (tell, told) = oneshot::channel();
        let run = AssertUnwindSafe(future).catch_unwind().map(|ended| {
            let ended = ended.map_err(|_| NodeError::failed("spawned work panicked"));
            // Nobody has to wait for it.
            let _ = tell.send(ended);
        });
        self.concur(run.boxed())?;
        Ok(Spawned(told))
    }

    /// `make` is called where the step is executed, to give its work.
    async fn perform<T, E, F, W>(
        &self,
        options: StepOptions,
        make: impl FnOnce() -> W,
    ) -> Result<T, NodeError>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        E: Into<NodeError>,
        F: Future<Output = Result<T, E>> + Send + 'static,
        W: FnOnce(StepContext) -> F + Send + 'static,
    {
        let step = self.made(options).await?;
        match self.plan(&step) {
            Ok(Plan::Done(value)) => Ok(value),
            Ok(Plan::Doubt(ask)) => {
                self.scope().note_doubt(&ask);
                match self.suspend(vec![ask]).await {}
            }
            Ok(Plan::Run { result, intent }) => {
                let (tell, told) = oneshot::channel();
                let work = catch_unwind(AssertUnwindSafe(make)).map_err(|_| panicked(&step))?;
                let (context, name) = (self.clone(), step.id.name.clone());
                let run = async move {
                    let ended = context.execute(&step, intent, result, work).await;
                    context.land(&step.id.name);
                    // The node may have dropped its end.
                    let _ = tell.send(ended);
                };
                self.begin(&name, run.boxed());
                told.await.unwrap_or(Err(NodeError::Halt(Halt::Cancelled)))
            }
            Err(error) => Err(self.stopped_by(error)),
        }
    }

    /// Numbers a step that the node makes now; never ends once the task stops.
    async fn made(&self, options: StepOptions) -> Result<Step, NodeError> {
        let StepOptions {
            name,
            key,
            effect,
            input,
        } = options;
        self.check_inside("a step")?;
        if self.stops() {
            return pending().await;
        }
        let name = StepName::new(&name, key.as_deref())?;
        let number = self.number(&name)?;
        let id = StepId::new(self.scope().namespace(), name, number);
        let input = input.map_err(|reason| StepError::Input {
            step: id.label().to_owned(),
            reason,
        })?;
        Ok(Step { id, effect, input })
    }

    /// A halt ends the task, whatever its node makes of it.
    pub(crate) fn stopped_by(&self, error: NodeError) -> NodeError {
        if let NodeError::Halt(halt) = &error {
            self.halt(halt.clone());
        }
        error
    }

    fn idempotency_key(&self, step: &Step) -> Digest {
        let run = self.scope().run();
        let path = step.id.to_string();
        let parts = [run.thread.as_str(), run.branch.as_str(), &path];
        Digest::of_parts(parts.map(str::as_bytes))
    }

    async fn execute<T, E, F>(
        &self,
        step: &Step,
        intent: Option<u32>,
        result: FactKey,
        work: impl FnOnce(StepContext) -> F + Send,
    ) -> Result<T, NodeError>
    where
        T: Serialize + DeserializeOwned + Send,
        E: Into<NodeError>,
        F: Future<Output = Result<T, E>> + Send,
    {
        let _unsettled = intent.map(|_| self.scope().unsettled_around());
        if let Some(number) = intent {
            self.record_start(step, number).await?;
        } else if step.effect == EffectClass::Idempotent {
            // No other run may come to the same key after a crash.
            self.flush().await?;
        }
        let _in_flight = intent.map(|_| self.scope().in_flight());
        let nothing = Arc::new(AtomicBool::new(false));
        let context = StepContext {
            idempotency_key: self.idempotency_key(step).into(),
            cancel: self.scope().run().cancel.clone(),
            nothing: Arc::clone(&nothing),
        };
        let ended = AssertUnwindSafe(async { work(context).await.map_err(Into::into) });
        let ended = ended.catch_unwind().await;
        let ended = ended.unwrap_or_else(|_| Err(panicked(step).into()));
        let value = ended.and_then(|value| Ok(read_back(step, &value)?));
        if let (Err(error), Some(number)) = (&value, intent) {
            if nothing.load(Ordering::Relaxed) {
                let (key, body) = (step.id.released(number), started(step, number));
                let released = written(step, key, kind::STEP_RELEASED, &body);
                self.record_end(step, intent, released).await?;
            } else {
                self.note_doubt(step, number, error)?;
            }
        }
        let value = value?;
        let ended = written(step, result, kind::STEP_RESULT, &value);
        let recorded = self.record_end(step, intent, ended).await;
        if let (Err(error @ NodeError::Failed(_)), Some(number)) = (&recorded, intent) {
            self.note_doubt(step, number, error)?;
        }
        recorded.map(|()| value.value)
    }

    /// Records how a step ended. Where another driver took the thread over meanwhile,
    /// that one is told of a step that it would have to ask a person about.
    async fn record_end(
        &self,
        step: &Step,
        intent: Option<u32>,
        write: Write,
    ) -> Result<(), NodeError> {
        let late = intent.map(|number| (step.id.intent(number), write.clone()));
        let mut recorded = self.scope().append(write).await;
        if recorded.is_ok() && step.effect == EffectClass::Once {
            recorded = self.scope().flush().await;
        }
        if let (Err(error), Some((intent, write))) = (&recorded, late)
            && error.code() == Code::Fenced
        {
            // If this fails, the step stays in doubt; this driver is over either way.
            let _ = self.scope().append_late(intent, write).await;
        }
        self.recorded(step, recorded)
    }

    async fn flush(&self) -> Result<(), NodeError> {
        let flushed = self.scope().flush().await;
        flushed.map_err(|error| self.stopped_by(NodeError::Halt(error.into())))
    }

    /// Records that start `number` is near.
    async fn record_start(&self, step: &Step, number: u32) -> Result<(), NodeError> {
        let key = step.id.intent(number);
        let write = written(step, key, kind::STEP_INTENT, &started(step, number));
        let recorded = self.scope().append(write).await;
        self.recorded(step, recorded)
    }

    fn recorded(&self, step: &Step, recorded: Result<(), JournalError>) -> Result<(), NodeError> {
        match recorded {
            Ok(()) => Ok(()),
            Err(JournalError::TooLarge { bytes, limit, .. }) => Err(StepError::TooLarge {
                step: step.id.label().to_owned(),
                bytes,
                limit,
            }
            .into()),
            Err(error @ JournalError::TooDeep { .. }) => Err(StepError::Result {
                step: step.id.label().to_owned(),
                reason: error.to_string(),
            }
            .into()),
            Err(error) => Err(self.stopped_by(NodeError::Halt(error.into()))),
        }
    }
}

fn started(step: &Step, number: u32) -> StepStart<'_> {
    StepStart {
        step: step.id.label().into(),
        number,
    }
}

fn written(step: &Step, key: FactKey, kind: Kind, body: &impl Serialize) -> Write {
    let mut write = Write::new();
    write.effect(key, kind, step.effect, step.input, body);
    write
}

fn panicked(step: &Step) -> StepError {
    let step = step.id.label().to_owned();
    StepError::Panicked { step }
}

/// The value as a later attempt would read it.
fn read_back<'s, T>(step: &'s Step, value: &T) -> Result<StepResult<'s, T>, StepError>
where
    T: Serialize + DeserializeOwned,
{
    let label = step.id.label();
    let read = json(value, |text| serde_json::from_str::<T>(text));
    let reason = match read {
        Ok(Ok(value)) => {
            let step = label.into();
            return Ok(StepResult { step, value });
        }
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    let step = label.to_owned();
    Err(StepError::Result { step, reason })
}

/// What [`TaskContext::spawn`] runs. Dropping it stops nothing.
#[derive(Debug)]
#[must_use = "dropping it does not stop the work, but nobody hears how it ended"]
pub struct Spawned<T>(oneshot::Receiver<Result<T, NodeError>>);

impl<T> Future for Spawned<T> {
    /// Fails where the work panicked, or was dropped because its task ended.
    type Output = Result<T, NodeError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let told = self.0.poll_unpin(cx);
        told.map(|told| told.unwrap_or(Err(NodeError::Halt(Halt::Cancelled))))
    }
}

impl From<String> for NodeError {
    fn from(message: String) -> Self {
        Self::failed(message)
    }
}

impl From<&str> for NodeError {
    fn from(message: &str) -> Self {
        Self::failed(message)
    }
}

impl From<Box<dyn Error + Send + Sync>> for NodeError {
    /// The error itself if it is one of these already, else its text.
    fn from(error: Box<dyn Error + Send + Sync>) -> Self {
        match error.downcast::<Self>() {
            Ok(error) => *error,
            Err(other) => Self::failed(other.to_string()),
        }
    }
}
