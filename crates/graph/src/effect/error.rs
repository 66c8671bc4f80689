//! What a step, or its caller, did wrong.

use rustagents_core::{
    budget::Bounds,
    code::{Class, Code, Coded},
    ids::TaskId,
};

use super::MAX_NAME_BYTES;
use crate::{
    node::{NodeError, NodeFailure},
    schedule::way_beyond,
};

/// Why a step has no result. Nothing was recorded as one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// The name or the key is empty, or longer than [`MAX_NAME_BYTES`].
    #[error("a step's {what} has {bytes} bytes, and may have 1 to {MAX_NAME_BYTES}")]
    Name {
        /// The name, or the key.
        what: &'static str,
        /// How long it is.
        bytes: usize,
    },
    /// A step of the same name and key is in flight.
    #[error("two steps `{step}` are in flight in one task")]
    InFlight {
        /// The step.
        step: String,
    },
    /// The task made more steps than a task may.
    #[error("task {task} made more than {limit} steps")]
    Limit {
        /// The task.
        task: TaskId,
        /// How many it may make.
        limit: u32,
    },
    /// A step or a question was not made by the node itself.
    #[error(
        "{what} of task {task} was made outside it: inside a step, or on another task of the executor"
    )]
    Outside {
        /// What was made.
        what: String,
        /// The task.
        task: TaskId,
    },
    /// The input has no JSON form; the step was not executed.
    #[error("step `{step}` has an input that cannot be recorded: {reason}")]
    Input {
        /// The step.
        step: String,
        /// Why.
        reason: String,
    },
    /// The result has no JSON form, or not one that can be read back. The step was
    /// executed.
    #[error("step `{step}` was executed, and its result cannot be recorded: {reason}")]
    Result {
        /// The step.
        step: String,
        /// Why.
        reason: String,
    },
    /// The result is too large. The step was executed.
    #[error(
        "step `{step}` was executed, and its result of {bytes} bytes is over the limit of {limit}"
    )]
    TooLarge {
        /// The step.
        step: String,
        /// The size of the batch with it.
        bytes: usize,
        /// The most bytes of a batch.
        limit: usize,
    },
    /// A person said that the step in doubt did not take effect.
    #[error("step `{step}` was not executed")]
    NotExecuted {
        /// The step.
        step: String,
    },
    /// It panicked.
    #[error("step `{step}` panicked")]
    Panicked {
        /// The step.
        step: String,
    },
}

impl Coded for StepError {
    fn code(&self) -> Code {
        match self {
            Self::Name { .. } => Code::StepName,
            Self::InFlight { .. } => Code::StepInFlight,
            Self::Limit { .. } => Code::StepLimit,
            Self::Outside { .. } => Code::OutsideTask,
            Self::Input { .. } | Self::Result { .. } => Code::StepResult,
            Self::TooLarge { .. } => Code::TooLarge,
            Self::NotExecuted { .. } => Code::StepNotExecuted,
            Self::Panicked { .. } => Code::NodeFailed,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::InFlight { .. } => {
                Some("tell them apart with `step_keyed`, or await one before the next".into())
            }
            Self::Limit { limit, .. } => Some(way_beyond(
                "let the graph loop, or do more in one step",
                "Bounds::max_task_steps",
                *limit < Bounds::MOST.steps(),
            )),
            Self::Outside { .. } => Some("use `TaskContext::spawn` for concurrent work".into()),
            Self::TooLarge { .. } => {
                Some("return a reference to what is kept elsewhere, not the whole".into())
            }
            _ => None,
        }
    }

    /// As of a panic of the node itself, another try may help against one of a step.
    fn class(&self) -> Class {
        match self {
            Self::Panicked { .. } => Class::Retryable,
            _ => Class::Caller,
        }
    }
}

impl From<StepError> for NodeError {
    fn from(error: StepError) -> Self {
        Self::Failed(NodeFailure {
            code: error.code(),
            class: error.class(),
            message: error.to_string(),
            hint: error.hint(),
        })
    }
}
