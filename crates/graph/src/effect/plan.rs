//! What is to be done about a step, decided from its records alone.

use rustagents_core::{
    ask::{Answer, Ask, StepSubject, Subject},
    digest::Digest,
    event::Event,
    ids::{FactKey, TaskId},
    journal::{JournalError, Record, kind},
    recorder::Durability,
    scope::Halt,
    tool::EffectClass,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Step, StepError, record::StepResult};
use crate::node::{NodeError, TaskContext, bounded};

/// The most starts of one step, and times that a person is asked about one.
const MAX_STARTS: u32 = 1_000;

/// What is to be done about a step.
pub(super) enum Plan<T> {
    /// It has its result.
    Done(T),
    /// It is executed.
    Run {
        /// Where its result goes.
        result: FactKey,
        /// For what must not run twice: which start.
        intent: Option<u32>,
    },
    /// Only a person knows whether it took effect.
    Doubt(Ask),
}

impl TaskContext {
    pub(super) fn plan<T: DeserializeOwned>(&self, step: &Step) -> Result<Plan<T>, NodeError> {
        let once = step.id.result(EffectClass::Once, self.tries());
        if step.effect == EffectClass::Once {
            return self.plan_once(step, once);
        }
        if self.scope().fact(&step.id.intent(1)).is_some() {
            // It was one that must not run twice, and is not repeated for another name.
            if self.scope().fact(&once).is_some() {
                return self.plan_once(step, once);
            }
            return Err(NodeError::Halt(Halt::Incompatible {
                what: format!("step `{}`", step.id),
                difference: format!(
                    "its effect was `{}` and is `{}`",
                    EffectClass::Once.as_str(),
                    step.effect.as_str()
                ),
            }));
        }
        let result = step.id.result(step.effect, self.tries());
        let Some(record) = self.scope().fact(&result) else {
            return self.run(result, None);
        };
        let recorded = input_of(record);
        if recorded == step.input {
            return done(step, record);
        }
        let result = step.id.result_on(step.input, self.tries());
        if let Some(record) = self.scope().fact(&result) {
            return done(step, record);
        }
        self.scope().emit(|| Event::StepRepeated {
            node: self.node().clone(),
            task: TaskId::from(self.scope().namespace().as_str()),
            step: step.id.label().to_owned(),
            recorded,
            now: step.input,
        });
        self.run(result, None)
    }

    fn plan_once<T: DeserializeOwned>(
        &self,
        step: &Step,
        result: FactKey,
    ) -> Result<Plan<T>, NodeError> {
        let fact = |key: &FactKey| self.scope().fact(key);
        if let Some(record) = fact(&result) {
            unchanged(step, record)?;
            return done(step, record);
        }
        let mut starts = 0;
        while starts < MAX_STARTS
            && let Some(intent) = fact(&step.id.intent(starts + 1))
        {
            unchanged(step, intent)?;
            starts += 1;
        }
        if starts == 0 || fact(&step.id.released(starts)).is_some() {
            return self.run(result, Some(starts + 1));
        }
        match self.settled(step, starts)? {
            Settled::Done(value) => Ok(Plan::Done(value)),
            Settled::NotDone => Err(StepError::NotExecuted {
                step: step.id.label().to_owned(),
            }
            .into()),
            Settled::Repeat => self.run(result, Some(starts + 1)),
            Settled::Open(ask) => Ok(Plan::Doubt(ask)),
        }
    }

    /// Notes that nobody knows how start `number` ended, so that the task does not fail
    /// before somebody said it. A run that records nothing cannot be asked later.
    pub(super) fn note_doubt(
        &self,
        step: &Step,
        number: u32,
        error: &NodeError,
    ) -> Result<(), NodeError> {
        if self.scope().run().durability == Durability::None {
            return Ok(());
        }
        if let Settled::Open(ask) = self.settled::<Value>(step, number)? {
            let (label, error) = (step.id.label(), bounded(error.to_string()));
            let prompt = format!("step `{label}` may have taken effect ({error}): did it happen?");
            self.add_doubt(Ask { prompt, ..ask });
        }
        Ok(())
    }

    fn run<T>(&self, result: FactKey, intent: Option<u32>) -> Result<Plan<T>, NodeError> {
        if self.scope().run().cancel.is_cancelled() {
            return Err(NodeError::Halt(Halt::Cancelled));
        }
        Ok(Plan::Run { result, intent })
    }

    /// What a person said about start `number`. A result that is none is asked for
    /// again.
    pub(super) fn settled<T: DeserializeOwned>(
        &self,
        step: &Step,
        number: u32,
    ) -> Result<Settled<T>, Halt> {
        let mut problem = None;
        let mut time = 1;
        loop {
            let id = step.id.doubt(number, time);
            let answer = self.scope().fact(&Ask::answer_key(&id));
            let answer = answer.map(|record| record.decode::<Answer>(kind::ANSWER));
            match answer.transpose()? {
                Some(Answer::NotDone) => return Ok(Settled::NotDone),
                Some(Answer::Repeat) => return Ok(Settled::Repeat),
                Some(Answer::Done { result }) if time < MAX_STARTS => {
                    match T::deserialize(&result) {
                        Ok(value) => return Ok(Settled::Done(value)),
                        Err(error) => problem = Some(error),
                    }
                    time += 1;
                }
                _ => {
                    let prompt = doubt(step, problem.as_ref());
                    let subject = Subject::StepInDoubt(StepSubject {
                        step: step.id.label().to_owned(),
                        idempotency_key: self.idempotency_key(step),
                        hash: step.input,
                    });
                    let node = self.node().clone();
                    return Ok(Settled::Open(Ask {
                        id,
                        node,
                        prompt,
                        subject,
                    }));
                }
            }
        }
    }
}

/// What a person said about a step in doubt.
pub(super) enum Settled<T> {
    Done(T),
    NotDone,
    Repeat,
    Open(Ask),
}

fn doubt(step: &Step, problem: Option<&serde_json::Error>) -> String {
    let label = step.id.label();
    match problem {
        None => format!("step `{label}` was started, and its outcome is lost: did it happen?"),
        Some(problem) => format!(
            "step `{label}` was started, and its outcome is lost; the answer is no result of it ({problem}): did it happen?"
        ),
    }
}

/// The digest of the input in a step's record.
pub(super) fn input_of(record: &Record) -> Digest {
    record.digest.unwrap_or(Digest::of(b"null"))
}

fn unchanged(step: &Step, record: &Record) -> Result<(), Halt> {
    let recorded = input_of(record);
    if recorded == step.input {
        return Ok(());
    }
    Err(Halt::StepChanged {
        step: step.id.to_string(),
        recorded,
        now: step.input,
    })
}

fn done<T: DeserializeOwned>(step: &Step, record: &Record) -> Result<Plan<T>, NodeError> {
    match record.decode::<StepResult<'_, T>>(kind::STEP_RESULT) {
        Ok(result) => Ok(Plan::Done(result.value)),
        Err(JournalError::Corrupt { reason, .. })
            if record.decode::<Value>(kind::STEP_RESULT).is_ok() =>
        {
            Err(NodeError::Halt(Halt::Incompatible {
                what: format!("the result of step `{}`", step.id),
                difference: reason,
            }))
        }
        Err(error) => Err(NodeError::Halt(error.into())),
    }
}
