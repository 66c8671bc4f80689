//! A graph inside a graph: on the same state, or behind an adapter.
//!
//! A child runs on the chain of its task, so that it goes on where it stood after
//! a crash or an answer, and so do only those that were not done. Its questions
//! are those of the run.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use rustagents_core::{
    BoxFuture,
    ask::Ask,
    budget::Bounds,
    code::{Class, Code, Coded},
    ids::Namespace,
    scope::{Halt, Scope},
};

use serde_json::Value;

use crate::{
    driver::Driver,
    dropping::Lost,
    graph::{Frameless, Graph, GraphEnd, OpenError, Outcome, Position},
    inside::{Children, KeptState},
    kept::{Around, CallBefore},
    node::{Node, NodeError, NodeFailure, NodeOutput, TaskContext},
    record::{Task, Unkept},
    schedule::way_beyond,
    state::{ChannelName, ChannelSpec, GraphState, Written},
    topology::GraphTopology,
    way_out::WayOut,
};

/// A child on the state of the graph around it.
///
/// It starts from the state that its task saw. Once it is done, what it changed in
/// channels that both have is the task's write: it is reduced with the writes of
/// the task's siblings, so that what was there already does not come twice. A topic
/// has all that the child wrote to it then, and not what its last step wrote alone.
///
/// What was sent to the task is sent on to the nodes that the child starts with.
pub(crate) struct Shared<S: GraphState> {
    pub(crate) graph: Graph<S>,
    /// The channels of the graph around it, where the others are kept from call to
    /// call.
    pub(crate) around: Around,
}

impl<S: GraphState> Node<S> for Shared<S> {
    fn run(
        &self,
        state: Arc<S>,
        context: TaskContext,
    ) -> BoxFuture<'_, Result<NodeOutput<S>, NodeError>> {
        Box::pin(async move {
            let begin = state.adopted(self.graph.channels());
            let at = Position::on_around(begin, context.scope(), true, &self.around)?;
            let at = called(&self.graph, at, &self.around, &context)?;
            let input = (S::Update::default(), context.argument_json());
            let end = Box::pin(drive(&self.graph, at, input, &context)).await?;
            let mut output = NodeOutput {
                memory: end.memory,
                ..NodeOutput::default()
            };
            let mut gained = end.gained;
            let lost = with_lost(&mut gained, end.lost);
            let fits = |(channel, lost): &(ChannelName, Unkept)| {
                state.check(channel, &lost.stand_in()).is_ok()
            };
            output.lost = lost.into_iter().filter(fits).collect();
            for (channel, written) in condensed(self.graph.channels(), &*end.state, gained) {
                if state.check(&channel, &written).is_ok() {
                    let writes = output.written.get_or_insert_default();
                    writes.add(channel, written);
                }
            }
            output.go_on(end.parent);
            Ok(output)
        })
    }

    fn kind(&self) -> Option<&'static str> {
        Some("subgraph")
    }

    fn graph(&self) -> Option<&GraphTopology> {
        Some(self.graph.topology())
    }

    fn look(&self, around: &S, scope: &Scope, children: &mut Children) -> Result<(), Halt> {
        let state = around.adopted(self.graph.channels());
        let begin = || Position::on_around(state, scope, true, &self.around);
        children.look_at(&self.graph, scope, begin)
    }

    fn look_back(&self, chain: &Namespace, scope: &Scope) -> Result<Option<KeptState>, Halt> {
        self.graph.kept_on(chain, &self.around, scope).map(Some)
    }

    fn check_inside(&self, around: &S, scope: &Scope) -> Result<(), Halt> {
        self.graph.check_begun(scope, || {
            let state = around.adopted(self.graph.channels());
            Position::on_around(state, scope, true, &self.around)
        })
    }

    fn lost_inside(&self, around: &S, scope: &Scope, lost: &mut Lost) -> Result<(), Halt> {
        lost.look_at(&self.graph, scope, || {
            let state = around.adopted(self.graph.channels());
            Position::on_around(state, scope, true, &self.around)
        })
    }

    fn shares_state(&self) -> bool {
        true
    }

    fn stops_itself(&self) -> bool {
        true
    }
}

/// A channel of which a write is lost has it replaced, where that did, by what the
/// child wrote there later; of the others, what was lost.
fn with_lost(
    gained: &mut [(ChannelName, Written)],
    lost: Vec<(ChannelName, Unkept)>,
) -> BTreeMap<ChannelName, Unkept> {
    let mut rest: BTreeMap<ChannelName, Unkept> = BTreeMap::new();
    for (channel, lost) in lost {
        let is_here = |(other, _): &&mut (ChannelName, Written)| *other == channel;
        match gained.iter_mut().find(is_here) {
            Some((_, written)) if lost == Unkept::Replace => {
                // As `condensed` has it, the value is that of the end.
                *written = Written::Replace(Value::Null);
            }
            Some(_) => {}
            None if rest.get(&channel) == Some(&Unkept::Replace) => {}
            None => drop(rest.insert(channel, lost)),
        }
    }
    rest
}

/// What all writes of a child come to as those of one task: of several to a channel
/// that holds the last value, the last; where one of them replaced a value, what
/// the child had in the end.
fn condensed<S: GraphState>(
    channels: &[ChannelSpec],
    end: &S,
    writes: Vec<(ChannelName, Written)>,
) -> Vec<(ChannelName, Written)> {
    let holds_last = |channel: &str| {
        let mut specs = channels.iter().filter(|spec| spec.name == channel);
        specs.any(|spec| spec.reducer.holds_last())
    };
    let whole_ones =
        |(_, written): &&(ChannelName, Written)| matches!(written, Written::Replace(_));
    let replaced = writes.iter().filter(whole_ones);
    let replaced: BTreeSet<_> = replaced.map(|(channel, _)| channel.clone()).collect();
    let mut last = BTreeMap::new();
    for (place, (channel, _)) in writes.iter().enumerate() {
        if holds_last(channel) || replaced.contains(channel) {
            last.insert(channel.clone(), place);
        }
    }
    let is_last = |(place, (channel, _)): &(usize, (ChannelName, Written))| {
        last.get(channel).is_none_or(|last| last == place)
    };
    let whole = if replaced.is_empty() {
        Value::Null
    } else {
        end.to_json()
    };
    let kept = writes.into_iter().enumerate().filter(is_last);
    kept.map(|(_, (channel, written))| {
        let value = whole.get(&*channel).filter(|_| replaced.contains(&channel));
        let written = value.cloned().map_or(written, Written::Replace);
        (channel, written)
    })
    .collect()
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
            let at = self.graph.position(context.scope())?;
            let at = called(&self.graph, at, &Around::default(), &context)?;
            // What was sent is for `into` to read.
            let input = ((self.into)(&state, &context), None);
            let end = Box::pin(drive(&self.graph, at, input, &context)).await?;
            let mut output = NodeOutput {
                memory: end.memory,
                ..NodeOutput::of((self.back)(&end.state))
            };
            output.go_on(end.parent);
            Ok(output)
        })
    }

    fn kind(&self) -> Option<&'static str> {
        Some("subgraph")
    }

    fn graph(&self) -> Option<&GraphTopology> {
        Some(self.graph.topology())
    }

    fn look(&self, _: &S, scope: &Scope, children: &mut Children) -> Result<(), Halt> {
        let begin = || self.graph.position(scope);
        children.look_at(&self.graph, scope, begin)
    }

    fn check_inside(&self, _: &S, scope: &Scope) -> Result<(), Halt> {
        self.graph.check_begun(scope, || self.graph.position(scope))
    }

    fn lost_inside(&self, _: &S, scope: &Scope, lost: &mut Lost) -> Result<(), Halt> {
        lost.look_at(&self.graph, scope, || self.graph.position(scope))
    }

    fn look_back(&self, chain: &Namespace, scope: &Scope) -> Result<Option<KeptState>, Halt> {
        let kept = self.graph.kept_on(chain, &Around::default(), scope);
        kept.map(Some)
    }

    fn stops_itself(&self) -> bool {
        true
    }
}

/// Where a child begins whose state its node keeps; any other, and one that has begun,
/// where it is.
fn called<C: GraphState>(
    graph: &Graph<C>,
    at: Position<C>,
    around: &Around,
    context: &TaskContext,
) -> Result<Position<C>, Halt> {
    match context.call() {
        Some(CallBefore(before)) => at.keeping(graph, before.as_ref(), around, context.scope()),
        None => Ok(at),
    }
}

/// What came of a child.
pub(crate) enum Driven<C: GraphState> {
    Done(GraphEnd<C>),
    Asks(Vec<Ask>),
}

/// What a child begins with: its input, and what its first tasks are sent.
type Begin<'a, U> = (U, Option<&'a Value>);

/// Drives a child on the chain of a task, from where it stood, until it is done.
async fn drive<C: GraphState>(
    graph: &Graph<C>,
    at: Position<C>,
    begin: Begin<'_, C::Update>,
    context: &TaskContext,
) -> Result<GraphEnd<C>, NodeError> {
    let out = context.way_out();
    match drive_from(graph, context.scope(), at, begin, out).await? {
        Driven::Done(end) => Ok(end),
        Driven::Asks(asks) => {
            context.wait_for(asks);
            std::future::pending().await
        }
    }
}

/// Drives a child on the chain of `scope`, which is its own, until it is done or
/// waits.
pub(crate) async fn drive_on<C: GraphState>(
    graph: &Graph<C>,
    scope: &Scope,
    input: C::Update,
) -> Result<Driven<C>, NodeError> {
    let at = graph.position(scope)?;
    drive_from(graph, scope, at, (input, None), None).await
}

async fn drive_from<C: GraphState>(
    graph: &Graph<C>,
    scope: &Scope,
    at: Position<C>,
    (input, argument): Begin<'_, C::Update>,
    out: Option<Arc<WayOut>>,
) -> Result<Driven<C>, NodeError> {
    let most = scope.run().bounds.depth();
    if scope.namespace().depth() > most {
        return Err(too_deep(most));
    }
    graph.check_fits(scope, &at.pending)?;
    let at = left_behind(graph, scope, graph.inside(at)?).await?;
    let at = if at.checkpoint == 0 {
        let opened = Box::pin(graph.open_sent(scope, at, input, argument, scope.write())).await;
        opened.map_err(not_opened)?
    } else {
        at
    };
    let driver = Driver::new(graph.compiled(), scope).held_by(out);
    let end = Box::pin(driver.drive(at, &Frameless)).await?;
    match end.outcome {
        Outcome::Completed => Ok(Driven::Done(end)),
        Outcome::Suspended(asks) => Ok(Driven::Asks(asks)),
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

/// Goes on without what does not fit any more, as a person said; what fits is left. If
/// nothing is, the child fails, and nothing is recorded of that.
async fn left_behind<C: GraphState>(
    graph: &Graph<C>,
    scope: &Scope,
    at: Position<C>,
) -> Result<Position<C>, NodeError> {
    let is_gone = |task: &Task| !graph.has_node(&task.node);
    let mut tasks = at.pending.next.iter().chain(&at.pending.deferred);
    if !tasks.any(is_gone) && graph.lost_joins(&at.pending).is_empty() {
        return Ok(at);
    }
    let mut write = scope.write();
    let left = graph.drop_tasks(scope, at, is_gone, &mut write);
    let left = left.map_err(not_opened)?;
    if left.pending.next.is_empty() {
        return Err(NodeError::Failed(NodeFailure {
            code: Code::Incompatible,
            class: Class::Caller,
            message: format!(
                "nothing that was pending fits graph `{}` any more",
                graph.name()
            ),
            hint: Some("give the thread a new input".into()),
        }));
    }
    scope.append(write).await.map_err(Halt::from)?;
    Ok(left)
}

/// What is said of a child that goes on in a graph that is not there.
pub(crate) fn no_way_out(graph: &str) -> NodeError {
    NodeError::Failed(NodeFailure {
        code: Code::Goto,
        class: Class::Caller,
        message: format!("graph `{graph}` goes on in a graph around it, and a node runs it"),
        hint: Some("let the node say where to go on, or make the graph a node".into()),
    })
}

fn too_deep(most: usize) -> NodeError {
    NodeError::Failed(NodeFailure {
        code: Code::RecursionLimit,
        class: Class::Caller,
        message: format!("graphs lie in each other more than {most} deep"),
        hint: Some(way_beyond(
            "let the graphs run one after the other",
            "Bounds::max_depth",
            most < Bounds::MOST.depth(),
        )),
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
