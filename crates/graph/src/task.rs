//! One task while it runs: an ask suspends it, whatever its node makes of that.

use std::{
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures::{FutureExt, future::CatchUnwind};
use rustagents_core::{BoxFuture, ask::Ask};

use crate::{
    node::{Node, NodeError, NodeOutput, TaskContext},
    state::State,
};

/// How a task ended.
pub(crate) enum TaskEnd {
    Done(NodeOutput),
    Suspended(Vec<Ask>),
    Failed(NodeError),
}

/// Polls a node, catches its panics, and looks for unanswered questions after
/// each poll.
pub(crate) struct TaskFuture<'a> {
    node: CatchUnwind<AssertUnwindSafe<BoxFuture<'a, Result<NodeOutput, NodeError>>>>,
    context: TaskContext,
}

impl<'a> TaskFuture<'a> {
    pub(crate) fn new(node: &'a dyn Node, state: Arc<State>, context: TaskContext) -> Self {
        let run = node.run(state, context.clone());
        Self {
            node: AssertUnwindSafe(run).catch_unwind(),
            context,
        }
    }
}

impl Future for TaskFuture<'_> {
    type Output = TaskEnd;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<TaskEnd> {
        let polled = self.node.poll_unpin(cx);
        let pending = self.context.pending();
        if !pending.is_empty() {
            return Poll::Ready(TaskEnd::Suspended(pending));
        }
        polled.map(|ended| match ended {
            Ok(ended) => ended.map_or_else(TaskEnd::Failed, TaskEnd::Done),
            Err(_) => TaskEnd::Failed(NodeError::failed("the node panicked")),
        })
    }
}
