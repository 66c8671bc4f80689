//! Goes back to an earlier checkpoint of a thread. Records are only added.

use rustagents_core::{
    budget::{Budget, Spent},
    ids::{CallId, NodeName, RunId, ThreadId},
    journal::{Claim, Journal, JournalError, kind},
    scope::{RunShared, Scope, Write},
};
use rustagents_graph::{
    Position,
    record::{self, Checkpoint, Snapshot, Source},
};
use serde_json::Value;

use super::{
    ThreadsError,
    error::Again,
    fork::repeated,
    known, state,
    survey::{Point, Survey},
};
use crate::{
    ledger,
    program::Program,
    record::{RunClosed, RunOpened, Target},
    report::Report,
    runs::{RunError, Runtime, Start, Watch, check_input, refuse_doubt, refuse_other},
    view::{Phase, ThreadView},
};

/// Where a thread goes back to.
#[derive(Clone, Debug)]
pub struct Rewind {
    /// The thread.
    pub thread: ThreadId,
    /// The checkpoint.
    pub checkpoint: u64,
    /// Where the plan of the new run comes from; from where that of the checkpoint's
    /// run did, unless given.
    pub target: Option<Target>,
    /// Whether calls that change something may come to be made again.
    pub repeats: bool,
}

/// What going back came to.
#[derive(Clone, Debug)]
pub struct Rewound {
    /// The thread.
    pub thread: ThreadId,
    /// The new run.
    pub run: RunId,
    /// The checkpoint to which the thread went back.
    pub from: u64,
    /// The checkpoint with the same state at which the new run begins.
    pub checkpoint: u64,
    /// The run that was given up for it, where one was not over.
    pub cancelled: Option<RunId>,
    /// The calls that change something and stood behind the checkpoint, each with
    /// its tool: they may be made once more.
    pub repeats: Vec<(CallId, String)>,
    /// What calls of the run that was given up had started, in the calls' own words:
    /// it may still be at work.
    pub started: Vec<(CallId, Value)>,
    /// The nodes that a resume runs. None: the new run is over, and the thread takes
    /// a new input.
    pub next: Vec<NodeName>,
}

/// What becomes of the tasks that are pending at the checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    /// A resume runs them.
    Kept,
    /// The new run is over at once, so that the thread takes an input.
    Dropped,
    /// The same, and there is no checkpoint: the thread is as before its first input.
    NotYet,
}

/// What going back needs to know of a thread.
struct Past {
    view: ThreadView,
    opened: RunOpened,
    checkpoint: Checkpoint,
    state: Snapshot,
    repeats: Vec<(CallId, String)>,
}

impl Runtime {
    /// Goes back to a checkpoint of a thread: gives up its last run, where that is
    /// not over, and opens another one with the state and the tasks of the
    /// checkpoint. All that followed it runs anew, once the thread is resumed.
    ///
    /// # Errors
    /// [`RunError`], and nothing is written: [`ThreadsError::WouldRepeat`] if calls
    /// that change something stand behind the checkpoint and [`Rewind::repeats`] does
    /// not say so; [`RunError::InDoubt`] if one of the last run may have taken effect;
    /// [`ThreadsError::UnknownCheckpoint`]; [`RunError::Stands`] where the thread is
    /// there already; a pending node is not in the program; somebody drives the thread.
    pub async fn rewind(&self, program: &Program, rewind: Rewind) -> Result<Rewound, RunError> {
        self.rewind_run(program, rewind, None).await
    }

    /// Opens a run on an input with the state of an earlier checkpoint of its thread,
    /// and drives it. What went on from the checkpoint stays in the log. First it goes
    /// back there, as [`rewind`](Self::rewind) does, but what was pending there does not
    /// run; where the thread stands there and is over, there is nothing to go back. A
    /// crash before the run is opened leaves the thread over, with that state.
    ///
    /// `start.thread` is that of `from`.
    ///
    /// # Errors
    /// As [`rewind`](Self::rewind) and [`start`](Self::start). An input that does not
    /// fit the plan is refused before anything is written.
    pub async fn start_at(
        &self,
        program: &Program,
        start: Start,
        from: Rewind,
        watch: Watch,
    ) -> Result<(Option<Rewound>, Report), RunError> {
        check_input(program, &start)?;
        let thread = Some(from.thread.clone());
        let rewound = match self.turn_back(program, from, None, Pending::Dropped).await {
            Ok(rewound) => Some(rewound),
            Err(RunError::Stands { .. }) => None,
            Err(error) => return Err(error),
        };
        let start = Start { thread, ..start };
        let report = self.start(program, start, watch).await?;
        Ok((rewound, report))
    }

    /// Goes back, unless the last run of the thread is another one than `only`.
    pub(crate) async fn rewind_run(
        &self,
        program: &Program,
        rewind: Rewind,
        only: Option<&RunId>,
    ) -> Result<Rewound, RunError> {
        self.turn_back(program, rewind, only, Pending::Kept).await
    }

    /// Goes back to before the first input of a thread, unless its last run is another
    /// one than `only`: the state is empty, and a new input is the first.
    pub(crate) async fn rewind_whole(
        &self,
        program: &Program,
        thread: &ThreadId,
        only: &RunId,
    ) -> Result<Rewound, RunError> {
        let rewind = Rewind {
            thread: thread.clone(),
            checkpoint: 0,
            target: None,
            repeats: true,
        };
        self.turn_back(program, rewind, Some(only), Pending::NotYet)
            .await
    }

    async fn turn_back(
        &self,
        program: &Program,
        rewind: Rewind,
        only: Option<&RunId>,
        pending: Pending,
    ) -> Result<Rewound, RunError> {
        let thread = &rewind.thread;
        self.wait_until_free(thread).await?;
        let past = self.past(&rewind, pending).await?;
        self.turned(program, &rewind, &past, &Claim::new(0, ()), pending)?;
        let claim = self.claim(thread).await?;
        let past = self.past(&rewind, pending).await?;
        refuse_other(&past.view, only)?;
        let (scope, at, write) = self.turned(program, &rewind, &past, &claim, pending)?;
        scope.append(write).await?;
        let is_open = !matches!(past.view.phase, Phase::Closed(_));
        Ok(Rewound {
            run: scope.run().run.clone(),
            from: rewind.checkpoint,
            checkpoint: at.checkpoint,
            started: if is_open {
                past.view.started()?
            } else {
                Vec::new()
            },
            cancelled: is_open.then_some(past.view.run),
            repeats: past.repeats,
            next: at.tasks().iter().map(|task| task.node.clone()).collect(),
            thread: rewind.thread,
        })
    }

    async fn past(&self, rewind: &Rewind, pending: Pending) -> Result<Past, RunError> {
        let (journal, thread) = (self.journal(), &rewind.thread);
        let view = self.known(thread).await?;
        let survey = Survey::of(journal, thread).await?;
        if !matches!(view.phase, Phase::Closed(_)) {
            refuse_doubt(&view, view.in_doubt()?)?;
        }
        if pending == Pending::NotYet {
            let state = state::snapshot(journal, thread, &survey, view.log(), 0).await?;
            return Ok(Past {
                checkpoint: unbegun(),
                opened: view.opened.clone(),
                repeats: survey.begun_after(0),
                view,
                state,
            });
        }
        let point = survey.point(thread, rewind.checkpoint)?;
        refuse_the_end(&view, &survey, point)?;
        let cut = survey.cut(point);
        let record = state::record(journal, thread, point.row.seq).await?;
        let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT)?;
        let calls = survey.begun_since(cut, &checkpoint.pending);
        let repeats = repeated(calls, thread, rewind.repeats, Again::Rewind)?;
        let snapshot = state::snapshot(journal, thread, &survey, view.log(), rewind.checkpoint);
        let state = snapshot.await?;
        let opened = opening(journal, thread, &survey, point).await?;
        Ok(Past {
            checkpoint,
            opened: opened.unwrap_or_else(|| view.opened.clone()),
            view,
            state,
            repeats,
        })
    }

    /// What is to be written, by whom, and where the graph stands then.
    fn turned(
        &self,
        program: &Program,
        rewind: &Rewind,
        past: &Past,
        claim: &Claim,
        pending: Pending,
    ) -> Result<(Scope, Position, Write), RunError> {
        let (view, graph) = (&past.view, program.graph());
        let opened = RunOpened {
            target: rewind
                .target
                .clone()
                .unwrap_or_else(|| past.opened.target.clone()),
            definition: program.definition().digest(),
            queued: None,
            ..past.opened.clone()
        };
        let scope = Scope::root(RunShared {
            run: self.fresh_run(),
            input: opened.input.clone(),
            log: view.log().clone(),
            budget: Budget::resumed(opened.limits, Spent::default()),
            ..self.shared(view.thread.clone(), claim, Watch::default())
        });
        let at = graph.position(&scope)?;
        let find = &mut |id: &_| view.log().message(id);
        let mut checkpoint = past.checkpoint.clone();
        if pending == Pending::Dropped {
            checkpoint.pending = record::Pending::default();
        }
        let then = graph.position_at(checkpoint, &past.state, find)?;
        let mut write = Write::new();
        if !matches!(view.phase, Phase::Closed(_)) {
            let closed = RunClosed::cancelled(ledger::spent(view.log(), &view.run)?);
            write.commit_of(view.run.clone(), view.attempts, kind::RUN_CLOSED, &closed);
        }
        write.content(program.definition().content());
        write.commit(kind::RUN_OPENED, &opened);
        let at = graph.rewind(&scope, &at, then, &mut write)?;
        if at.tasks().is_empty() {
            let conversation = program.conversation();
            let output = conversation.and_then(|channel| at.state.last_answer(channel));
            write.commit(kind::RUN_CLOSED, &RunClosed::idle(output));
        }
        Ok((scope, at, write))
    }
}

/// What opened the run of a checkpoint; `None` where that is not recorded any more.
///
/// # Errors
/// [`ThreadsError::UnknownCheckpoint`], and what the journal says.
pub async fn opened_at(
    journal: &dyn Journal,
    thread: &ThreadId,
    checkpoint: u64,
) -> Result<Option<RunOpened>, ThreadsError> {
    known(journal, thread).await?;
    let survey = Survey::of(journal, thread).await?;
    let point = survey.point(thread, checkpoint)?;
    Ok(opening(journal, thread, &survey, point).await?)
}

async fn opening(
    journal: &dyn Journal,
    thread: &ThreadId,
    survey: &Survey,
    point: Point<'_>,
) -> Result<Option<RunOpened>, JournalError> {
    let Some(row) = survey.opened(&point.row.run) else {
        return Ok(None);
    };
    let record = state::record(journal, thread, row.seq).await?;
    record.decode(kind::RUN_OPENED).map(Some)
}

/// What stands for a checkpoint before the first one.
fn unbegun() -> Checkpoint {
    Checkpoint {
        checkpoint: 0,
        step: 0,
        source: Source::Input,
        from: None,
        base: None,
        deltas: Vec::new(),
        writes: Vec::new(),
        untracked: Vec::new(),
        done: Vec::new(),
        kept: std::collections::BTreeMap::new(),
        migrations: Vec::new(),
        pending: record::Pending::default(),
    }
}

/// Refuses to go where the thread stands already, with nothing left to do.
fn refuse_the_end(view: &ThreadView, survey: &Survey, point: Point<'_>) -> Result<(), RunError> {
    let last = survey.points().next_back();
    let is_there = last.is_some_and(|last| last.row.seq == point.row.seq);
    if !(is_there && point.mark.is_last && matches!(view.phase, Phase::Closed(_))) {
        return Ok(());
    }
    let thread = &view.thread;
    Err(RunError::Stands {
        stands: format!("is over, and stands at checkpoint {}", point.mark.number),
        thread: thread.clone(),
        hint: format!(
            "name an earlier checkpoint, as `rag threads history {thread}` shows them, or give \
             it a new input"
        ),
    })
}
