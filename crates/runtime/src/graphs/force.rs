//! Going on although what is pending does not fit the graph any more, as a person says.

use rustagents_agent::Agent;
use rustagents_core::{
    ask::Ask,
    code::{Class, Code},
    event::{Event, RunEnd},
    ids::{NodeName, ThreadId},
    journal::Claim,
};
use rustagents_graph::{
    Graph, GraphState, NodeFailure, Outcome,
    record::{Pending, Task},
};

use super::{Decisions, GraphRun, GraphRunError, GraphRunner};
use crate::{
    gone::{Fits, Forcing},
    inbox,
    runs::{Another, RunError},
    view::{Phase, ThreadView},
};

const NOTHING_LEFT: &str = "nothing that was pending fits the graph any more";

impl<S: GraphState> Fits for Graph<S> {
    fn has_node(&self, node: &NodeName) -> bool {
        Self::has_node(self, node)
    }

    fn lost_joins<'p>(&self, pending: &'p Pending) -> Vec<&'p str> {
        Self::lost_joins(self, pending)
    }

    fn agent(&self, node: &NodeName) -> Option<&Agent> {
        self.worker(node)?.downcast_ref()
    }

    fn knows_all_agents(&self) -> bool {
        // A node of one's own may run one.
        false
    }

    fn difference(&self, _: &Ask) -> Option<String> {
        None
    }

    fn nothing_left(&self) -> &'static str {
        NOTHING_LEFT
    }
}

impl GraphRunner {
    /// As [`resume`](Self::resume), but goes on without what no longer fits the graph:
    ///
    /// - A pending task whose node is gone, and was not renamed by a
    ///   [migration](rustagents_graph::Migration), is dropped, and its questions are
    ///   void. So is a join that is gone.
    /// - A pending call of an [`AgentNode`](crate::AgentNode) whose tool is gone, has
    ///   another effect class or takes other arguments gets a result that says that it
    ///   was not run.
    ///
    /// What was dropped and settled is recorded with the attempt, and told as
    /// [`Event::Forced`]. If nothing is left to do then, the run ends as failed. Where
    /// all fits, it is a resume like any other. Tasks and joins of graphs inside the graph
    /// are dropped when their graphs go on; one of which nothing is left fails. A call of
    /// an agent in one, and what a graph has that a node runs with
    /// [`run_graph`](rustagents_graph::TaskContext::run_graph), has to fit as for a resume.
    ///
    /// A step or call that may have taken effect is no less in doubt: `answers` must
    /// say what became of it, by [`Decision::Done`](crate::Decision::Done) or
    /// [`Decision::NotDone`](crate::Decision::NotDone). Of a call also if nobody was
    /// asked yet; to be asked about a step, its node has to be there.
    ///
    /// # Errors
    /// [`GraphRunError::ForcedDoubt`] names what may have taken effect; the others as for
    /// [`resume`](Self::resume). Nothing is written then.
    pub async fn resume_forced<S: GraphState>(
        &self,
        graph: &Graph<S>,
        thread: &str,
        answers: impl Into<Decisions>,
    ) -> Result<GraphRun<S>, GraphRunError> {
        let decisions = answers.into();
        let id = ThreadId::new(thread)?;
        self.runtime.wait_until_free(&id).await?;
        let view = self.known(&id).await?;
        if self.forcing(graph, &view, &decisions)?.is_none() {
            return self.resume(graph, thread, decisions).await;
        }
        let claim = self.runtime.claim(&id).await?;
        let view = self.known(&id).await?;
        let Some(forcing) = self.forcing(graph, &view, &decisions)? else {
            drop(claim);
            return self.resume(graph, thread, decisions).await;
        };
        let another = Another {
            answers: &forcing.answers,
            limits: view.limits,
            retries: false,
            forcing: Some(&forcing),
        };
        if forcing.ends {
            return self.end_forced(graph, &view, &claim, another).await;
        }
        self.go_on(graph, &view, &claim, another).await
    }

    /// What is to be forced; `None` if everything fits, or nothing is to be done.
    fn forcing<S: GraphState>(
        &self,
        graph: &Graph<S>,
        view: &ThreadView,
        decisions: &Decisions,
    ) -> Result<Option<Forcing>, GraphRunError> {
        if matches!(view.phase, Phase::Closed(_)) || inbox::is_asked(view)? {
            return Ok(None);
        }
        let scope = self.reader(view);
        let forcing = Forcing::of((graph, graph), view, &scope, decisions.as_slice());
        forcing.map_err(|error| match error {
            RunError::Halt(halt) => halt.into(),
            RunError::Journal(error) => error.into(),
            RunError::Answer(error) => error.into(),
            RunError::ForcedDoubt { report, calls } => GraphRunError::ForcedDoubt {
                thread: view.thread.clone(),
                effects: calls
                    .into_iter()
                    .map(|(call, _)| call.to_string())
                    .collect(),
                asks: report.asks,
            },
            error => error.into(),
        })
    }

    /// Records an attempt that has nothing to do, and the end of the run.
    async fn end_forced<S: GraphState>(
        &self,
        graph: &Graph<S>,
        view: &ThreadView,
        claim: &Claim,
        another: Another<'_>,
    ) -> Result<GraphRun<S>, GraphRunError> {
        let dropped = graph.position(&self.reader(view))?;
        let watch = self.watch.clone();
        let (keeping, watch) = self.runtime.kept(&view.thread, &view.run, watch);
        let begun = self.attempt(graph, view, claim, another, watch).await?;
        let told = async {
            begun.tell(another);
            begun.scope.emit(|| Event::RunEnded {
                how: RunEnd::Failed,
                message: Some(NOTHING_LEFT.to_owned()),
            });
            Ok::<_, GraphRunError>(())
        };
        keeping.through(Box::pin(told)).await?;
        let at = graph.position(&begun.scope)?;
        let walked = self.walked(&view.thread, &view.run).await?;
        Ok(GraphRun {
            thread: view.thread.clone(),
            run: view.run.clone(),
            outcome: nothing_left(dropped.tasks()),
            state: at.state,
            checkpoint: at.checkpoint,
            steps: at.step,
            visited: walked.visited,
        })
    }
}

/// How a run ends whose tasks were all dropped.
fn nothing_left(dropped: &[Task]) -> Outcome {
    let first = dropped.first().map(|task| task.node.clone());
    Outcome::Failed {
        node: first.unwrap_or_else(|| NodeName::from("")),
        failure: NodeFailure {
            code: Code::Incompatible,
            class: Class::Caller,
            message: NOTHING_LEFT.into(),
            hint: Some("give the thread a new input".into()),
        },
    }
}
