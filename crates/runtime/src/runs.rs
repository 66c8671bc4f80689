//! Starting and resuming runs; `error.rs` says why one is refused, `force.rs` goes on without what no longer fits,
//! `retry.rs` reopens a run that ended without success, and `update.rs` changes the
//! state of a thread from outside.

mod error;
mod force;
mod retry;
mod update;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use rustagents_core::{
    CancellationToken,
    ask::{Ask, Subject},
    budget::{Bounds, Budget, Limits, Spent},
    clock::Clock,
    event::{Event, Events, RunEnd},
    ids::{Branch, CallId, Ids, MessageId, Namespace, RunId, ThreadId},
    journal::{Claim, Epoch, Journal, JournalError, Owner, Seq, kind},
    log::ThreadLog,
    message::Message,
    recorder::Durability,
    scope::{Halt, RunShared, Scope, Without, Write},
    store::{GivenStore, Store},
};
use rustagents_graph::{
    Frame, GraphEnd, GraphState, Outcome, Position, Reducer, Update, Writes,
    state::{ChannelSpec, Written},
};
use serde_json::Value;

pub use error::RunError;
pub(crate) use error::{code_of_nothing, nothing_there};
pub use retry::Retry;
pub(crate) use retry::refuse_limits;
pub use update::{StateEdit, UpdateState, Updated};

use crate::{
    answers::{Answers, Decision},
    gone::{self, Forcing},
    inbox::{self, QueuedInput, Taking, Waiting},
    keep::{KeepEvents, Keeping, LostEvents},
    ledger,
    program::Program,
    record::{RunAttempt, RunClosed, RunOpened, RunSuspended, Target},
    report::{Report, Status},
    view::{Phase, ThreadView},
};

/// How long a thread's owner may take to be gone before it counts as living.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// How often it is looked at in that time.
pub(crate) const LOOKS: u32 = 20;

/// Opens and resumes runs on one journal.
#[derive(Clone)]
pub struct Runtime {
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    takes_over: bool,
    keep: Option<KeepEvents>,
    store: GivenStore,
    bounds: Bounds,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").finish_non_exhaustive()
    }
}

/// Who watches an attempt, who may stop it, and how safely it is recorded.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// Hears what happens.
    pub events: Events,
    /// Stops everything now.
    pub cancel: CancellationToken,
    /// Stops everything at the next boundary.
    pub drain: CancellationToken,
    /// When what the attempt records is durable.
    pub durability: Durability,
}

/// What a new run works on.
#[derive(Clone, Debug)]
pub struct Start {
    /// The thread; `None` makes a new one.
    pub thread: Option<ThreadId>,
    /// Where the plan comes from.
    pub target: Target,
    /// The user's message.
    pub input: Option<String>,
    /// Values for channels.
    pub set: Vec<(String, Value)>,
    /// What it may consume.
    pub limits: Limits,
}

/// How a suspended or crashed run goes on.
#[derive(Clone, Debug)]
pub struct Resume {
    /// The thread.
    pub thread: ThreadId,
    /// What people decided.
    pub decisions: Vec<Decision>,
}

/// What a resume comes to.
enum Ahead {
    /// Nothing to do: this is how the run stands.
    Nothing(Box<Report>),
    /// Another attempt.
    Work,
    /// The end of the run, for which somebody asked.
    Cancelling,
}

/// What an attempt came to.
struct Driven {
    report: Report,
    /// Whether somebody answered meanwhile what the run has come to wait for.
    is_answered: bool,
}

impl Driven {
    /// The same, with events that are missing where they are kept.
    fn missing(self, events_lost: Option<LostEvents>) -> Self {
        Self {
            report: self.report.missing(events_lost),
            ..self
        }
    }
}

impl From<Report> for Driven {
    fn from(report: Report) -> Self {
        Self {
            report,
            is_answered: false,
        }
    }
}

/// How another attempt at a run begins.
#[derive(Clone, Copy)]
pub(crate) struct Another<'a> {
    pub(crate) answers: &'a Answers,
    pub(crate) limits: Limits,
    /// Whether it reopens the run.
    pub(crate) retries: bool,
    /// What it goes on without.
    pub(crate) forcing: Option<&'a Forcing>,
}

impl Runtime {
    /// A runtime on `journal`.
    pub fn new(journal: Arc<dyn Journal>, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Self {
        Self {
            journal,
            clock,
            ids,
            takes_over: false,
            keep: None,
            store: GivenStore::default(),
            bounds: Bounds::default(),
        }
    }

    /// The same runtime, keeping the events of the runs that it drives.
    #[must_use]
    pub fn keeping(self, keep: KeepEvents) -> Self {
        let keep = Some(keep);
        Self { keep, ..self }
    }

    /// The same runtime, whose tools and nodes may use `store`, what agents remember
    /// across threads. Nothing is opened or read before one of them does.
    #[must_use]
    pub fn with_store(self, store: Arc<dyn Store>) -> Self {
        let store = store.into();
        Self { store, ..self }
    }

    /// The events of an attempt on their way to who keeps them, and how it is watched
    /// then.
    pub(crate) fn kept(&self, thread: &ThreadId, run: &RunId, watch: Watch) -> (Keeping, Watch) {
        let of = (thread, run);
        let (keeping, events) = Keeping::of(self.keep.as_ref(), &self.clock, of, watch.events);
        (keeping, Watch { events, ..watch })
    }

    /// The same runtime, whose graphs may grow to other `bounds`.
    #[must_use]
    pub fn bounded(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    /// A runtime that takes over the threads that somebody drives, if `takes_over`
    /// says so: it waits for no owner, and who drove the thread can write nothing
    /// more but the end of an effect that it had begun.
    #[must_use]
    pub fn taking_over(self, takes_over: bool) -> Self {
        Self { takes_over, ..self }
    }

    /// Where events are kept, if they are.
    pub(crate) fn kept_in(&self) -> Option<&KeepEvents> {
        self.keep.as_ref()
    }

    pub(crate) fn journal(&self) -> &dyn Journal {
        &*self.journal
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(crate) fn takes_over(&self) -> bool {
        self.takes_over
    }

    /// Opens a run and drives it until it ends or waits.
    ///
    /// # Errors
    /// [`RunError`]; a run that was refused has written nothing.
    pub async fn start(
        &self,
        program: &Program,
        start: Start,
        watch: Watch,
    ) -> Result<Report, RunError> {
        match self.begin(program, start, None, watch).await? {
            Some(report) => Ok(report),
            None => Err(JournalError::Malformed {
                rule: "an input that did not wait was taken",
            }
            .into()),
        }
    }

    /// Opens a run on an input, which may have waited as `item`, and drives it. `None`
    /// if another item is to be taken first, or somebody took this one.
    pub(crate) async fn begin(
        &self,
        program: &Program,
        start: Start,
        item: Option<&QueuedInput>,
        watch: Watch,
    ) -> Result<Option<Report>, RunError> {
        let thread = match &start.thread {
            Some(thread) => thread.clone(),
            None => self.fresh_thread()?,
        };
        let is_named = start.thread.is_some();
        check_input(program, &start)?;
        self.wait_until_free(&thread).await?;
        refuse_unfinished(&thread, ThreadView::load(&*self.journal, &thread).await?)?;
        let claim = self.claim(&thread).await?;
        // Between the look and the claim somebody else may have opened a run.
        let log = ThreadLog::load(&*self.journal, &thread, &Branch::main()).await?;
        refuse_unfinished(&thread, ThreadView::of(&thread, log.clone())?)?;
        let since = log.last_seq();
        let waiting = Waiting::look(&*self.journal, &thread, since).await?;
        let Some(taking) = waiting.taking(item) else {
            return Ok(None);
        };
        let input = start.input.as_ref();
        let input = input.map(|_| MessageId::numbered(log.last_message() + 1));
        let run = self.fresh_run();
        let (keeping, kept) = self.kept(&thread, &run, watch.clone());
        let scope = Scope::root(RunShared {
            run,
            attempt: 1,
            input: input.clone(),
            log,
            budget: Budget::resumed(start.limits, Spent::default()),
            ..self.shared(thread.clone(), &claim, kept)
        });
        let driven = self.drive_new(program, &scope, start, taking, since);
        let driven = keeping.through(Box::pin(driven)).await;
        let is_recorded = watch.durability != Durability::None
            && !matches!(driven, Err(RunError::NotRecorded(_)));
        if !is_named && !is_recorded {
            // Nobody else knows its name. Where it cannot be removed, it is empty.
            let _ = self.journal.remove(&thread, claim.epoch).await;
        }
        let driven = driven?.missing(keeping.lost());
        let report = self.answered(program, &claim, driven, &watch).await?;
        Ok(Some(report))
    }

    /// Opens the run of `scope`, and drives it.
    async fn drive_new(
        &self,
        program: &Program,
        scope: &Scope,
        start: Start,
        taking: Taking<'_>,
        since: Seq,
    ) -> Result<Driven, RunError> {
        let at = self.open(program, scope, start, taking).await;
        let at = at.map_err(RunError::of_opening)?;
        started(scope);
        scope.emit(|| Event::CheckpointSaved {
            namespace: Namespace::root(),
            checkpoint: at.checkpoint,
            steps: at.step,
            is_durable: !scope.is_behind(),
        });
        let driven = self.drive(program, scope, at, since).await;
        driven.map_err(RunError::of_first_attempt)
    }

    async fn open(
        &self,
        program: &Program,
        scope: &Scope,
        start: Start,
        taking: Taking<'_>,
    ) -> Result<Position, RunError> {
        let opened = RunOpened {
            target: start.target,
            definition: program.definition().digest(),
            limits: start.limits,
            input: scope.run().input.clone(),
            queued: taking.item.map(|item| item.id.clone()),
            queue_after: taking.none_up_to,
        };
        let mut opening = Write::new();
        opening.content(program.definition().content());
        opening.commit(kind::RUN_OPENED, &opened);
        if let Some(item) = taking.item {
            item.take(&scope.run().run, &mut opening);
        }
        let mut input = Writes::new();
        for (channel, value) in start.set {
            input.push(channel, Update::Value(value));
        }
        if let (Some(channel), Some(text)) = (program.conversation(), start.input) {
            let message = Arc::new(Message::user(scope.mint_message(), text));
            input.push(channel.to_owned(), Update::Messages(vec![message]));
        }
        let at = program.graph().position(scope)?;
        Ok(program.graph().open(scope, at, input, opening).await?)
    }

    /// Goes on with the last run of a thread. What people decided has to be
    /// recorded, so that [`Durability::None`] counts as [`Durability::Exit`].
    ///
    /// A run that is closed, or still waits and was told nothing, is reported as
    /// it is; nothing is written then. A run does not wait any more once the time of
    /// one of its questions is over.
    ///
    /// A run that somebody [asked to be cancelled](Self::request_cancel) is closed, and
    /// nothing of it runs. Where calls of it are in doubt, they are asked about first.
    ///
    /// # Errors
    /// [`RunError`]; a resume that was refused has written nothing.
    pub async fn resume(
        &self,
        program: &Program,
        resume: Resume,
        watch: Watch,
    ) -> Result<Report, RunError> {
        let thread = resume.thread;
        self.wait_until_free(&thread).await?;
        let view = self.known(&thread).await?;
        let answers = Answers::resolve(&view, &resume.decisions)?;
        match self.ahead(&view, &answers)? {
            Ahead::Nothing(report) => return Ok(*report),
            Ahead::Work => {
                self.check_compatible(program, &view, &watch)?;
            }
            Ahead::Cancelling => {}
        }
        let claim = self.claim(&thread).await?;
        let view = self.known(&thread).await?;
        let answers = Answers::resolve(&view, &resume.decisions)?;
        // Somebody else may have driven the run to its end before the claim.
        match self.ahead(&view, &answers)? {
            Ahead::Nothing(report) => return Ok(*report),
            Ahead::Work => {
                self.check_compatible(program, &view, &watch)?;
            }
            Ahead::Cancelling => return self.give_up_idle(&view, &answers, claim.epoch).await,
        }
        let try_on = Another {
            answers: &answers,
            limits: view.limits,
            retries: false,
            forcing: None,
        };
        self.go_on(program, &view, &claim, try_on, watch).await
    }

    /// Begins another attempt, and drives it.
    async fn go_on(
        &self,
        program: &Program,
        view: &ThreadView,
        claim: &Claim,
        another: Another<'_>,
        watch: Watch,
    ) -> Result<Report, RunError> {
        let driven = self.once_more(program, view, claim, another, &watch);
        let driven = driven.await?;
        self.answered(program, claim, driven, &watch).await
    }

    /// Goes on as long as others answered meanwhile what the run has come to wait for.
    /// Each time round has an answer of its own.
    async fn answered(
        &self,
        program: &Program,
        claim: &Claim,
        mut driven: Driven,
        watch: &Watch,
    ) -> Result<Report, RunError> {
        while driven.is_answered {
            let view = self.known(&driven.report.thread).await?;
            let again = Another {
                answers: &Answers::default(),
                limits: view.limits,
                retries: false,
                forcing: None,
            };
            let lost = driven.report.events_lost.take();
            driven = self.once_more(program, &view, claim, again, watch).await?;
            driven = driven.missing(lost);
        }
        Ok(driven.report)
    }

    async fn once_more(
        &self,
        program: &Program,
        view: &ThreadView,
        claim: &Claim,
        another: Another<'_>,
        watch: &Watch,
    ) -> Result<Driven, RunError> {
        let (keeping, watch) = self.kept(&view.thread, &view.run, watch.clone());
        let scope = self.attempt(program, view, claim, another, watch).await?;
        let driven = self.drive_again(program, &scope, view, another.forcing);
        let driven = keeping.through(Box::pin(driven));
        Ok(driven.await?.missing(keeping.lost()))
    }

    /// Drives the attempt of `scope` from where the run stands.
    async fn drive_again(
        &self,
        program: &Program,
        scope: &Scope,
        view: &ThreadView,
        forcing: Option<&Forcing>,
    ) -> Result<Driven, RunError> {
        started(scope);
        gone::tell(scope, forcing);
        let digest = program.definition().digest();
        if digest != view.definition {
            scope.emit(|| Event::DefinitionChanged { definition: digest });
        }
        let at = program.graph().restore(scope)?;
        self.drive(program, scope, at, view.log().last_seq()).await
    }

    /// Gives up the last run of a thread: it is closed as cancelled, and what it
    /// asked is void. A run that is closed already is reported as it is.
    ///
    /// # Errors
    /// [`RunError`], and nothing is written: somebody drives the run, or one of
    /// its calls or steps may have taken effect ([`RunError::InDoubt`]).
    pub async fn cancel(&self, thread: &ThreadId) -> Result<Report, RunError> {
        self.cancel_run(thread, None).await
    }

    /// The same, unless the last run of the thread is another one than `only`.
    pub(crate) async fn cancel_run(
        &self,
        thread: &ThreadId,
        only: Option<&RunId>,
    ) -> Result<Report, RunError> {
        self.wait_until_free(thread).await?;
        let view = self.known(thread).await?;
        refuse_other(&view, only)?;
        if let Some(report) = given_up(&view)? {
            return Ok(report);
        }
        let claim = self.claim(thread).await?;
        let view = self.known(thread).await?;
        refuse_other(&view, only)?;
        if let Some(report) = given_up(&view)? {
            return Ok(report);
        }
        self.give_up_idle(&view, &Answers::default(), claim.epoch)
            .await
    }

    /// Closes a run that nobody drives, as [`give_up`](Self::give_up), and keeps its end
    /// as that of a driven one.
    pub(crate) async fn give_up_idle(
        &self,
        view: &ThreadView,
        answers: &Answers,
        epoch: Epoch,
    ) -> Result<Report, RunError> {
        let (keeping, watch) = self.kept(&view.thread, &view.run, Watch::default());
        let closed = async {
            let report = self.give_up(view, answers, epoch).await?;
            watch.events.emit(|| Event::RunEnded {
                how: RunEnd::Stopped,
                message: Some(Halt::Cancelled.to_string()),
            });
            Ok::<_, RunError>(report)
        };
        let report = keeping.through(Box::pin(closed)).await?;
        Ok(report.missing(keeping.lost()))
    }

    /// Closes a run as cancelled, together with the answers about what is in doubt.
    pub(crate) async fn give_up(
        &self,
        view: &ThreadView,
        answers: &Answers,
        epoch: Epoch,
    ) -> Result<Report, RunError> {
        let claim = Claim::new(epoch, ());
        let scope = Scope::root(RunShared {
            run: view.run.clone(),
            attempt: view.attempts,
            log: view.log().clone(),
            ..self.shared(view.thread.clone(), &claim, Watch::default())
        });
        let mut write = Write::new();
        answers.write(&mut write);
        let spent = ledger::spent(view.log(), &view.run)?;
        write.commit(kind::RUN_CLOSED, &RunClosed::cancelled(spent));
        scope.append(write).await?;
        Ok(self.known(&view.thread).await?.report())
    }

    /// Gives up the run that `scope` drove, as somebody asked. Calls in doubt are
    /// settled first, so that the run waits for that; `None` if they were not asked
    /// about yet.
    async fn give_up_driven(&self, scope: &Scope) -> Result<Option<Report>, RunError> {
        let view = self.known(&scope.run().thread).await?;
        let none = Answers::default();
        match inbox::still_asked(&view, &none)? {
            Some(asks) if asks.is_empty() => {
                let epoch = scope.run().epoch;
                self.give_up(&view, &none, epoch).await.map(Some)
            }
            Some(asks) => Ok(Some(Report {
                asks,
                ..view.report()
            })),
            None => Ok(None),
        }
    }

    /// What a resume comes to.
    fn ahead(&self, view: &ThreadView, answers: &Answers) -> Result<Ahead, RunError> {
        if inbox::is_asked(view)? {
            return Ok(match inbox::still_asked(view, answers)? {
                Some(asks) if asks.is_empty() => Ahead::Cancelling,
                Some(asks) if answers.is_empty() => Ahead::Nothing(Box::new(Report {
                    asks,
                    ..view.report()
                })),
                // It goes on until it asked, or was told, what became of them.
                _ => Ahead::Work,
            });
        }
        let waits = view.waits() && !view.is_due(self.now_ms());
        let idle = matches!(view.phase, Phase::Closed(_)) || waits;
        if answers.is_empty() && idle {
            return Ok(Ahead::Nothing(Box::new(view.report())));
        }
        Ok(Ahead::Work)
    }

    /// Records the answers and the new attempt as one batch.
    async fn attempt(
        &self,
        program: &Program,
        view: &ThreadView,
        claim: &Claim,
        another: Another<'_>,
        watch: Watch,
    ) -> Result<Scope, RunError> {
        let attempt = view.attempts + 1;
        let digest = program.definition().digest();
        let changed = digest != view.definition;
        let mut write = Write::new();
        another.answers.write(&mut write);
        if changed {
            write.content(program.definition().content());
        }
        let body = RunAttempt {
            attempt,
            definition: changed.then_some(digest),
            retries: another.retries,
            limits: Some(another.limits).filter(|limits| *limits != view.limits),
            forced: another.forcing.map_or_else(Vec::new, |f| f.forced.clone()),
        };
        write.commit(kind::RUN_ATTEMPT, &body);
        if let Some(forcing) = another.forcing {
            write.merge(forcing.write.clone());
        }
        let mut watch = watch;
        if watch.durability == Durability::None {
            watch.durability = Durability::Exit;
        }
        let shared = |log: ThreadLog| -> Result<RunShared, JournalError> {
            let spent = ledger::spent(&log, &view.run)?;
            Ok(RunShared {
                run: view.run.clone(),
                attempt,
                retried: if another.retries {
                    attempt
                } else {
                    view.retried
                },
                input: view.opened.input.clone(),
                budget: Budget::resumed(another.limits, spent),
                log,
                ..self.shared(view.thread.clone(), claim, watch.clone())
            })
        };
        let answered = Scope::root(shared(view.log().clone())?);
        answered.append(write).await?;
        answered.flush().await?;
        // What was just written is part of what the attempt reads.
        let log = ThreadLog::load(&*self.journal, &view.thread, &Branch::main()).await?;
        Ok(Scope::root(shared(log)?))
    }

    async fn drive(
        &self,
        program: &Program,
        scope: &Scope,
        at: Position,
        since: Seq,
    ) -> Result<Driven, RunError> {
        let frame = RunFrame {
            conversation: program.conversation(),
            scope,
        };
        let run = scope.run();
        let drive = Box::pin(program.graph().drive(scope, at, &frame));
        let drive = scope.attended(drive);
        let (end, is_asked) = inbox::heeding(scope, since, drive).await;
        // However it ended, what it did is durable before anybody hears of it.
        if !matches!(&end, Err(Halt::Journal(_))) {
            scope.flush().await?;
        }
        if is_asked
            && inbox::is_left(&end)
            && let Some(report) = self.give_up_driven(scope).await?
        {
            return Ok(report.into());
        }
        match end {
            Ok(end) => {
                let closed = frame.closed(&end);
                let (thread, id) = (run.thread.clone(), run.run.clone());
                let waits = matches!(end.outcome, Outcome::Suspended(_));
                Ok(Driven {
                    report: Report::of_end(thread, id, &end, closed, run.budget.spent()),
                    is_answered: waits && inbox::is_answered(scope).await?,
                })
            }
            Err(Halt::Cancelled | Halt::Drained) => Ok(Driven::from(Report {
                thread: run.thread.clone(),
                run: run.run.clone(),
                status: Status::Cancelled,
                output: None,
                is_closed: false,
                has_plan: true,
                asks: Vec::new(),
                error: None,
                hint: Some("the thread can be resumed".into()),
                steps: run.budget.spent().steps,
                spent: run.budget.spent(),
                events_lost: None,
            })),
            Err(halt) => Err(halt.into()),
        }
    }

    /// What every scope of this runtime shares; the run's own parts are set over it.
    pub(crate) fn shared(&self, thread: ThreadId, claim: &Claim, watch: Watch) -> RunShared {
        RunShared {
            journal: Arc::clone(&self.journal),
            thread,
            branch: Branch::main(),
            epoch: claim.epoch,
            run: RunId::from(""),
            attempt: 1,
            retried: 0,
            input: None,
            log: ThreadLog::default(),
            budget: Budget::resumed(Limits::default(), Spent::default()),
            bounds: self.bounds,
            without: Without::default(),
            events: watch.events,
            store: self.store.clone(),
            clock: Arc::clone(&self.clock),
            durability: watch.durability,
            // Who asks for the end of one run does not cancel what else it belongs to.
            cancel: watch.cancel.child_token(),
            drain: watch.drain,
        }
    }

    pub(crate) fn fresh_run(&self) -> RunId {
        RunId::from(self.ids.fresh())
    }

    fn fresh_thread(&self) -> Result<ThreadId, RunError> {
        Ok(ThreadId::new(&self.ids.fresh())?)
    }

    pub(crate) async fn claim(&self, thread: &ThreadId) -> Result<Claim, JournalError> {
        let owner = self.owner();
        if self.takes_over && self.journal.owner(thread).await?.is_some() {
            return self.journal.take_over(thread, owner).await;
        }
        self.journal.claim(thread, owner).await
    }

    /// Who this process is to those who find a thread driven.
    pub(crate) fn owner(&self) -> Owner {
        Owner {
            process: std::process::id(),
            since_ms: self.clock.now_ms(),
        }
    }

    pub(crate) async fn known(&self, thread: &ThreadId) -> Result<ThreadView, RunError> {
        ThreadView::known(&*self.journal, thread).await
    }

    /// A process that is just ending holds its threads for a moment.
    pub(crate) async fn wait_until_free(&self, thread: &ThreadId) -> Result<(), JournalError> {
        if self.takes_over {
            return Ok(());
        }
        for look in 0..=LOOKS {
            let Some(owner) = self.journal.owner(thread).await? else {
                return Ok(());
            };
            if look == LOOKS {
                return Err(JournalError::Busy {
                    thread: thread.clone(),
                    owner,
                });
            }
            self.clock.sleep(PATIENCE / LOOKS).await;
        }
        Ok(())
    }

    /// Whether what is pending still has its node and its tool.
    fn check_compatible(
        &self,
        program: &Program,
        view: &ThreadView,
        watch: &Watch,
    ) -> Result<Position, RunError> {
        let scope = Scope::root(RunShared {
            log: view.log().clone(),
            ..self.shared(view.thread.clone(), &Claim::new(0, ()), watch.clone())
        });
        let at = program.graph().restore(&scope)?;
        for ask in view.pending() {
            if let Some(difference) = difference(program, ask) {
                return Err(RunError::Halt(Halt::Incompatible {
                    what: ask.id.to_string(),
                    difference,
                }));
            }
        }
        // A crash may have come before anybody was asked about a call.
        gone::check(program, &scope, &at)?;
        Ok(at)
    }
}

pub(crate) fn check_input(program: &Program, start: &Start) -> Result<(), RunError> {
    if start.input.is_some() && program.conversation().is_none() {
        return Err(RunError::NoConversation);
    }
    check_values(program, &start.set)
}

/// Whether the values fit their channels, and exclude none of each other.
fn check_values(program: &Program, values: &[(String, Value)]) -> Result<(), RunError> {
    let state = program.graph().empty_state();
    let mut set = BTreeSet::new();
    for (channel, value) in values {
        state.check(channel, &Written::Set(value.clone()))?;
        let mut specs = program.graph().channels().iter();
        let overwrites =
            |spec: &ChannelSpec| spec.name == *channel && spec.reducer == Reducer::Overwrite;
        if specs.any(overwrites) && !set.insert(channel) {
            return Err(RunError::SetTwice {
                channel: channel.clone(),
            });
        }
    }
    Ok(())
}

fn started(scope: &Scope) {
    let (thread, attempt) = (scope.run().thread.clone(), scope.run().attempt);
    scope.emit(|| Event::RunStarted { thread, attempt });
}

/// What no longer fits a pending question about a call.
fn difference(program: &Program, ask: &Ask) -> Option<String> {
    let call = match &ask.subject {
        Subject::Approval(call) | Subject::InDoubt(call) => call,
        Subject::Interrupt { options, .. } => {
            let now = program.options(ask.node.as_str());
            return (now != options.as_slice()).then(|| {
                let (then, now) = (options.join(", "), now.join(", "));
                format!("its answers were {then}, and are {now}")
            });
        }
        _ => return None,
    };
    let Some(agent) = program.agent(ask.node.as_str()) else {
        return Some(format!("there is no agent `{}` any more", ask.node));
    };
    let Some(tool) = agent.tools().get(&call.tool) else {
        return Some(format!(
            "`{}` no longer has the tool `{}`",
            ask.node, call.tool
        ));
    };
    let now = tool.spec().effect;
    (now != call.effect).then(|| {
        let (then, now) = (call.effect.as_str(), now.as_str());
        format!("the effect of `{}` was `{then}` and is `{now}`", call.tool)
    })
}

pub(crate) fn refuse_other(view: &ThreadView, only: Option<&RunId>) -> Result<(), RunError> {
    if only.is_none_or(|only| *only == view.run) {
        return Ok(());
    }
    Err(RunError::Stands {
        thread: view.thread.clone(),
        stands: "is a later one".into(),
        hint: "look at the thread with `rag threads show`".into(),
    })
}

/// The report of a run that is over; refuses one that must not be given up.
fn given_up(view: &ThreadView) -> Result<Option<Report>, RunError> {
    if matches!(view.phase, Phase::Closed(_)) {
        return Ok(Some(view.report()));
    }
    refuse_doubt(view, view.in_doubt()?).map(|()| None)
}

/// Refuses what would make `calls` be forgotten.
pub(crate) fn refuse_doubt(
    view: &ThreadView,
    calls: Vec<(CallId, String)>,
) -> Result<(), RunError> {
    if calls.is_empty() {
        return Ok(());
    }
    Err(RunError::InDoubt {
        report: Box::new(view.report()),
        calls,
    })
}

fn refuse_unfinished(thread: &ThreadId, view: Option<ThreadView>) -> Result<(), RunError> {
    match view {
        Some(view) if view.phase == Phase::Suspended => Err(RunError::Suspended {
            report: Box::new(view.report()),
        }),
        Some(view) if view.phase == Phase::Open => Err(RunError::Unfinished {
            thread: thread.clone(),
            has_plan: view.opened.target.has_plan(),
        }),
        _ => Ok(()),
    }
}

/// The records around a graph's own.
struct RunFrame<'a> {
    conversation: Option<&'a str>,
    scope: &'a Scope,
}

impl RunFrame<'_> {
    fn closed(&self, end: &GraphEnd) -> RunClosed {
        let output = self
            .conversation
            .and_then(|channel| end.state.last_answer(channel));
        RunClosed::of(end, output, self.scope.run().budget.spent())
    }
}

impl Frame for RunFrame<'_> {
    fn close(&self, end: &GraphEnd, write: &mut Write) {
        if let Outcome::Suspended(asks) = &end.outcome {
            let asks = asks.iter().map(|ask| ask.id.clone()).collect();
            write.commit(kind::RUN_SUSPENDED, &RunSuspended { asks });
        } else {
            write.commit(kind::RUN_CLOSED, &self.closed(end));
        }
    }
}
