//! How a thread stands and what it went through. Nothing is written.

use std::sync::Arc;

use rustagents_agent::error::RecordedError;
use rustagents_core::{
    ask::Ask,
    ids::{Branch, Namespace, NodeName, RunId, TaskId, ThreadId},
    journal::{Chain, Claim, JournalError, Select, Seq, kind},
    log::ThreadLog,
    scope::{Halt, RunShared, Scope},
};
use rustagents_graph::{
    ChildState, Graph, GraphState, KeptState, Outcome, Position,
    record::{Checkpoint, Task},
};

use super::{GraphRun, GraphRunError, GraphRunner};
use crate::{
    gone,
    inspect::{self, Moment},
    report::Status,
    threads,
    view::{Phase, ThreadView},
};

/// How many checkpoints are read at once.
const PAGE: usize = 200;

/// How a thread stands.
#[derive(Clone, Debug)]
pub struct GraphView<S: GraphState> {
    /// The thread.
    pub thread: ThreadId,
    /// Its last run.
    pub run: RunId,
    /// How the run ended, or that it waits; `None` if it did not end, and a resume
    /// goes on with it, unless somebody drives it now.
    pub status: Option<Status>,
    /// What went wrong, where the run is over for that: the code, and the message with
    /// its node.
    pub error: Option<RecordedError>,
    /// What to do about it.
    pub hint: Option<String>,
    /// The committed state. The recorded writes of finished tasks are not in it
    /// before their step is done.
    pub state: Arc<S>,
    /// The number of the last checkpoint.
    pub checkpoint: u64,
    /// How many supersteps of its own graph the run has done, without those of graphs
    /// inside; the budget counts these too.
    pub steps: u64,
    /// The nodes that run next.
    pub next: Vec<NodeName>,
    /// The questions that wait for an answer.
    pub asks: Vec<Ask>,
}

/// How a thread stands, or stood at a checkpoint, with the graphs inside its graph.
#[derive(Clone, Debug)]
pub struct GraphInside<S: GraphState> {
    /// The number of the checkpoint.
    pub checkpoint: u64,
    /// The committed state there.
    pub state: Arc<S>,
    /// The tasks that are next there.
    pub next: Vec<Task>,
    /// Where the graphs stand that these tasks run, and those inside them: each after
    /// the one around it. At an earlier checkpoint, where they stood when the thread
    /// left it. A graph whose step is over is not here, nor one that has not begun,
    /// nor one of which records were pruned, nor, where the thread has to be migrated
    /// still, one on the same state.
    pub children: Vec<ChildState>,
    /// What the nodes of the graph keep of their graphs from call to call: how the
    /// last calls ended whose steps were taken. What the graphs inside keep is with
    /// them.
    pub kept: Vec<KeptState>,
    /// Whether there are more than
    /// [`MAX_CHILDREN`](rustagents_graph::inside::MAX_CHILDREN).
    pub is_cut: bool,
}

/// Where a run went.
#[derive(Default)]
pub(super) struct Walked {
    pub(super) checkpoint: u64,
    pub(super) visited: Vec<NodeName>,
}

impl GraphRunner {
    /// How a thread stands. It may be driven meanwhile.
    ///
    /// # Errors
    /// [`GraphRunError::UnknownThread`], and what the journal says.
    pub async fn state<S: GraphState>(
        &self,
        graph: &Graph<S>,
        thread: &str,
    ) -> Result<GraphView<S>, GraphRunError> {
        let view = self.known(&ThreadId::new(thread)?).await?;
        let at = graph.position(&self.reader(&view))?;
        Ok(seen(&view, &at))
    }

    /// The state of a thread at one of its checkpoints.
    ///
    /// # Errors
    /// [`GraphRunError::Threads`]: there is no such checkpoint, or it was pruned.
    pub async fn state_at<S: GraphState>(
        &self,
        graph: &Graph<S>,
        thread: &str,
        checkpoint: u64,
    ) -> Result<Arc<S>, GraphRunError> {
        let thread = ThreadId::new(thread)?;
        self.known(&thread).await?;
        let (position, _) = self.then(graph, &thread, checkpoint).await?;
        Ok(position.state)
    }

    /// As [`state`](Self::state) or, with a checkpoint, [`state_at`](Self::state_at),
    /// with the graphs inside the graph. All of it belongs together: how the thread
    /// stands is read at once, and what stood at a checkpoint does not change.
    ///
    /// # Errors
    /// As [`state`](Self::state) and [`state_at`](Self::state_at).
    pub async fn state_inside<S: GraphState>(
        &self,
        graph: &Graph<S>,
        thread: &str,
        checkpoint: Option<u64>,
    ) -> Result<GraphInside<S>, GraphRunError> {
        let thread = ThreadId::new(thread)?;
        let view = self.known(&thread).await?;
        let Some(number) = checkpoint else {
            let scope = self.reader(&view);
            return Ok(inside(graph, &scope, graph.position(&scope)?, Some(&view))?);
        };
        let (at, log) = self.then(graph, &thread, number).await?;
        let log = match left(&log, number)? {
            Some(seq) => log.before(seq),
            None => log,
        };
        let scope = self.reading(&thread, view.run, log.clone());
        Ok(inside(
            graph,
            &scope,
            at,
            ThreadView::of(&thread, log)?.as_ref(),
        )?)
    }

    /// The newest `limit` checkpoints of a thread, the oldest of them first.
    ///
    /// # Errors
    /// Whatever the journal says.
    pub async fn history(&self, thread: &str, limit: usize) -> Result<Vec<Moment>, GraphRunError> {
        self.moments(thread, limit, None).await
    }

    /// The newest `limit` checkpoints of a thread below number `before`, the oldest of
    /// them first: the page before one that begins there.
    ///
    /// # Errors
    /// Whatever the journal says.
    pub async fn history_before(
        &self,
        thread: &str,
        limit: usize,
        before: u64,
    ) -> Result<Vec<Moment>, GraphRunError> {
        self.moments(thread, limit, Some(before)).await
    }

    async fn moments(
        &self,
        thread: &str,
        limit: usize,
        before: Option<u64>,
    ) -> Result<Vec<Moment>, GraphRunError> {
        let thread = ThreadId::new(thread)?;
        self.known(&thread).await?;
        Ok(inspect::history(&*self.journal, &thread, limit, before).await?)
    }

    /// Where the graph stood at a checkpoint, and the whole log behind it.
    pub(super) async fn then<S: GraphState>(
        &self,
        graph: &Graph<S>,
        thread: &ThreadId,
        number: u64,
    ) -> Result<(Position<S>, ThreadLog), GraphRunError> {
        let log = ThreadLog::load_whole(&*self.journal, thread).await?;
        let mut numbers = Vec::new();
        let mut found = None;
        let root = log.commits(&Branch::main(), &Namespace::root());
        for record in root.filter(|record| record.is(kind::CHECKPOINT)) {
            let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT)?;
            numbers.push(checkpoint.checkpoint);
            if checkpoint.checkpoint == number {
                found = Some(checkpoint);
            }
        }
        let Some(checkpoint) = found else {
            return Err(threads::ThreadsError::UnknownCheckpoint {
                thread: thread.clone(),
                checkpoint: number,
                known: numbers.first().copied().zip(numbers.last().copied()),
            }
            .into());
        };
        let state = threads::snapshot_at(&*self.journal, thread, Some(number)).await?;
        let find = &mut |id: &_| log.message(id);
        let position = graph.position_at(checkpoint, &state, find)?;
        Ok((position, log))
    }

    /// A scope that reads the thread of `view`, and can write nothing.
    pub(super) fn reader(&self, view: &ThreadView) -> Scope {
        self.reading(&view.thread, view.run.clone(), view.log().clone())
    }

    fn reading(&self, thread: &ThreadId, run: RunId, log: ThreadLog) -> Scope {
        let nobody = Claim::new(0, ());
        Scope::root(RunShared {
            without: gone::without(&log, &run),
            run,
            log,
            ..self
                .runtime
                .shared(thread.clone(), &nobody, self.watch.clone())
        })
    }

    /// A run that waits, as it is.
    pub(super) async fn waiting<S: GraphState>(
        &self,
        graph: &Graph<S>,
        thread: &ThreadId,
    ) -> Result<GraphRun<S>, GraphRunError> {
        let view = self.known(thread).await?;
        let at = graph.position(&self.reader(&view))?;
        let walked = self.walked(thread, &view.run).await?;
        Ok(GraphRun {
            outcome: Outcome::Suspended(view.pending().cloned().collect()),
            thread: view.thread,
            run: view.run,
            state: at.state,
            checkpoint: at.checkpoint,
            steps: at.step,
            visited: walked.visited,
        })
    }

    /// Where a run went, by its checkpoints.
    pub(super) async fn walked(
        &self,
        thread: &ThreadId,
        run: &RunId,
    ) -> Result<Walked, JournalError> {
        let root = Chain {
            branch: Branch::main(),
            namespace: Namespace::root(),
        };
        let select = Select::all().on(root).of(kind::CHECKPOINT).newest_first();
        let (mut walked, mut before) = (Walked::default(), None);
        'pages: loop {
            let select = select.clone().limit(PAGE);
            let select = match before {
                Some(before) => select.before(before),
                None => select,
            };
            let page = self.journal.read(thread, select).await?;
            for record in &page {
                if record.run != *run {
                    break 'pages;
                }
                let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT)?;
                walked.checkpoint = walked.checkpoint.max(checkpoint.checkpoint);
                let done = checkpoint.done.iter().rev();
                walked.visited.extend(done.map(TaskId::node));
            }
            before = page.last().map(|record| record.seq);
            if page.len() < PAGE {
                break;
            }
        }
        walked.visited.reverse();
        Ok(walked)
    }
}

/// Where the first checkpoint of the thread after `number` stands, if there is one.
fn left(log: &ThreadLog, number: u64) -> Result<Option<Seq>, JournalError> {
    let root = log.commits(&Branch::main(), &Namespace::root());
    for record in root.filter(|record| record.is(kind::CHECKPOINT)) {
        let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT)?;
        if checkpoint.checkpoint > number {
            return Ok(Some(record.seq));
        }
    }
    Ok(None)
}

/// What stands at `at`, with the graphs inside; `view` knows the questions.
fn inside<S: GraphState>(
    graph: &Graph<S>,
    scope: &Scope,
    at: Position<S>,
    view: Option<&ThreadView>,
) -> Result<GraphInside<S>, Halt> {
    let asks = view.into_iter().flat_map(ThreadView::pending);
    let asker = |ask: &Ask| {
        let namespace = scope.fact(&ask.key()).map(|record| &record.chain.namespace);
        let own = namespace.filter(|namespace| !namespace.is_root());
        own.map_or_else(|| ask.id.to_string(), ToString::to_string)
    };
    let asks: Vec<_> = asks.map(|ask| (asker(ask), ask)).collect();
    let kept = graph.kept(scope, &at)?;
    let children = graph.children(scope, &at)?;
    let children = children.asking(asks.iter().map(|(asker, ask)| (asker.as_str(), *ask)));
    Ok(GraphInside {
        checkpoint: at.checkpoint,
        state: at.state,
        next: at.pending.next,
        kept,
        is_cut: children.is_cut(),
        children: children.into_found(),
    })
}

/// What `view` says, at `at`.
pub(super) fn seen<S: GraphState>(view: &ThreadView, at: &Position<S>) -> GraphView<S> {
    let closed = match &view.phase {
        Phase::Closed(closed) => Some(closed),
        Phase::Suspended | Phase::Open => None,
    };
    GraphView {
        thread: view.thread.clone(),
        run: view.run.clone(),
        status: match &view.phase {
            Phase::Closed(closed) => Some(closed.status),
            Phase::Suspended => Some(Status::Suspended),
            Phase::Open => None,
        },
        error: closed.and_then(|closed| closed.error.clone()),
        hint: closed.and_then(|closed| closed.hint.clone()),
        state: Arc::clone(&at.state),
        checkpoint: at.checkpoint,
        steps: at.step,
        next: at.tasks().iter().map(|task| task.node.clone()).collect(),
        asks: view.pending().cloned().collect(),
    }
}
