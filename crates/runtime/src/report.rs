//! What a run came to, for people and scripts.

use rustagents_agent::error::RecordedError;
use rustagents_core::{
    ask::Ask,
    budget::Spent,
    code::{Code, Coded},
    ids::{RunId, ThreadId},
};
use rustagents_graph::{GraphEnd, GraphState, Outcome};
use serde::{Deserialize, Serialize};

use crate::{keep::LostEvents, record::RunClosed};

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// It did what was asked.
    Completed,
    /// It waits for people.
    Suspended,
    /// It failed.
    Failed,
    /// A policy stopped it.
    Interrupted,
    /// A limit was reached.
    BudgetExceeded,
    /// It was told to stop. Whether it can be resumed says [`Report::is_closed`].
    Cancelled,
}

impl Status {
    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Suspended => "suspended",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::BudgetExceeded => "budget_exceeded",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether a retry reopens a run that ended so.
    pub(crate) const fn is_retried(self) -> bool {
        matches!(
            self,
            Self::Failed | Self::Interrupted | Self::BudgetExceeded
        )
    }
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Report {
    /// The thread.
    pub thread: ThreadId,
    /// The run.
    pub run: RunId,
    /// How it stands.
    pub status: Status,
    /// The text of the last answer in the conversation.
    pub output: Option<String>,
    /// Whether it is over, and no resume brings it further.
    pub is_closed: bool,
    /// Whether a file holds its plan, so that a resume or a retry finds it there. A
    /// graph that a program builds goes on in that program only.
    pub has_plan: bool,
    /// What it waits for.
    pub asks: Vec<Ask>,
    /// What went wrong.
    pub error: Option<RecordedError>,
    /// What to do about it.
    pub hint: Option<String>,
    /// How many supersteps it took, with those of graphs inside.
    pub steps: u64,
    /// What it consumed.
    pub spent: Spent,
    /// Events of the attempt that was just driven which the event journal does not
    /// have, where they are kept.
    pub events_lost: Option<LostEvents>,
}

impl Report {
    /// Whether the run ended so that a retry reopens it, and may bring it further.
    pub fn can_be_retried(&self) -> bool {
        let broken = self.error.as_ref().is_some_and(|error| {
            Code::parse(&error.code).is_none_or(|code| code == Code::Internal)
        });
        self.is_closed && self.status.is_retried() && !broken
    }

    pub(crate) fn of_end(
        thread: ThreadId,
        run: RunId,
        end: &GraphEnd,
        closed: RunClosed,
        spent: Spent,
    ) -> Self {
        let asks = match &end.outcome {
            Outcome::Suspended(asks) => asks.clone(),
            _ => Vec::new(),
        };
        Self {
            is_closed: !matches!(end.outcome, Outcome::Suspended(_)),
            asks,
            spent,
            ..Self::of_closed(thread, run, closed)
        }
    }

    pub(crate) fn of_closed(thread: ThreadId, run: RunId, closed: RunClosed) -> Self {
        let spent = Spent {
            steps: closed.steps,
            model_calls: closed.model_calls,
            tool_calls: closed.tool_calls,
            driven_ms: 0,
            usage: closed.usage,
        };
        Self {
            thread,
            run,
            status: closed.status,
            output: closed.output,
            is_closed: true,
            has_plan: true,
            asks: Vec::new(),
            error: closed.error,
            hint: closed.hint,
            steps: closed.steps,
            spent,
            events_lost: None,
        }
    }

    /// The same, with events that are missing where they are kept.
    pub(crate) fn missing(mut self, more: Option<LostEvents>) -> Self {
        self.events_lost = match (self.events_lost, more) {
            (Some(some), Some(more)) => Some(LostEvents {
                count: some.count + more.count,
                ..some
            }),
            (some, more) => some.or(more),
        };
        self
    }
}

/// What to do about a graph that took too many steps.
pub(crate) const RECURSION_HINT: &str = "raise `recursion_limit`, or give the loop an end";

fn hint(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Failed { failure, .. } => failure.hint.clone(),
        Outcome::Budget(exceeded) => exceeded.hint(),
        Outcome::RecursionLimit { .. } => Some(RECURSION_HINT.into()),
        _ => None,
    }
}

impl RunClosed {
    /// What is recorded of a run that had nothing to do.
    pub(crate) fn idle(output: Option<String>) -> Self {
        Self {
            status: Status::Completed,
            output,
            ..Self::cancelled(Spent::default())
        }
    }

    /// What is recorded of a run that a person gave up.
    pub(crate) fn cancelled(spent: Spent) -> Self {
        Self {
            status: Status::Cancelled,
            output: None,
            error: None,
            hint: None,
            steps: spent.steps,
            usage: spent.usage,
            model_calls: spent.model_calls,
            tool_calls: spent.tool_calls,
        }
    }

    /// What is recorded of a run that failed outside its graph.
    pub(crate) fn failed(code: Code, message: &str, spent: Spent) -> Self {
        Self {
            status: Status::Failed,
            error: Some(recorded(code, message)),
            ..Self::cancelled(spent)
        }
    }

    /// What is recorded of an end.
    pub(crate) fn of<S: GraphState>(
        end: &GraphEnd<S>,
        output: Option<String>,
        spent: Spent,
    ) -> Self {
        let (status, error) = match &end.outcome {
            Outcome::Completed => (Status::Completed, None),
            Outcome::Suspended(_) => (Status::Suspended, None),
            Outcome::Interrupted { node, reason } => (
                Status::Interrupted,
                Some(recorded(
                    Code::InterruptedByPolicy,
                    &format!("node `{node}`: {reason}"),
                )),
            ),
            Outcome::Failed { node, failure } => {
                let message = format!("node `{node}`: {}", failure.message);
                (Status::Failed, Some(recorded(failure.code, &message)))
            }
            Outcome::RecursionLimit { limit } => (
                Status::BudgetExceeded,
                Some(recorded(
                    Code::RecursionLimit,
                    &format!("the graph took {limit} steps, as many as it may"),
                )),
            ),
            Outcome::Budget(exceeded) => {
                (Status::BudgetExceeded, Some(RecordedError::of(exceeded)))
            }
            _ => (
                Status::Failed,
                Some(recorded(Code::Internal, "an unknown end")),
            ),
        };
        Self {
            status,
            output,
            error,
            hint: hint(&end.outcome),
            steps: spent.steps,
            usage: spent.usage,
            model_calls: spent.model_calls,
            tool_calls: spent.tool_calls,
        }
    }
}

fn recorded(code: Code, message: &str) -> RecordedError {
    RecordedError {
        code: code.to_string(),
        message: message.to_owned(),
    }
}
