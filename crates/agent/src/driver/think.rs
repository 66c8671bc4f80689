//! One turn of the model: ask, check, record, move.

use std::{borrow::Cow, sync::Arc, time::Duration};

use futures::{FutureExt, future::poll_immediate, select_biased};
use rustagents_core::{
    budget::Resource,
    code::Coded,
    event::AgentEvent,
    journal::kind,
    message::{Message, ResultStatus, ToolCall, Usage},
    model::{
        FinishReason, ModelDelta, ModelError, ModelRequest, ModelResponse, RawCall, RetryAfter,
        fold,
    },
    scope::{Halt, Write},
    tool::EffectClass,
};

use crate::{
    call::{self, CallRecords, Plan},
    driver::{At, Driver, Phase, Progress, act::write_ask, turn},
    error::{AgentError, RecordedError},
    evidence::{Checked, FinalAnswer, Problem, Refused, ValidatedAction, Validator},
    policy::{PolicyDecision, RepromptStrategy},
    runtime::{AnyPhase, Thinking},
    transition::{ModelCall, Move, Transition},
};

/// The most tries of one model call, whatever a policy says.
const MAX_TRIES: u32 = 10;

/// The pause before the second try; it doubles for each further one.
const BACKOFF: Duration = Duration::from_millis(250);

/// The longest pause that a provider can ask for. Most limits are by the minute.
const MAX_PAUSE: Duration = Duration::from_mins(1);

/// An answer, and how often it was asked for.
struct Answered {
    tries: u32,
    response: ModelResponse,
}

/// What is recorded of a turn, and the move that it makes.
struct Turn {
    write: Write,
    transition: Transition,
    made: Move,
}

impl Driver<'_> {
    pub(crate) async fn think(
        &self,
        at: At<Thinking>,
        progress: &mut Progress<'_>,
    ) -> Result<Phase, Halt> {
        let step = turn(&at);
        progress.step.start(step);
        let (answered, mut decided) = match self.ask_model(&at).await? {
            Ok(answered) => {
                let decided = self.decide(&at, &answered.response);
                (answered, decided)
            }
            Err((tries, error)) => {
                let finish = FinishReason::Other("failed".to_owned());
                let response = ModelResponse {
                    finish,
                    ..ModelResponse::default()
                };
                let answered = Answered { tries, response };
                (answered, self.refuse(&at, error, None))
            }
        };
        self.record_call(&at, answered, &mut decided);
        if let Move::Act { action, .. } = &decided.made {
            self.raise(action, &mut decided.write, progress);
        }
        let Turn {
            write,
            transition,
            made,
        } = decided;
        let phase = AnyPhase::Thinking(at);
        self.commit(phase, write, &transition, made, &mut progress.step)
            .await
    }

    /// Asks the model, again where the policy says so.
    async fn ask_model(
        &self,
        at: &At<Thinking>,
    ) -> Result<Result<Answered, (u32, AgentError)>, Halt> {
        let mut free = false;
        for tries in 1..=MAX_TRIES {
            if !std::mem::take(&mut free) {
                self.scope.run().budget.take(Resource::ModelCalls)?;
            }
            let error = match self.ask_once(at).await? {
                Ok(response) => return Ok(Ok(Answered { tries, response })),
                Err(source) => model_error(turn(at), tries, source),
            };
            match at.policy().on_model_error(at.state(), &error) {
                PolicyDecision::Retry { consume_budget } if tries < MAX_TRIES => {
                    free = !consume_budget;
                    self.pause(tries, retry_after(&error)).await?;
                }
                PolicyDecision::Retry { .. } => {
                    let decision = "one more retry";
                    let step = turn(at);
                    return Ok(Err((
                        tries,
                        AgentError::PolicyRuntimeViolation { step, decision },
                    )));
                }
                _ => return Ok(Err((tries, error))),
            }
        }
        let context = "a bounded loop of model calls did not end".to_owned();
        Ok(Err((MAX_TRIES, AgentError::InternalInvariant { context })))
    }

    async fn ask_once(&self, at: &At<Thinking>) -> Result<Result<ModelResponse, ModelError>, Halt> {
        let request = ModelRequest {
            instructions: &self.agent.instructions,
            messages: at.state().messages(),
            run_start: at.state().run_start(),
            tools: self.agent.tools.specs(),
            labels: &self.agent.labels,
        };
        let run = self.scope.run();
        let left = self.scope.time_left()?;
        let answer = fold(
            self.agent.model.stream(request),
            self.agent.limits,
            |delta| match delta {
                ModelDelta::Text(text) => {
                    self.emit(|| AgentEvent::TextDelta { text: text.clone() });
                }
                _ => self.scope.sign_of_life(),
            },
        );
        let mut answer = std::pin::pin!(answer.fuse());
        if run.cancel.is_cancelled() {
            return Err(Halt::Cancelled);
        }
        // A model that answers at once needs no timer.
        if let Some(answer) = poll_immediate(&mut answer).await {
            return Ok(answer);
        }
        select_biased! {
            () = run.cancel.cancelled().fuse() => Err(Halt::Cancelled),
            () = run.clock.sleep(left).fuse() => Err(run.budget.out_of_time().into()),
            answer = answer => Ok(answer),
        }
    }

    /// Waits before one more try: as long as the provider asked for, and longer with
    /// each try; never past the run's time. A drain ends it, too.
    async fn pause(&self, tries: u32, asked: Option<RetryAfter>) -> Result<(), Halt> {
        let run = self.scope.run();
        let asked = asked.map_or(Duration::ZERO, |asked| asked.wait(run.clock.now_ms()));
        let backoff = BACKOFF.saturating_mul(1 << (tries - 1).min(8));
        let pause = asked.min(MAX_PAUSE).max(backoff);
        let left = self.scope.time_left()?;
        select_biased! {
            () = run.cancel.cancelled().fuse() => Err(Halt::Cancelled),
            () = run.drain.cancelled().fuse() => Err(Halt::Drained),
            () = run.clock.sleep(pause.min(left)).fuse() => Ok(()),
        }?;
        if left > pause {
            Ok(())
        } else {
            Err(run.budget.out_of_time().into())
        }
    }

    /// Decides what an answer means. Changes nothing but the counters of names.
    fn decide(&self, at: &At<Thinking>, response: &ModelResponse) -> Turn {
        let validator = Validator::new(&self.agent.tools, &self.agent.labels);
        match validator.check(response, || self.scope.mint_call()) {
            Ok(Checked::Action(action)) => self.acts(at, action, response.usage),
            Ok(Checked::Answer(answer)) => self.completes(at, answer, response.usage),
            Err(refused) => {
                let error = invalid(turn(at), &refused.problem, response);
                self.refuse(at, error, Some((*refused, response)))
            }
        }
    }

    fn acts(&self, at: &At<Thinking>, action: ValidatedAction, usage: Option<Usage>) -> Turn {
        let message = Arc::new(action.message(self.scope.mint_message()));
        let mut write = self.scope.write();
        write.message(Arc::clone(&message));
        let transition = Transition::Acting {
            turn: turn(at),
            message: message.id.clone(),
        };
        Turn {
            write,
            transition,
            made: Move::Act {
                message,
                action,
                usage,
            },
        }
    }

    fn completes(&self, at: &At<Thinking>, answer: FinalAnswer, usage: Option<Usage>) -> Turn {
        let id = self.scope.mint_message();
        let message = Arc::new(Message::assistant(id.clone(), answer.text(), Vec::new()));
        let mut write = self.scope.write();
        write.message(Arc::clone(&message));
        let label = answer.label().map(str::to_owned);
        let transition = Transition::Completed {
            turn: turn(at),
            message: id,
            label,
        };
        Turn {
            write,
            transition,
            made: Move::Complete {
                message,
                answer,
                usage,
            },
        }
    }

    /// Decides about an answer that cannot be acted on.
    fn refuse(
        &self,
        at: &At<Thinking>,
        error: AgentError,
        refused: Option<(Refused, &ModelResponse)>,
    ) -> Turn {
        let step = turn(at);
        let usage = refused.as_ref().and_then(|(_, response)| response.usage);
        match at.policy().on_model_error(at.state(), &error) {
            PolicyDecision::Reprompt { strategy, .. }
                if at.state().repairs() < strategy.bound() =>
            {
                self.repair(at, &error, strategy, refused)
            }
            PolicyDecision::Interrupt => {
                let reason = error.to_string();
                let transition = Transition::Interrupted {
                    turn: step,
                    reason: reason.clone(),
                };
                Turn {
                    write: self.scope.write(),
                    transition,
                    made: Move::Interrupt { reason, usage },
                }
            }
            _ => self.fails(step, error, self.last_words(refused), usage),
        }
    }

    fn fails(
        &self,
        turn: u32,
        error: AgentError,
        message: Option<Arc<Message>>,
        usage: Option<Usage>,
    ) -> Turn {
        let mut write = self.scope.write();
        if let Some(message) = &message {
            write.message(Arc::clone(message));
        }
        let transition = Transition::Failed {
            turn,
            error: RecordedError::of(&error),
            message: message.as_ref().map(|message| message.id.clone()),
        };
        Turn {
            write,
            transition,
            made: Move::Fail {
                error,
                message,
                usage,
            },
        }
    }

    /// The text of an answer that was cut or declined, which stays as a message.
    fn last_words(&self, refused: Option<(Refused, &ModelResponse)>) -> Option<Arc<Message>> {
        let (refused, response) = refused?;
        let is_text = response.calls.is_empty() && !response.text.is_empty();
        let message = || {
            let id = self.scope.mint_message();
            Arc::new(Message::assistant(id, response.text.clone(), Vec::new()))
        };
        (is_text && refused.problem.is_final()).then(message)
    }

    /// Tells the model what is wrong. Each refused call gets its one result.
    fn repair(
        &self,
        at: &At<Thinking>,
        error: &AgentError,
        strategy: RepromptStrategy,
        refused: Option<(Refused, &ModelResponse)>,
    ) -> Turn {
        let usage = refused.as_ref().and_then(|(_, response)| response.usage);
        let messages = match refused {
            Some((refused, response)) if !refused.calls.is_empty() => {
                self.refused_calls(refused, response)
            }
            Some((_, response)) => vec![
                Message::assistant(self.scope.mint_message(), response.text.clone(), Vec::new()),
                self.note(error, strategy),
            ],
            None => vec![self.note(error, strategy)],
        };
        let messages: Vec<_> = messages.into_iter().map(Arc::new).collect();
        let mut write = self.scope.write();
        for message in &messages {
            write.message(Arc::clone(message));
        }
        let transition = Transition::Repaired {
            turn: turn(at),
            messages: messages.iter().map(|message| message.id.clone()).collect(),
            problem: RecordedError::of(error),
        };
        Turn {
            write,
            transition,
            made: Move::Repair { messages, usage },
        }
    }

    fn refused_calls(&self, refused: Refused, response: &ModelResponse) -> Vec<Message> {
        let id = self.scope.mint_message();
        let calls: Vec<_> = refused
            .calls
            .into_iter()
            .map(|call| self.refused_call(call))
            .collect();
        let asked = calls.iter().map(|(call, _)| call.clone()).collect();
        let mut messages = vec![Message::assistant(id, response.text.clone(), asked)];
        messages.extend(calls.into_iter().map(|(_, result)| result));
        messages
    }

    fn refused_call(&self, (raw, problem): (RawCall, Option<Problem>)) -> (ToolCall, Message) {
        let content = match &problem {
            Some(problem) => {
                let hint = problem
                    .hint()
                    .map(|hint| format!("; {hint}"))
                    .unwrap_or_default();
                call::failure(problem.code(), &format!("{problem}{hint}"))
            }
            None => call::failure(
                rustagents_core::Code::InvalidModelAction,
                "not run: another call of the same answer was refused",
            ),
        };
        let id = self.scope.mint_call();
        let (message, status) = (self.scope.mint_message(), ResultStatus::Error);
        let result = Message::tool(
            message,
            id.clone(),
            raw.name.clone(),
            status,
            content.to_string(),
        );
        let arguments = raw.arguments.into();
        (
            ToolCall {
                id,
                name: raw.name,
                arguments,
                wire_id: raw.wire_id,
            },
            result,
        )
    }

    fn note(&self, error: &AgentError, strategy: RepromptStrategy) -> Message {
        let mut text = format!("That answer cannot be used: {error}.");
        if let Some(hint) = error.hint() {
            text = format!("{text} Allowed are {hint}.");
        }
        if strategy.with_catalog() && !self.agent.tools.specs().is_empty() {
            let names: Vec<_> = self
                .agent
                .tools
                .specs()
                .iter()
                .map(|spec| spec.name.as_str())
                .collect();
            text = format!("{text} The tools are: {}.", names.join(", "));
        }
        Message::user(self.scope.mint_message(), text)
    }

    /// Adds the record of the model call.
    fn record_call(&self, at: &At<Thinking>, answered: Answered, decided: &mut Turn) {
        let message = match &decided.made {
            Move::Act { message, .. }
            | Move::Complete { message, .. }
            | Move::Fail {
                message: Some(message),
                ..
            } => Some(message.id.clone()),
            Move::Repair { messages, .. } => messages
                .first()
                .filter(|m| m.role() == rustagents_core::message::Role::Assistant)
                .map(|message| message.id.clone()),
            _ => None,
        };
        let response = answered.response;
        let call = ModelCall {
            turn: turn(at),
            tries: answered.tries,
            model: Cow::Borrowed(self.agent.model.id()),
            request: at.state().request_digest(),
            edit: at.state().edit(),
            usage: response.usage,
            finish: response.finish.clone(),
            refused: message.is_none().then_some(response),
            message,
        };
        let key = ModelCall::key(self.scope.namespace(), call.turn);
        let tells_more = call.edit.given > 0;
        decided.write.effect(
            key,
            if tells_more {
                kind::RESULT
            } else {
                kind::RESULT.at(1)
            },
            EffectClass::Repeatable,
            call.request,
            &call,
        );
    }

    /// Adds the questions about a fresh action's calls.
    fn raise(&self, action: &ValidatedAction, write: &mut Write, progress: &mut Progress<'_>) {
        for call in action.calls() {
            let plan = self.plan(call, &CallRecords::default());
            if let Plan::Raise(ask) = plan {
                write_ask(write, &ask);
                progress.raised.insert(ask.id);
            }
        }
    }
}

/// When the provider wants to be asked again, where it said so.
fn retry_after(error: &AgentError) -> Option<RetryAfter> {
    match error {
        AgentError::ModelTransport {
            source: ModelError::Unavailable { retry_after, .. },
            ..
        } => Some(*retry_after),
        _ => None,
    }
}

fn model_error(step: u32, tries: u32, source: ModelError) -> AgentError {
    match source {
        ModelError::TooLarge { .. } | ModelError::TooManyCalls { .. } => {
            AgentError::InvalidModelAction {
                step,
                problem: Box::new(Problem::TooLarge {
                    reason: source.to_string(),
                }),
                tool_name: None,
                received_args: None,
                raw_response: String::new(),
            }
        }
        source => AgentError::ModelTransport {
            step,
            tries,
            source,
        },
    }
}

fn invalid(step: u32, problem: &Problem, response: &ModelResponse) -> AgentError {
    let name = match problem {
        Problem::UnknownTool { name, .. } => Some(name.clone()),
        Problem::Arguments { tool, .. } | Problem::Schema { tool, .. } => Some(tool.clone()),
        _ => None,
    };
    let call = response
        .calls
        .iter()
        .find(|call| name.as_deref() == Some(call.name.as_str()));
    AgentError::InvalidModelAction {
        step,
        problem: Box::new(problem.clone()),
        received_args: call.map(|call| AgentError::excerpt(&call.arguments)),
        tool_name: name,
        raw_response: AgentError::excerpt(&response.text),
    }
}
