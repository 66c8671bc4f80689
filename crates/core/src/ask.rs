//! Questions that wait for a person, and their answers. Both are facts.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    code::{Code, Coded},
    digest::Digest,
    ids::{AskId, CallId, FactKey, NodeName},
    tool::EffectClass,
};

/// A question that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// Its id, unique in the thread.
    pub id: AskId,
    /// The node that asks.
    pub node: NodeName,
    /// What is said to the person.
    pub prompt: String,
    /// What is asked.
    #[serde(flatten)]
    pub subject: Subject,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Subject {
    /// May this call run, with exactly these arguments?
    Approval(CallSubject),
    /// Did this call take effect? Its outcome was lost.
    InDoubt(CallSubject),
    /// Did this step of a node take effect? Its outcome was lost.
    StepInDoubt(StepSubject),
    /// A question of the node itself.
    Interrupt {
        /// The only answers, as text; none allows any JSON.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
        /// When it may expire, in milliseconds since the Unix epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until_ms: Option<u64>,
    },
}

/// The call that a question is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallSubject {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// Its effect class.
    pub effect: EffectClass,
    /// The canonical arguments.
    pub arguments: Value,
    /// The digest of the canonical arguments; an approval binds it.
    pub hash: Digest,
}

/// The step that a question is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepSubject {
    /// The step, with its number inside the task, such as `charge#1`.
    pub step: String,
    /// The key under which the outside world may know the effect.
    pub idempotency_key: Digest,
    /// The digest of the canonical input.
    pub hash: Digest,
}

impl Subject {
    /// Whether something may have happened, and only a person can say so.
    pub const fn is_in_doubt(&self) -> bool {
        matches!(self, Self::InDoubt(_) | Self::StepInDoubt(_))
    }
}

impl Ask {
    /// The call behind the question, where there is one.
    pub fn call(&self) -> Option<&CallSubject> {
        match &self.subject {
            Subject::Approval(call) | Subject::InDoubt(call) => Some(call),
            Subject::StepInDoubt(_) | Subject::Interrupt { .. } => None,
        }
    }

    /// The key of the fact that holds the question.
    pub fn key(&self) -> FactKey {
        Self::fact_key(&self.id)
    }

    /// The key of the fact that holds the question `id`.
    pub fn fact_key(id: &AskId) -> FactKey {
        FactKey::from(format_args!("ask/{id}"))
    }

    /// The key of the fact that answers `id`.
    pub fn answer_key(id: &AskId) -> FactKey {
        FactKey::from(format_args!("answer/{id}"))
    }
}

/// What a person decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Answer {
    /// The call may run, with exactly the arguments of this digest.
    Approve {
        /// The digest of the arguments that the person saw.
        hash: Digest,
    },
    /// The call must not run.
    Deny {
        /// Why, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The call or step in doubt took effect, with this result.
    Done {
        /// The result.
        result: Value,
    },
    /// The call or step in doubt did not take effect.
    NotDone,
    /// The call or step in doubt is to be made again; this is its approval.
    Repeat,
    /// The answer to a node's own question.
    Value {
        /// The answer.
        value: Value,
    },
    /// Nobody answered a node's own question in time; no person says so.
    Expired,
}

impl Answer {
    /// Whether this kind of answer fits `subject`. What does not fit is never acted on.
    pub fn fits(&self, subject: &Subject) -> bool {
        match (self, subject) {
            (Self::Approve { hash }, Subject::Approval(call)) => *hash == call.hash,
            (Self::Value { value }, Subject::Interrupt { options, .. }) => {
                options.is_empty() || option(options, value).is_some()
            }
            (Self::Expired, Subject::Interrupt { until_ms, .. }) => until_ms.is_some(),
            (Self::Deny { .. }, Subject::Approval(_))
            | (
                Self::Done { .. } | Self::NotDone | Self::Repeat,
                Subject::InDoubt(_) | Subject::StepInDoubt(_),
            ) => true,
            _ => false,
        }
    }
}

/// A run that records nothing came to wait for a person: nobody could resume it with the
/// answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("nobody can answer {}, since the run records nothing", told(ask, *others))]
pub struct Unanswerable {
    /// The first question.
    pub ask: Box<Ask>,
    /// How many others there are.
    pub others: usize,
}

impl Unanswerable {
    /// Of the questions that a run waits for; `None` without any.
    pub fn of(asks: &[Ask]) -> Option<Self> {
        let (first, others) = asks.split_first()?;
        Some(Self {
            ask: Box::new(first.clone()),
            others: others.len(),
        })
    }
}

/// What is asked, inside a sentence.
fn told(ask: &Ask, others: usize) -> String {
    let asked = match &ask.subject {
        Subject::Approval(call) => {
            format!("whether call `{}` ({}) may run", call.call, call.tool)
        }
        Subject::InDoubt(call) => {
            format!("whether call `{}` ({}) took effect", call.call, call.tool)
        }
        Subject::StepInDoubt(step) => format!("whether step `{}` took effect", step.step),
        Subject::Interrupt { .. } => {
            let words = ask.prompt.split_whitespace().collect::<Vec<_>>().join(" ");
            let words: String = words.chars().take(80).collect();
            format!("`{words}`")
        }
    };
    match others {
        0 => asked,
        1 => format!("{asked}, and 1 question more"),
        more => format!("{asked}, and {more} questions more"),
    }
}

impl Coded for Unanswerable {
    fn code(&self) -> Code {
        Code::Unanswerable
    }

    fn hint(&self) -> Option<String> {
        let without = match &self.ask.subject {
            Subject::Approval(_) => ", or let the tool run without approval",
            Subject::Interrupt { .. } => "",
            Subject::InDoubt(_) | Subject::StepInDoubt(_) => {
                "; find out what became of it before you run this again"
            }
        };
        Some(format!("use another durability than `none`{without}"))
    }
}

/// The one of `options` that `value` is, whatever its case and outer white space.
pub fn option<'a>(options: &'a [String], value: &Value) -> Option<&'a String> {
    let said = value.as_str()?.trim().to_lowercase();
    options.iter().find(|option| option.to_lowercase() == said)
}
