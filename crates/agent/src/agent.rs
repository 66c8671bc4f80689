//! The agent that a user builds.

use std::{fmt, sync::Arc};

use rustagents_core::{
    ask::Ask,
    digest::Chained,
    ids::NodeName,
    message::{Message, Usage},
    model::{Model, ResponseLimits},
    scope::{Halt, Scope},
};

use crate::{
    driver::Driver,
    error::AgentError,
    evidence::FinalAnswer,
    policy::{PolicyEngine, Reprompt},
    state::Conversation,
    tools::ToolSet,
};

/// The policy of an agent, shared.
pub type Policy = Arc<dyn PolicyEngine<Conversation>>;

/// A model with instructions, tools and a policy. Cheap to clone.
#[derive(Clone)]
pub struct Agent(Arc<Parts>);

pub(crate) struct Parts {
    pub(crate) name: NodeName,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) instructions: String,
    pub(crate) tools: ToolSet,
    pub(crate) labels: Vec<String>,
    pub(crate) policy: Policy,
    pub(crate) limits: ResponseLimits,
    pub(crate) concurrency: usize,
    prefix: Chained,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("name", &self.0.name)
            .field("model", &self.0.model.id())
            .field("tools", &self.0.tools)
            .finish_non_exhaustive()
    }
}

/// What an agent works on.
#[derive(Clone, Debug)]
pub struct AgentInput {
    /// The conversation so far; every call in it has its result.
    pub messages: Vec<Arc<Message>>,
    /// The index of the first message that belongs to this run.
    pub run_start: usize,
}

/// How an agent ended, or why it waits.
#[derive(Clone, Debug)]
pub struct AgentEnd {
    /// The outcome.
    pub outcome: AgentOutcome,
    /// The messages that it made.
    pub messages: Vec<Arc<Message>>,
    /// What its model calls consumed, in all attempts.
    pub usage: Usage,
}

/// The outcome of an agent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AgentOutcome {
    /// It has its answer.
    Completed(FinalAnswer),
    /// It waits for people.
    Suspended(Vec<Ask>),
    /// A policy stopped it.
    Interrupted(String),
    /// It failed.
    Failed(AgentError),
}

impl Agent {
    /// Starts building an agent. `name` is what questions to people name.
    pub fn builder(name: &str) -> AgentBuilder {
        AgentBuilder {
            name: NodeName::from(name),
            model: None,
            instructions: String::new(),
            tools: ToolSet::default(),
            labels: Vec::new(),
            policy: Arc::new(Reprompt::default()),
            limits: ResponseLimits::default(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &NodeName {
        &self.0.name
    }

    /// Its tools.
    pub fn tools(&self) -> &ToolSet {
        &self.0.tools
    }

    /// Drives the agent on the chain of `scope` until it ends or waits: from the
    /// beginning, or from where an earlier attempt on that chain stopped.
    ///
    /// Cancellation: [`Halt::Cancelled`] as soon as the run's token fires; a
    /// mutating call in flight gets a bounded time to end and is recorded.
    /// Dropping the future loses what was in flight: such a mutating call is in
    /// doubt on the next attempt.
    ///
    /// # Errors
    /// [`Halt`]: the machine stopped without an outcome.
    pub async fn drive(&self, scope: &Scope, input: AgentInput) -> Result<AgentEnd, Halt> {
        let start = Conversation::new(
            input.messages,
            input.run_start,
            self.0.prefix,
            scope.namespace().as_str(),
        );
        Driver::new(&self.0, scope).drive(start).await
    }
}

/// Collects the parts of an [`Agent`].
#[derive(Clone)]
pub struct AgentBuilder {
    name: NodeName,
    model: Option<Arc<dyn Model>>,
    instructions: String,
    tools: ToolSet,
    labels: Vec<String>,
    policy: Policy,
    limits: ResponseLimits,
}

impl fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentBuilder")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl AgentBuilder {
    /// The model. Required.
    #[must_use]
    pub fn model(mut self, model: Arc<dyn Model>) -> Self {
        self.model = Some(model);
        self
    }

    /// The system message.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = text.into();
        self
    }

    /// What it may call.
    #[must_use]
    pub fn tools(mut self, tools: ToolSet) -> Self {
        self.tools = tools;
        self
    }

    /// The only answers that it may end with; none allows any answer.
    #[must_use]
    pub fn labels(mut self, labels: Vec<String>) -> Self {
        self.labels = labels;
        self
    }

    /// What failures mean. Unless set: [`Reprompt::default`].
    #[must_use]
    pub fn policy(mut self, policy: impl PolicyEngine<Conversation> + 'static) -> Self {
        self.policy = Arc::new(policy);
        self
    }

    /// What one answer of the model may hold.
    #[must_use]
    pub fn response_limits(mut self, limits: ResponseLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Puts the parts together.
    ///
    /// # Errors
    /// [`AgentError::PolicyConfigInvalid`] where a part is missing.
    pub fn build(self) -> Result<Agent, AgentError> {
        let model = self.model.ok_or(AgentError::PolicyConfigInvalid {
            reason: "an agent needs a model",
        })?;
        let mut prefix = Chained::default();
        prefix.push(|part| {
            part.text(model.id());
            part.text(&self.instructions);
        });
        for spec in self.tools.specs() {
            prefix.push(|part| part.text(&serde_json::to_string(spec).unwrap_or_default()));
        }
        Ok(Agent(Arc::new(Parts {
            name: self.name,
            model,
            instructions: self.instructions,
            tools: self.tools,
            labels: self.labels,
            policy: self.policy,
            limits: self.limits,
            concurrency: 8,
            prefix,
        })))
    }
}
