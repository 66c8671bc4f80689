//! Runs of graphs on the real driver, recorded and asserted: for tests of one's own
//! graphs.
//!
//! [`run_recorded`] runs a graph on an input, on a journal in memory of its own, up to
//! its end or its questions. What it gives has the report, and all that
//! [`Recorded`] asserts; [`answer`](RecordedRun::answer) goes on.
//!
//! ```
//! use std::sync::Arc;
//!
//! use rustagents_graph::{GraphBuilder, GraphState, TaskContext};
//! use rustagents_testkit_graph::run_recorded;
//!
//! #[derive(Clone, Debug, GraphState)]
//! struct Letter {
//!     #[channel(append)]
//!     text: Vec<String>,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let graph = GraphBuilder::<Letter>::typed("letters")
//!     .function("draft", |_, _| async { Ok(Letter::update().text("dear").into()) })
//!     .function("review", |_: Arc<Letter>, context: TaskContext| async move {
//!         let answer = context.ask("good enough?").await?;
//!         Ok(Letter::update().text(answer.to_string()).into())
//!     })
//!     .start(["draft"])
//!     .edge("draft", "review")
//!     .finish("review")
//!     .compile()?;
//!
//! let waits = run_recorded(&graph, Letter::update()).await;
//! waits
//!     .assert_steps([["draft"], ["review"]])
//!     .assert_asks(["review:2.0/1"]);
//!
//! let done = waits.answer("review:2.0/1", true).await;
//! done.assert_visited(["review"]).assert_asks::<&str>([]);
//! assert_eq!(done.run().state.text, ["dear", "true"]);
//! # Ok(())
//! # }
//! ```
//!
//! Invariant: knows no journal but the one in memory, and no driver but
//! [`GraphRunner`].

#![allow(clippy::panic, reason = "a run without an outcome is a failed test")]

use std::{
    fmt::{self, Debug},
    ops::Deref,
    sync::Arc,
};

use rustagents_graph::{Graph, GraphState};
use rustagents_runtime::{Decisions, GraphRun, GraphRunError, GraphRunner, Watch};
use rustagents_store::MemoryJournal;
use rustagents_testkit::{
    clock::TestClock, events::EventLog, ids::CountingIds, trajectory::Recorded,
};
use serde_json::Value;

/// The thread of each recorded run.
const THREAD: &str = "test";

/// Runs `graph` on `input`, on a journal in memory that nobody else has, until it ends
/// or waits. Its time is tokio's, so that pauses and time-outs pass at once in a test
/// with `start_paused`, and its names are counted, so that they are the same each time.
///
/// # Panics
/// The run has no outcome: the input does not fit, say.
pub async fn run_recorded<S: GraphState>(
    graph: &Graph<S>,
    input: impl Into<S::Update>,
) -> RecordedRun<S> {
    let journal = Arc::new(MemoryJournal::new());
    let (clock, ids) = (TestClock::new(), CountingIds::default());
    let runner = GraphRunner::on(journal, Arc::new(clock), Arc::new(ids));
    RecordedRun::by(runner, graph, input).await
}

/// An attempt at a run of a graph: its report, and what happened in it.
///
/// It is a [`Recorded`], whose assertions say what differs.
#[must_use = "it asserts nothing by itself"]
pub struct RecordedRun<S: GraphState> {
    runner: GraphRunner,
    graph: Graph<S>,
    recorded: Recorded<GraphRun<S>>,
}

impl<S: GraphState> Debug for RecordedRun<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RecordedRun").field(&self.recorded).finish()
    }
}

impl<S: GraphState> Deref for RecordedRun<S> {
    type Target = Recorded<GraphRun<S>>;

    fn deref(&self) -> &Self::Target {
        &self.recorded
    }
}

impl<S: GraphState> RecordedRun<S> {
    /// As [`run_recorded`], by a runner of one's own, with its limits, store and clock,
    /// on its journal, where the thread is `test`. Who watches it and may stop it is
    /// the recording alone.
    ///
    /// # Panics
    /// As [`run_recorded`].
    pub async fn by(runner: GraphRunner, graph: &Graph<S>, input: impl Into<S::Update>) -> Self {
        let input = input.into();
        let run = async |runner: &GraphRunner| runner.run(graph, THREAD, input).await;
        Self::record(runner.clone(), graph.clone(), run).await
    }

    /// Answers one question, and goes on until the run ends or waits again: another
    /// attempt, of which alone the trajectory tells.
    ///
    /// # Panics
    /// There is no such question, or the run has no outcome.
    pub async fn answer(&self, ask: &str, value: impl Into<Value>) -> Self {
        self.resume([(ask, value)]).await
    }

    /// As [`answer`](Self::answer), with any answers and decisions.
    ///
    /// # Panics
    /// As [`answer`](Self::answer).
    pub async fn resume(&self, answers: impl Into<Decisions>) -> Self {
        let (graph, answers) = (&self.graph, answers.into());
        let run = async |runner: &GraphRunner| runner.resume(graph, THREAD, answers).await;
        Self::record(self.runner.clone(), graph.clone(), run).await
    }

    /// The report.
    pub fn run(&self) -> &GraphRun<S> {
        self.recorded.end()
    }

    async fn record(
        runner: GraphRunner,
        graph: Graph<S>,
        run: impl AsyncFnOnce(&GraphRunner) -> Result<GraphRun<S>, GraphRunError>,
    ) -> Self {
        let events = EventLog::new();
        let watch = Watch {
            events: events.bus(),
            ..Watch::default()
        };
        let run = match run(&runner.clone().watched(watch)).await {
            Ok(run) => run,
            Err(error) => panic!("the run has no outcome: {error}"),
        };
        let asks = run.asks().to_vec();
        Self {
            runner,
            graph,
            recorded: Recorded::of(run, events.events(), asks),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustagents_graph::{
        GraphBuilder, NodeError, NodeOutput, NodeSpec, Outcome, RetryPolicy, TaskContext, Writes,
    };
    use serde_json::json;

    use super::*;

    /// Asks twice, once in a graph inside, and fails at the answer `no`.
    fn asking() -> Graph {
        let inner = GraphBuilder::new("inner")
            .function("ask", |_, context: TaskContext| async move {
                match context.ask("well?").await? {
                    answer if answer == json!("no") => Err(NodeError::failed("was told no")),
                    _ => Ok(NodeOutput::new()),
                }
            })
            .start(["ask"])
            .finish("ask")
            .compile()
            .expect("a graph");
        GraphBuilder::new("outer")
            .function("first", |_, context: TaskContext| async move {
                context.ask("first?").await?;
                Ok(NodeOutput::new())
            })
            .subgraph("sub", inner)
            .start(["first"])
            .edge("first", "sub")
            .finish("sub")
            .compile()
            .expect("a graph")
    }

    #[tokio::test]
    async fn each_attempt_has_its_report_and_what_it_did() {
        let first = run_recorded(&asking(), Writes::new()).await;
        first
            .assert_steps([["first"]])
            .assert_asks(["first:1.0/1"])
            .assert_not_visited("sub");
        assert_eq!(first.run().steps, 0);
        let second = first.answer("first:1.0/1", true).await;
        second
            .assert_visited(["first", "sub", "sub/ask"])
            .assert_asks(["sub:2.0/ask:1.0/1"]);
        let last = second.answer("sub:2.0/ask:1.0/1", "yes").await;
        last.assert_visited(["sub", "sub/ask"])
            .assert_asks::<&str>([]);
        assert!(matches!(last.run().outcome, Outcome::Completed));
        assert_eq!(last.run().steps, 2);
        // What it was before stands.
        first.assert_asks(["first:1.0/1"]);
    }

    #[tokio::test]
    async fn a_run_that_fails_has_an_outcome() {
        let waits = run_recorded(&asking(), Writes::new()).await;
        let waits = waits.answer("first:1.0/1", true).await;
        let failed = waits.answer("sub:2.0/ask:1.0/1", "no").await;
        failed
            .assert_failed("sub/ask", "was told no")
            .assert_failed("sub", "was told no");
        assert!(matches!(failed.run().outcome, Outcome::Failed { .. }));
    }

    #[tokio::test]
    #[should_panic(expected = "the run has no outcome")]
    async fn an_answer_to_no_question_is_told() {
        let waits = run_recorded(&asking(), Writes::new()).await;
        drop(waits.answer("nowhere:1.0/1", true).await);
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_pass_at_once_where_the_time_of_the_test_is_paused() {
        let hour = RetryPolicy::new().pause(Duration::from_hours(1), 1.0);
        let graph = GraphBuilder::new("g")
            .function("a", |_, context: TaskContext| async move {
                match context.tries() {
                    1 => Err(NodeError::failed("not yet")),
                    _ => Ok(NodeOutput::new()),
                }
            })
            .spec(
                "a",
                NodeSpec::new().retry(hour.cap(Duration::from_hours(1))),
            )
            .start(["a"])
            .finish("a")
            .compile()
            .expect("a graph");
        let done = run_recorded(&graph, Writes::new()).await;
        assert_eq!(done.retries("a"), 1, "{done:?}");
    }
}
