//! Where graph and agent meet: nodes that run an agent, or ask a person.

use std::{any::Any, fmt, sync::Arc};

use rustagents_agent::{Agent, AgentInput, agent::AgentOutcome};
use rustagents_core::{BoxFuture, ask, code::Coded, message::Message};
use rustagents_graph::{
    GraphState, Node, NodeError, NodeFailure, NodeOutput, State, TaskContext, Update,
};
use serde_json::Value;

/// The most characters of a node's last words that people are shown.
const SUMMARY: usize = 60;

/// A node that runs an agent.
///
/// It goes on where the agent stood, after a crash, an answer or a failed try. Its
/// questions are the agent's; where the agent has labels, it takes the route of the
/// label. When the run is cancelled, the agent settles what it has in flight.
///
/// ```
/// use rustagents_agent::Agent;
/// use rustagents_graph::{Graph, GraphBuilder, GraphFaults, GraphState, Messages};
/// use rustagents_runtime::AgentNode;
///
/// #[derive(Clone, Debug, GraphState)]
/// struct Talk {
///     #[channel(messages)]
///     messages: Messages,
/// }
///
/// fn talk(agent: Agent) -> Result<Graph<Talk>, GraphFaults> {
///     let reply = AgentNode::new(
///         agent,
///         |talk: &Talk| talk.messages.to_vec(),
///         |said| Talk::update().extend_messages(said.messages),
///     );
///     GraphBuilder::<Talk>::typed("talk")
///         .node("reply", reply)
///         .start(["reply"])
///         .finish("reply")
///         .compile()
/// }
/// # let _ = talk;
/// ```
pub struct AgentNode<S: GraphState = State> {
    agent: Agent,
    reads: Box<Reads<S>>,
    writes: Box<Writes<S>>,
}

/// What an agent is given of a state.
type Reads<S> = dyn Fn(&S) -> Vec<Arc<Message>> + Send + Sync;

/// What is written of what an agent said.
type Writes<S> = dyn Fn(AgentSaid) -> <S as GraphState>::Update + Send + Sync;

/// What an agent said in the end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AgentSaid {
    /// Its answer: text, or the label that it chose.
    pub answer: String,
    /// All messages that it made, the answer's too.
    pub messages: Vec<Arc<Message>>,
}

impl<S: GraphState> fmt::Debug for AgentNode<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentNode").finish_non_exhaustive()
    }
}

impl<S: GraphState> AgentNode<S> {
    /// A node that gives the agent the messages that `reads` finds in the state, and
    /// writes what `writes` makes of what it said. Both must be pure functions.
    pub fn new(
        agent: Agent,
        reads: impl Fn(&S) -> Vec<Arc<Message>> + Send + Sync + 'static,
        writes: impl Fn(AgentSaid) -> S::Update + Send + Sync + 'static,
    ) -> Self {
        Self {
            agent,
            reads: Box::new(reads),
            writes: Box::new(writes),
        }
    }

    async fn drive(&self, state: &S, context: &TaskContext) -> Result<NodeOutput<S>, NodeError> {
        let messages = (self.reads)(state);
        let input = context.scope().run().input.as_ref();
        let run_start = messages
            .iter()
            .position(|m| Some(&m.id) == input)
            .unwrap_or(0);
        let input = AgentInput {
            messages,
            run_start,
        };
        let end = self.agent.drive(context.scope(), input).await?;
        match end.outcome {
            AgentOutcome::Completed(answer) => {
                let said = AgentSaid {
                    answer: answer.value().to_owned(),
                    messages: end.messages,
                };
                let told = summary(&said.answer);
                let mut output = NodeOutput::of((self.writes)(said)).summary(told);
                output.route = answer.label().map(str::to_owned);
                Ok(output)
            }
            AgentOutcome::Suspended(asks) => match context.suspend(asks).await {},
            AgentOutcome::Interrupted(reason) => Err(NodeError::Interrupted { reason }),
            AgentOutcome::Failed(error) => Err(NodeError::Failed(NodeFailure {
                code: error.code(),
                class: error.class(),
                message: error.to_string(),
                hint: error.hint(),
            })),
            _ => Err(NodeError::failed("the agent ended in an unknown way")),
        }
    }
}

/// An agent on the conversation of a plan. Without an output channel the
/// conversation gets all messages that the agent made; with one, that channel gets
/// the answer and the messages stay its own.
pub(crate) fn on_conversation(
    agent: Agent,
    conversation: Option<String>,
    output: Option<String>,
) -> AgentNode {
    let reads = conversation.clone();
    AgentNode::new(
        agent,
        move |state: &State| {
            let messages = reads.as_deref().map(|name| state.messages(name));
            messages.map(<[_]>::to_vec).unwrap_or_default()
        },
        move |said| {
            let mut writes = rustagents_graph::Writes::new();
            if let Some(channel) = &output {
                writes.push(channel.clone(), Update::Value(said.answer.into()));
            } else if let Some(channel) = &conversation {
                writes.push(channel.clone(), Update::Messages(said.messages));
            }
            writes
        },
    )
}

impl<S: GraphState> Node<S> for AgentNode<S> {
    fn run(
        &self,
        state: Arc<S>,
        context: TaskContext,
    ) -> BoxFuture<'_, Result<NodeOutput<S>, NodeError>> {
        Box::pin(async move { self.drive(&state, &context).await })
    }

    fn kind(&self) -> Option<&'static str> {
        Some("agent")
    }

    fn worker(&self) -> Option<&(dyn Any + Send + Sync)> {
        Some(&self.agent)
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
