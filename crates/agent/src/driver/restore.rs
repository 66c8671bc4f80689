//! Rebuilds the phase from the records of earlier attempts.

use std::sync::Arc;

use rustagents_core::{
    code::Coded,
    ids::MessageId,
    journal::{JournalError, Record, kind},
    message::{Message, Usage},
    scope::Halt,
};

use crate::{
    call,
    driver::{At, Driver, Phase},
    error::AgentError,
    evidence::{Observations, ValidatedAction, Validator},
    runtime::{AnyPhase, Idle},
    transition::{self, ModelCall, Move, Transition},
};

impl Driver<'_> {
    /// The phase after all recorded moves. Executes nothing.
    pub(crate) fn restore(&self, idle: At<Idle>) -> Result<Phase, Halt> {
        let mut phase = AnyPhase::Idle(idle);
        for record in self
            .scope
            .commits()
            .filter(|record| record.is(kind::TRANSITION))
        {
            let transition: Transition = record.decode(kind::TRANSITION)?;
            phase = if transition.stops() && self.is_retried(record) {
                let usage = self.usage_if_thinking(&phase, &transition)?;
                transition::retried(phase, usage)
            } else {
                let made = self.recorded(&phase, &transition)?;
                self.apply(phase, made)?
            };
        }
        Ok(phase)
    }

    /// Whether the run was reopened since, so that a failure in `record` counts no more.
    pub(super) fn is_retried(&self, record: &Record) -> bool {
        record.attempt < self.scope.run().retried
    }

    fn recorded(&self, phase: &Phase, transition: &Transition) -> Result<Move, Halt> {
        let usage = || self.recorded_usage(transition.turn());
        Ok(match transition {
            Transition::Acting { message, .. } => {
                let message = self.message(message)?;
                Move::Act {
                    action: self.recorded_action(&message)?,
                    message,
                    usage: usage()?,
                }
            }
            Transition::Completed { message, label, .. } => {
                let message = self.message(message)?;
                let answer = Validator::restore_answer(&message, label.clone());
                Move::Complete {
                    message,
                    answer,
                    usage: usage()?,
                }
            }
            Transition::Repaired { messages, .. } => {
                let messages = messages.iter().map(|id| self.message(id));
                Move::Repair {
                    messages: messages.collect::<Result<_, _>>()?,
                    usage: usage()?,
                }
            }
            Transition::Observing { results, .. } => {
                let results = results.iter().map(|id| self.message(id));
                let results = results.collect::<Result<Vec<_>, _>>()?;
                Move::Observe(self.recorded_results(phase, results)?)
            }
            Transition::Failed { error, message, .. } => Move::Fail {
                error: AgentError::Recorded(error.clone()),
                message: message.as_ref().map(|id| self.message(id)).transpose()?,
                usage: self.usage_if_thinking(phase, transition)?,
            },
            Transition::Interrupted { reason, .. } => Move::Interrupt {
                reason: reason.clone(),
                usage: self.usage_if_thinking(phase, transition)?,
            },
        })
    }

    fn message(&self, id: &MessageId) -> Result<Arc<Message>, JournalError> {
        self.scope.log().message(id)
    }

    /// What the turn's model call consumed, unless an action counted it already.
    fn usage_if_thinking(
        &self,
        phase: &Phase,
        transition: &Transition,
    ) -> Result<Option<Usage>, JournalError> {
        match phase {
            AnyPhase::Acting(_) => Ok(None),
            _ => self.recorded_usage(transition.turn()),
        }
    }

    fn recorded_usage(&self, turn: u32) -> Result<Option<Usage>, JournalError> {
        let key = ModelCall::key(self.scope.namespace(), turn);
        let call = self
            .scope
            .fact(&key)
            .map(|record| record.decode::<ModelCall>(kind::RESULT));
        Ok(call.transpose()?.and_then(|call| call.usage))
    }

    /// The action, if its tools still take the arguments of the calls that are left.
    fn recorded_action(&self, message: &Message) -> Result<ValidatedAction, Halt> {
        Validator::new(&self.agent.tools, &self.agent.labels)
            .restore_action(message, |call| {
                self.scope.fact(&call::result_key(call)).is_some()
            })
            .map_err(|(call, problem)| Halt::Incompatible {
                what: format!("call {call}"),
                difference: match problem.hint() {
                    Some(hint) => format!("{problem} ({hint})"),
                    None => problem.to_string(),
                },
            })
    }

    fn recorded_results(
        &self,
        phase: &Phase,
        results: Vec<Arc<Message>>,
    ) -> Result<Observations, Halt> {
        let corrupt = |reason: String| {
            let place = format!("chain `{}`", self.scope.namespace());
            Halt::Journal(JournalError::Corrupt { place, reason })
        };
        let AnyPhase::Acting(acting) = phase else {
            return Err(corrupt("results without an action".into()));
        };
        Observations::collect(acting.action(), results)
            .map_err(|call| corrupt(format!("call {call} has not exactly one result")))
    }
}
