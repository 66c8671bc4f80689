//! Graphs of one's own on a journal: what a service needs beside the graph.
//!
//! Reading order: [`GraphRunner`] (run, resume and retry), `graphs/look.rs` (how a
//! thread stands, without a write), `graphs/change.rs` (updates, going back, giving
//! up), `graphs/force.rs` (going on without what no longer fits), `graphs/answers.rs` and `graphs/error.rs`.

mod answers;
mod change;
mod error;
mod force;
mod look;

use std::{fmt, ops::Range, sync::Arc};

use rustagents_core::{
    ask::Ask,
    budget::{Bounds, Budget, Limits, Spent},
    canonical::Canonical,
    clock::Clock,
    digest::Digest,
    event::Event,
    ids::{Branch, Ids, Namespace, NodeName, RunId, ThreadId},
    journal::{Claim, Content, Journal, JournalError, Seq, kind},
    log::ThreadLog,
    recorder::Durability,
    scope::{Halt, RunShared, Scope, Write},
    store::Store,
};
use rustagents_graph::{Frame, Graph, GraphEnd, GraphState, Outcome, Position};
use serde_json::json;

use crate::{
    answers::Answers,
    gone,
    host::{SystemClock, UuidIds},
    inbox,
    keep::KeepEvents,
    ledger,
    record::{RunAttempt, RunClosed, RunOpened, RunSuspended, Target},
    runs::{Another, RunError, Runtime, Watch, refuse_limits},
    view::{Phase, ThreadView},
};

pub use self::{
    answers::Decisions,
    error::GraphRunError,
    look::{GraphInside, GraphView},
};

/// Runs graphs on the threads of one journal. Cheap to clone; clones, and other
/// processes with the same store, may work at the same time. One of them drives a
/// thread at a time.
///
/// Whatever is refused has written nothing. Threads are named by text: 1 to 255
/// bytes without control characters and `@`, and without `-` at the start.
///
/// ```
/// use std::sync::Arc;
///
/// use rustagents_graph::{GraphBuilder, GraphState, Outcome};
/// use rustagents_runtime::GraphRunner;
/// use rustagents_store::MemoryJournal;
/// use serde_json::json;
///
/// #[derive(Clone, Debug, GraphState)]
/// struct Order {
///     number: u64,
///     answer: String,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let graph = GraphBuilder::<Order>::typed("order")
///     .function("sign", |order, context| async move {
///         let answer = context.ask(format!("sign order {}?", order.number)).await?;
///         Ok(Order::update().answer(answer.to_string()).into())
///     })
///     .start(["sign"])
///     .finish("sign")
///     .compile()?;
///
/// let runner = GraphRunner::new(Arc::new(MemoryJournal::new()));
/// let run = runner.run(&graph, "order-7", Order::update().number(7)).await?;
/// assert_eq!(run.asks()[0].prompt, "sign order 7?");
///
/// // In another process, a day later:
/// let run = runner.resume(&graph, "order-7", [("sign:1.0/1", json!(true))]).await?;
/// assert!(matches!(run.outcome, Outcome::Completed));
/// assert_eq!(run.state.answer, "true");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct GraphRunner {
    runtime: Runtime,
    journal: Arc<dyn Journal>,
    watch: Watch,
    limits: Limits,
}

impl fmt::Debug for GraphRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphRunner")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// What a run came to, or why it waits.
#[derive(Clone, Debug)]
pub struct GraphRun<S: GraphState> {
    /// The thread.
    pub thread: ThreadId,
    /// The run. It is the same over all its attempts.
    pub run: RunId,
    /// How it ended, or the questions that it waits for.
    pub outcome: Outcome,
    /// The committed state.
    pub state: Arc<S>,
    /// The number of the thread's last checkpoint; 0 where nothing is recorded.
    pub checkpoint: u64,
    /// How many supersteps of its own graph the run has done, without those of graphs
    /// inside; the budget counts these too.
    pub steps: u64,
    /// The nodes whose tasks the run finished, in order, each as often as it ran.
    pub visited: Vec<NodeName>,
}

impl<S: GraphState> GraphRun<S> {
    /// The questions that the run waits for; none if it ended.
    pub fn asks(&self) -> &[Ask] {
        match &self.outcome {
            Outcome::Suspended(asks) => asks,
            _ => &[],
        }
    }
}

impl GraphRunner {
    /// A runner on `journal`, with the clock of this machine. Its timers are tokio's.
    pub fn new(journal: Arc<dyn Journal>) -> Self {
        Self::on(journal, Arc::new(SystemClock::new()), Arc::new(UuidIds))
    }

    /// A runner on a clock and names of one's own, for tests.
    pub fn on(journal: Arc<dyn Journal>, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Self {
        Self {
            runtime: Runtime::new(Arc::clone(&journal), clock, ids),
            journal,
            watch: Watch::default(),
            limits: Limits::default(),
        }
    }

    /// The same, with events, cancellation and durability of one's own. For one run,
    /// set it on a clone.
    #[must_use]
    pub fn watched(self, watch: Watch) -> Self {
        Self { watch, ..self }
    }

    /// The same, keeping the events of the runs that it drives.
    #[must_use]
    pub fn keeping(self, keep: KeepEvents) -> Self {
        let runtime = self.runtime.keeping(keep);
        Self { runtime, ..self }
    }

    /// The same, whose nodes and tools may use `store`, what agents remember across
    /// threads. Nothing is opened or read before one of them does.
    #[must_use]
    pub fn with_store(self, store: Arc<dyn Store>) -> Self {
        let runtime = self.runtime.with_store(store);
        Self { runtime, ..self }
    }

    /// The same, with other limits for runs that it opens or retries.
    #[must_use]
    pub fn limited(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same, with other bounds of how deep graphs may lie in each other, and how many
    /// tasks a superstep and steps a task may have. They hold for what this runner
    /// drives and changes; a thread goes on under those of whoever drives it next.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use rustagents_core::budget::Bounds;
    /// # use rustagents_runtime::GraphRunner;
    /// # use rustagents_store::MemoryJournal;
    ///
    /// # let journal = Arc::new(MemoryJournal::new());
    /// let runner = GraphRunner::new(journal).bounded(Bounds::default().max_depth(3));
    /// # drop(runner);
    /// ```
    #[must_use]
    pub fn bounded(self, bounds: Bounds) -> Self {
        let runtime = self.runtime.bounded(bounds);
        Self { runtime, ..self }
    }

    /// The same, but it takes over the threads that somebody drives, if `takes_over`
    /// says so: who drove a thread can write nothing more.
    #[must_use]
    pub fn taking_over(self, takes_over: bool) -> Self {
        let runtime = self.runtime.taking_over(takes_over);
        Self { runtime, ..self }
    }

    /// Opens a run with `input`, which is written as a node would write it, and
    /// drives it until it ends or waits. The state goes on from the thread's last
    /// run, where it has one.
    ///
    /// Cancellation: a dropped call leaves an unfinished run, as a crash does.
    ///
    /// # Errors
    /// [`GraphRunError::Waits`] names the questions of a run that waits, and
    /// [`GraphRunError::Unfinished`] one that did not end; [`GraphRunError::Halt`] if
    /// the run was stopped without an outcome, as by a cancellation.
    pub async fn run<S: GraphState>(
        &self,
        graph: &Graph<S>,
        thread: &str,
        input: impl Into<S::Update>,
    ) -> Result<GraphRun<S>, GraphRunError> {
        self.run_with(graph, thread, |_| input.into()).await
    }

    /// As [`run`](Self::run), with an input that needs ids for its messages:
    /// [`Scope::mint_message`] makes them.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_with<S: GraphState>(
        &self,
        graph: &Graph<S>,
        thread: &str,
        input: impl FnOnce(&Scope) -> S::Update,
    ) -> Result<GraphRun<S>, GraphRunError> {
        let thread = ThreadId::new(thread)?;
        self.runtime.wait_until_free(&thread).await?;
        refuse_unfinished(ThreadView::load(&*self.journal, &thread).await?)?;
        let claim = self.runtime.claim(&thread).await?;
        // Between the look and the claim somebody else may have opened a run.
        let log = ThreadLog::load(&*self.journal, &thread, &Branch::main()).await?;
        refuse_unfinished(ThreadView::of(&thread, log.clone())?)?;
        let run = self.runtime.fresh_run();
        let (keeping, watch) = self.runtime.kept(&thread, &run, self.watch.clone());
        let scope = Scope::root(RunShared {
            run,
            log,
            budget: Budget::resumed(self.limits, Spent::default()),
            ..self.runtime.shared(thread, &claim, watch)
        });
        let since = scope.log().last_seq();
        let input = input(&scope);
        let driven = self.drive_new(graph, &scope, input, since);
        let driven = keeping.through(Box::pin(driven)).await?;
        self.answered(graph, &claim, driven).await
    }

    /// Opens the run of `scope`, and drives it.
    async fn drive_new<S: GraphState>(
        &self,
        graph: &Graph<S>,
        scope: &Scope,
        input: S::Update,
        since: Seq,
    ) -> Result<Driven<S>, GraphRunError> {
        let at = graph.position(scope)?;
        let first = at.checkpoint + 1;
        let at = graph.open(scope, at, input, self.opening(graph)).await?;
        started(scope);
        tell_of(scope, first..at.checkpoint + 1, at.step);
        self.drive(graph, scope, at, since).await
    }

    /// Goes on with the last run of a thread: after answers, after a crash, or after
    /// an update or going back. Without answers (`()`), a run that waits is reported
    /// as it is, unless the time of a question is over.
    ///
    /// Answers are JSON by the id of their question, or [`Decision`](crate::Decision)s
    /// where the question is about a step or a call; all of them are recorded, or
    /// none. Answers have to be recorded, so that [`Durability::None`] counts as
    /// [`Durability::Exit`].
    ///
    /// # Errors
    /// [`GraphRunError::Answer`] for an answer to no pending question, which names
    /// those that are; [`GraphRunError::Stands`] if the run is over; [`Halt`]s as for
    /// [`run`](Self::run), and if what is pending does not fit the graph, or the state
    /// cannot be [migrated](rustagents_graph::Migration). Nothing is written then, unless
    /// it is a graph that a node calls that does not fit.
    pub async fn resume<S: GraphState>(
        &self,
        graph: &Graph<S>,
        thread: &str,
        answers: impl Into<Decisions>,
    ) -> Result<GraphRun<S>, GraphRunError> {
        let thread = ThreadId::new(thread)?;
        let decisions = answers.into();
        self.runtime.wait_until_free(&thread).await?;
        if let Resumed::Waits = self.resumed(graph, &thread, &decisions).await?.1 {
            return self.waiting(graph, &thread).await;
        }
        let claim = self.runtime.claim(&thread).await?;
        let (view, resumed) = self.resumed(graph, &thread, &decisions).await?;
        match resumed {
            Resumed::Waits => self.waiting(graph, &thread).await,
            Resumed::Ends(answers) => {
                let ending = self.runtime.give_up_idle(&view, &answers, claim.epoch);
                ending.await?;
                Err(GraphRunError::given_up(&view))
            }
            Resumed::GoesOn(answers) => {
                let another = Another {
                    answers: &answers,
                    limits: view.limits,
                    retries: false,
                    forcing: None,
                };
                self.go_on(graph, &view, &claim, another).await
            }
        }
    }

    /// Reopens the last run of a thread, which failed, was stopped by a policy or
    /// reached a limit. Tasks of the step that ended it and were finished are not run
    /// again; neither are the finished steps of those that were not. An update before
    /// it can put right what the failure came from.
    ///
    /// What the run consumed counts towards the limits of this runner.
    ///
    /// # Errors
    /// [`GraphRunError::Stands`] if the run was completed or given up,
    /// [`GraphRunError::Waits`] and [`GraphRunError::Unfinished`] if it is not over;
    /// [`RunError::RecursionLimit`] or [`Halt::Budget`] if it would stop at a limit
    /// before its first step.
    pub async fn retry<S: GraphState>(
        &self,
        graph: &Graph<S>,
        thread: &str,
    ) -> Result<GraphRun<S>, GraphRunError> {
        let thread = ThreadId::new(thread)?;
        self.runtime.wait_until_free(&thread).await?;
        self.check_retry(graph, &self.known(&thread).await?)?;
        let claim = self.runtime.claim(&thread).await?;
        let view = self.known(&thread).await?;
        self.check_retry(graph, &view)?;
        let another = Another {
            answers: &Answers::default(),
            limits: self.limits,
            retries: true,
            forcing: None,
        };
        self.go_on(graph, &view, &claim, another).await
    }

    fn check_retry<S: GraphState>(
        &self,
        graph: &Graph<S>,
        view: &ThreadView,
    ) -> Result<(), GraphRunError> {
        refuse_success(view)?;
        let at = graph.restore(&self.reader(view))?;
        let limit = graph.recursion_limit();
        match refuse_limits(view, at.step, limit, self.limits) {
            Err(RunError::Halt(halt)) => Err(halt.into()),
            checked => Ok(checked?),
        }
    }

    /// What a resume with `decisions` does.
    async fn resumed<S: GraphState>(
        &self,
        graph: &Graph<S>,
        thread: &ThreadId,
        decisions: &Decisions,
    ) -> Result<(ThreadView, Resumed), GraphRunError> {
        let view = self.known(thread).await?;
        let answers = Answers::resolve(&view, decisions.as_slice())?;
        if let Phase::Closed(closed) = &view.phase {
            return Err(GraphRunError::over(
                &view,
                closed.status,
                "so there is nothing to go on with",
            ));
        }
        if inbox::is_asked(&view)? {
            return match inbox::still_asked(&view, &answers)? {
                Some(asks) if asks.is_empty() => Ok((view, Resumed::Ends(answers))),
                Some(_) if answers.is_empty() => Err(GraphRunError::waits(&view)),
                // It goes on until it asked, or was told, what became of the steps.
                _ => Ok((view, Resumed::GoesOn(answers))),
            };
        }
        let reader = self.reader(&view);
        let at = graph.restore(&reader)?;
        gone::check(graph, &reader, &at)?;
        let waits = answers.is_empty() && view.waits() && !view.is_due(self.runtime.now_ms());
        let resumed = if waits {
            Resumed::Waits
        } else {
            Resumed::GoesOn(answers)
        };
        Ok((view, resumed))
    }

    async fn go_on<S: GraphState>(
        &self,
        graph: &Graph<S>,
        view: &ThreadView,
        claim: &Claim,
        another: Another<'_>,
    ) -> Result<GraphRun<S>, GraphRunError> {
        let driven = self.once_more(graph, view, claim, another).await?;
        self.answered(graph, claim, driven).await
    }

    /// Goes on as long as others answered meanwhile what the run has come to wait for.
    async fn answered<S: GraphState>(
        &self,
        graph: &Graph<S>,
        claim: &Claim,
        mut driven: Driven<S>,
    ) -> Result<GraphRun<S>, GraphRunError> {
        while driven.is_answered {
            let view = self.known(&driven.run.thread).await?;
            let again = Another {
                answers: &Answers::default(),
                limits: view.limits,
                retries: false,
                forcing: None,
            };
            driven = self.once_more(graph, &view, claim, again).await?;
        }
        Ok(driven.run)
    }

    /// Begins another attempt, together with the answers, and drives it.
    async fn once_more<S: GraphState>(
        &self,
        graph: &Graph<S>,
        view: &ThreadView,
        claim: &Claim,
        another: Another<'_>,
    ) -> Result<Driven<S>, GraphRunError> {
        let watch = self.watch.clone();
        let (keeping, watch) = self.runtime.kept(&view.thread, &view.run, watch);
        let begun = self.attempt(graph, view, claim, another, watch).await?;
        let driven = async {
            begun.tell(another);
            let at = graph.restore(&begun.scope)?;
            let since = view.log().last_seq();
            self.drive(graph, &begun.scope, at, since).await
        };
        keeping.through(Box::pin(driven)).await
    }

    /// Records another attempt, with all that begins with it.
    async fn attempt<S: GraphState>(
        &self,
        graph: &Graph<S>,
        view: &ThreadView,
        claim: &Claim,
        another: Another<'_>,
        mut watch: Watch,
    ) -> Result<Begun, GraphRunError> {
        if watch.durability == Durability::None {
            watch.durability = Durability::Exit;
        }
        let attempt = view.attempts + 1;
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
                without: gone::without(&log, &view.run),
                log,
                ..self
                    .runtime
                    .shared(view.thread.clone(), claim, watch.clone())
            })
        };
        let (mut write, changed) = beginning(graph, view, another);
        let answered = Scope::root(shared(view.log().clone())?);
        let migrated = match another.forcing {
            Some(forcing) => {
                write.merge(forcing.write.clone());
                Migrated::default()
            }
            None => migrated(graph, &answered, &mut write)?,
        };
        answered.append(write).await?;
        answered.flush().await?;
        // What was just written is part of what the attempt reads.
        let log = ThreadLog::load(&*self.journal, &view.thread, &Branch::main()).await?;
        Ok(Begun {
            scope: Scope::root(shared(log)?),
            changed,
            migrated,
        })
    }

    async fn drive<S: GraphState>(
        &self,
        graph: &Graph<S>,
        scope: &Scope,
        at: Position<S>,
        since: Seq,
    ) -> Result<Driven<S>, GraphRunError> {
        let frame = Records { scope };
        let drive = Box::pin(graph.drive(scope, at, &frame));
        let drive = scope.attended(drive);
        let (end, is_asked) = inbox::heeding(scope, since, drive).await;
        // However it ended, what it did is durable before anybody hears of it.
        if !matches!(&end, Err(Halt::Journal(_))) {
            scope.flush().await?;
        }
        if is_asked && inbox::is_left(&end) {
            self.give_up_driven(scope).await?;
        }
        let end = end?;
        let run = scope.run();
        let walked = self.walked(&run.thread, &run.run).await?;
        let waits = matches!(end.outcome, Outcome::Suspended(_));
        let is_answered = waits && inbox::is_answered(scope).await?;
        let run = GraphRun {
            thread: run.thread.clone(),
            run: run.run.clone(),
            outcome: end.outcome,
            state: end.state,
            checkpoint: walked.checkpoint,
            steps: end.steps,
            visited: walked.visited,
        };
        Ok(Driven { run, is_answered })
    }

    /// Gives up the run that `scope` drove, as somebody asked, and says so; where its
    /// steps or calls are in doubt, the run stands as it is.
    async fn give_up_driven(&self, scope: &Scope) -> Result<(), GraphRunError> {
        let view = self.known(&scope.run().thread).await?;
        let none = Answers::default();
        match inbox::still_asked(&view, &none)? {
            Some(asks) if asks.is_empty() => {
                let epoch = scope.run().epoch;
                self.runtime.give_up(&view, &none, epoch).await?;
                Err(GraphRunError::given_up(&view))
            }
            _ => Ok(()),
        }
    }

    /// What opens a run of `graph`.
    fn opening<S: GraphState>(&self, graph: &Graph<S>) -> Write {
        let definition = definition(graph);
        let opened = RunOpened {
            target: Target::built(graph.name()),
            definition: definition.digest,
            limits: self.limits,
            input: None,
            queued: None,
            queue_after: 0,
        };
        let mut opening = Write::new();
        opening.content(definition);
        opening.commit(kind::RUN_OPENED, &opened);
        opening
    }

    async fn known(&self, thread: &ThreadId) -> Result<ThreadView, GraphRunError> {
        let known = ThreadView::known(&*self.journal, thread).await;
        known.map_err(|error| match error {
            RunError::UnknownThread { thread, is_empty } => {
                GraphRunError::UnknownThread { thread, is_empty }
            }
            RunError::Journal(error) => error.into(),
            error => error.into(),
        })
    }
}

/// An attempt that is recorded.
struct Begun {
    scope: Scope,
    /// The definition, where it is another one than before.
    changed: Option<Digest>,
    migrated: Migrated,
}

/// What migrations came to.
#[derive(Clone, Default)]
struct Migrated {
    /// Their checkpoints.
    checkpoints: Range<u64>,
    /// How many supersteps the run has done, before and after them.
    steps: u64,
}

impl Begun {
    /// Tells those who watch what it begins with.
    fn tell(&self, another: Another<'_>) {
        let scope = &self.scope;
        started(scope);
        gone::tell(scope, another.forcing);
        if let Some(definition) = self.changed {
            scope.emit(|| Event::DefinitionChanged { definition });
        }
        let migrated = self.migrated.clone();
        tell_of(scope, migrated.checkpoints, migrated.steps);
    }
}

/// The records with which another attempt begins, and the definition, where it is
/// another one than before.
fn beginning<S: GraphState>(
    graph: &Graph<S>,
    view: &ThreadView,
    another: Another<'_>,
) -> (Write, Option<Digest>) {
    let definition = definition(graph);
    let changed = Some(definition.digest).filter(|digest| *digest != view.definition);
    let mut write = Write::new();
    another.answers.write(&mut write);
    if changed.is_some() {
        write.content(definition);
    }
    let body = RunAttempt {
        attempt: view.attempts + 1,
        definition: changed,
        retries: another.retries,
        limits: Some(another.limits).filter(|limits| *limits != view.limits),
        forced: another.forcing.map_or_else(Vec::new, |f| f.forced.clone()),
    };
    write.commit(kind::RUN_ATTEMPT, &body);
    (write, changed)
}

/// What an attempt came to.
struct Driven<S: GraphState> {
    run: GraphRun<S>,
    /// Whether somebody answered meanwhile what the run has come to wait for.
    is_answered: bool,
}

/// What a resume does.
enum Resumed {
    /// Nothing: the run still waits.
    Waits,
    GoesOn(Answers),
    /// It closes the run, as somebody asked.
    Ends(Answers),
}

/// The records around a graph's own.
struct Records<'a> {
    scope: &'a Scope,
}

impl<S: GraphState> Frame<S> for Records<'_> {
    fn close(&self, end: &GraphEnd<S>, write: &mut Write) {
        if let Outcome::Suspended(asks) = &end.outcome {
            let asks = asks.iter().map(|ask| ask.id.clone()).collect();
            write.commit(kind::RUN_SUSPENDED, &RunSuspended { asks });
        } else {
            let spent = self.scope.run().budget.spent();
            write.commit(kind::RUN_CLOSED, &RunClosed::of(end, None, spent));
        }
    }
}

/// What the journal keeps of the graph that a run executes: its shape.
fn definition<S: GraphState>(graph: &Graph<S>) -> Content {
    let shape = serde_json::to_value(graph.topology().document()).unwrap_or_default();
    let whole = Canonical::of(&json!({ "version": 1, "graph": shape }));
    Content {
        digest: whole.digest(),
        bytes: whole.text().as_bytes().to_vec(),
    }
}

/// Adds to `write` what the state of an older program owes.
fn migrated<S: GraphState>(
    graph: &Graph<S>,
    scope: &Scope,
    write: &mut Write,
) -> Result<Migrated, Halt> {
    if graph.migrations().next().is_none() {
        return Ok(Migrated::default());
    }
    let at = graph.restore(scope)?;
    let first = at.checkpoint + 1;
    let at = graph.migrate(scope, at, write)?;
    Ok(Migrated {
        checkpoints: first..at.checkpoint + 1,
        steps: at.step,
    })
}

/// Tells those who watch of checkpoints that no superstep came to.
fn tell_of(scope: &Scope, checkpoints: Range<u64>, steps: u64) {
    for checkpoint in checkpoints {
        scope.emit(|| Event::CheckpointSaved {
            namespace: Namespace::root(),
            checkpoint,
            steps,
            is_durable: !scope.is_behind(),
        });
    }
}

fn started(scope: &Scope) {
    let (thread, attempt) = (scope.run().thread.clone(), scope.run().attempt);
    scope.emit(|| Event::RunStarted { thread, attempt });
}

fn refuse_unfinished(view: Option<ThreadView>) -> Result<(), GraphRunError> {
    let Some(view) = view else { return Ok(()) };
    match view.phase {
        Phase::Suspended => Err(GraphRunError::waits(&view)),
        Phase::Open => Err(GraphRunError::Unfinished {
            thread: view.thread,
        }),
        Phase::Closed(_) => Ok(()),
    }
}

/// Refuses what has nothing to be tried again.
fn refuse_success(view: &ThreadView) -> Result<(), GraphRunError> {
    match &view.phase {
        Phase::Suspended => Err(GraphRunError::waits(view)),
        Phase::Open => Err(GraphRunError::Unfinished {
            thread: view.thread.clone(),
        }),
        Phase::Closed(closed) => match closed.status {
            status if status.is_retried() => Ok(()),
            status => Err(GraphRunError::over(
                view,
                status,
                "so there is nothing to retry",
            )),
        },
    }
}
