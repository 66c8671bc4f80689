//! What a run of a graph did, recorded and asserted: for tests of one's own graphs.
//!
//! `rustagents-testkit-graph` does it by one call, on the driver of graphs. This is for
//! a driver of one's own: a [`TestRun`] stands for a thread, and each
//! [`attempt`](TestRun::attempt) at it gives a [`Recorded`], whose assertions say what
//! differs. A [`Script`] plays what nodes give back.
//!
//! ```
//! use std::sync::Arc;
//!
//! use rustagents_core::scope::{Scope, Write};
//! use rustagents_graph::{
//!     Frameless, Graph, GraphBuilder, GraphEnd, NodeOutput, Reducer, TaskContext, Update, Writes,
//!     graph::OpenError,
//! };
//! use rustagents_store::MemoryJournal;
//! use rustagents_testkit::trajectory::{Script, TestRun};
//! use serde_json::json;
//!
//! /// Opens the run if it is new, and drives it.
//! async fn drive(graph: &Graph, scope: &Scope) -> Result<GraphEnd, OpenError> {
//!     let mut at = graph.restore(scope)?;
//!     if at.checkpoint == 0 {
//!         at = graph.open(scope, at, Writes::new(), Write::new()).await?;
//!     }
//!     Ok(graph.drive(scope, at, &Frameless).await?)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let drafts = Script::new([Ok(NodeOutput::new().write("text", Update::Value(json!("dear"))))]);
//! let played = drafts.clone();
//! let graph = GraphBuilder::new("letters")
//!     .channel("text", Reducer::Append)
//!     .function("draft", move |_, _| std::future::ready(played.next()))
//!     .function("review", |_, context: TaskContext| async move {
//!         let answer = context.ask("good enough?").await?;
//!         Ok(NodeOutput::new().write("text", Update::Value(answer)))
//!     })
//!     .start(["draft"])
//!     .edge("draft", "review")
//!     .finish("review")
//!     .compile()?;
//!
//! let run = TestRun::on(Arc::new(MemoryJournal::new()));
//! run.attempt(async |scope| drive(&graph, scope).await)
//!     .await
//!     .assert_visited(["draft", "review"])
//!     .assert_asks(["review:2.0/1"]);
//!
//! run.answer("review:2.0/1", "yes").await;
//! let recorded = run.attempt(async |scope| drive(&graph, scope).await).await;
//! recorded
//!     .assert_steps([vec!["review"]])
//!     .assert_asks::<&str>([])
//!     .assert_not_visited("draft");
//! assert_eq!(recorded.into_end()?.state.list("text").len(), 2);
//! assert_eq!(drafts.played(), 1);
//! # Ok(())
//! # }
//! ```

use std::{
    collections::VecDeque,
    fmt::{self, Debug, Display},
    sync::{Arc, Mutex, PoisonError},
};

use rustagents_core::{
    ask::{Answer, Ask},
    event::Event,
    ids::{AskId, Branch, ThreadId},
    journal::{Journal, Owner, kind},
    log::ThreadLog,
    scope::{RunShared, Scope},
};
use serde_json::Value;

use crate::{drive, events::EventLog};

/// What a node gives back, turn by turn. Clones play the same turns.
#[derive(Clone, Debug)]
pub struct Script<T>(Arc<Mutex<Turns<T>>>);

#[derive(Debug)]
struct Turns<T> {
    left: VecDeque<T>,
    played: usize,
}

impl<T> Script<T> {
    /// A script of these turns.
    pub fn new(turns: impl IntoIterator<Item = T>) -> Self {
        Self(Arc::new(Mutex::new(Turns {
            left: turns.into_iter().collect(),
            played: 0,
        })))
    }

    /// The next turn.
    ///
    /// # Panics
    /// All were played.
    #[track_caller]
    pub fn next(&self) -> T {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        turns.played += 1;
        let played = turns.played;
        let turn = turns.left.pop_front();
        drop(turns);
        turn.unwrap_or_else(|| panic!("the script has no turn {played}"))
    }

    /// How many turns were played.
    pub fn played(&self) -> usize {
        let turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        turns.played
    }
}

/// A thread of a test, on any journal.
pub struct TestRun {
    journal: Arc<dyn Journal>,
    thread: ThreadId,
    attempts: Mutex<u32>,
}

impl Debug for TestRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestRun")
            .field("thread", &self.thread)
            .finish_non_exhaustive()
    }
}

impl TestRun {
    /// A thread that does not exist yet.
    pub fn on(journal: Arc<dyn Journal>) -> Self {
        Self {
            journal,
            thread: ThreadId::new("test").expect("a valid name"),
            attempts: Mutex::default(),
        }
    }

    /// Claims the thread, drives its root chain by `drive`, and records what happens.
    ///
    /// # Panics
    /// The thread cannot be claimed or read.
    pub async fn attempt<T>(&self, drive: impl AsyncFnOnce(&Scope) -> T) -> Recorded<T> {
        let claim = self.journal.claim(&self.thread, Owner::default()).await;
        let claim = claim.expect("a free thread");
        let branch = Branch::main();
        let log = ThreadLog::load(&*self.journal, &self.thread, &branch).await;
        let events = EventLog::new();
        let scope = Scope::root(RunShared {
            attempt: self.next_attempt(),
            events: events.bus(),
            ..drive::shared(
                Arc::clone(&self.journal),
                self.thread.clone(),
                &claim,
                log.expect("a log that can be read"),
            )
        });
        let end = drive(&scope).await;
        Recorded {
            end,
            events: events.events(),
            asks: self.open_asks().await,
        }
    }

    fn next_attempt(&self) -> u32 {
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        *attempts += 1;
        *attempts
    }

    /// Answers a question of a node.
    ///
    /// # Panics
    /// It has an answer already.
    pub async fn answer(&self, ask: &str, value: impl Into<Value>) {
        let answer = Answer::Value {
            value: value.into(),
        };
        let ask = AskId::from(ask);
        let told = drive::answer(&*self.journal, self.thread.clone(), &ask, &answer).await;
        told.expect("a question without an answer");
    }

    /// The questions on record that nobody has answered.
    async fn open_asks(&self) -> Vec<Ask> {
        let branch = Branch::main();
        let log = ThreadLog::load(&*self.journal, &self.thread, &branch).await;
        let log = log.expect("a log that can be read");
        let asks = log.records().iter().filter(|record| record.is(kind::ASK));
        let asks = asks.map(|record| record.decode::<Ask>(kind::ASK).expect("a question"));
        asks.filter(|ask| log.fact(&branch, &Ask::answer_key(&ask.id)).is_none())
            .collect()
    }
}

/// What happened in one attempt at a run.
///
/// Nodes of subgraphs are told with the nodes around them: `outer/inner`.
#[derive(Clone, Debug)]
#[must_use = "it asserts nothing by itself"]
pub struct Recorded<T> {
    end: T,
    events: Vec<Event>,
    asks: Vec<Ask>,
}

impl<T> Recorded<T> {
    /// What happened in an attempt that somebody else drove: what came of it, the events
    /// that were heard, in order, and the questions that it waits for.
    pub fn of(end: T, events: Vec<Event>, asks: Vec<Ask>) -> Self {
        Self { end, events, asks }
    }

    /// What the drive gave back.
    pub fn end(&self) -> &T {
        &self.end
    }

    /// The same, for keeps.
    pub fn into_end(self) -> T {
        self.end
    }

    /// All events, in order.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The questions that wait for an answer.
    pub fn asks(&self) -> &[Ask] {
        &self.asks
    }

    /// The nodes whose tasks began, in that order.
    pub fn visited(&self) -> Vec<String> {
        self.steps().concat()
    }

    /// The same, superstep by superstep of the outermost graph. The first may have
    /// been begun by an attempt before: its tasks that were done are not in it.
    pub fn steps(&self) -> Vec<Vec<String>> {
        let mut steps = vec![Vec::new()];
        for event in &self.events {
            match (event, steps.last_mut()) {
                (Event::NodeStarted { task, .. }, Some(step)) => step.push(named(task.as_str())),
                // That of the input ends no step.
                (
                    Event::CheckpointSaved {
                        namespace,
                        steps: 1..,
                        ..
                    },
                    _,
                ) if namespace.is_root() => {
                    steps.push(Vec::new());
                }
                _ => {}
            }
        }
        steps.pop_if(|step| step.is_empty());
        steps
    }

    /// The failures that nobody tried again, by node.
    pub fn failures(&self) -> Vec<(String, String)> {
        let failed = |event: &Event| match event {
            Event::NodeFailed { task, message, .. } => {
                Some((named(task.as_str()), message.clone()))
            }
            _ => None,
        };
        self.events.iter().filter_map(failed).collect()
    }

    /// How often the tasks of `node` were tried again.
    pub fn retries(&self, node: &str) -> usize {
        let retried = |event: &&Event| match event {
            Event::NodeRetried { task, .. } => named(task.as_str()) == node,
            _ => false,
        };
        self.events.iter().filter(retried).count()
    }

    /// Asserts that exactly these nodes began, in this order.
    #[track_caller]
    pub fn assert_visited<N: Display>(&self, nodes: impl IntoIterator<Item = N>) -> &Self {
        self.same("visited", &texts(nodes), &self.visited())
    }

    /// Asserts that exactly these nodes began, superstep by superstep.
    #[track_caller]
    pub fn assert_steps<N: Display>(
        &self,
        steps: impl IntoIterator<Item = impl IntoIterator<Item = N>>,
    ) -> &Self {
        let line = |step: &Vec<String>| step.join(", ");
        let expected: Vec<_> = steps.into_iter().map(|step| line(&texts(step))).collect();
        let found: Vec<_> = self.steps().iter().map(line).collect();
        self.same("steps", &expected, &found)
    }

    /// Asserts that these nodes began in this order, whatever began between them.
    #[track_caller]
    pub fn assert_order<N: Display>(&self, nodes: impl IntoIterator<Item = N>) -> &Self {
        let visited = self.visited();
        let mut left = visited.iter();
        for node in texts(nodes) {
            let found = left.any(|name| *name == node);
            assert!(
                found,
                "`{node}` did not begin, or not in that order{}",
                self.told()
            );
        }
        self
    }

    /// Asserts that no task of `node` began.
    #[track_caller]
    pub fn assert_not_visited(&self, node: &str) -> &Self {
        let began = self.visited().iter().any(|name| name == node);
        assert!(!began, "`{node}` began{}", self.told());
        self
    }

    /// Asserts that the run waits for exactly these questions, by their ids.
    #[track_caller]
    pub fn assert_asks<I: Display>(&self, ids: impl IntoIterator<Item = I>) -> &Self {
        let found: Vec<_> = self.asks.iter().map(|ask| ask.id.to_string()).collect();
        self.same("asks", &texts(ids), &found)
    }

    /// Asserts that a task of `node` failed for good, with `message` in its message.
    #[track_caller]
    pub fn assert_failed(&self, node: &str, message: &str) -> &Self {
        let failures = self.failures();
        let failed = |failure: &(String, String)| failure.0 == node && failure.1.contains(message);
        assert!(
            failures.iter().any(failed),
            "`{node}` did not fail with `{message}`; failures: {failures:?}{}",
            self.told()
        );
        self
    }

    #[track_caller]
    fn same(&self, what: &str, expected: &[String], found: &[String]) -> &Self {
        assert!(
            expected == found,
            "{what}{}{}",
            difference(expected, found),
            self.told()
        );
        self
    }

    /// What happened, for people.
    fn told(&self) -> String {
        let steps = self.steps();
        let steps = steps.iter().enumerate();
        let lines = steps.map(|(at, step)| format!("\n  step {}: {}", at + 1, step.join(", ")));
        let asks = self.asks.iter();
        let asks = asks.map(|ask| format!("\n  waits for {}: {}", ask.id, ask.prompt));
        format!("\nwhat happened:{}", lines.chain(asks).collect::<String>())
    }
}

/// The nodes of a task and of those around it.
fn named(task: &str) -> String {
    let node = |task: &str| {
        task.rsplit_once(':')
            .map_or(task, |(node, _)| node)
            .to_owned()
    };
    task.split('/').map(node).collect::<Vec<_>>().join("/")
}

fn texts<N: Display>(items: impl IntoIterator<Item = N>) -> Vec<String> {
    items.into_iter().map(|item| item.to_string()).collect()
}

/// One line for each place, and marks where they differ.
fn difference(expected: &[String], found: &[String]) -> String {
    let none = || "-".to_owned();
    let lines = (0..expected.len().max(found.len())).map(|at| {
        let (want, is) = (expected.get(at), found.get(at));
        let mark = if want == is { ' ' } else { '!' };
        let (want, is) = (
            want.cloned().unwrap_or_else(none),
            is.cloned().unwrap_or_else(none),
        );
        format!("\n{mark} {}: expected {want}, found {is}", at + 1)
    });
    format!(":{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use rustagents_core::ids::{Namespace, NodeName, TaskId};

    use super::*;

    fn recorded(lines: &[&str]) -> Recorded<()> {
        let event = |line: &&str| match line.split_once(' ') {
            Some((task, "failed")) => Event::NodeFailed {
                node: NodeName::from("x"),
                task: TaskId::from(task),
                message: "no luck".into(),
            },
            _ if *line == "checkpoint" => Event::CheckpointSaved {
                namespace: Namespace::root(),
                checkpoint: 2,
                steps: 1,
                is_durable: true,
            },
            _ => Event::NodeStarted {
                node: NodeName::from("x"),
                task: TaskId::from(*line),
            },
        };
        Recorded {
            end: (),
            events: lines.iter().map(event).collect(),
            asks: Vec::new(),
        }
    }

    fn refused(assert: impl FnOnce(&Recorded<()>)) -> String {
        let recorded = recorded(&[
            "a:1.0",
            "b:1.1",
            "checkpoint",
            "c:2.0",
            "c:2.0/d:1.0",
            "c:2.0 failed",
        ]);
        let panicked = catch_unwind(AssertUnwindSafe(|| assert(&recorded)));
        let told = panicked.unwrap_err().downcast::<String>();
        *told.expect("a message")
    }

    #[test]
    fn what_holds_is_asserted_in_a_row() {
        recorded(&[
            "a:1.0",
            "b:1.1",
            "checkpoint",
            "c:2.0",
            "c:2.0/d:1.0",
            "c:2.0 failed",
        ])
        .assert_visited(["a", "b", "c", "c/d"])
        .assert_steps([vec!["a", "b"], vec!["c", "c/d"]])
        .assert_order(["a", "c/d"])
        .assert_not_visited("d")
        .assert_failed("c", "luck")
        .assert_asks::<&str>([]);
    }

    #[test]
    fn what_does_not_hold_is_told_with_what_happened() {
        let told = refused(|recorded| {
            recorded.assert_visited(["a", "c"]);
        });
        assert_eq!(
            told,
            "visited:\n  1: expected a, found a\n! 2: expected c, found b\n\
             ! 3: expected -, found c\n! 4: expected -, found c/d\n\
             what happened:\n  step 1: a, b\n  step 2: c, c/d"
        );
        let told = refused(|recorded| {
            recorded.assert_order(["b", "a"]);
        });
        assert!(
            told.starts_with("`a` did not begin, or not in that order"),
            "{told}"
        );
        let told = refused(|recorded| {
            recorded.assert_steps([["a"]]);
        });
        assert!(
            told.starts_with("steps:\n! 1: expected a, found a, b"),
            "{told}"
        );
        refused(|recorded| {
            recorded.assert_not_visited("a");
        });
        refused(|recorded| {
            recorded.assert_failed("a", "luck");
        });
        refused(|recorded| {
            recorded.assert_asks(["a:1.0/1"]);
        });
    }
}
