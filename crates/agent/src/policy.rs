//! What a failure means: policies decide, the driver does.

use crate::{error::AgentError, evidence::Problem, state::AgentState};

/// What is to be done about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyDecision {
    /// The agent fails.
    Fail,
    /// The same model call is made again.
    Retry {
        /// Whether the new try takes from the budget; always, unless asked otherwise.
        consume_budget: bool,
    },
    /// The model is told what is wrong and answers again.
    Reprompt {
        /// How, and how often.
        strategy: RepromptStrategy,
        /// Whether the new turn takes from the budget; always, unless asked otherwise.
        consume_budget: bool,
    },
    /// The agent stops for good.
    Interrupt,
}

/// How a refused answer goes back to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepromptStrategy {
    /// Once, with the list of tools.
    OnceWithToolCatalog,
    /// Up to `n` times in the agent's whole run.
    N {
        /// How often; more than 0.
        n: u32,
    },
}

impl RepromptStrategy {
    /// How often it may be used in an agent's whole run.
    pub const fn bound(self) -> u32 {
        match self {
            Self::OnceWithToolCatalog => 1,
            Self::N { n } => n,
        }
    }

    /// Whether the model is told the tools again.
    pub const fn with_catalog(self) -> bool {
        matches!(self, Self::OnceWithToolCatalog)
    }
}

/// Decides what failures mean. The same state and error always give the same
/// decision, and deciding changes nothing.
pub trait PolicyEngine<S: AgentState>: Send + Sync {
    /// The model failed, or asked for something that cannot be done.
    fn on_model_error(&self, state: &S, error: &AgentError) -> PolicyDecision;

    /// A tool call failed. [`PolicyDecision::Reprompt`] hands the failure to the
    /// model as the call's result; the tool-call budget bounds it.
    fn on_tool_error(&self, state: &S, error: &AgentError) -> PolicyDecision;
}

/// Every failure ends the agent.
#[derive(Clone, Copy, Debug, Default)]
pub struct FailFast;

impl<S: AgentState> PolicyEngine<S> for FailFast {
    fn on_model_error(&self, _: &S, _: &AgentError) -> PolicyDecision {
        PolicyDecision::Fail
    }

    fn on_tool_error(&self, _: &S, _: &AgentError) -> PolicyDecision {
        PolicyDecision::Fail
    }
}

/// What the model can mend goes back to it, a bounded number of times; a failed
/// transport is tried again; the rest fails, an answer that was cut or declined too.
#[derive(Clone, Copy, Debug)]
pub struct Reprompt {
    strategy: RepromptStrategy,
}

impl Reprompt {
    /// How often a model call is made again after its transport failed.
    pub const RETRIES: u32 = 3;

    /// The policy with a strategy of its own.
    ///
    /// # Errors
    /// [`AgentError::PolicyConfigInvalid`] for a strategy that never reprompts.
    pub fn new(strategy: RepromptStrategy) -> Result<Self, AgentError> {
        if strategy.bound() == 0 {
            return Err(AgentError::PolicyConfigInvalid {
                reason: "`n` must be more than 0",
            });
        }
        Ok(Self { strategy })
    }
}

impl Default for Reprompt {
    fn default() -> Self {
        Self {
            strategy: RepromptStrategy::OnceWithToolCatalog,
        }
    }
}

impl<S: AgentState> PolicyEngine<S> for Reprompt {
    fn on_model_error(&self, _: &S, error: &AgentError) -> PolicyDecision {
        match error {
            AgentError::InvalidModelAction { problem, .. }
                if problem.is_final() || matches!(**problem, Problem::TooLarge { .. }) =>
            {
                PolicyDecision::Fail
            }
            AgentError::InvalidModelAction { .. } => PolicyDecision::Reprompt {
                strategy: self.strategy,
                consume_budget: true,
            },
            AgentError::ModelTransport { tries, source, .. }
                if *tries <= Self::RETRIES && is_retryable(source) =>
            {
                PolicyDecision::Retry {
                    consume_budget: true,
                }
            }
            _ => PolicyDecision::Fail,
        }
    }

    fn on_tool_error(&self, _: &S, _: &AgentError) -> PolicyDecision {
        PolicyDecision::Reprompt {
            strategy: self.strategy,
            consume_budget: true,
        }
    }
}

fn is_retryable(error: &rustagents_core::model::ModelError) -> bool {
    use rustagents_core::code::{Class, Coded};
    error.class() == Class::Retryable
}
