//! The tool contract: what a tool declares, and how a call ends.

use std::{fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    BoxFuture,
    canonical::Canonical,
    code::{Class, Code, Coded},
    digest::Digest,
    ids::{Branch, CallId, FactKey, ThreadId},
    journal::{JournalError, Place, kind},
    scope::{Facts, Write},
    store::{GivenStore, NoStore, Store},
};

/// The longest name of a tool, in bytes.
pub const MAX_NAME_BYTES: usize = 64;

/// What an effect does to the world, and so what is recorded before it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Changes nothing: made again after a crash.
    Repeatable,
    /// Changes something, the same way each time under the same key.
    Idempotent,
    /// Changes something each time: its intent is durable before it starts, and
    /// a lost outcome is never repeated without a decision.
    #[default]
    Once,
}

impl EffectClass {
    /// The stable name, as configuration and records write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Repeatable => "repeatable",
            Self::Idempotent => "idempotent",
            Self::Once => "once",
        }
    }
}

/// Whether a person decides about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// It runs.
    Allow,
    /// A person is asked first.
    Ask,
    /// It never runs; the model is told so.
    Deny,
}

/// The most bytes of one result as JSON, whatever a tool declares: with all that is
/// recorded beside it, it fits into one batch.
pub const MAX_OUTPUT_BYTES: usize = 4 << 20;

/// What a tool declares about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// `[a-zA-Z0-9_-]`, 1 to 64 bytes.
    pub name: String,
    /// What the model is told about it.
    pub description: String,
    /// The JSON Schema of the arguments; its root type is an object.
    pub input_schema: Value,
    /// What it does to the world.
    pub effect: EffectClass,
    /// The approval rule; `None` asks for [`EffectClass::Once`] only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// How long one call may take.
    pub timeout: Duration,
    /// The most bytes of one result as JSON; above [`MAX_OUTPUT_BYTES`] it counts as
    /// that.
    pub max_output_bytes: usize,
}

impl ToolSpec {
    /// A tool that declares nothing: `Once`, 30 seconds, 64 KiB of output.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: Value,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            input_schema,
            effect: EffectClass::Once,
            approval: None,
            timeout: Duration::from_secs(30),
            max_output_bytes: 64 << 10,
        }
    }

    /// The rule that decides about a call: the declared one, or by effect class.
    pub fn effective_approval(&self) -> Approval {
        self.approval.unwrap_or(match self.effect {
            EffectClass::Once => Approval::Ask,
            EffectClass::Repeatable | EffectClass::Idempotent => Approval::Allow,
        })
    }

    /// Whether `name` may name a tool.
    pub fn is_valid_name(name: &str) -> bool {
        (1..=MAX_NAME_BYTES).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    }
}

/// A tool: the object-safe form that the machines drive.
pub trait Tool: Send + Sync {
    /// What it declares.
    fn spec(&self) -> &Arc<ToolSpec>;

    /// The question that a person is asked before a call with these arguments.
    ///
    /// `None` lets the caller word it.
    fn question(&self, arguments: &Value) -> Option<String> {
        let _ = arguments;
        None
    }

    /// Performs one call with arguments that already passed the schema.
    ///
    /// Cancellation: the future may be dropped at any await. A tool that changes
    /// something should watch [`ToolContext::cancel`] and say what became of it;
    /// a dropped call of a [`EffectClass::Once`] tool counts as unknown.
    fn call(
        &self,
        arguments: Canonical,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<Value, ToolError>>;

    /// Finds out what became of a call whose process crashed after it recorded
    /// what it `started` by [`Trace::started`]. What is still at work is waited
    /// for or ended, so that nothing of it runs when this returns.
    ///
    /// Called once per attempt, before a person is asked whether the call took
    /// effect, or before a call that may be repeated is made again.
    fn reconcile(&self, started: Value, context: ToolContext) -> BoxFuture<'_, Reconciled> {
        let _ = (started, context);
        Box::pin(async { Reconciled::Lost })
    }
}

/// What a call is told beside its arguments.
#[derive(Clone, Debug)]
pub struct ToolContext {
    /// The call's id.
    pub call: CallId,
    /// The same for every try of this call; safe to hand to the outside world.
    pub idempotency_key: IdempotencyKey,
    /// How long the call may take, from now.
    pub timeout: Duration,
    /// Fires when the call should stop.
    pub cancel: CancellationToken,
    /// Where the call leaves a trace for a later attempt.
    pub trace: Trace,
    /// The application store of the run; see [`store`](Self::store).
    pub given_store: GivenStore,
}

impl ToolContext {
    /// A context outside any run, for a tool that is called by hand: 30 seconds,
    /// never cancelled, and its trace leads nowhere.
    ///
    /// ```
    /// use rustagents_core::{ids::CallId, tool::ToolContext};
    ///
    /// let context = ToolContext::detached(CallId::numbered(1));
    /// assert!(!context.cancel.is_cancelled());
    /// ```
    pub fn detached(call: CallId) -> Self {
        Self {
            idempotency_key: Digest::of(call.as_str().as_bytes()).into(),
            call,
            timeout: Duration::from_secs(30),
            cancel: CancellationToken::new(),
            trace: Trace::default(),
            given_store: GivenStore::default(),
        }
    }

    /// The application store of the run: what agents remember across threads.
    ///
    /// What is done there is the call's own doing: it goes straight to the store, is in
    /// no record of the run, and is durable when the store says so, whatever the run's
    /// durability. So a tool that only reads there is
    /// [`Repeatable`](EffectClass::Repeatable); one that puts a value under a key of its
    /// arguments is [`Idempotent`](EffectClass::Idempotent), since it may be called again
    /// after a crash; and one that counts up, or appends, is
    /// [`Once`](EffectClass::Once).
    ///
    /// # Errors
    /// [`NoStore`]: nobody gave the run one. It turns into a [`ToolError`] that says
    /// that nothing happened.
    pub fn store(&self) -> Result<&Arc<dyn Store>, NoStore> {
        self.given_store.get()
    }
}

/// What names a call in the outside world. Its digest is made when it is asked
/// for: most tools never ask.
#[derive(Clone, Debug)]
pub struct IdempotencyKey(Key);

#[derive(Clone, Debug)]
enum Key {
    Made(Digest),
    Call(ThreadId, Branch, CallId),
}

impl IdempotencyKey {
    /// The key of a call, which is unique in its thread and branch.
    pub fn of(thread: ThreadId, branch: Branch, call: CallId) -> Self {
        Self(Key::Call(thread, branch, call))
    }

    /// The key.
    pub fn digest(&self) -> Digest {
        match &self.0 {
            Key::Made(digest) => *digest,
            Key::Call(thread, branch, call) => {
                let parts = [thread.as_str(), branch.as_str(), call.as_str()];
                Digest::of_parts(parts.map(str::as_bytes))
            }
        }
    }
}

impl From<Digest> for IdempotencyKey {
    fn from(digest: Digest) -> Self {
        Self(Key::Made(digest))
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.digest().fmt(f)
    }
}

/// Where a call leaves a trace: what it started in the world, and how a later
/// attempt finds that again. The default leads nowhere.
#[derive(Clone, Debug, Default)]
pub struct Trace(Option<Traced>);

#[derive(Clone, Debug)]
struct Traced {
    facts: Facts,
    call: CallId,
    number: u32,
    effect: EffectClass,
    digest: Digest,
}

impl Trace {
    /// The trace of try `number` of `call`, whose arguments have this digest.
    pub fn new(
        facts: Facts,
        call: CallId,
        number: u32,
        effect: EffectClass,
        digest: Digest,
    ) -> Self {
        Self(Some(Traced {
            facts,
            call,
            number,
            effect,
            digest,
        }))
    }

    /// The key of the record of what try `number` of `call` started.
    pub fn key(call: &CallId, number: u32) -> FactKey {
        FactKey::from(format_args!("call/{call}/started/{number}"))
    }

    /// The call whose trace stands at `place`, if it is a trace's.
    pub fn call_of(place: &Place) -> Option<CallId> {
        let Place::Fact(key) = place else {
            return None;
        };
        let (call, _) = key
            .as_str()
            .strip_prefix("call/")?
            .split_once("/started/")?;
        Some(CallId::from(call))
    }

    /// Records what was `started`, durably, once per try. After a crash the tool
    /// is handed it by [`Tool::reconcile`].
    ///
    /// Cancellation: a dropped call may or may not have recorded it.
    ///
    /// # Errors
    /// Whatever the journal says.
    pub async fn started(&self, started: &Value) -> Result<(), JournalError> {
        let Some(traced) = &self.0 else {
            return Ok(());
        };
        let key = Self::key(&traced.call, traced.number);
        let mut write = Write::new();
        write.effect(key, kind::STARTED, traced.effect, traced.digest, started);
        traced.facts.append(write).await
    }
}

/// What a call left behind, and what became of it.
#[derive(Clone, Debug)]
pub enum Reconciled {
    /// It ended, and this is how.
    Ended(Result<Value, ToolError>),
    /// It is over, or it cannot be found; how it ended, nobody knows.
    Lost,
}

/// Whether a failed call changed anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executed {
    /// Proven: nothing happened.
    No,
    /// Nobody knows.
    Unknown,
}

/// How a call failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// What kind of failure it is.
    pub kind: ToolErrorKind,
    /// Whether anything happened.
    pub executed: Executed,
    /// One line for the model and for people.
    pub message: String,
    /// What caused it, where that is known.
    #[source]
    pub source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// What kind of failure ended a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolErrorKind {
    /// The tool refused: a rule of its own was not met.
    Refused,
    /// What it needs is not there.
    Unavailable,
    /// It went wrong while it worked.
    Failed,
    /// It took too long.
    Timeout,
    /// It was cancelled.
    Cancelled,
    /// Its result is over the limit.
    OutputTooLarge,
    /// It panicked.
    Panicked,
}

impl ToolError {
    /// A failure that provably changed nothing.
    pub fn not_executed(kind: ToolErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            executed: Executed::No,
            message: message.into(),
            source: None,
        }
    }

    /// A failure after which nobody knows whether something changed.
    pub fn unknown(kind: ToolErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            executed: Executed::Unknown,
            message: message.into(),
            source: None,
        }
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }
}

impl Coded for ToolError {
    fn code(&self) -> Code {
        match self.executed {
            Executed::No => Code::ToolNotExecuted,
            Executed::Unknown => Code::ToolFailed,
        }
    }

    fn class(&self) -> Class {
        match self.kind {
            ToolErrorKind::Unavailable | ToolErrorKind::Timeout => Class::Retryable,
            ToolErrorKind::Cancelled => Class::Cancelled,
            _ => Class::Caller,
        }
    }
}
