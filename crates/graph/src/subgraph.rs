//! A graph inside a graph: on the same state, or behind an adapter.
//!
//! A child runs on the chain of its task, so that it goes on where it stood after
//! a crash or an answer, and so do only those that were not done. Its questions
//! are those of the run.

use std::sync::Arc;

use rustagents_core::{
    BoxFuture,
    code::{Class, Code, Coded},
    scope::{Halt, Write},
};

use crate::{
    graph::{Frameless, Graph, GraphEnd, OpenError, Outcome, Position},
    node::{Node, NodeError, NodeFailure, NodeOutput, TaskContext},
    state::{ChannelName, ChannelSpec, Delta, GraphState, Written},
    topology::GraphTopology,
};

/// How deep graphs may lie in each other.
pub const MAX_DEPTH: usize = 8;

/// A child on the state of the graph around it.
///
/// It starts from the state that its task saw. Once it is done, what it changed in
/// channels that both have is the task's write: it is reduced with the writes of
/// the task's siblings, so that what was there already does not come twice.
pub(crate) struct Shared<S: GraphState>(pub(crate) Graph<S>);

impl<S: GraphState> Node<S> for Shared<S> {
    fn run(
        &self,
        state: Arc<S>,
        context: TaskContext,
    ) -> BoxFuture<'_, Result<NodeOutput<S>, NodeError>> {
        Box::pin(async move {
            let begin = state.adopted(self.0.channels());
            let at = Position::on(begin, context.scope(), true)?;
            let end = Box::pin(drive(&self.0, at, S::Update::default(), &context)).await?;
            let mut output = NodeOutput::default();
            for (channel, delta) in end.gained {
                let written = written(self.0.channels(), &channel, delta);
                if state.check(&channel, &written).is_ok() {
                    output.written.add(channel, written);
                }
            }
            output.goto = end.parent;
            Ok(output)
        })
    }

    fn kind(&self) -> Option<&'static str> {
        Some("subgraph")
    }

    fn graph(&self) -> Option<&GraphTopology> {
        Some(self.0.topology())
    }

    fn stops_itself(&self) -> bool {
        true
    }
}

/// The write that makes the same change.
fn written(channels: &[ChannelSpec], channel: &ChannelName, delta: Delta) -> Written {
    let is_custom = |spec: &ChannelSpec| spec.name == *channel && spec.fold.is_some();
    match delta {
        Delta::Set(value) if channels.iter().any(is_custom) => Written::Replace(value),
        Delta::Set(value) => Written::Set(value),
        Delta::Add(number) => Written::Set(number.into()),
        Delta::Append(items) => Written::Append(items),
        Delta::Messages(ids) => Written::Messages(ids),
        Delta::Remove(ids) => Written::Remove(ids),
        Delta::Swap(old, new) => Written::Swap(old, new),
        Delta::Clear => Written::Clear,
    }
}

/// A child on a state of its own.
pub(crate) struct Adapter<S: GraphState, C: GraphState> {
    pub(crate) graph: Graph<C>,
    pub(crate) into: IntoChild<S, C>,
    pub(crate) back: FromChild<S, C>,
}

/// Makes a child's input.
pub(crate) type IntoChild<S, C> =
    Box<dyn Fn(&S, &TaskContext) -> <C as GraphState>::Update + Send + Sync>;

/// Makes what is written once a child is done.
pub(crate) type FromChild<S, C> = Box<dyn Fn(&C) -> <S as GraphState>::Update + Send + Sync>;

impl<S: GraphState, C: GraphState> Node<S> for Adapter<S, C> {
    fn run(
        &self,
        state: Arc<S>,
        context: TaskContext,
    ) -> BoxFuture<'_, Result<NodeOutput<S>, NodeError>> {
        Box::pin(async move {
            let at = Position::on(self.graph.empty_state(), context.scope(), false)?;
            let input = (self.into)(&state, &context);
            let end = Box::pin(drive(&self.graph, at, input, &context)).await?;
            let mut output = NodeOutput::of((self.back)(&end.state));
            output.goto = end.parent;
            Ok(output)
        })
    }

    fn kind(&self) -> Option<&'static str> {
        Some("subgraph")
    }

    fn graph(&self) -> Option<&GraphTopology> {
        Some(self.graph.topology())
    }

    fn stops_itself(&self) -> bool {
        true
    }
}

/// Drives a child on the chain of a task, from where it stood, until it is done.
async fn drive<C: GraphState>(
    graph: &Graph<C>,
    at: Position<C>,
    input: C::Update,
    context: &TaskContext,
) -> Result<GraphEnd<C>, NodeError> {
    let scope = context.scope();
    if scope.namespace().depth() > MAX_DEPTH {
        return Err(too_deep());
    }
    graph.check_fits(&at.pending)?;
    let at = if at.checkpoint == 0 {
        let opened = Box::pin(graph.open(scope, at, input, Write::new())).await;
        opened.map_err(not_opened)?
    } else {
        at
    };
    let end = Box::pin(graph.drive(scope, at, &Frameless)).await?;
    match end.outcome {
        Outcome::Completed => Ok(end),
        Outcome::Suspended(asks) => match context.suspend(asks).await {},
        Outcome::Interrupted { reason, .. } => Err(NodeError::Interrupted { reason }),
        Outcome::Failed { node, failure } => Err(NodeError::Failed(NodeFailure {
            message: format!(
                "`{}` in graph `{}`: {}",
                node,
                graph.name(),
                failure.message
            ),
            ..failure
        })),
        Outcome::RecursionLimit { limit } => Err(NodeError::Failed(NodeFailure {
            code: Code::RecursionLimit,
            class: Class::Caller,
            message: format!(
                "graph `{}` took {limit} steps and was not done",
                graph.name()
            ),
            hint: Some("raise its recursion limit, or look for a loop without end".into()),
        })),
        Outcome::Budget(exceeded) => Err(Halt::Budget(exceeded).into()),
    }
}

fn too_deep() -> NodeError {
    NodeError::Failed(NodeFailure {
        code: Code::RecursionLimit,
        class: Class::Caller,
        message: format!("graphs lie in each other more than {MAX_DEPTH} deep"),
        hint: Some("let the graphs run one after the other".into()),
    })
}

fn not_opened(error: OpenError) -> NodeError {
    match error {
        OpenError::Halt(halt) => halt.into(),
        OpenError::Input(error) => NodeError::Failed(NodeFailure {
            code: error.code(),
            class: Class::Caller,
            message: format!("the child's input: {error}"),
            hint: error.hint(),
        }),
    }
}
