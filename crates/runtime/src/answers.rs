//! What a person may say to a suspended run, checked before anything is written.

use std::collections::{HashMap, HashSet};

use rustagents_core::{
    ask::{Answer, Ask, Subject},
    code::{Code, Coded},
    ids::AskId,
    journal::kind,
    scope::Write,
};
use serde_json::Value;

use crate::view::{Phase, ThreadView};

/// One thing that a person says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Decision {
    /// A call may run; `hash` is the start of its arguments' digest.
    Approve {
        /// The call.
        call: String,
        /// The digest's start, where the person gave it.
        hash: Option<String>,
    },
    /// A call must not run.
    Deny {
        /// The call.
        call: String,
        /// Why, for the model.
        reason: Option<String>,
    },
    /// The answer to a node's question.
    Answer {
        /// The question.
        ask: String,
        /// The answer.
        value: Value,
    },
    /// A call or step in doubt took effect.
    Done {
        /// The call, or the question about the step.
        call: String,
        /// Its result.
        result: Value,
    },
    /// A call or step in doubt did not take effect.
    NotDone {
        /// The call, or the question about the step.
        call: String,
    },
    /// A call or step in doubt is to be made again.
    Repeat {
        /// The call, or the question about the step.
        call: String,
    },
}

/// Decisions that were matched to the questions of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers(Vec<(AskId, Answer)>);

impl Answers {
    /// Matches each decision to its question.
    ///
    /// # Errors
    /// [`AnswerError`] for the first that matches none, or not as it is.
    pub fn resolve(view: &ThreadView, decisions: &[Decision]) -> Result<Self, AnswerError> {
        let named = Named::of(view);
        let mut answers = Vec::new();
        let mut seen = HashSet::new();
        for decision in decisions {
            let ask = named.find(decision)?;
            if !seen.insert(&ask.id) {
                return Err(AnswerError::Already {
                    name: decision.name().to_owned(),
                });
            }
            answers.push((ask.id.clone(), decision.answer(ask)?));
        }
        Ok(Self(answers))
    }

    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds them to what is written.
    pub(crate) fn write(&self, write: &mut Write) {
        for (id, answer) in &self.0 {
            write.fact(Ask::answer_key(id), kind::ANSWER, answer);
        }
    }

    /// The answer to a question, if there is one.
    pub(crate) fn of(&self, ask: &AskId) -> Option<&Answer> {
        let mut answers = self.0.iter();
        answers.find(|(id, _)| id == ask).map(|(_, answer)| answer)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(AskId, Answer)> {
        self.0.iter()
    }
}

impl Decision {
    /// The call or question, as the person named it.
    pub fn name(&self) -> &str {
        match self {
            Self::Approve { call, .. }
            | Self::Deny { call, .. }
            | Self::Done { call, .. }
            | Self::NotDone { call }
            | Self::Repeat { call } => call,
            Self::Answer { ask, .. } => ask,
        }
    }

    fn suits(&self, subject: &Subject) -> bool {
        matches!(
            (self, subject),
            (
                Self::Approve { .. } | Self::Deny { .. },
                Subject::Approval(_)
            ) | (
                Self::Done { .. } | Self::NotDone { .. } | Self::Repeat { .. },
                Subject::InDoubt(_) | Subject::StepInDoubt(_)
            ) | (Self::Answer { .. }, Subject::Interrupt { .. })
        )
    }

    fn answer(&self, ask: &Ask) -> Result<Answer, AnswerError> {
        Ok(match (self, &ask.subject) {
            (Self::Approve { call, hash }, Subject::Approval(subject)) => match hash {
                Some(given) if !subject.hash.matches(given) => {
                    return Err(AnswerError::Hash {
                        call: call.clone(),
                        given: given.clone(),
                        expected: subject.hash.short(),
                    });
                }
                _ => Answer::Approve { hash: subject.hash },
            },
            (Self::Deny { reason, .. }, _) => Answer::Deny {
                reason: reason.clone(),
            },
            (Self::Done { result, .. }, _) => Answer::Done {
                result: result.clone(),
            },
            (Self::NotDone { .. }, _) => Answer::NotDone,
            (Self::Repeat { .. }, _) => Answer::Repeat,
            (Self::Answer { value, ask: name }, Subject::Interrupt { options, .. }) => {
                let answer = Answer::Value {
                    value: value.clone(),
                };
                if !answer.fits(&ask.subject) {
                    return Err(AnswerError::Option {
                        name: name.clone(),
                        options: options.clone(),
                    });
                }
                answer
            }
            _ => {
                return Err(AnswerError::Kind {
                    name: self.name().to_owned(),
                    takes: takes(&ask.subject),
                });
            }
        })
    }
}

/// The questions of a run by their names: each one's id, and the call that it is
/// about.
struct Named<'v> {
    view: &'v ThreadView,
    asks: HashMap<&'v str, Vec<&'v (Ask, Option<Answer>)>>,
}

impl<'v> Named<'v> {
    fn of(view: &'v ThreadView) -> Self {
        let mut asks: HashMap<_, Vec<_>> = HashMap::new();
        for asked in &view.asks {
            let (id, call) = (asked.0.id.as_str(), asked.0.call());
            let call = call.map(|subject| subject.call.as_str());
            for name in call.filter(|call| *call != id).into_iter().chain([id]) {
                asks.entry(name).or_default().push(asked);
            }
        }
        Self { view, asks }
    }

    fn find(&self, decision: &Decision) -> Result<&'v Ask, AnswerError> {
        let name = decision.name();
        let named = || self.asks.get(name).into_iter().flatten();
        let pending = || {
            named()
                .filter(|(_, answer)| answer.is_none())
                .map(|(ask, _)| ask)
        };
        if let Some(ask) = pending().find(|ask| decision.suits(&ask.subject)) {
            return Ok(ask);
        }
        if named().any(|(ask, answer)| answer.is_some() && decision.suits(&ask.subject)) {
            return Err(AnswerError::Already {
                name: name.to_owned(),
            });
        }
        match pending().next() {
            Some(ask) => Err(AnswerError::Kind {
                name: name.to_owned(),
                takes: takes(&ask.subject),
            }),
            None => Err(AnswerError::Unknown {
                name: name.to_owned(),
                pending: self.view.pending().map(label).collect(),
                goes_on: self.view.phase == Phase::Open,
            }),
        }
    }
}

fn label(ask: &Ask) -> String {
    ask.call()
        .map_or_else(|| ask.id.to_string(), |subject| subject.call.to_string())
}

fn takes(subject: &Subject) -> &'static str {
    match subject {
        Subject::Approval(_) => "`--approve` or `--deny`",
        Subject::InDoubt(_) | Subject::StepInDoubt(_) => "`--done`, `--not-done` or `--repeat`",
        _ => "`--answer`",
    }
}

/// Why a decision is refused. Nothing is written then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// Nothing pending has that name.
    #[error("nothing pending is named `{name}`")]
    Unknown {
        /// The name.
        name: String,
        /// What is pending.
        pending: Vec<String>,
        /// Whether the run has not come to its end or to a question yet, as in a fork
        /// that was not resumed.
        goes_on: bool,
    },
    /// The question was answered before.
    #[error("`{name}` was already answered")]
    Already {
        /// The name.
        name: String,
    },
    /// The question takes another kind of answer.
    #[error("`{name}` takes {takes}")]
    Kind {
        /// The name.
        name: String,
        /// The options that answer it.
        takes: &'static str,
    },
    /// The approval is for other arguments.
    #[error("call `{call}` has arguments with hash {expected}, not {given}")]
    Hash {
        /// The call.
        call: String,
        /// The hash that was given.
        given: String,
        /// The hash of its arguments.
        expected: String,
    },
    /// The answer is not one of the options.
    #[error("`{name}` is answered by one of {}", options.join(", "))]
    Option {
        /// The question.
        name: String,
        /// The options.
        options: Vec<String>,
    },
}

impl Coded for AnswerError {
    fn code(&self) -> Code {
        match self {
            Self::Unknown { .. } => Code::UnknownAsk,
            Self::Already { .. } => Code::AlreadyAnswered,
            Self::Kind { .. } | Self::Option { .. } => Code::AnswerKind,
            Self::Hash { .. } => Code::HashMismatch,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown {
                pending, goes_on, ..
            } if pending.is_empty() => {
                let yet = "nothing is pending yet: resume without answers first, \
                           and see what is asked";
                Some(if *goes_on { yet } else { "nothing is pending" }.into())
            }
            Self::Unknown { pending, .. } => Some(format!("pending: {}", pending.join(", "))),
            Self::Hash { .. } => {
                Some("look at the arguments again, and approve what you see".into())
            }
            _ => None,
        }
    }
}
