//! One task while it runs: an ask suspends it, whatever its node makes of that.

use std::{
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    thread,
};

use futures::{FutureExt, future::CatchUnwind};
use rustagents_core::{BoxFuture, ask::Ask};

use crate::{
    effect::Running,
    node::{Node, NodeError, NodeOutput, TaskContext},
    state::State,
};

/// How a task ended.
pub(crate) enum TaskEnd {
    Done(NodeOutput),
    Suspended(Vec<Ask>),
    Failed(NodeError),
}

/// Polls a node, and what it has at work beside it; catches its panics, and looks
/// for unanswered questions after each poll.
///
/// Steps are polled to their end, whether the node waits for them, forgot them,
/// asked, failed or returned. What it spawned is dropped when it is over, or asks.
pub(crate) struct TaskFuture<'a> {
    node: CatchUnwind<AssertUnwindSafe<BoxFuture<'a, Result<NodeOutput, NodeError>>>>,
    context: TaskContext,
    running: Option<Box<Running>>,
    ended: Option<thread::Result<Result<NodeOutput, NodeError>>>,
    /// The node is not polled any more, and what it came to does not count.
    stops: bool,
}

impl<'a> TaskFuture<'a> {
    pub(crate) fn new(node: &'a dyn Node, state: Arc<State>, context: TaskContext) -> Self {
        let run = context.inside(|| node.run(state, context.clone()));
        Self {
            node: AssertUnwindSafe(run).catch_unwind(),
            context,
            running: None,
            ended: None,
            stops: false,
        }
    }

    fn poll_node(&mut self, cx: &mut Context<'_>) {
        if self.stops || self.ended.is_some() {
            return;
        }
        let polled = self.context.inside(|| self.node.poll_unpin(cx));
        if let Poll::Ready(ended) = polled {
            self.ended = Some(ended);
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

impl Future for TaskFuture<'_> {
    type Output = TaskEnd;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<TaskEnd> {
        self.poll_node(cx);
        if self.poll_work(cx) {
            return Poll::Pending;
        }
        if self.stops {
            return Poll::Ready(match self.context.stopped() {
                Ok(asks) => TaskEnd::Suspended(asks),
                Err(halt) => TaskEnd::Failed(NodeError::Halt(halt)),
            });
        }
        let Some(ended) = self.ended.take() else {
            return Poll::Pending;
        };
        Poll::Ready(match ended {
            Ok(ended) => ended.map_or_else(TaskEnd::Failed, TaskEnd::Done),
            Err(_) => TaskEnd::Failed(NodeError::failed("the node panicked")),
        })
    }
}
