//! What is to be done about one call, decided from its records alone.
//!
//! Keys: `call/C/intent/N` before try number N of a [`EffectClass::Once`] call
//! starts, `call/C/released/N` if that try provably did nothing,
//! `call/C/started/N` if that try left a trace, `call/C/result` at its end. Questions are `ask/C` (may it run?) and
//! `ask/C/doubt/N` (did try N take effect?); answers stand under `answer/…`.

use std::borrow::Cow;

use rustagents_core::{
    ask::{Answer, Ask, CallSubject, Subject},
    code::Code,
    ids::{AskId, CallId, FactKey, MessageId, NodeName, Part::Text},
    journal::{JournalError, Record, kind},
    tool::{Approval, EffectClass, ToolErrorKind, Trace},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::evidence::ValidatedCall;

/// The most tries of one call that are looked for.
const MAX_TRIES: u32 = 1_000;

/// The body of an intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntentBody {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// Which try, from 1.
    pub number: u32,
    /// The approval that it claims, where one was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<AskId>,
}

/// The body of a call's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultBody<'a> {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: Cow<'a, str>,
    /// How it ended.
    pub end: End,
    /// The message with the result.
    pub message: MessageId,
    /// For a call that failed: how. A policy is asked again on the same words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<CallFailure>,
}

/// How a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFailure {
    /// What kind of failure it is.
    pub kind: ToolErrorKind,
    /// What the tool said.
    pub message: String,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum End {
    /// It was executed.
    Done,
    /// It failed.
    Failed,
    /// It was denied, and never started.
    Denied,
    /// A person said that it was executed, and with what result.
    SettledDone,
    /// A person said that it was not executed.
    SettledNotDone,
}

/// What is recorded about a call.
#[derive(Clone, Debug, Default)]
pub struct CallRecords {
    /// Its result.
    pub result: Option<MessageId>,
    /// How it failed, where it did.
    pub failure: Option<CallFailure>,
    /// Whether a person was asked if it may run.
    pub asked: bool,
    /// What the person said.
    pub answer: Option<Answer>,
    /// Its tries, in order.
    pub tries: Vec<Try>,
    /// What the last try left behind, where it left something, and its number.
    pub trace: Option<(u32, Value)>,
    /// The effect class in the records.
    pub effect: Option<EffectClass>,
}

/// What is recorded about one try of a call.
#[derive(Clone, Debug, Default)]
pub struct Try {
    /// It provably did nothing.
    pub released: bool,
    /// A person was asked whether it took effect.
    pub asked: bool,
    /// What the person said.
    pub answer: Option<Answer>,
}

/// What is to be done about a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// It has its result.
    Done(MessageId),
    /// It gets a result without being executed.
    Settle {
        /// How it ended.
        end: End,
        /// The content of the result.
        content: Value,
    },
    /// It runs.
    Run {
        /// For [`EffectClass::Once`]: which try.
        intent: Option<u32>,
        /// The approval that it claims.
        approval: Option<AskId>,
    },
    /// A person is to be asked, and was not yet.
    Raise(Ask),
    /// A person was asked, and has not answered.
    Wait(Ask),
}

/// The key of try `number`'s intent.
pub fn intent_key(call: &CallId, number: u32) -> FactKey {
    FactKey::from(format_args!("call/{call}/intent/{number}"))
}

/// The key of the fact that try `number` did nothing.
pub fn released_key(call: &CallId, number: u32) -> FactKey {
    FactKey::from(format_args!("call/{call}/released/{number}"))
}

/// The key of a call's result.
pub fn result_key(call: &CallId) -> FactKey {
    FactKey::joined(&[Text("call/"), Text(call.as_str()), Text("/result")])
}

/// The id of the question whether a call may run.
pub fn approval_id(call: &CallId) -> AskId {
    AskId::from(call)
}

/// The id of the question whether try `number` of a call took effect.
pub fn doubt_id(call: &CallId, number: u32) -> AskId {
    AskId::from(format_args!("{call}/doubt/{number}"))
}

impl End {
    /// Whether the call did what was asked.
    pub const fn is_ok(self) -> bool {
        matches!(self, Self::Done | Self::SettledDone)
    }
}

impl CallRecords {
    /// Gathers what is recorded about `call`; `fact` looks a key up.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`]: a record cannot be read.
    pub fn gather<'r>(
        call: &CallId,
        fact: impl Fn(&FactKey) -> Option<&'r Record>,
    ) -> Result<Self, JournalError> {
        let asked = |id: &AskId| fact(&FactKey::from(format_args!("ask/{id}")));
        let answer = |id: &AskId| {
            fact(&Ask::answer_key(id))
                .map(|record| record.decode::<Answer>(kind::ANSWER))
                .transpose()
        };
        let trace = |number| {
            let record = fact(&Trace::key(call, number));
            record
                .map(|record| Ok((number, record.decode(kind::STARTED)?)))
                .transpose()
        };
        let approval = approval_id(call);
        let mut records = Self {
            asked: asked(&approval).is_some(),
            answer: answer(&approval)?,
            effect: asked(&approval).and_then(|record| record.effect),
            ..Self::default()
        };
        if let Some(record) = fact(&result_key(call)) {
            let body: ResultBody = record.decode(kind::RESULT)?;
            (records.result, records.failure) = (Some(body.message), body.failure);
        }
        for number in 1..=MAX_TRIES {
            let Some(intent) = fact(&intent_key(call, number)) else {
                break;
            };
            let doubt = doubt_id(call, number);
            records.effect = intent.effect;
            records.trace = trace(number)?;
            records.tries.push(Try {
                released: fact(&released_key(call, number)).is_some(),
                asked: asked(&doubt).is_some(),
                answer: answer(&doubt)?,
            });
        }
        if records.tries.is_empty() {
            for number in 1..=MAX_TRIES {
                let Some(found) = trace(number)? else {
                    break;
                };
                records.trace = Some(found);
            }
        }
        Ok(records)
    }

    /// Whether a try may have taken effect, and nothing and nobody says so.
    pub fn is_in_doubt(&self) -> bool {
        let open = |last: &Try| !last.released && last.answer.is_none();
        self.result.is_none() && self.tries.last().is_some_and(open)
    }

    /// What a try left behind that nothing else is known about.
    pub fn open_trace(&self) -> Option<&Value> {
        let (_, trace) = self.trace.as_ref()?;
        // A call that may be repeated has no intents, and so no tries.
        let last = self.tries.last();
        let open = last.is_none_or(|last| !last.released && !last.asked && last.answer.is_none());
        (open && self.result.is_none()).then_some(trace)
    }

    /// The number of the next trace.
    pub fn next_trace(&self) -> u32 {
        let tries = u32::try_from(self.tries.len()).unwrap_or(u32::MAX);
        let traces = self.trace.as_ref().map_or(0, |(number, _)| *number);
        tries.max(traces).saturating_add(1)
    }
}

/// Decides what is to be done about `call`.
///
/// `question` words what a person is asked.
pub fn plan(
    call: &ValidatedCall,
    node: &NodeName,
    records: &CallRecords,
    question: impl FnOnce() -> String,
) -> Plan {
    if let Some(message) = &records.result {
        return Plan::Done(message.clone());
    }
    match records.tries.last() {
        Some(last) if !last.released => in_doubt(call, node, records.tries.len(), last),
        _ => fresh(call, node, records, question),
    }
}

fn next_try(call: &ValidatedCall, tries: usize) -> Option<u32> {
    let number = u32::try_from(tries).unwrap_or(u32::MAX).saturating_add(1);
    (call.spec().effect == EffectClass::Once).then_some(number)
}

/// A try began, and nothing says how it ended: only a person can.
fn in_doubt(call: &ValidatedCall, node: &NodeName, tries: usize, last: &Try) -> Plan {
    match &last.answer {
        Some(Answer::Done { result }) => Plan::Settle {
            end: End::SettledDone,
            content: result.clone(),
        },
        Some(Answer::NotDone) => Plan::Settle {
            end: End::SettledNotDone,
            content: failure(Code::ToolNotExecuted, "the call was not executed"),
        },
        Some(Answer::Repeat) => Plan::Run {
            intent: next_try(call, tries),
            approval: None,
        },
        _ => {
            let ask = doubt(call, node, tries);
            if last.asked {
                Plan::Wait(ask)
            } else {
                Plan::Raise(ask)
            }
        }
    }
}

fn fresh(
    call: &ValidatedCall,
    node: &NodeName,
    records: &CallRecords,
    question: impl FnOnce() -> String,
) -> Plan {
    let intent = next_try(call, records.tries.len());
    match (call.spec().effective_approval(), &records.answer) {
        (Approval::Deny, _) => denied("a rule forbids this tool"),
        (Approval::Allow, None) => Plan::Run {
            intent,
            approval: None,
        },
        (_, Some(Answer::Approve { hash })) if *hash == call.arguments().digest() => Plan::Run {
            intent,
            approval: Some(approval_id(call.id())),
        },
        (_, Some(Answer::Deny { reason })) => {
            denied(reason.as_deref().unwrap_or("a person denied this call"))
        }
        // What is no decision about this very call is a denial.
        (_, Some(_)) => denied("the decision does not fit this call"),
        (Approval::Ask, None) => {
            let ask = approval(call, node, question());
            if records.asked {
                Plan::Wait(ask)
            } else {
                Plan::Raise(ask)
            }
        }
    }
}

fn denied(reason: &str) -> Plan {
    Plan::Settle {
        end: End::Denied,
        content: failure(Code::ToolDenied, reason),
    }
}

/// The content of a result that is a failure.
pub fn failure(code: Code, message: &str) -> Value {
    json!({ "error": { "code": code.as_str(), "message": message } })
}

/// The question whether `call` may run.
pub fn approval(call: &ValidatedCall, node: &NodeName, prompt: String) -> Ask {
    Ask {
        id: approval_id(call.id()),
        node: node.clone(),
        prompt,
        subject: Subject::Approval(subject(call)),
    }
}

/// The question whether the last of `tries` tries of `call` took effect.
pub fn doubt(call: &ValidatedCall, node: &NodeName, tries: usize) -> Ask {
    let number = u32::try_from(tries).unwrap_or(u32::MAX);
    Ask {
        id: doubt_id(call.id(), number),
        node: node.clone(),
        prompt: format!(
            "`{}` was started, and its outcome is lost: did it happen?",
            call.spec().name
        ),
        subject: Subject::InDoubt(subject(call)),
    }
}

fn subject(call: &ValidatedCall) -> CallSubject {
    CallSubject {
        call: call.id().clone(),
        tool: call.spec().name.clone(),
        effect: call.spec().effect,
        arguments: call.arguments().value().clone(),
        hash: call.arguments().digest(),
    }
}
