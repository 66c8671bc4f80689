//! How a machine writes while it drives: one [`Scope`] for each chain of a run.
//!
//! All scopes of a run share its claim, its budget, its events and its
//! counters. A scope owns the head of its own chain; nobody else commits there.

use std::{
    collections::BTreeSet,
    fmt,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use foldhash::HashMap;
use futures::future::{Either, select};
use serde::Serialize;
use smallvec::SmallVec;
use tokio_util::sync::CancellationToken;

use crate::{
    BoxFuture,
    ask::Ask,
    budget::{Bounds, Budget, BudgetExceeded},
    clock::Clock,
    code::{Class, Code, Coded},
    digest::Digest,
    encode::{self, EncodeError},
    event::{Event, Events, Interest},
    fence::Fence,
    ids::{AskId, Branch, CallId, FactKey, MessageId, Namespace, RunId, TaskId, ThreadId},
    journal::{
        Author, Batch, Chain, Content, Entry, Epoch, Journal, JournalError, Kind, MAX_BATCH_BYTES,
        Place, Record, Seq, bytes_of, check_bytes,
    },
    limit::Limit,
    log::ThreadLog,
    message::Message,
    migration::MigrationRefused,
    reading::Readings,
    recorder::{Durability, Recorder},
    store::GivenStore,
    tool::EffectClass,
};
pub use crate::{fence::InFlight, limit::Unsettled, reading::Moment};

/// What the whole run shares.
pub struct RunShared {
    /// Where it is recorded.
    pub journal: Arc<dyn Journal>,
    /// The thread.
    pub thread: ThreadId,
    /// The branch that is driven.
    pub branch: Branch,
    /// The epoch of the claim.
    pub epoch: Epoch,
    /// The run.
    pub run: RunId,
    /// Which try at it, from 1.
    pub attempt: u32,
    /// The attempt that last reopened the run after it had ended without success; 0
    /// where none did. What failed in attempts before it is tried again.
    pub retried: u32,
    /// The message that is the run's input, where it has one.
    pub input: Option<MessageId>,
    /// The log as it was when the attempt began.
    pub log: ThreadLog,
    /// What may be consumed.
    pub budget: Budget,
    /// How large its graphs may grow.
    pub bounds: Bounds,
    /// What graphs inside its graph go on without, as a person said.
    pub without: Without,
    /// Who watches.
    pub events: Events,
    /// The application store that tools and nodes may use.
    pub store: GivenStore,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// When its writes are durable.
    pub durability: Durability,
    /// Fires when everything should stop now.
    pub cancel: CancellationToken,
    /// Fires when everything should stop at the next boundary.
    pub drain: CancellationToken,
}

/// Tasks and joins that a run goes on without if they do not fit any more, by their
/// names with the tasks around them. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Without(Arc<Mutex<BTreeSet<String>>>);

impl Without {
    /// Adds a name.
    pub fn add(&self, name: impl Into<String>) {
        self.names().insert(name.into());
    }

    /// Whether `name` was added.
    pub fn has(&self, name: &str) -> bool {
        self.names().contains(name)
    }

    fn names(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for RunShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunShared")
            .field("thread", &self.thread)
            .field("run", &self.run)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

struct Shared {
    run: RunShared,
    recorder: Recorder,
    fence: Fence,
    calls: AtomicU64,
    messages: AtomicU64,
    /// Messages that this attempt wrote.
    fresh: Mutex<Fresh>,
    readings: Readings,
    began: Duration,
}

/// Messages, in the order in which they came. Most are never asked for, so they are
/// put under their ids when one is.
#[derive(Default)]
struct Fresh {
    messages: Vec<Arc<Message>>,
    /// The places of the first of them.
    places: HashMap<MessageId, usize>,
}

impl Fresh {
    fn add(&mut self, messages: &[Arc<Message>]) {
        self.messages.extend_from_slice(messages);
    }

    fn get(&mut self, id: &MessageId) -> Option<&Arc<Message>> {
        let later = self.messages.iter().enumerate().skip(self.places.len());
        self.places
            .extend(later.map(|(place, message)| (message.id.clone(), place)));
        self.messages.get(*self.places.get(id)?)
    }
}

/// The writer of one chain.
#[derive(Debug)]
pub struct Scope {
    facts: Facts,
    head: Head,
}

/// Where a chain ends; places count from 1.
#[derive(Debug)]
struct Head(AtomicU64);

impl Head {
    fn at(place: Option<Seq>) -> Self {
        Self(place.unwrap_or(0).into())
    }

    fn get(&self) -> Option<Seq> {
        Some(self.0.load(Ordering::Acquire)).filter(|place| *place > 0)
    }

    fn set(&self, place: Seq) {
        self.0.store(place, Ordering::Release);
    }
}

/// A writer of facts on one chain. It moves no head, so that any number of them
/// can be at work beside the chain's own [`Scope`].
#[derive(Clone)]
pub struct Facts {
    shared: Arc<Shared>,
    namespace: Namespace,
    /// The log as it was read again, where it was.
    renewed: Option<Arc<ThreadLog>>,
    /// The time that it has, where that is limited.
    limit: Option<Arc<Limit>>,
}

impl fmt::Debug for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Facts")
            .field("thread", &self.shared.run.thread)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl Facts {
    /// Writes the facts in `write`.
    ///
    /// Cancellation: a dropped call may or may not have written.
    ///
    /// # Errors
    /// Whatever the journal says; it refuses a commit.
    pub async fn append(&self, write: Write) -> Result<(), JournalError> {
        let batch = self.batch(write, Vec::new())?;
        let written = if self.shared.recorder.is_immediate() {
            self.shared.run.journal.append(batch).await.map(drop)
        } else {
            self.shared.recorder.append(batch, None).await
        };
        written.inspect_err(|error| self.shared.fence.heed(error))
    }

    fn log(&self) -> &ThreadLog {
        self.renewed.as_deref().unwrap_or(&self.shared.run.log)
    }

    fn chain(&self) -> Chain {
        Chain {
            branch: self.shared.run.branch.clone(),
            namespace: self.namespace.clone(),
        }
    }

    /// The batch that writes `write`; its commits extend `heads`.
    fn batch(&self, write: Write, heads: Vec<(Chain, Option<Seq>)>) -> Result<Batch, JournalError> {
        if let Some(error) = write.failed {
            return Err(error.of_record());
        }
        let run = &self.shared.run;
        let entries = write.drafts.into_iter().map(|draft| {
            let own = || (run.run.clone(), run.attempt);
            let (run, attempt) = draft.of.map_or_else(own, |of| *of);
            Entry {
                chain: self.chain(),
                place: draft.place,
                kind: draft.kind,
                run,
                attempt,
                effect: draft.effect,
                digest: draft.digest,
                body: draft.body,
            }
        });
        Ok(Batch {
            thread: run.thread.clone(),
            author: Author::Driver(run.epoch),
            heads,
            entries: entries.collect(),
            messages: write.messages,
            contents: write.contents,
            at_ms: run.clock.now_ms(),
        })
    }
}

/// A batch on its way, and which of its entries is the last commit.
struct Appending<'a> {
    /// None where it is the recorder who hears of them.
    seqs: BoxFuture<'a, Result<Vec<Seq>, JournalError>>,
    last_commit: Option<usize>,
}

impl Scope {
    /// The scope of a run's root chain.
    pub fn root(run: RunShared) -> Self {
        let shared = Shared {
            recorder: Recorder::new(Arc::clone(&run.journal), run.durability),
            fence: Fence::default(),
            calls: run.log.last_call().into(),
            messages: run.log.last_message().into(),
            fresh: Mutex::default(),
            readings: Readings::default(),
            began: run.clock.elapsed_roughly(),
            run,
        };
        Self::at(Facts {
            shared: Arc::new(shared),
            namespace: Namespace::root(),
            renewed: None,
            limit: None,
        })
    }

    /// The same chain with the log as it is now, for trying again what this attempt
    /// did and did not finish. Where nothing is recorded, there is nothing to read.
    ///
    /// Cancellation: a dropped call has at most made durable what was written.
    ///
    /// # Errors
    /// Whatever the journal says.
    pub async fn renewed(&self) -> Result<Self, JournalError> {
        self.renewed_after(&self.moment().await?).await
    }

    /// Waits until everything that the run wrote is durable, and says when that was.
    ///
    /// Cancellation and errors: as [`Scope::flush`].
    ///
    /// # Errors
    /// Why it cannot be.
    pub async fn moment(&self) -> Result<Moment, JournalError> {
        self.flush().await?;
        Ok(self.facts.shared.readings.now())
    }

    /// As [`Scope::renewed`], with the log as it was at some time after `moment`: those
    /// who ask for that at the same time read it once.
    ///
    /// Cancellation: as [`Scope::renewed`]; the others read it then.
    ///
    /// # Errors
    /// Whatever the journal says.
    pub async fn renewed_after(&self, moment: &Moment) -> Result<Self, JournalError> {
        let run = self.run();
        let renewed = if run.durability == Durability::None {
            None
        } else {
            let load = ThreadLog::load(&*run.journal, &run.thread, &run.branch);
            Some(self.facts.shared.readings.after(moment, load).await?)
        };
        Ok(Self::at(Facts {
            renewed,
            ..self.facts.clone()
        }))
    }

    /// The scope of the chain of `task` inside this one.
    #[must_use]
    pub fn child(&self, task: &TaskId) -> Self {
        Self::at(Facts {
            namespace: self.facts.namespace.child(task),
            ..self.facts.clone()
        })
    }

    /// The same chain in a time of its own, which is inside the one that it had.
    #[must_use]
    pub fn limited(mut self) -> Self {
        self.facts.limit = Some(Limit::inside(self.facts.limit.as_ref()));
        self
    }

    /// The same chain in a time of its own, where there is one around it: for what a
    /// task has at work beside its node.
    #[must_use]
    pub fn beside(mut self) -> Self {
        self.facts.limit = self.facts.limit.as_ref().map(Limit::beside);
        self
    }

    /// Whether it has a time, of its own or of a task around it.
    pub fn is_limited(&self) -> bool {
        self.facts.limit.is_some()
    }

    /// Ends its time, and with it that of all inside: nothing more begins there.
    pub fn end_time(&self) {
        if let Some(limit) = &self.facts.limit {
            limit.end();
        }
    }

    /// Whether its time is over, or that of a task around it.
    pub fn is_over(&self) -> bool {
        let limit = self.facts.limit.as_ref();
        limit.is_some_and(|limit| limit.is_over())
    }

    /// Gives a sign of life of the task that its time is of, and of those around it.
    /// Each event that it [emits](Self::emit) is one, whether anybody hears it or not.
    pub fn sign_of_life(&self) {
        if let Some(limit) = &self.facts.limit {
            limit.note_alive(self.run().clock.elapsed());
        }
    }

    /// When the task that its time is of, or something inside it, last gave a sign of
    /// life, by the clock of the run; zero where none did.
    pub fn last_sign_of_life(&self) -> Duration {
        let limit = self.facts.limit.as_ref();
        limit.map_or(Duration::ZERO, |limit| limit.last_alive())
    }

    /// Notes an effect that must not be dropped in the middle, though its time be over.
    pub fn unsettled(&self) -> Unsettled {
        Unsettled::of(self.facts.limit.as_ref())
    }

    /// As [`unsettled`](Self::unsettled), for the times around its own: whoever has that
    /// one waits for the effect itself.
    pub fn unsettled_around(&self) -> Unsettled {
        let limit = self.facts.limit.as_ref();
        Unsettled::of(limit.and_then(|limit| limit.around()))
    }

    /// Ready where nothing is unsettled in its time; else the task is woken when
    /// something is settled. One waits at a time.
    pub fn poll_settled(&self, cx: &Context<'_>) -> Poll<()> {
        let limit = self.facts.limit.as_ref();
        limit.map_or(Poll::Ready(()), |limit| limit.poll_settled(cx))
    }

    /// Whether nothing is unsettled in its time but what is at work
    /// [`beside`](Self::beside).
    pub fn is_node_settled(&self) -> bool {
        let limit = self.facts.limit.as_ref();
        limit.is_none_or(|limit| limit.is_node_settled())
    }

    /// Notes a question about an effect of this chain of which nobody knows what became:
    /// no task around it may fail for its time before that is answered.
    pub fn note_doubt(&self, ask: &Ask) {
        if let Some(limit) = &self.facts.limit {
            limit.note_doubt(&self.facts.namespace, ask);
        }
    }

    /// Notes that somebody was told of `asks`.
    pub fn note_told(&self, asks: &[Ask]) {
        if let Some(limit) = &self.facts.limit {
            limit.note_told(asks);
        }
    }

    /// Forgets the doubts inside `task`, which is done and answers for them.
    pub fn forget_doubts(&self, task: &TaskId) {
        if let Some(limit) = &self.facts.limit {
            limit.forget_doubts(&self.facts.namespace.child(task));
        }
    }

    /// What is in doubt in its time, and which of these questions somebody was told of.
    pub fn in_doubt(&self) -> (Vec<Ask>, Vec<AskId>) {
        let limit = self.facts.limit.as_ref();
        limit.map(|limit| limit.in_doubt()).unwrap_or_default()
    }

    fn at(facts: Facts) -> Self {
        let log = facts.log();
        let head = log
            .commits(&facts.shared.run.branch, &facts.namespace)
            .next_back()
            .map(|record| record.seq);
        Self {
            facts,
            head: Head::at(head),
        }
    }

    /// The log as it was when the attempt began, or when it was read again.
    pub fn log(&self) -> &ThreadLog {
        self.facts.log()
    }

    /// A writer of facts on this chain.
    pub fn facts(&self) -> Facts {
        self.facts.clone()
    }

    /// What the whole run shares.
    pub fn run(&self) -> &RunShared {
        &self.facts.shared.run
    }

    /// Where this chain belongs.
    pub fn namespace(&self) -> &Namespace {
        &self.facts.namespace
    }

    /// The commits of this chain from before the attempt, in order.
    pub fn commits(&self) -> impl DoubleEndedIterator<Item = &Record> {
        self.log()
            .commits(&self.run().branch, &self.facts.namespace)
    }

    /// A fact from before the attempt.
    pub fn fact(&self, key: &FactKey) -> Option<&Record> {
        self.log().fact(&self.run().branch, key)
    }

    /// The facts of a kind of this chain and of those inside it, from before the
    /// attempt, in no order. Looks at all facts of the thread.
    pub fn facts_inside(&self, kind: Kind) -> impl Iterator<Item = &Record> {
        let facts = self.log().facts(&self.run().branch);
        facts.filter(move |record| {
            record.kind == kind.name && record.chain.namespace.is_in(&self.facts.namespace)
        })
    }

    /// Whether something is recorded of `namespace` or inside it, from before the
    /// attempt.
    pub fn knows_of(&self, namespace: &Namespace) -> bool {
        self.log().knows_of(&self.run().branch, namespace)
    }

    /// The next call's id.
    pub fn mint_call(&self) -> CallId {
        CallId::numbered(self.facts.shared.calls.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The next message's id.
    pub fn mint_message(&self) -> MessageId {
        MessageId::numbered(self.facts.shared.messages.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The numbers of the last message and the last call that were minted.
    pub fn minted(&self) -> (u64, u64) {
        let shared = &self.facts.shared;
        (
            shared.messages.load(Ordering::Relaxed),
            shared.calls.load(Ordering::Relaxed),
        )
    }

    /// Whether a message is recorded, by this attempt or an earlier one.
    pub fn is_recorded(&self, id: &MessageId) -> bool {
        self.message(id).is_ok()
    }

    /// A message that is recorded, by this attempt or an earlier one.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`]: there is no such message.
    pub fn message(&self, id: &MessageId) -> Result<Arc<Message>, JournalError> {
        let mut fresh = self
            .facts
            .shared
            .fresh
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let known = fresh.get(id).cloned();
        known.map_or_else(|| self.log().message(id), Ok)
    }

    /// How much driven time is left, to a few milliseconds.
    ///
    /// # Errors
    /// [`BudgetExceeded`] when none is left.
    pub fn time_left(&self) -> Result<Duration, BudgetExceeded> {
        let now = self.run().clock.elapsed_roughly();
        let driven = now.saturating_sub(self.facts.shared.began);
        self.run().budget.time_left(driven)
    }

    /// Emits an event, if somebody listens, and gives a [sign of
    /// life](Self::sign_of_life).
    pub fn emit(&self, build: impl FnOnce() -> Event) {
        self.sign_of_life();
        self.run().events.emit(build);
    }

    /// Emits an event to those who want it.
    pub fn emit_to(&self, interest: Interest, build: impl FnOnce() -> Event) {
        self.run().events.emit_to(interest, build);
    }

    /// Writes everything in `write`, or nothing.
    ///
    /// Cancellation: a dropped call may or may not have written; the chain must
    /// then not be written to again in this attempt.
    ///
    /// # Errors
    /// Whatever the journal says.
    pub fn append(
        &self,
        write: Write,
    ) -> impl Future<Output = Result<(), JournalError>> + Send + '_ {
        // Handed over right away, and small: futures are moved, some of them twice.
        let appending = self.appending(write);
        async move {
            let Some(Appending { seqs, last_commit }) = appending? else {
                return Ok(());
            };
            let heed = |error: &JournalError| self.facts.shared.fence.heed(error);
            let seqs = seqs.await.inspect_err(heed)?;
            if let Some(seq) = last_commit.and_then(|index| seqs.get(index)) {
                self.head.set(*seq);
            }
            Ok(())
        }
    }

    /// Hands `write` to the journal or to the recorder, if anything is recorded.
    fn appending(&self, write: Write) -> Result<Option<Appending<'_>>, JournalError> {
        let Some((batch, checkpoint)) = self.made(write)? else {
            return Ok(None);
        };
        let recorder = &self.facts.shared.recorder;
        if !recorder.is_immediate() {
            let queued = recorder.append(batch, checkpoint);
            return Ok(Some(Appending {
                seqs: Box::pin(async { queued.await.map(|()| Vec::new()) }),
                last_commit: None,
            }));
        }
        let mut entries = batch.entries.iter();
        Ok(Some(Appending {
            last_commit: entries.rposition(|entry| entry.place == Place::Commit),
            seqs: self.run().journal.append(batch),
        }))
    }

    /// The batch that is to be recorded, if anything is, and at which checkpoint the
    /// writer is then.
    fn made(&self, mut write: Write) -> Result<Option<(Batch, Option<u64>)>, JournalError> {
        write.fit();
        if self.run().durability == Durability::None {
            write.check()?;
            self.remember(&write.messages);
            return Ok(None);
        }
        let commits = write
            .drafts
            .iter()
            .any(|draft| draft.place == Place::Commit);
        let heads = if commits {
            vec![(self.facts.chain(), self.head.get())]
        } else {
            Vec::new()
        };
        let checkpoint = write.checkpoint;
        let batch = self.facts.batch(write, heads)?;
        if batch.entries.is_empty() {
            return Ok(None);
        }
        self.remember(&batch.messages);
        Ok(Some((batch, checkpoint)))
    }

    /// Says how an effect ended that was in flight while another driver took the
    /// thread over, so that one finds it. `write` is the end of `intent`, which this
    /// attempt recorded, and no number of a message: see [`Author::Late`].
    ///
    /// Cancellation: a dropped call may or may not have written.
    ///
    /// # Errors
    /// Whatever the journal says.
    pub async fn append_late(&self, intent: FactKey, write: Write) -> Result<(), JournalError> {
        let batch = self.facts.batch(write, Vec::new())?;
        let epoch = self.run().epoch;
        let author = Author::Late { epoch, intent };
        let batch = Batch { author, ..batch };
        self.run().journal.append(batch).await.map(drop)
    }

    /// Writes the facts in `write` durably, whatever the run's durability, and after
    /// all that was written before. They do not queue with the run's other writes,
    /// all of which would be lost with one that is refused: this is for a fact that
    /// somebody outside may have written first. A run that records nothing does not
    /// record these.
    ///
    /// Cancellation: a dropped call may or may not have written.
    ///
    /// # Errors
    /// Whatever the journal says; it refuses a commit.
    pub async fn append_at_once(&self, write: Write) -> Result<(), JournalError> {
        if self.run().durability == Durability::None {
            return write.check();
        }
        self.flush().await?;
        let batch = self.facts.batch(write, Vec::new())?;
        let written = self.run().journal.append(batch).await;
        let heard = written.inspect_err(|error| self.facts.shared.fence.heed(error));
        heard.map(drop)
    }

    /// Notes that an effect is in flight whose intent is recorded, until its end is:
    /// [`append_late`](Self::append_late) tells it where the thread is lost meanwhile.
    pub fn in_flight(&self) -> InFlight<'_> {
        self.facts.shared.fence.in_flight()
    }

    /// Waits until another driver took the thread over, as the journal told this one, and
    /// no effect is in flight of which it can still tell the end. What else is at work is
    /// for nothing then. One waits at a time, for the whole run.
    pub async fn lost(&self) -> JournalError {
        self.facts.shared.fence.lost().await
    }

    /// Waits until everything that the run wrote is durable.
    ///
    /// Cancellation: what was written stays queued, and goes on its way with the
    /// next write or flush.
    ///
    /// # Errors
    /// Why it cannot be; [`JournalError::Behind`] says what is durable.
    pub async fn flush(&self) -> Result<(), JournalError> {
        let Shared {
            recorder, fence, ..
        } = &*self.facts.shared;
        let flushed = recorder.flush().await;
        flushed.inspect_err(|error| fence.heed(error))
    }

    /// Does `work`, and meanwhile sees to it that what the run wrote goes on its way.
    /// Whoever drives a run that does not wait for each write drives it in here.
    pub async fn attended<T>(&self, work: impl Future<Output = T>) -> T {
        let recorder = &self.facts.shared.recorder;
        if recorder.is_immediate() {
            return work.await;
        }
        let (work, attend) = (pin!(work), pin!(recorder.attend()));
        match select(work, attend).await {
            Either::Left((done, _)) => done,
            Either::Right((never, _)) => match never {},
        }
    }

    /// A write of this chain, with nothing in it yet.
    pub fn write(&self) -> Write {
        if self.run().durability == Durability::None {
            Write::passing()
        } else {
            Write::new()
        }
    }

    /// Whether what was just written may still be lost by a crash.
    pub fn is_behind(&self) -> bool {
        !self.facts.shared.recorder.is_immediate()
    }

    /// Keeps messages at hand. Where the append then fails, so does the attempt.
    fn remember(&self, messages: &[Arc<Message>]) {
        if messages.is_empty() {
            return;
        }
        let mut fresh = self
            .facts
            .shared
            .fresh
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        fresh.add(messages);
    }
}

/// What is to be written together on one chain.
#[derive(Clone, Debug, Default)]
pub struct Write {
    /// Most writes have one or two.
    drafts: SmallVec<[Draft; 2]>,
    messages: Vec<Arc<Message>>,
    contents: Vec<Content>,
    /// The checkpoint at which the writer is then.
    checkpoint: Option<u64>,
    /// Why the first body that has no encoding has none; nothing is written then.
    failed: Option<EncodeError>,
    /// Nothing of it is recorded, so nothing is encoded.
    is_passing: bool,
}

#[derive(Clone, Debug)]
struct Draft {
    /// The run and the attempt that it belongs to, where they are not the writer's.
    of: Option<Box<(RunId, u32)>>,
    place: Place,
    kind: Kind,
    effect: Option<EffectClass>,
    digest: Option<Digest>,
    body: String,
    /// Whether it may be left out.
    is_spare: bool,
}

impl Write {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing yet, of a run that records nothing: bodies are not even encoded.
    fn passing() -> Self {
        Self {
            is_passing: true,
            ..Self::default()
        }
    }

    /// Adds all of `other`, after what is there.
    pub fn merge(&mut self, other: Self) {
        self.drafts.extend(other.drafts);
        self.messages.extend(other.messages);
        self.contents.extend(other.contents);
        self.checkpoint = other.checkpoint.or(self.checkpoint);
        self.failed = self.failed.take().or(other.failed);
    }

    /// Says at which checkpoint the writer is once this is durable.
    pub fn reaches(&mut self, checkpoint: u64) {
        self.checkpoint = Some(checkpoint);
    }

    /// Says whether it could be written at all.
    fn check(&self) -> Result<(), JournalError> {
        if let Some(error) = &self.failed {
            return Err(error.clone().of_record());
        }
        check_bytes(self.bytes())
    }

    /// The bytes of its bodies, messages and contents.
    pub fn bytes(&self) -> usize {
        let bodies = self.drafts.iter().map(|draft| draft.body.len());
        bytes_of(bodies, &self.messages, &self.contents)
    }

    /// Leaves out what is spare, the first of it first, until a batch takes the rest.
    fn fit(&mut self) {
        while let Some(spare) = self.drafts.iter().position(|draft| draft.is_spare)
            && self.bytes() > MAX_BATCH_BYTES
        {
            self.drafts.remove(spare);
        }
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.drafts.is_empty() && self.messages.is_empty()
    }

    /// Adds a commit, and says how many bytes its body has.
    pub fn commit(&mut self, kind: Kind, body: &impl Serialize) -> usize {
        self.draft(Place::Commit, kind, None, None, body)
    }

    /// Adds a commit that belongs to attempt `attempt` at another run of the thread.
    pub fn commit_of(&mut self, run: RunId, attempt: u32, kind: Kind, body: &impl Serialize) {
        self.commit(kind, body);
        if let Some(draft) = self.drafts.last_mut() {
            draft.of = Some(Box::new((run, attempt)));
        }
    }

    /// Adds a commit that is left out if it cannot be encoded, or if the batch would be
    /// too large with it, whatever else comes to be written with it.
    pub fn spare_commit(&mut self, kind: Kind, body: &impl Serialize) {
        let failed = self.failed.take();
        self.commit(kind, body);
        if self.failed.is_some() {
            // What may be left out keeps nothing else from being written.
            self.drafts.pop();
        } else if let Some(draft) = self.drafts.last_mut() {
            draft.is_spare = true;
        }
        self.failed = failed;
    }

    /// Adds a fact.
    pub fn fact(&mut self, key: FactKey, kind: Kind, body: &impl Serialize) {
        self.draft(Place::Fact(key), kind, None, None, body);
    }

    /// Adds a fact about an effect, or a question about one.
    pub fn effect(
        &mut self,
        key: FactKey,
        kind: Kind,
        effect: EffectClass,
        digest: Digest,
        body: &impl Serialize,
    ) {
        self.draft(Place::Fact(key), kind, Some(effect), Some(digest), body);
    }

    /// Adds a message row.
    pub fn message(&mut self, message: Arc<Message>) {
        self.messages.push(message);
    }

    /// Adds a content.
    pub fn content(&mut self, content: Content) {
        self.contents.push(content);
    }

    fn draft(
        &mut self,
        place: Place,
        kind: Kind,
        effect: Option<EffectClass>,
        digest: Option<Digest>,
        body: &impl Serialize,
    ) -> usize {
        if self.is_passing {
            return 0;
        }
        let body = encode::json(body, str::to_owned).unwrap_or_else(|error| {
            self.failed.get_or_insert(error);
            String::new()
        });
        let bytes = body.len();
        self.drafts.push(Draft {
            of: None,
            place,
            kind,
            effect,
            digest,
            body,
            is_spare: false,
        });
        bytes
    }
}

/// Why a machine stopped without an outcome. Nothing is lost: what was recorded
/// stays, and a later attempt goes on from there.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Halt {
    /// The journal failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The budget is used up.
    #[error(transparent)]
    Budget(#[from] BudgetExceeded),
    /// The work was cancelled.
    #[error("the work was cancelled")]
    Cancelled,
    /// The work was asked to stop at the next boundary, and did.
    #[error("the work stopped at a boundary, as asked")]
    Drained,
    /// What is pending does not fit the plan any more.
    #[error("{what} is pending and no longer fits: {difference}")]
    Incompatible {
        /// The pending call, task or record.
        what: String,
        /// What is different now.
        difference: String,
    },
    /// A step that must not run twice is on record with another input.
    #[error(
        "step `{step}` is recorded with an input of digest {}, its input is now of digest {}, and it must not run twice",
        recorded.short(),
        now.short(),
    )]
    StepChanged {
        /// The step, with its namespace and number.
        step: String,
        /// The digest of the recorded input.
        recorded: Digest,
        /// The digest of the input now.
        now: Digest,
    },
    /// The state is not what the program declares, and cannot be brought there.
    #[error(transparent)]
    Migration(Box<MigrationRefused>),
}

impl From<MigrationRefused> for Halt {
    fn from(refused: MigrationRefused) -> Self {
        Self::Migration(Box::new(refused))
    }
}

impl Coded for Halt {
    fn code(&self) -> Code {
        match self {
            Self::Journal(error) => error.code(),
            Self::Budget(error) => error.code(),
            Self::Cancelled | Self::Drained => Code::Cancelled,
            Self::Incompatible { .. } => Code::Incompatible,
            Self::StepChanged { .. } => Code::StepChanged,
            Self::Migration(refused) => refused.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Journal(error) => error.hint(),
            Self::Budget(error) => error.hint(),
            Self::Cancelled | Self::Drained => Some("resume the thread to go on".into()),
            Self::Incompatible { .. } => Some("bring the tool or node back, then resume".into()),
            Self::StepChanged { .. } => {
                Some("let the node make the same input again, then resume".into())
            }
            Self::Migration(refused) => refused.hint(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Journal(error) => error.class(),
            Self::Cancelled | Self::Drained => Class::Cancelled,
            Self::Budget(_)
            | Self::Incompatible { .. }
            | Self::StepChanged { .. }
            | Self::Migration(_) => Class::Caller,
        }
    }
}

impl Scope {
    /// Says whether the work may go on past a boundary.
    ///
    /// # Errors
    /// [`Halt::Cancelled`], also where the time of a task around it is over, or
    /// [`Halt::Drained`]; cancelling wins.
    pub fn boundary(&self) -> Result<(), Halt> {
        if self.run().cancel.is_cancelled() || self.is_over() {
            return Err(Halt::Cancelled);
        }
        if self.run().drain.is_cancelled() {
            return Err(Halt::Drained);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::journal::kind;

    fn deep(levels: u8) -> Value {
        (0..levels).fold(json!(1), |inner, _| Value::Array(vec![inner]))
    }

    #[test]
    fn a_body_that_is_too_deep_refuses_the_whole_write() {
        let limit = encode::MAX_DEPTH;
        let mut write = Write::new();
        write.commit(kind::CHECKPOINT, &deep(limit));
        assert!(write.check().is_ok());
        write.commit(kind::CHECKPOINT, &deep(limit + 1));
        let refused = write.check().unwrap_err();
        assert_eq!(refused.code(), Code::TooLarge);
        assert!(matches!(refused, JournalError::TooDeep { limit: 96 }));
    }

    #[test]
    fn what_is_spare_is_left_out_where_it_is_too_deep() {
        let mut write = Write::new();
        write.commit(kind::CHECKPOINT, &json!({}));
        write.spare_commit(kind::SNAPSHOT, &deep(97));
        assert!(write.check().is_ok());
        assert_eq!(write.drafts.len(), 1);
        write.spare_commit(kind::SNAPSHOT, &deep(96));
        assert_eq!(write.drafts.len(), 2);
    }
}
