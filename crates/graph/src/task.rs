//! One task while it runs: an ask suspends it, whatever its node makes of that.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    thread,
};

use futures::{FutureExt, future::CatchUnwind};
use rustagents_core::{BoxFuture, scope::Halt};

use crate::{
    effect::{Asked, Running},
    node::{Node, NodeError, NodeOutput, TaskContext},
    state::GraphState,
};

/// How a task ended.
pub(crate) enum TaskEnd<S: GraphState> {
    Done(NodeOutput<S>),
    Suspended(Asked),
    Failed(NodeError),
}

/// What a node at work comes to.
type Ended<S> = Result<NodeOutput<S>, NodeError>;

/// Polls a node, and what it has at work beside it; catches its panics, and looks
/// for unanswered questions after each poll.
///
/// Steps are polled to their end, whether the node waits for them, forgot them,
/// asked, failed or returned. What it spawned is dropped when it is over, or asks.
pub(crate) struct TaskFuture<'a, S: GraphState> {
    node: CatchUnwind<AssertUnwindSafe<BoxFuture<'a, Ended<S>>>>,
    context: TaskContext,
    running: Option<Box<Running>>,
    ended: Option<thread::Result<Ended<S>>>,
    /// The node is not polled any more, and what it came to does not count.
    stops: bool,
    /// Completes when the run is cancelled, for a node that does not look itself.
    cancelled: Option<BoxFuture<'static, ()>>,
    looks_itself: bool,
}

impl<S: GraphState> Unpin for TaskFuture<'_, S> {}

impl<'a, S: GraphState> TaskFuture<'a, S> {
    pub(crate) fn new(node: &'a dyn Node<S>, state: Arc<S>, context: TaskContext) -> Self {
        let called = AssertUnwindSafe(|| node.run(state, context.clone()));
        let run = context.inside(|| catch_unwind(called));
        // What panics before it has a future panics as one.
        let run = run.unwrap_or_else(|panic| Box::pin(async move { resume_unwind(panic) }));
        Self {
            node: AssertUnwindSafe(run).catch_unwind(),
            context,
            running: None,
            ended: None,
            stops: false,
            cancelled: None,
            looks_itself: node.stops_itself(),
        }
    }

    /// Ends the node where it is, and the graphs that it runs, once its steps in
    /// flight have ended, and what must not be dropped inside. Says why the run stops,
    /// if it does meanwhile.
    pub(crate) async fn cut(&mut self) -> Option<Halt> {
        self.context.scope().end_time();
        (&mut *self).await;
        let ended = match &self.ended {
            Some(Ok(Err(NodeError::Halt(halt)))) => Some(halt.clone()),
            _ => None,
        };
        let stopped = self.context.stopped().err().or(ended);
        stopped.filter(|halt| match halt {
            // The end of its time cancels what is inside, too.
            Halt::Cancelled => self.context.scope().run().cancel.is_cancelled(),
            halt => matches!(halt, Halt::Journal(_)),
        })
    }

    /// Stops a node that waits, once the run is cancelled.
    fn poll_cancelled(&mut self, cx: &mut Context<'_>) {
        if self.looks_itself || self.stops || self.ended.is_some() {
            return;
        }
        let cancelled = self.cancelled.get_or_insert_with(|| {
            let cancel = self.context.scope().run().cancel.clone();
            Box::pin(cancel.cancelled_owned())
        });
        if cancelled.poll_unpin(cx).is_ready() {
            self.context.halt(Halt::Cancelled);
        }
    }

    /// What the node came to, if it did in this poll.
    fn poll_node(&mut self, cx: &mut Context<'_>) -> Option<thread::Result<Ended<S>>> {
        if self.stops || self.ended.is_some() {
            return None;
        }
        match self.context.inside(|| self.node.poll_unpin(cx)) {
            Poll::Ready(ended) => Some(ended),
            Poll::Pending => None,
        }
    }

    /// Polls what is at work until it began nothing new, and says whether steps are
    /// in flight.
    fn poll_work(&mut self, cx: &mut Context<'_>) -> bool {
        let mut standing = self.context.standing();
        loop {
            self.stops = standing.stops;
            if let Some(began) = standing.began {
                self.running.get_or_insert_default().extend(began);
            }
            let Some(running) = &mut self.running else {
                return false;
            };
            if self.stops || self.ended.is_some() {
                running.cancel_spawned();
            }
            running.poll(&self.context, cx);
            standing = self.context.standing();
            if standing.began.is_none() && standing.stops == self.stops {
                return running.has_steps();
            }
        }
    }
}

/// After the task had its time, or one around it.
impl<S: GraphState> TaskFuture<'_, S> {
    /// Polls what is in flight to its end, and drops the rest.
    fn poll_cut(&mut self, cx: &mut Context<'_>) -> Poll<TaskEnd<S>> {
        self.poll_cancelled(cx);
        if let Some(began) = self.context.standing().began {
            self.running.get_or_insert_default().extend(began);
        }
        if self.running.as_deref().is_some_and(Running::has_graphs) {
            self.context.note_cut_graph();
        }
        if self.is_settled(cx) {
            self.drop_rest();
        }
        if let Some(running) = &mut self.running {
            running.poll_steps(cx);
        }
        if !self.is_settled(cx) {
            self.poll_inside(cx);
            if !self.is_settled(cx) {
                return Poll::Pending;
            }
        }
        self.drop_rest();
        if self.running.as_deref().is_some_and(Running::has_steps) {
            return Poll::Pending;
        }
        Poll::Ready(TaskEnd::Failed(NodeError::Halt(Halt::Cancelled)))
    }

    /// Whether nothing inside the task must be waited for.
    fn is_settled(&self, cx: &Context<'_>) -> bool {
        self.context.scope().poll_settled(cx).is_ready()
    }

    /// Polls the node, and what it spawned, where something is in flight in these.
    fn poll_inside(&mut self, cx: &mut Context<'_>) {
        if self.context.scope().is_node_settled() {
            return;
        }
        if self.ended.is_none() {
            self.ended = match self.context.inside(|| self.node.poll_unpin(cx)) {
                Poll::Ready(ended) => Some(ended),
                Poll::Pending => None,
            };
        }
        if let Some(running) = &mut self.running {
            running.poll_spawned(&self.context, cx);
        }
    }

    fn drop_rest(&mut self) {
        if let Some(running) = &mut self.running {
            running.cancel_spawned();
            running.cut_graphs();
        }
    }
}

impl<S: GraphState> Future for TaskFuture<'_, S> {
    type Output = TaskEnd<S>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<TaskEnd<S>> {
        if self.context.scope().is_over() {
            return self.poll_cut(cx);
        }
        if let Some(ended) = self.poll_node(cx) {
            if self.running.is_none() && self.context.is_alone() {
                return Poll::Ready(self.context.unless_in_doubt(end_of(ended)));
            }
            self.ended = Some(ended);
        }
        self.poll_cancelled(cx);
        if self.poll_work(cx) {
            return Poll::Pending;
        }
        if self.stops {
            return Poll::Ready(match self.context.stopped() {
                Ok(asked) => TaskEnd::Suspended(asked),
                Err(halt) => TaskEnd::Failed(NodeError::Halt(halt)),
            });
        }
        match self.ended.take() {
            Some(ended) => Poll::Ready(self.context.unless_in_doubt(end_of(ended))),
            None => Poll::Pending,
        }
    }
}

impl TaskContext {
    /// `end`, or what has to be asked before a task may fail.
    pub(crate) fn unless_in_doubt<S: GraphState>(&self, end: TaskEnd<S>) -> TaskEnd<S> {
        let TaskEnd::Failed(NodeError::Failed(_) | NodeError::Halt(Halt::Budget(_))) = &end else {
            return end;
        };
        match self.in_doubt() {
            Ok(None) => end,
            Ok(Some(asked)) => TaskEnd::Suspended(asked),
            Err(halt) => TaskEnd::Failed(halt.into()),
        }
    }
}

fn end_of<S: GraphState>(ended: thread::Result<Ended<S>>) -> TaskEnd<S> {
    match ended {
        Ok(Ok(output)) => TaskEnd::Done(output),
        Ok(Err(error)) => TaskEnd::Failed(error.bounded()),
        Err(_) => TaskEnd::Failed(NodeError::failed("the node panicked")),
    }
}
