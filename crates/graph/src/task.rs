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
    state::GraphState,
};

/// How a task ended.
pub(crate) enum TaskEnd<S: GraphState> {
    Done(NodeOutput<S>),
    Suspended(Vec<Ask>),
    Failed(NodeError),
}

/// A node at work.
type Run<'a, S> = BoxFuture<'a, Result<NodeOutput<S>, NodeError>>;

/// Polls a node, catches its panics, and looks for unanswered questions after
/// each poll.
pub(crate) struct TaskFuture<'a, S: GraphState> {
    node: CatchUnwind<AssertUnwindSafe<Run<'a, S>>>,
    context: TaskContext,
}

impl<'a, S: GraphState> TaskFuture<'a, S> {
    pub(crate) fn new(node: &'a dyn Node<S>, state: Arc<S>, context: TaskContext) -> Self {
        let run = node.run(state, context.clone());
        Self {
            node: AssertUnwindSafe(run).catch_unwind(),
            context,
        }
    }
}

impl<S: GraphState> Future for TaskFuture<'_, S> {
    type Output = TaskEnd<S>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<TaskEnd<S>> {
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
