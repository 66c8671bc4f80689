//! The model contract. Streaming is the base operation; [`fold`] makes a whole
//! response of it, so both agree by construction.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt, stream::BoxStream};
use serde::{Deserialize, Serialize};

use crate::{
    code::{Class, Code, Coded},
    message::{Message, Usage},
    tool::ToolSpec,
};

/// A language model.
///
/// Cancellation: dropping the stream ends the call; nothing is sent after that.
pub trait Model: Send + Sync {
    /// What records and people call it, such as `scripted:script.toml`.
    fn id(&self) -> &str;

    /// Answers a request, piece by piece. Ends after the first error.
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> BoxStream<'a, StreamItem>;
}

/// One item of a model's stream.
pub type StreamItem = Result<ModelDelta, ModelError>;

/// What a model is asked: a view, borrowed from the agent.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// The system message.
    pub instructions: &'a str,
    /// The conversation so far. Every call in it has exactly one result.
    pub messages: &'a [Arc<Message>],
    /// The index in `messages` of the first one that belongs to this run.
    pub run_start: usize,
    /// The tools that are offered, in their order of registration.
    pub tools: &'a [Arc<ToolSpec>],
    /// Where not empty, the answer must be one of these.
    pub labels: &'a [String],
}

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelDelta {
    /// More text.
    Text(String),
    /// More of the call at `index`.
    Call {
        /// Which call of this answer, from 0.
        index: usize,
        /// The provider's id of the call, once known.
        wire_id: Option<String>,
        /// The tool's name, once known.
        name: Option<String>,
        /// More of the arguments' text.
        arguments: String,
    },
    /// What was consumed so far; replaces what was said before.
    Usage(Usage),
    /// Why the answer ended.
    Finish(FinishReason),
}

/// Why an answer ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// It was complete.
    #[default]
    Stop,
    /// It asks for tools.
    ToolCalls,
    /// The token limit cut it.
    Length,
    /// The model declined.
    Refusal,
    /// Something else, in the provider's words.
    Other(String),
}

/// A whole answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelResponse {
    /// The text.
    pub text: String,
    /// The calls as the model wrote them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<RawCall>,
    /// What it consumed; `None` where the provider did not say.
    pub usage: Option<Usage>,
    /// Why it ended.
    pub finish: FinishReason,
}

/// A call as the model wrote it: untrusted text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawCall {
    /// The provider's id, where it gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The arguments' text.
    pub arguments: String,
}

/// Bounds on what one answer may hold.
#[derive(Clone, Copy, Debug)]
pub struct ResponseLimits {
    /// Text and arguments together, in bytes.
    pub bytes: usize,
    /// The number of calls.
    pub calls: usize,
}

impl Default for ResponseLimits {
    fn default() -> Self {
        Self {
            bytes: 1 << 20,
            calls: 128,
        }
    }
}

/// Makes one response of a stream, handing each delta to `seen` on the way.
///
/// # Errors
/// The stream's first error, or [`ModelError::TooLarge`] / [`ModelError::TooManyCalls`]
/// as soon as a limit is passed; the rest of the stream is then not read.
pub async fn fold(
    mut stream: BoxStream<'_, StreamItem>,
    limits: ResponseLimits,
    mut seen: impl FnMut(&ModelDelta) + Send,
) -> Result<ModelResponse, ModelError> {
    let mut response = ModelResponse::default();
    let mut bytes = 0_usize;
    while let Some(delta) = stream.next().await {
        let delta = delta?;
        seen(&delta);
        match delta {
            ModelDelta::Text(text) => {
                bytes += text.len();
                add(&mut response.text, text);
            }
            ModelDelta::Call {
                index,
                wire_id,
                name,
                arguments,
            } => {
                if index >= limits.calls {
                    return Err(ModelError::TooManyCalls {
                        limit: limits.calls,
                    });
                }
                bytes += arguments.len() + name.as_ref().map_or(0, String::len);
                if response.calls.len() <= index {
                    response.calls.resize_with(index + 1, RawCall::default);
                }
                if let Some(call) = response.calls.get_mut(index) {
                    call.wire_id = wire_id.or(call.wire_id.take());
                    add(&mut call.name, name.unwrap_or_default());
                    add(&mut call.arguments, arguments);
                }
            }
            ModelDelta::Usage(usage) => response.usage = Some(usage),
            ModelDelta::Finish(reason) => response.finish = reason,
        }
        if bytes > limits.bytes {
            return Err(ModelError::TooLarge {
                limit: limits.bytes,
            });
        }
    }
    Ok(response)
}

/// Adds `more` to `text`. Most texts come in one piece, which is then kept as it is.
fn add(text: &mut String, more: String) {
    if text.is_empty() {
        *text = more;
    } else {
        text.push_str(&more);
    }
}

/// Why a model did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The provider could not be reached, or failed.
    #[error("model `{model}`: {reason}")]
    Transport {
        /// The model's id.
        model: String,
        /// What the provider or the network said.
        reason: String,
    },
    /// The provider cannot answer now, and said when to ask again.
    #[error("model `{model}`: {reason}")]
    Unavailable {
        /// The model's id.
        model: String,
        /// What the provider said.
        reason: String,
        /// When to ask again.
        retry_after: RetryAfter,
    },
    /// The provider refuses the request, and would refuse it again.
    #[error("model `{model}`: {reason}")]
    Rejected {
        /// The model's id.
        model: String,
        /// What the provider said.
        reason: String,
        /// What about the request.
        because: Rejection,
    },
    /// The scripted model has no rule for the request.
    #[error("script `{script}`: no rule matches; {offered}")]
    NoRule {
        /// The script's name.
        script: String,
        /// What there was to match, abbreviated.
        offered: String,
    },
    /// A rule of the scripted model failed to render.
    #[error("script `{script}`: rule {rule}: {reason}")]
    Script {
        /// The script's name.
        script: String,
        /// The rule's number, from 1.
        rule: usize,
        /// What the template or expression engine said.
        reason: String,
    },
    /// The answer has more bytes than allowed.
    #[error("the answer has more than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The answer asks for more calls than allowed.
    #[error("the answer asks for more than {limit} calls")]
    TooManyCalls {
        /// The limit.
        limit: usize,
    },
}

impl Coded for ModelError {
    fn code(&self) -> Code {
        match self {
            Self::Transport { .. } | Self::Unavailable { .. } => Code::ModelFailed,
            Self::Rejected { .. } => Code::ModelRejected,
            Self::NoRule { .. } => Code::ScriptNoMatch,
            Self::Script { .. } => Code::Script,
            Self::TooLarge { .. } | Self::TooManyCalls { .. } => Code::ModelOutputTooLarge,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Rejected { because, .. } => Some(because.hint().into()),
            Self::NoRule { .. } => {
                Some("add a rule that matches, or a last one without matchers".into())
            }
            _ => None,
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Transport { .. } | Self::Unavailable { .. } => Class::Retryable,
            _ => Class::Caller,
        }
    }
}

/// When a provider wants to be asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// So long after its answer.
    In(Duration),
    /// At that time, in milliseconds since the Unix epoch.
    At(u64),
}

impl RetryAfter {
    /// How long that is from `now_ms` on; nothing where it is over.
    pub fn wait(self, now_ms: u64) -> Duration {
        match self {
            Self::In(wait) => wait,
            Self::At(then_ms) => Duration::from_millis(then_ms.saturating_sub(now_ms)),
        }
    }
}

/// What about a request a provider refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejection {
    /// It wants a key, and none was sent.
    NoKey,
    /// It does not accept the key, or not for this.
    Key,
    /// There is no such model, or nothing at that address.
    Target,
    /// It does not take what was asked.
    Request,
    /// What the account may use is used up.
    Quota,
}

impl Rejection {
    const fn hint(self) -> &'static str {
        match self {
            Self::NoKey => {
                "no key was sent; put the provider's key into its variable, which `rag doctor` names"
            }
            Self::Key => {
                "see that the key is right and that its account may use the model; `rag doctor` tries it"
            }
            Self::Quota => {
                "the account's quota is used up; see its plan and billing with the provider, raise the limit or use another key"
            }
            Self::Target => {
                "see that the model's name and the base URL are right; `rag doctor` says which models the server has"
            }
            Self::Request => {
                "the provider's words say what it does not take; correct the model, the tools or the input"
            }
        }
    }
}
