//! How an agent fails.

use rustagents_core::{
    ask::Unanswerable,
    code::{Class, Code, Coded},
    model::ModelError,
    tool::ToolErrorKind,
};
use serde::{Deserialize, Serialize};

use crate::evidence::Problem;

/// How much of a model's own words an error keeps, in characters.
const EXCERPT: usize = 200;

/// Why an agent has no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The model did not answer.
    #[error("step {step}: {source}")]
    ModelTransport {
        /// The turn, from 1.
        step: u32,
        /// How often the call was tried.
        tries: u32,
        /// What went wrong.
        #[source]
        source: ModelError,
    },
    /// The model asked for something that cannot be done.
    #[error("step {step}: {problem}")]
    InvalidModelAction {
        /// The turn, from 1.
        step: u32,
        /// What is wrong with it.
        problem: Box<Problem>,
        /// The tool that it names, where it names one.
        tool_name: Option<String>,
        /// The start of the arguments, as the model wrote them.
        received_args: Option<String>,
        /// The start of the answer's text.
        raw_response: String,
    },
    /// A tool call failed.
    #[error("step {step}: tool `{tool}`: {message}")]
    ToolDispatch {
        /// The turn, from 1.
        step: u32,
        /// The tool.
        tool: String,
        /// What kind of failure it is.
        kind: ToolErrorKind,
        /// What the tool says.
        message: String,
    },
    /// A policy's configuration is illegal.
    #[error("the agent cannot be built: {reason}")]
    PolicyConfigInvalid {
        /// The rule that it breaks.
        reason: &'static str,
    },
    /// A policy decided something that cannot be done.
    #[error("step {step}: the policy decided {decision} where that is not possible")]
    PolicyRuntimeViolation {
        /// The turn, from 1.
        step: u32,
        /// What it decided.
        decision: &'static str,
    },
    /// It has come to wait for a person, and its run records nothing.
    #[error(transparent)]
    Unanswerable(#[from] Unanswerable),
    /// A promise of this crate was broken.
    #[error("internal: {context}")]
    InternalInvariant {
        /// Which, and where.
        context: String,
    },
    /// A failure that an earlier attempt recorded.
    #[error("{}", .0.message)]
    Recorded(RecordedError),
}

/// An error as records keep it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedError {
    /// The stable code, such as `RAG0503`.
    pub code: String,
    /// The message.
    pub message: String,
}

impl RecordedError {
    /// What records keep of `error`.
    pub fn of(error: &(impl Coded + ?Sized)) -> Self {
        Self {
            code: error.code().to_string(),
            message: error.to_string(),
        }
    }
}

impl AgentError {
    /// Shortens text from outside to what an error keeps.
    pub fn excerpt(text: &str) -> String {
        text.chars().take(EXCERPT).collect()
    }
}

impl Coded for AgentError {
    fn code(&self) -> Code {
        match self {
            Self::ModelTransport { source, .. } => source.code(),
            Self::InvalidModelAction { problem, .. } => problem.code(),
            Self::ToolDispatch { .. } => Code::ToolFailed,
            Self::PolicyConfigInvalid { .. } | Self::PolicyRuntimeViolation { .. } => {
                Code::PolicyConfiguration
            }
            Self::Unanswerable(error) => error.code(),
            Self::InternalInvariant { .. } => Code::Internal,
            Self::Recorded(error) => Code::parse(&error.code).unwrap_or(Code::Internal),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::ModelTransport { source, .. } => source.hint(),
            Self::InvalidModelAction { problem, .. } => problem.hint(),
            Self::Unanswerable(error) => error.hint(),
            _ => None,
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::ModelTransport { source, .. } => source.class(),
            Self::InternalInvariant { .. } => Class::Bug,
            _ => Class::Caller,
        }
    }
}
