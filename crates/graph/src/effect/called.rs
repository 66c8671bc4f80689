//! Graphs that a node runs in the middle.

use std::{future::pending, panic::AssertUnwindSafe, sync::Arc};

use futures::{FutureExt, channel::oneshot};
use rustagents_core::ids::TaskId;

use super::name::StepName;
use crate::{
    graph::Graph,
    node::{NodeError, TaskContext},
    state::GraphState,
    subgraph::{self, Driven},
};

impl TaskContext {
    /// Runs `graph` to its end, and returns its state.
    ///
    /// It runs on records of its own, which are the task's: a later attempt at the
    /// task goes on where it stood, and returns the same state once it was done.
    /// What its nodes ask is asked by this task. Several graphs of one task run
    /// together where the node waits for them together.
    ///
    /// Two graphs of one `name` in one task are `name#1` and `name#2`, in the order
    /// in which they are first polled; they must not be in flight together. Names
    /// are those of steps, and shared with them. `input` counts where the graph
    /// begins, and is left alone afterwards.
    ///
    /// ```
    /// use rustagents_graph::{Graph, NodeOutput, TaskContext, Update, Writes, node_fn};
    ///
    /// fn node(search: Graph) -> impl rustagents_graph::Node {
    ///     node_fn(move |_, context: TaskContext| {
    ///         let search = search.clone();
    ///         async move {
    ///             let mut input = Writes::new();
    ///             input.push("query", Update::Value("boots".into()));
    ///             let found = context.run_graph("search", &search, input).await?;
    ///             let hits = found.list("hits").len();
    ///             Ok(NodeOutput::new().write("hits", Update::Value(hits.into())))
    ///         }
    ///     })
    /// }
    /// # drop(node);
    /// ```
    ///
    /// Cancellation: dropping the call does not stop the graph, which ends before
    /// the task does. If the task asks meanwhile, it goes on up to its own end or
    /// questions. If the node takes too long, the graph is dropped where it is, as one
    /// that is a node is, once no `once` effect is in flight inside; there is no other
    /// try then.
    ///
    /// # Errors
    /// [`NodeError::Failed`] where the graph fails, with its code; where it reaches
    /// its recursion limit; where it says where the graph around it goes on, since
    /// that is the node's to say here; where graphs lie in each other deeper than
    /// the run's [bounds](rustagents_core::budget::Bounds::max_depth), of which such a
    /// graph counts as two. [`StepError`](crate::StepError): a bad name, or one that is in flight.
    pub async fn run_graph<C: GraphState>(
        &self,
        name: &str,
        graph: &Graph<C>,
        input: C::Update,
    ) -> Result<Arc<C>, NodeError> {
        self.check_inside("a graph")?;
        if self.stops() {
            return pending().await;
        }
        let name = StepName::new(name, None)?;
        let number = self.number(&name)?;
        let scope = self
            .scope()
            .child(&TaskId::from(format_args!("{name}#{number}")))
            .beside();
        let (tell, told) = oneshot::channel();
        let (context, graph, own) = (self.clone(), graph.clone(), name.clone());
        let run = async move {
            let driven = subgraph::drive_on(&graph, &scope, input);
            let driven = AssertUnwindSafe(driven).catch_unwind().await;
            match driven.unwrap_or_else(|_| Err(NodeError::failed("the graph panicked"))) {
                // Nobody is told: the task stops here.
                Ok(Driven::Asks(asks)) => context.wait_for(asks),
                Ok(Driven::Done(end)) if end.parent.is_some() => {
                    drop(tell.send(Err(subgraph::no_way_out(graph.name()))));
                }
                Ok(Driven::Done(end)) => drop(tell.send(Ok(end.state))),
                Err(error) => drop(tell.send(Err(context.stopped_by(error)))),
            }
            context.land(&own);
        };
        self.begin_graph(&name, run.boxed());
        match told.await {
            Ok(ended) => ended,
            Err(_) => pending().await,
        }
    }
}
