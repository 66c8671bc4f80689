//! Evidence: values that only a check of the model's answer can make.
//!
//! The runtime moves from thinking to acting on a [`ValidatedAction`], to its
//! end on a [`FinalAnswer`], and from acting to observing on [`Observations`].
//! Nothing else makes them, so no untrusted output drives the machine unchecked.

use std::sync::Arc;

use rustagents_core::{
    canonical::Canonical,
    code::{Code, Coded},
    ids::CallId,
    message::{Message, MessageBody, ToolCall},
    model::{FinishReason, ModelResponse, RawCall},
    tool::{EffectClass, ToolSpec},
};
use serde_json::Value;

use crate::{error::AgentError, tools::ToolSet};

/// Checks model output against the tools and labels that were offered.
#[derive(Clone, Copy, Debug)]
pub struct Validator<'a> {
    tools: &'a ToolSet,
    labels: &'a [String],
}

/// A checked answer.
#[derive(Clone, Debug)]
pub enum Checked {
    /// It calls tools, each with valid arguments.
    Action(ValidatedAction),
    /// It is the agent's last word.
    Answer(FinalAnswer),
}

/// Evidence: calls of known tools with arguments that passed their schemas.
#[derive(Clone, Debug)]
pub struct ValidatedAction {
    text: String,
    calls: Arc<[ValidatedCall]>,
}

/// One call of a [`ValidatedAction`].
#[derive(Clone, Debug)]
pub struct ValidatedCall {
    id: CallId,
    spec: Arc<ToolSpec>,
    arguments: Canonical,
    wire_id: Option<String>,
}

/// Evidence: an answer without calls, and one of the labels where those are given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalAnswer {
    text: String,
    label: Option<String>,
}

/// Evidence: each call of an action has its one result, in call order.
#[derive(Clone, Debug)]
pub struct Observations(Vec<Arc<Message>>);

/// What is wrong with a model's answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A call names a tool that was not offered.
    #[error("there is no tool `{name}`")]
    UnknownTool {
        /// The name, abbreviated.
        name: String,
        /// The tools that were offered.
        offered: Vec<String>,
    },
    /// A call's arguments are not JSON, or could be read in two ways.
    #[error("the arguments of `{tool}` are refused: {reason}")]
    Arguments {
        /// The tool.
        tool: String,
        /// What the decoder says.
        reason: String,
    },
    /// A call's arguments do not fit the tool's schema.
    #[error("the arguments of `{tool}` do not fit its schema: {reason}")]
    Schema {
        /// The tool.
        tool: String,
        /// What the schema says, with the place in the arguments.
        reason: String,
    },
    /// The answer is not one of the labels.
    #[error("the answer is `{answer}`, not one of {}", labels.join(", "))]
    UnknownLabel {
        /// The answer, abbreviated.
        answer: String,
        /// The labels.
        labels: Vec<String>,
    },
    /// The model's limit of tokens cut the answer, so it may say anything but what it
    /// was to say.
    #[error("the limit of tokens cut the answer after {characters} characters")]
    Cut {
        /// How long it is.
        characters: usize,
    },
    /// The model declined to answer, or a filter of the provider's stopped it.
    #[error("the model declined to answer{}", words(said))]
    Declined {
        /// What it said, abbreviated.
        said: String,
    },
    /// The answer is over a limit; it was not read to its end.
    #[error("{reason}")]
    TooLarge {
        /// Which limit.
        reason: String,
    },
}

impl Coded for Problem {
    fn code(&self) -> Code {
        match self {
            Self::UnknownTool { .. } => Code::InvalidModelAction,
            Self::Arguments { .. } | Self::Schema { .. } => Code::ToolArguments,
            Self::UnknownLabel { .. } => Code::UnknownLabel,
            Self::TooLarge { .. } => Code::ModelOutputTooLarge,
            Self::Cut { .. } => Code::ModelAnswerCut,
            Self::Declined { .. } => Code::ModelDeclined,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownTool { offered, .. } if offered.is_empty() => {
                Some("no tools are offered".into())
            }
            Self::UnknownTool { offered, .. } => Some(format!("offered: {}", offered.join(", "))),
            Self::UnknownLabel { labels, .. } => Some(format!("labels: {}", labels.join(", "))),
            Self::Cut { .. } => Some(
                "raise the limit of tokens where the model is served, or ask for a shorter answer"
                    .into(),
            ),
            Self::Declined { .. } => {
                Some("see what it says, and change the prompt, the input or the model".into())
            }
            _ => None,
        }
    }
}

impl Problem {
    /// Whether the answer has an end of its own that no other answer would mend.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Self::Cut { .. } | Self::Declined { .. })
    }
}

/// What a model said, as the end of a sentence.
fn words(said: &str) -> String {
    match said {
        "" => String::new(),
        said => format!(": {said}"),
    }
}

/// A refused answer: for each of its calls what is wrong, or `None` if that call
/// alone would have passed. Empty where the text itself was refused.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The first problem.
    pub problem: Problem,
    /// The calls, in order.
    pub calls: Vec<(RawCall, Option<Problem>)>,
}

impl<'a> Validator<'a> {
    /// A validator for what an agent offers. No labels accept any answer.
    pub fn new(tools: &'a ToolSet, labels: &'a [String]) -> Self {
        Self { tools, labels }
    }

    /// Checks an answer; `mint` names each call of one that passes.
    ///
    /// # Errors
    /// [`Refused`] says what is wrong with which call.
    pub fn check(
        &self,
        response: &ModelResponse,
        mut mint: impl FnMut() -> CallId,
    ) -> Result<Checked, Box<Refused>> {
        // Calls that stand beside a refusal are not what the model was asked for.
        let declined = response.finish == FinishReason::Refusal && self.labels.is_empty();
        if response.calls.is_empty() || declined {
            return self
                .answer(response)
                .map(Checked::Answer)
                .map_err(|problem| {
                    Box::new(Refused {
                        problem,
                        calls: Vec::new(),
                    })
                });
        }
        let checked = response.calls.iter().map(|call| self.call(call));
        let checked = checked
            .collect::<Result<Vec<_>, _>>()
            .map_err(|problem| Box::new(self.refused(problem, response)))?;
        let calls = checked.into_iter().zip(&response.calls);
        let calls = calls.map(|((spec, arguments), raw)| ValidatedCall {
            id: mint(),
            spec,
            arguments,
            wire_id: raw.wire_id.clone(),
        });
        Ok(Checked::Action(ValidatedAction {
            text: response.text.clone(),
            calls: calls.collect(),
        }))
    }

    fn refused(&self, problem: Problem, response: &ModelResponse) -> Refused {
        let verdict = |call: &RawCall| (call.clone(), self.call(call).err());
        let calls = response.calls.iter().map(verdict).collect();
        Refused { problem, calls }
    }

    /// The last word. One of the labels is an answer, however it ended.
    fn answer(&self, response: &ModelResponse) -> Result<FinalAnswer, Problem> {
        let text = &response.text;
        if self.labels.is_empty() {
            return match response.finish {
                FinishReason::Length => Err(Problem::Cut {
                    characters: text.chars().count(),
                }),
                FinishReason::Refusal => Err(declined(text)),
                _ => Ok(FinalAnswer {
                    text: text.to_owned(),
                    label: None,
                }),
            };
        }
        let said = text.trim();
        let same = |label: &&String| label.to_lowercase() == said.to_lowercase();
        match self.labels.iter().find(same) {
            Some(label) => Ok(FinalAnswer {
                text: text.to_owned(),
                label: Some(label.clone()),
            }),
            None if response.finish == FinishReason::Refusal => Err(declined(text)),
            None => Err(Problem::UnknownLabel {
                answer: said.chars().take(60).collect(),
                labels: self.labels.to_vec(),
            }),
        }
    }

    fn call(&self, call: &RawCall) -> Result<(Arc<ToolSpec>, Canonical), Problem> {
        let Some(tool) = self.tools.get(&call.name) else {
            let offered = self
                .tools
                .specs()
                .iter()
                .map(|spec| spec.name.clone())
                .collect();
            let name = call.name.chars().take(80).collect();
            return Err(Problem::UnknownTool { name, offered });
        };
        let arguments = decode(&call.arguments).map_err(|reason| Problem::Arguments {
            tool: call.name.clone(),
            reason,
        })?;
        tool.check(arguments.value())
            .map_err(|reason| Problem::Schema {
                tool: call.name.clone(),
                reason,
            })?;
        Ok((Arc::clone(tool.spec()), arguments))
    }

    /// Rebuilds the evidence for a recorded action. A call that has its result, as
    /// `is_settled` says, needs no tool any more.
    ///
    /// # Errors
    /// The call that no longer fits, and why.
    pub fn restore_action(
        &self,
        message: &Message,
        is_settled: impl Fn(&CallId) -> bool,
    ) -> Result<ValidatedAction, (CallId, Problem)> {
        let calls = message.calls().iter().map(|call| match self.restore(call) {
            Err(problem) if is_settled(&call.id) => {
                let settled = ValidatedCall::stand_in(call, EffectClass::Once);
                settled.map_err(|_| (call.id.clone(), problem))
            }
            restored => restored.map_err(|problem| (call.id.clone(), problem)),
        });
        let calls = calls.collect::<Result<_, _>>()?;
        Ok(ValidatedAction {
            text: message.text(),
            calls,
        })
    }

    /// Says whether a recorded call still fits.
    pub(crate) fn accepts(&self, call: &ToolCall) -> Result<(), Problem> {
        self.restore(call).map(drop)
    }

    fn restore(&self, call: &ToolCall) -> Result<ValidatedCall, Problem> {
        let raw = RawCall {
            wire_id: call.wire_id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.to_string(),
        };
        let (spec, arguments) = self.call(&raw)?;
        Ok(ValidatedCall {
            id: call.id.clone(),
            spec,
            arguments,
            wire_id: raw.wire_id,
        })
    }

    /// Rebuilds the evidence for a recorded answer, whatever the labels are now.
    pub fn restore_answer(message: &Message, label: Option<String>) -> FinalAnswer {
        FinalAnswer {
            text: message.text(),
            label,
        }
    }
}

fn declined(text: &str) -> Problem {
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Problem::Declined {
        said: AgentError::excerpt(&said),
    }
}

/// The call that a message is the result of.
fn answered(message: &Message) -> Option<&CallId> {
    match &message.body {
        MessageBody::Tool { call, .. } => Some(call),
        _ => None,
    }
}

/// Decodes arguments; what models send for "no arguments" is the empty object.
fn decode(text: &str) -> Result<Canonical, String> {
    let text = match text.trim() {
        "" | "null" | "\"\"" | "\"null\"" => "{}",
        _ => text,
    };
    Canonical::parse(text).map_err(|error| error.to_string())
}

impl ValidatedAction {
    /// The calls, in the model's order; never empty.
    pub fn calls(&self) -> &[ValidatedCall] {
        &self.calls
    }

    /// The message that records it.
    pub(crate) fn message(&self, id: rustagents_core::ids::MessageId) -> Message {
        let calls = self.calls.iter().map(|call| ToolCall {
            id: call.id.clone(),
            name: call.spec.name.clone(),
            arguments: call.arguments.shared_text(),
            wire_id: call.wire_id.clone(),
        });
        Message::assistant(id, self.text.clone(), calls.collect())
    }
}

impl ValidatedCall {
    /// A recorded call that is not made any more, as far as its records tell.
    pub(crate) fn stand_in(call: &ToolCall, effect: EffectClass) -> Result<Self, String> {
        let spec = ToolSpec {
            effect,
            ..ToolSpec::new(&*call.name, "", Value::Null)
        };
        Ok(Self {
            id: call.id.clone(),
            spec: Arc::new(spec),
            arguments: decode(&call.arguments)?,
            wire_id: call.wire_id.clone(),
        })
    }

    /// Its id.
    pub fn id(&self) -> &CallId {
        &self.id
    }

    /// The tool's declaration.
    pub fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    /// The canonical arguments.
    pub fn arguments(&self) -> &Canonical {
        &self.arguments
    }
}

impl FinalAnswer {
    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The label as it was declared, where labels were given.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// The label, or else the text.
    pub fn value(&self) -> &str {
        self.label().unwrap_or(&self.text)
    }
}

impl Observations {
    /// Puts the results of `action` in call order.
    ///
    /// # Errors
    /// The call that has no result, or several.
    pub fn collect(
        action: &ValidatedAction,
        results: impl IntoIterator<Item = Arc<Message>>,
    ) -> Result<Self, CallId> {
        let mut messages: Vec<_> = results.into_iter().collect();
        for (place, call) in action.calls.iter().enumerate() {
            let mut left = messages.iter().skip(place);
            let at = left.position(|message| answered(message) == Some(&call.id));
            messages.swap(place, place + at.ok_or_else(|| call.id.clone())?);
        }
        let left = messages.split_off(action.calls.len());
        match left.iter().find_map(|message| answered(message)) {
            Some(stray) => Err(stray.clone()),
            None => Ok(Self(messages)),
        }
    }

    /// The result messages, in call order.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.0
    }
}
