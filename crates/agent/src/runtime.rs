//! The phases of an agent, as types: only legal moves compile.
//!
//! `Idle → Thinking → (Completed | Acting) → Observing → Thinking …`; from any
//! active phase to `Failed` or `Interrupted`, and from `Acting` to the durable
//! `Suspended`. Moves that depend on a model's output take evidence.
//!
//! ```compile_fail
//! use rustagents_agent::{AgentRuntime, FailFast, ToolSet, evidence::ValidatedAction, state::Conversation};
//! fn acts_from_idle(
//!     idle: AgentRuntime<Conversation, ToolSet, FailFast>,
//!     action: ValidatedAction,
//! ) {
//!     idle.act(action);
//! }
//! ```

use rustagents_core::ask::Ask;

use crate::{
    error::AgentError,
    evidence::{FinalAnswer, Observations, ValidatedAction},
    state::AgentState,
};

/// An agent in one phase. `S` is its state, `T` its tools, `P` its policy.
#[derive(Clone, Debug)]
pub struct AgentRuntime<S, T, P, Phase = Idle> {
    /// Boxed, so that each move moves little.
    state: Box<S>,
    tools: T,
    policy: P,
    phase: Phase,
}

/// Not yet begun.
#[derive(Clone, Copy, Debug)]
pub struct Idle;

/// Waits for the model.
#[derive(Clone, Copy, Debug)]
pub struct Thinking;

/// Runs the calls of an action.
#[derive(Clone, Debug)]
pub struct Acting {
    action: ValidatedAction,
}

/// Has the results of all calls.
#[derive(Clone, Copy, Debug)]
pub struct Observing;

/// Has its answer. Terminal.
#[derive(Clone, Debug)]
pub struct Completed {
    answer: FinalAnswer,
}

/// Failed. Terminal.
#[derive(Clone, Debug)]
pub struct Failed {
    error: AgentError,
}

/// Was stopped by policy. Terminal.
#[derive(Clone, Debug)]
pub struct Interrupted {
    reason: String,
}

/// Waits for people; a later attempt goes on.
#[derive(Clone, Debug)]
pub struct Suspended {
    asks: Vec<Ask>,
}

/// A phase that may still fail or be interrupted.
pub trait Active: sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! active {
    ($($phase:ident)*) => {$(
        impl sealed::Sealed for $phase {}
        impl Active for $phase {}
    )*};
}
active! { Idle Thinking Acting Observing }

impl<S, T, P, Phase> AgentRuntime<S, T, P, Phase> {
    fn to<Next>(self, phase: Next) -> AgentRuntime<S, T, P, Next> {
        AgentRuntime {
            state: self.state,
            tools: self.tools,
            policy: self.policy,
            phase,
        }
    }

    /// The state.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// The tools.
    pub fn tools(&self) -> &T {
        &self.tools
    }

    /// The policy.
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// The state, when nothing else is wanted any more.
    pub fn into_state(self) -> S {
        *self.state
    }

    pub(crate) fn state_mut(&mut self) -> &mut S {
        &mut self.state
    }
}

impl<S: AgentState, T, P> AgentRuntime<S, T, P, Idle> {
    /// An agent that has not begun.
    pub fn new(state: S, tools: T, policy: P) -> Self {
        Self {
            state: Box::new(state),
            tools,
            policy,
            phase: Idle,
        }
    }

    /// Begins the first step.
    pub fn think(self) -> AgentRuntime<S, T, P, Thinking> {
        self.begin()
    }
}

impl<S: AgentState, T, P, Phase> AgentRuntime<S, T, P, Phase> {
    fn begin(mut self) -> AgentRuntime<S, T, P, Thinking> {
        self.state.begin_step();
        self.to(Thinking)
    }
}

impl<S: AgentState, T, P> AgentRuntime<S, T, P, Thinking> {
    /// Acts on what the model asked for.
    pub fn act(self, action: ValidatedAction) -> AgentRuntime<S, T, P, Acting> {
        self.to(Acting { action })
    }

    /// Ends with the model's answer.
    pub fn complete(self, answer: FinalAnswer) -> AgentRuntime<S, T, P, Completed> {
        self.to(Completed { answer })
    }

    /// Thinks again, after a refused answer went back to the model.
    #[must_use]
    pub fn rethink(self) -> AgentRuntime<S, T, P, Thinking> {
        self.begin()
    }
}

impl<S: AgentState, T, P> AgentRuntime<S, T, P, Acting> {
    /// What is being done.
    pub fn action(&self) -> &ValidatedAction {
        &self.phase.action
    }

    /// Observes the results of all calls.
    pub fn observe(mut self, results: &Observations) -> AgentRuntime<S, T, P, Observing>
    where
        S: AgentState<ScratchpadEntry = std::sync::Arc<rustagents_core::message::Message>>,
    {
        for message in results.messages() {
            self.state.append_scratchpad(std::sync::Arc::clone(message));
        }
        self.to(Observing)
    }

    /// Waits for people.
    pub fn suspend(self, asks: Vec<Ask>) -> AgentRuntime<S, T, P, Suspended> {
        self.to(Suspended { asks })
    }
}

impl<S: AgentState, T, P> AgentRuntime<S, T, P, Observing> {
    /// Begins the next step.
    pub fn think(self) -> AgentRuntime<S, T, P, Thinking> {
        self.begin()
    }
}

impl<S, T, P, Phase: Active> AgentRuntime<S, T, P, Phase> {
    /// Fails.
    pub fn fail(self, error: AgentError) -> AgentRuntime<S, T, P, Failed> {
        self.to(Failed { error })
    }

    /// Stops, as a policy wants it.
    pub fn interrupt(self, reason: impl Into<String>) -> AgentRuntime<S, T, P, Interrupted> {
        self.to(Interrupted {
            reason: reason.into(),
        })
    }
}

impl<S, T, P> AgentRuntime<S, T, P, Completed> {
    /// The answer.
    pub fn answer(&self) -> &FinalAnswer {
        &self.phase.answer
    }
}

impl<S, T, P> AgentRuntime<S, T, P, Failed> {
    /// Why.
    pub fn error(&self) -> &AgentError {
        &self.phase.error
    }
}

impl<S, T, P> AgentRuntime<S, T, P, Interrupted> {
    /// Why.
    pub fn reason(&self) -> &str {
        &self.phase.reason
    }
}

impl<S, T, P> AgentRuntime<S, T, P, Suspended> {
    /// What is asked.
    pub fn asks(&self) -> &[Ask] {
        &self.phase.asks
    }
}

/// An agent whose phase is known only at run time, as after a restart.
#[derive(Clone, Debug)]
pub enum AnyPhase<S, T, P> {
    /// Not yet begun.
    Idle(AgentRuntime<S, T, P, Idle>),
    /// Waits for the model.
    Thinking(AgentRuntime<S, T, P, Thinking>),
    /// Runs the calls of an action.
    Acting(AgentRuntime<S, T, P, Acting>),
    /// Has the results of all calls.
    Observing(AgentRuntime<S, T, P, Observing>),
    /// Has its answer.
    Completed(AgentRuntime<S, T, P, Completed>),
    /// Failed.
    Failed(AgentRuntime<S, T, P, Failed>),
    /// Was stopped by policy.
    Interrupted(AgentRuntime<S, T, P, Interrupted>),
    /// Waits for people.
    Suspended(AgentRuntime<S, T, P, Suspended>),
}
