//! What is recorded of an agent's moves, and the one way in which a move changes
//! the conversation, live and on load.

use std::{borrow::Cow, sync::Arc};

use rustagents_core::{
    digest::Digest,
    ids::{
        FactKey, MessageId, Namespace,
        Part::{Number, Text},
    },
    message::{Message, Usage},
    model::{FinishReason, ModelResponse},
};
use serde::{Deserialize, Serialize};

use crate::{
    error::{AgentError, RecordedError},
    evidence::{FinalAnswer, Observations, ValidatedAction},
    runtime::AnyPhase,
    state::{AgentState, Conversation},
};

/// The body of a transition record: where the agent moved to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Transition {
    /// It acts on the calls of an assistant's message.
    Acting {
        /// The turn.
        turn: u32,
        /// The message.
        message: MessageId,
    },
    /// It has its answer.
    Completed {
        /// The turn.
        turn: u32,
        /// The message.
        message: MessageId,
        /// The label, where labels were given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// A refused answer went back to the model.
    Repaired {
        /// The turn.
        turn: u32,
        /// What was added to the conversation.
        messages: Vec<MessageId>,
        /// What was wrong.
        problem: RecordedError,
    },
    /// All calls have their results.
    Observing {
        /// The turn.
        turn: u32,
        /// The results, in call order.
        results: Vec<MessageId>,
    },
    /// It failed.
    Failed {
        /// The turn.
        turn: u32,
        /// Why.
        error: RecordedError,
        /// The answer, where it is why the agent failed and is a message all the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<MessageId>,
    },
    /// A policy stopped it.
    Interrupted {
        /// The turn.
        turn: u32,
        /// Why.
        reason: String,
    },
}

impl Transition {
    /// The turn that the move ends or divides.
    pub fn turn(&self) -> u32 {
        match self {
            Self::Acting { turn, .. }
            | Self::Completed { turn, .. }
            | Self::Repaired { turn, .. }
            | Self::Observing { turn, .. }
            | Self::Failed { turn, .. }
            | Self::Interrupted { turn, .. } => *turn,
        }
    }

    /// Whether it ends the agent without an answer.
    pub(crate) fn stops(&self) -> bool {
        matches!(self, Self::Failed { .. } | Self::Interrupted { .. })
    }
}

/// The body of a model call's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCall<'a> {
    /// The turn.
    pub turn: u32,
    /// How often the call was made.
    pub tries: u32,
    /// The model.
    pub model: Cow<'a, str>,
    /// The digest of the request: instructions, tools and messages.
    pub request: Digest,
    /// The request, as an edit of the same agent's request before it.
    pub edit: Edit,
    /// What it consumed, where the provider said so.
    pub usage: Option<Usage>,
    /// Why the answer ended.
    pub finish: FinishReason,
    /// The answer, where it became a message.
    pub message: Option<MessageId>,
    /// The answer, where it was refused as a whole and is no message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<ModelResponse>,
}

impl ModelCall<'_> {
    /// The key of the fact about turn `turn` of the agent at `namespace`.
    pub fn key(namespace: &Namespace, turn: u32) -> FactKey {
        FactKey::joined(&[
            Text("model/"),
            Text(namespace.as_str()),
            Text("/"),
            Number(turn.into()),
        ])
    }
}

/// How a request follows from the one before it, or from what the agent was given. Its
/// length is that of what is new, however long the conversation is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// In an agent's first request: how many messages it was given. They are what its
    /// node reads in the state of the checkpoint that its task stands in, and are not
    /// named one by one. 0 in all others, and in records that name all of them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub given: usize,
    /// How many messages of the request before stay, from the first.
    pub keep: usize,
    /// The messages that follow them.
    pub insert: Vec<MessageId>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature is that of the encoder"
)]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// A move, with its evidence.
#[derive(Clone, Debug)]
pub(crate) enum Move {
    Act {
        message: Arc<Message>,
        action: ValidatedAction,
        usage: Option<Usage>,
    },
    Complete {
        message: Arc<Message>,
        answer: FinalAnswer,
        usage: Option<Usage>,
    },
    Repair {
        messages: Vec<Arc<Message>>,
        usage: Option<Usage>,
    },
    Observe(Observations),
    Fail {
        error: AgentError,
        message: Option<Arc<Message>>,
        usage: Option<Usage>,
    },
    Interrupt {
        reason: String,
        usage: Option<Usage>,
    },
}

impl Move {
    /// Whether a model's answer is behind the move, and what it consumed.
    pub(crate) fn answered(&self) -> (bool, Option<Usage>) {
        match self {
            Self::Act { usage, .. } | Self::Complete { usage, .. } | Self::Repair { usage, .. } => {
                (true, *usage)
            }
            Self::Fail { usage, .. } | Self::Interrupt { usage, .. } => (usage.is_some(), *usage),
            Self::Observe(_) => (false, None),
        }
    }
}

/// The phase in which an agent goes on that stopped in `phase` and is tried again:
/// it keeps its messages, but for an answer that was cut or declined, and asks the
/// model once more, in a turn of its own, or goes on with the calls that it was at.
pub(crate) fn retried<T, P>(
    phase: AnyPhase<Conversation, T, P>,
    usage: Option<Usage>,
) -> AnyPhase<Conversation, T, P> {
    use AnyPhase as Any;
    let mut at = match phase {
        Any::Idle(at) => at.think(),
        Any::Observing(at) => at.think(),
        Any::Thinking(at) => at,
        other => return other,
    };
    at.state_mut().answered(usage);
    at.state_mut().renewed();
    Any::Thinking(at.rethink())
}

/// Makes a move. Used live, after it was recorded, and on load.
///
/// # Errors
/// The phase does not know that move: the records are not those of an agent.
pub(crate) fn apply<T, P>(
    phase: AnyPhase<Conversation, T, P>,
    step: Move,
) -> Result<AnyPhase<Conversation, T, P>, &'static str> {
    use AnyPhase as Any;
    let phase = match phase {
        Any::Idle(idle) => Any::Thinking(idle.think()),
        Any::Observing(observing) => Any::Thinking(observing.think()),
        other => other,
    };
    Ok(match (phase, step) {
        (
            Any::Thinking(mut at),
            Move::Act {
                message,
                action,
                usage,
            },
        ) => {
            at.state_mut().answered(usage);
            at.state_mut().append_scratchpad(message);
            Any::Acting(at.act(action))
        }
        (
            Any::Thinking(mut at),
            Move::Complete {
                message,
                answer,
                usage,
            },
        ) => {
            at.state_mut().answered(usage);
            at.state_mut().append_scratchpad(message);
            at.state_mut().set_final_output(answer.value().to_owned());
            Any::Completed(at.complete(answer))
        }
        (Any::Thinking(mut at), Move::Repair { messages, usage }) => {
            at.state_mut().answered(usage);
            at.state_mut().repaired();
            for message in messages {
                at.state_mut().append_scratchpad(message);
            }
            Any::Thinking(at.rethink())
        }
        (Any::Acting(at), Move::Observe(results)) => Any::Observing(at.observe(&results)),
        (
            Any::Thinking(mut at),
            Move::Fail {
                error,
                message,
                usage,
            },
        ) => {
            at.state_mut().answered(usage);
            if let Some(message) = message {
                at.state_mut().append_scratchpad(message);
            }
            Any::Failed(at.fail(error))
        }
        (Any::Thinking(mut at), Move::Interrupt { reason, usage }) => {
            at.state_mut().answered(usage);
            Any::Interrupted(at.interrupt(reason))
        }
        (Any::Acting(at), Move::Fail { error, .. }) => Any::Failed(at.fail(error)),
        (Any::Acting(at), Move::Interrupt { reason, .. }) => Any::Interrupted(at.interrupt(reason)),
        _ => return Err("a move that the phase does not know"),
    })
}
