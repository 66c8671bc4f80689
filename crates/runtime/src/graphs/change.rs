//! Changing where a thread stands: updates of its state, going back, giving up.

use rustagents_core::{
    budget::{Budget, Spent},
    ids::{AskId, Branch, Namespace, ThreadId},
    journal::{Claim, JournalError, Seq, kind},
    log::ThreadLog,
    recorder::Durability,
    scope::{RunShared, Scope, Write},
};
use rustagents_graph::{
    END, Edit, Graph, GraphState, Position,
    record::{Checkpoint, Pending},
};

use super::{Decisions, GraphRunError, GraphRunner, GraphView, look};
use crate::{
    answers::Answers,
    doubt::{self, Tasks},
    gone,
    inbox::{Answered, CancelRequest},
    ledger,
    record::{RunClosed, RunSuspended},
    report::Status,
    runs::Watch,
    view::{Phase, ThreadView},
};

impl GraphRunner {
    /// Changes the state of a thread, one checkpoint for each of `edits`: all of them
    /// or none. How its last run stands stays as it is, unless an edit acts as a node;
    /// then [`resume`](Self::resume) goes on with what follows the node.
    ///
    /// # Errors
    /// [`GraphRunError::Input`]: an edit does not fit the graph;
    /// [`GraphRunError::Stands`]: it acts as a node of a run that is over;
    /// [`GraphRunError::InDoubt`]: it acts in the place of a step or call that may
    /// have taken effect.
    pub async fn update<S: GraphState>(
        &self,
        graph: &Graph<S>,
        thread: &str,
        edits: impl IntoIterator<Item = Edit<S>>,
    ) -> Result<GraphView<S>, GraphRunError> {
        let edits = edits.into_iter().collect();
        self.update_with(graph, thread, |_| edits).await
    }

    /// As [`update`](Self::update), with edits that need ids for their messages:
    /// [`Scope::mint_message`] makes them.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub async fn update_with<S: GraphState>(
        &self,
        graph: &Graph<S>,
        thread: &str,
        edits: impl FnOnce(&Scope) -> Vec<Edit<S>>,
    ) -> Result<GraphView<S>, GraphRunError> {
        let thread = ThreadId::new(thread)?;
        self.runtime.wait_until_free(&thread).await?;
        self.known(&thread).await?;
        let claim = self.runtime.claim(&thread).await?;
        let view = self.known(&thread).await?;
        let scope = self.writer(&view, &claim);
        let at = graph.position(&scope)?;
        let edits = edits(&scope);
        let acts = edits.iter().any(|edit| edit.actor().is_some());
        if acts {
            refuse_acting(&view, &at, &edits)?;
        }
        let mut write = Write::new();
        if !edits.is_empty() {
            let at = graph.migrate(&scope, at, &mut write)?;
            if !write.is_empty() {
                stands_as_before(&view, false, &mut write);
            }
            graph.update(&scope, at, edits, &mut write)?;
            stands_as_before(&view, acts, &mut write);
        }
        scope.append(write).await?;
        let view = self.known(&thread).await?;
        let at = graph.position(&self.reader(&view))?;
        Ok(look::seen(&view, &at))
    }

    /// Goes back to a checkpoint: gives up the last run, where that is not over, and
    /// opens another one with the state and the tasks of the checkpoint. No record
    /// changes. [`resume`](Self::resume) then runs all that followed anew.
    ///
    /// # Errors
    /// [`GraphRunError::Threads`]: there is no such checkpoint;
    /// [`GraphRunError::WouldRepeat`]: steps or calls that must not run twice stand
    /// behind it.
    pub async fn rewind<S: GraphState>(
        &self,
        graph: &Graph<S>,
        thread: &str,
        checkpoint: u64,
    ) -> Result<GraphView<S>, GraphRunError> {
        self.back(graph, thread, checkpoint, false).await
    }

    /// As [`rewind`](Self::rewind), also where steps or calls that must not run twice
    /// may come to do so.
    ///
    /// # Errors
    /// As [`rewind`](Self::rewind).
    pub async fn rewind_and_repeat<S: GraphState>(
        &self,
        graph: &Graph<S>,
        thread: &str,
        checkpoint: u64,
    ) -> Result<GraphView<S>, GraphRunError> {
        self.back(graph, thread, checkpoint, true).await
    }

    /// Gives up the last run of a thread: it is closed as cancelled, and what it
    /// asked is void. The thread takes a new input. A run that is over stays as it is.
    ///
    /// # Errors
    /// [`GraphRunError::InDoubt`]: a step or call of it may have taken effect.
    pub async fn cancel(&self, thread: &str) -> Result<(), GraphRunError> {
        let thread = ThreadId::new(thread)?;
        self.runtime.wait_until_free(&thread).await?;
        let view = self.known(&thread).await?;
        if matches!(view.phase, Phase::Closed(_)) {
            return Ok(());
        }
        refuse_doubt(&view, |_| true)?;
        let claim = self.runtime.claim(&thread).await?;
        let view = self.known(&thread).await?;
        if matches!(view.phase, Phase::Closed(_)) {
            return Ok(());
        }
        refuse_doubt(&view, |_| true)?;
        let none = Answers::default();
        let ending = self.runtime.give_up_idle(&view, &none, claim.epoch);
        ending.await?;
        Ok(())
    }

    /// Asks whoever drives the last run of a thread to give it up, as
    /// [`Runtime::request_cancel`](crate::Runtime::request_cancel) does. A runner that
    /// is asked ends with [`GraphRunError::Stands`], and so does the next resume where
    /// nobody was there to be asked.
    ///
    /// # Errors
    /// [`RunError::Stands`](crate::RunError::Stands) if the run is over.
    pub async fn request_cancel(
        &self,
        thread: &str,
        reason: Option<&str>,
    ) -> Result<CancelRequest, GraphRunError> {
        let thread = ThreadId::new(thread)?;
        Ok(self.runtime.request_cancel(&thread, reason).await?)
    }

    /// Records answers for a run that somebody else drives, as
    /// [`Runtime::answer`](crate::Runtime::answer) does. Who drives it goes on with
    /// them once the run would wait. Questions of agents can be answered while other
    /// tasks work; those that a node asks are told when the run comes to wait.
    ///
    /// # Errors
    /// [`GraphRunError::Run`]: nothing pending takes such an answer.
    pub async fn answer(
        &self,
        thread: &str,
        answers: impl Into<Decisions>,
    ) -> Result<Answered, GraphRunError> {
        let thread = ThreadId::new(thread)?;
        let decisions = answers.into();
        let answered = self.runtime.answer(&thread, decisions.as_slice());
        Ok(answered.await?)
    }

    async fn back<S: GraphState>(
        &self,
        graph: &Graph<S>,
        thread: &str,
        checkpoint: u64,
        repeats: bool,
    ) -> Result<GraphView<S>, GraphRunError> {
        let thread = ThreadId::new(thread)?;
        self.runtime.wait_until_free(&thread).await?;
        self.known(&thread).await?;
        let claim = self.runtime.claim(&thread).await?;
        let view = self.known(&thread).await?;
        let at = graph.position(&self.reader(&view))?;
        let (then, log) = self.then(graph, &thread, checkpoint).await?;
        if !repeats {
            refuse_repeats(&view, &log, checkpoint)?;
        }
        let scope = Scope::root(RunShared {
            run: self.runtime.fresh_run(),
            log,
            budget: Budget::resumed(self.limits, Spent::default()),
            ..self.runtime.shared(thread.clone(), &claim, self.recorded())
        });
        let mut write = Write::new();
        if !matches!(view.phase, Phase::Closed(_)) {
            let closed = RunClosed::cancelled(ledger::spent(view.log(), &view.run)?);
            write.commit_of(view.run.clone(), view.attempts, kind::RUN_CLOSED, &closed);
        }
        write.merge(self.opening(graph));
        let at = graph.rewind(&scope, &at, then, &mut write)?;
        if at.tasks().is_empty() {
            let closed = RunClosed {
                status: Status::Completed,
                ..RunClosed::cancelled(Spent::default())
            };
            write.commit(kind::RUN_CLOSED, &closed);
        }
        scope.append(write).await?;
        let view = self.known(&thread).await?;
        let at = graph.position(&self.reader(&view))?;
        Ok(look::seen(&view, &at))
    }

    /// The scope of a run that is changed from outside.
    fn writer(&self, view: &ThreadView, claim: &Claim) -> Scope {
        Scope::root(RunShared {
            run: view.run.clone(),
            attempt: view.attempts,
            log: view.log().clone(),
            without: gone::without(view.log(), &view.run),
            budget: Budget::resumed(view.limits, Spent::default()),
            ..self
                .runtime
                .shared(view.thread.clone(), claim, self.recorded())
        })
    }

    /// The watch for what nobody drives: it is durable before anybody hears of it.
    fn recorded(&self) -> Watch {
        Watch {
            durability: Durability::Sync,
            ..self.watch.clone()
        }
    }
}

/// Refuses to act as a node where nothing would follow, or where it would make an
/// effect be forgotten.
fn refuse_acting<S: GraphState>(
    view: &ThreadView,
    at: &Position<S>,
    edits: &[Edit<S>],
) -> Result<(), GraphRunError> {
    if let Phase::Closed(closed) = &view.phase {
        return Err(GraphRunError::over(
            view,
            closed.status,
            "so no update can act as a node of it",
        ));
    }
    let acts_as = |node: &str| {
        let mut actors = edits.iter().filter_map(Edit::actor);
        actors.any(|actor| actor.as_str() == END || actor.as_str() == node)
    };
    let tasks = at.pending.next.iter().chain(&at.pending.deferred);
    let replaced: Tasks<'_> = tasks.filter(|task| acts_as(task.node.as_str())).collect();
    refuse_doubt(view, |namespace| replaced.hold(namespace))
}

/// Refuses to forget an effect at a place that `is_lost`.
fn refuse_doubt(view: &ThreadView, is_lost: impl Fn(&str) -> bool) -> Result<(), GraphRunError> {
    let doubted = doubt::doubted(view)?.into_iter();
    let lost = doubted.filter(|doubted| is_lost(doubted.namespace.as_str()));
    let effects: Vec<_> = lost.map(|doubted| doubted.to_string()).collect();
    if effects.is_empty() {
        return Ok(());
    }
    Err(GraphRunError::InDoubt {
        thread: view.thread.clone(),
        effects,
    })
}

/// Says once more how the run stands, behind the checkpoints: the last record says it.
fn stands_as_before(view: &ThreadView, acts: bool, write: &mut Write) {
    match &view.phase {
        Phase::Closed(closed) => {
            write.commit(kind::RUN_CLOSED, closed);
        }
        Phase::Suspended if !acts => {
            let asks: Vec<AskId> = view.pending().map(|ask| ask.id.clone()).collect();
            write.commit(kind::RUN_SUSPENDED, &RunSuspended { asks });
        }
        _ => {}
    }
}

/// Where a checkpoint stands, and what is left to do there.
fn standing(log: &ThreadLog, number: u64) -> Result<Option<(Seq, Pending)>, JournalError> {
    let mut found = None;
    let root = log.commits(&Branch::main(), &Namespace::root());
    for record in root.filter(|record| record.is(kind::CHECKPOINT)) {
        let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT)?;
        if checkpoint.checkpoint == number {
            found = Some((record.seq, checkpoint.pending));
        }
    }
    Ok(found)
}

/// Refuses to go back behind effects that must not be repeated, or to tasks that had
/// some before the checkpoint. Those of an open run that were lost are among them.
fn refuse_repeats(
    view: &ThreadView,
    log: &ThreadLog,
    checkpoint: u64,
) -> Result<(), GraphRunError> {
    let Some((at, pending)) = standing(log, checkpoint)? else {
        return Ok(());
    };
    let tasks = Tasks::of(&pending);
    let mut effects = Vec::new();
    for record in log.records() {
        if record.seq > at || tasks.hold(record.chain.namespace.as_str()) {
            effects.extend(doubt::effect(record)?);
        }
    }
    if effects.is_empty() {
        return Ok(());
    }
    effects.sort();
    effects.dedup();
    Err(GraphRunError::WouldRepeat {
        thread: view.thread.clone(),
        effects,
    })
}
