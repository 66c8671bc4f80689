//! One task while it runs: an ask suspends it, whatever its node makes of that.

use std::{
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures::FutureExt;
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

/// Polls a node, and looks for unanswered questions after each poll.
pub(crate) struct TaskFuture<'a> {
    node: BoxFuture<'a, Result<NodeOutput, NodeError>>,
    context: TaskContext,
}

impl<'a> TaskFuture<'a> {
    pub(crate) fn new(node: &'a dyn Node, state: Arc<State>, context: TaskContext) -> Self {
        let run = AssertUnwindSafe(node.run(state, context.clone())).catch_unwind();
        let run =
            run.map(|ended| ended.unwrap_or_else(|_| Err(NodeError::failed("the node panicked"))));
        Self {
            node: run.boxed(),
            context,
        }
    }
}

impl Future for TaskFuture<'_> {
    type Output = TaskEnd;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<TaskEnd> {
        let polled = self.node.as_mut().poll(cx);
        let pending = self.context.pending();
        if !pending.is_empty() {
            return Poll::Ready(TaskEnd::Suspended(pending));
        }
        polled.map(|ended| ended.map_or_else(TaskEnd::Failed, TaskEnd::Done))
    }
}
