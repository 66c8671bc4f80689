//! Pending calls that an agent no longer takes, for who goes on without them all the
//! same.
//!
//! A call that provably did not start, or that may be made twice, gets a result that
//! says so. One that may have taken effect stays in doubt until a person decides.

use rustagents_core::{
    ask::{Answer, Ask},
    code::Code,
    ids::{CallId, NodeName},
    journal::{JournalError, kind},
    message::ToolCall,
    scope::{Halt, Scope, Write},
    tool::EffectClass,
};

use crate::{
    agent::Agent,
    call::{self, CallRecords, End},
    driver::{write_ask, write_result},
    evidence::{ValidatedCall, Validator},
    transition::Transition,
};

/// A call without a result that its agent no longer takes as it is recorded.
#[derive(Clone, Debug)]
pub struct Unfit {
    call: ValidatedCall,
    records: CallRecords,
    why: String,
}

impl Unfit {
    /// The pending calls of the chain of `scope` that `agent` no longer takes; without
    /// an agent, all of them.
    ///
    /// # Errors
    /// [`Halt`] where the records cannot be read.
    pub fn of(agent: Option<&Agent>, scope: &Scope) -> Result<Vec<Self>, Halt> {
        let mut unfit = Vec::new();
        for recorded in acting(scope)? {
            let records = CallRecords::gather(&recorded.id, |key| scope.fact(key))?;
            if records.result.is_some() {
                continue;
            }
            let Some((effect, why)) = difference(agent, &recorded, &records) else {
                continue;
            };
            let call = ValidatedCall::stand_in(&recorded, effect);
            let call = call.map_err(|reason| JournalError::Corrupt {
                place: format!("call {}", recorded.id),
                reason,
            })?;
            unfit.push(Self { call, records, why });
        }
        Ok(unfit)
    }

    /// The call.
    pub fn call(&self) -> &CallId {
        self.call.id()
    }

    /// Its tool.
    pub fn tool(&self) -> &str {
        &self.call.spec().name
    }

    /// What does not fit.
    pub fn why(&self) -> &str {
        &self.why
    }

    /// The question whether it happened, where nothing and nobody says so.
    pub fn doubt(&self, node: &NodeName) -> Option<Ask> {
        let tries = self.records.tries.len();
        let in_doubt = self.records.is_in_doubt();
        in_doubt.then(|| call::doubt(&self.call, node, tries))
    }

    /// Adds the question to `write`, where it was not asked yet.
    pub fn write_doubt(&self, ask: &Ask, write: &mut Write) {
        if self.records.tries.last().is_some_and(|last| !last.asked) {
            write_ask(write, ask);
        }
    }

    /// Adds the call's result to `write`: what `answer`, or an earlier one, says of
    /// it, or else that it was not run.
    pub fn settle(&self, scope: &Scope, answer: Option<&Answer>, write: &mut Write) {
        let last = self.records.tries.last().filter(|last| !last.released);
        let answer = answer.or_else(|| last.and_then(|last| last.answer.as_ref()));
        let not_done = |what: String| {
            let content = call::failure(Code::ToolNotExecuted, &what);
            (End::SettledNotDone, content)
        };
        let (end, content) = match answer {
            Some(Answer::Done { result }) => (End::SettledDone, result.clone()),
            Some(Answer::Repeat) => not_done(format!(
                "not repeated: {}; the try before may have happened",
                self.why
            )),
            _ if self.call.spec().effect == EffectClass::Once => {
                not_done(format!("not run: {}", self.why))
            }
            _ => not_done(format!("not run to its end: {}", self.why)),
        };
        let id = scope.mint_message();
        write_result(write, &self.call, id, end, &content, None);
    }
}

/// The calls of the turn that the chain's agent acts on.
fn acting(scope: &Scope) -> Result<Vec<ToolCall>, JournalError> {
    let mut acts_on = None;
    for record in scope.commits().filter(|record| record.is(kind::TRANSITION)) {
        match record.decode(kind::TRANSITION)? {
            Transition::Acting { message, .. } => acts_on = Some(message),
            Transition::Failed { .. } | Transition::Interrupted { .. } => {}
            _ => acts_on = None,
        }
    }
    let Some(message) = acts_on else {
        return Ok(Vec::new());
    };
    Ok(scope.log().message(&message)?.calls().to_vec())
}

/// What no longer fits, and the class of the call's effect.
fn difference(
    agent: Option<&Agent>,
    recorded: &ToolCall,
    records: &CallRecords,
) -> Option<(EffectClass, String)> {
    let then = records.effect.unwrap_or(EffectClass::Once);
    let Some(agent) = agent else {
        return Some((then, "its agent is gone".into()));
    };
    let Some(tool) = agent.tools().get(&recorded.name) else {
        return Some((then, format!("the tool `{}` is gone", recorded.name)));
    };
    let now = tool.spec().effect;
    if let Err(problem) = Validator::new(agent.tools(), &[]).accepts(recorded) {
        return Some((records.effect.unwrap_or(now), problem.to_string()));
    }
    (records.effect.is_some() && then != now).then(|| {
        let (was, is) = (then.as_str(), now.as_str());
        let why = format!(
            "the effect of `{}` was `{was}` and is `{is}`",
            recorded.name
        );
        (then, why)
    })
}
