//! Where graph and agent meet: nodes that run an agent, or ask a person.

use std::sync::Arc;

use rustagents_agent::{Agent, AgentInput, agent::AgentEnd, agent::AgentOutcome};
use rustagents_core::{BoxFuture, ask, code::Coded};
use rustagents_graph::{Node, NodeError, NodeFailure, NodeOutput, State, TaskContext, Update};
use serde_json::Value;

/// The most characters of a node's last words that people are shown.
const SUMMARY: usize = 60;

/// A node that runs an agent on the conversation.
///
/// Without an output channel the conversation gets all messages that the agent
/// made; with one, that channel gets the answer and the messages stay its own.
pub(crate) struct AgentNode {
    agent: Agent,
    conversation: Option<String>,
    output: Option<String>,
}

impl AgentNode {
    pub(crate) fn new(agent: Agent, conversation: Option<String>, output: Option<String>) -> Self {
        Self {
            agent,
            conversation,
            output,
        }
    }

    async fn drive(&self, state: &State, context: &TaskContext) -> Result<NodeOutput, NodeError> {
        let messages = self
            .conversation
            .as_deref()
            .map_or(&[][..], |name| state.messages(name));
        let input = context.scope().run().input.as_ref();
        let run_start = messages
            .iter()
            .position(|m| Some(&m.id) == input)
            .unwrap_or(0);
        let input = AgentInput {
            messages: messages.to_vec(),
            run_start,
        };
        let end = self.agent.drive(context.scope(), input).await?;
        match &end.outcome {
            AgentOutcome::Completed(answer) => {
                let (value, label) = (answer.value().to_owned(), answer.label().map(str::to_owned));
                Ok(self.output(end, value, label))
            }
            AgentOutcome::Suspended(asks) => match context.suspend(asks.clone()).await {},
            AgentOutcome::Interrupted(reason) => Err(NodeError::Interrupted {
                reason: reason.clone(),
            }),
            AgentOutcome::Failed(error) => Err(NodeError::Failed(NodeFailure {
                code: error.code(),
                class: error.class(),
                message: error.to_string(),
                hint: error.hint(),
            })),
            _ => Err(NodeError::failed("the agent ended in an unknown way")),
        }
    }

    fn output(&self, end: AgentEnd, answer: String, label: Option<String>) -> NodeOutput {
        let mut output = NodeOutput::new().summary(summary(&answer));
        output.route = label;
        if let Some(channel) = &self.output {
            output = output.write(channel.clone(), Update::Value(Value::String(answer)));
        } else if let Some(channel) = &self.conversation {
            output = output.write(channel.clone(), Update::Messages(end.messages));
        }
        output
    }
}

impl Node for AgentNode {
    fn run(
        &self,
        state: Arc<State>,
        context: TaskContext,
    ) -> BoxFuture<'_, Result<NodeOutput, NodeError>> {
        Box::pin(async move { self.drive(&state, &context).await })
    }

    fn kind(&self) -> Option<&'static str> {
        Some("agent")
    }

    fn stops_itself(&self) -> bool {
        true
    }
}

/// A node that asks a person, and routes or writes the answer.
pub(crate) struct InterruptNode {
    prompt: String,
    options: Vec<String>,
    output: Option<String>,
}

impl InterruptNode {
    pub(crate) fn new(prompt: String, options: Vec<String>, output: Option<String>) -> Self {
        Self {
            prompt,
            options,
            output,
        }
    }

    async fn ask(&self, context: &TaskContext) -> Result<NodeOutput, NodeError> {
        let answer = context
            .ask_one_of(&*self.prompt, self.options.clone())
            .await?;
        let route = ask::option(&self.options, &answer).cloned();
        let answer = route.clone().map_or(answer, Value::String);
        let text = answer
            .as_str()
            .map_or_else(|| answer.to_string(), str::to_owned);
        let mut output = NodeOutput::new().summary(summary(&text));
        output.route = route;
        Ok(match &self.output {
            Some(channel) => output.write(channel.clone(), Update::Value(answer)),
            None => output,
        })
    }
}

impl Node for InterruptNode {
    fn run(
        &self,
        _: Arc<State>,
        context: TaskContext,
    ) -> BoxFuture<'_, Result<NodeOutput, NodeError>> {
        Box::pin(async move { self.ask(&context).await })
    }

    fn kind(&self) -> Option<&'static str> {
        Some("interrupt")
    }
}

fn summary(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(SUMMARY) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}
