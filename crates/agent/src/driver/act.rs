//! The calls of one turn: plan, ask, run, record, observe.

use std::{borrow::Cow, sync::Arc};

use futures::{StreamExt, stream};
use rustagents_core::{
    BoxFuture,
    ask::Ask,
    budget::Resource,
    code::{Code, Coded},
    encode::json,
    event::AgentEvent,
    ids::{AskId, CallId, MessageId},
    journal::{Content, JournalError, kind},
    message::{Message, ResultStatus},
    scope::{Halt, Write},
    tool::{EffectClass, Executed, MAX_OUTPUT_BYTES, Reconciled, ToolError, ToolErrorKind},
};
use serde_json::Value;
use smallvec::SmallVec;

use crate::{
    call::{self, CallFailure, CallRecords, End, IntentBody, Plan, ResultBody},
    driver::{At, Driver, Phase, Progress, events::OpenCall, invoke, turn},
    error::{AgentError, RecordedError},
    evidence::{Observations, ValidatedAction, ValidatedCall},
    policy::PolicyDecision,
    runtime::{Acting, AnyPhase},
    transition::{Move, Transition},
};

/// The largest result that is kept whole, in bytes; it must fit into a batch.
const MAX_ARTIFACT: usize = MAX_OUTPUT_BYTES;

/// The most bytes of a failure's message that are kept.
const MAX_SAID: usize = 64 << 10;

/// A call that is to run.
#[derive(Clone)]
struct Start<'a> {
    call: &'a ValidatedCall,
    intent: Option<u32>,
    approval: Option<AskId>,
    /// The number of its trace.
    trace: u32,
}

/// Most turns have one call.
type Starts<'a> = SmallVec<[Start<'a>; 1]>;

/// How the turn's calls stand.
struct Turn<'a> {
    action: &'a ValidatedAction,
    number: u32,
    /// The results so far, as they came.
    results: Vec<(CallId, Arc<Message>)>,
    waiting: Vec<Ask>,
    /// A call whose outcome is unknown holds back those after it.
    doubtful: bool,
    observed: bool,
    failure: Option<(AgentError, PolicyDecision)>,
}

/// How a started call ended.
enum Ended {
    /// With a value, or a failure of which the effect is known well enough.
    Result(Result<Value, ToolError>),
    /// Nobody knows.
    Unknown,
    /// It was cancelled before it did anything.
    Released,
}

type Started<'s> = (&'s Start<'s>, Result<(OpenCall<'s>, Ended), Halt>);

impl Driver<'_> {
    pub(crate) async fn act(
        &self,
        at: At<Acting>,
        progress: &mut Progress<'_>,
    ) -> Result<Phase, Halt> {
        let step = turn(&at);
        progress.step.start(step);
        let action = at.action().clone();
        let mut turn = Turn::new(&action, step);
        let starts = {
            // Before a doubt is known, no task around may fail.
            let _unsettled = has_once(&action).then(|| self.scope.unsettled());
            self.reconcile_all(&mut turn, &at, progress).await?;
            self.plan_all(&mut turn, &at, progress).await?
        };
        self.run_all(&mut turn, &at, starts).await?;
        self.finish(turn, at, progress).await
    }

    /// Finds out what became of calls that left a trace and no result.
    async fn reconcile_all(
        &self,
        turn: &mut Turn<'_>,
        at: &At<Acting>,
        progress: &Progress<'_>,
    ) -> Result<(), Halt> {
        for call in turn.action.calls() {
            let records = self.records(call, progress)?;
            let Some(trace) = records.open_trace() else {
                continue;
            };
            let Some(offered) = self.agent.tools.get(&call.spec().name) else {
                continue;
            };
            let tool = offered.tool().as_ref();
            let found = invoke::reconcile(self.scope, tool, call, trace.clone()).await?;
            let Reconciled::Ended(outcome) = found else {
                continue;
            };
            let start = Start {
                call,
                intent: u32::try_from(records.tries.len()).ok().filter(|n| *n > 0),
                approval: None,
                trace: records.next_trace(),
            };
            let name = &call.spec().name;
            let open = OpenCall::dispatch(self.scope, turn.number, call.id(), name);
            let ended = ended(call.spec().effect, outcome);
            self.record(turn, at, &start, open, ended).await?;
        }
        Ok(())
    }

    /// Decides about each call; records new questions and settled results.
    async fn plan_all<'c>(
        &self,
        turn: &mut Turn<'c>,
        at: &At<Acting>,
        progress: &mut Progress<'_>,
    ) -> Result<Starts<'c>, Halt> {
        let mut write = self.scope.write();
        let mut starts = Starts::new();
        for call in turn.action.calls() {
            if turn.result(call.id()).is_some() {
                continue;
            }
            let records = self.records(call, progress)?;
            match self.plan(call, &records) {
                Plan::Done(message) => {
                    let message = self.scope.log().message(&message)?;
                    turn.results.push((call.id().clone(), message));
                    if let Some(failure) = records.failure.filter(|_| self.counts(call)) {
                        turn.fail(at, call, failure);
                    }
                }
                Plan::Settle { end, content } => {
                    let message = self.write_result(&mut write, call, end, &content);
                    turn.results.push((call.id().clone(), message));
                }
                Plan::Run { .. } if turn.doubtful => {}
                Plan::Run { intent, approval } => starts.push(Start {
                    call,
                    intent,
                    approval,
                    trace: intent.unwrap_or_else(|| records.next_trace()),
                }),
                Plan::Raise(ask) => {
                    write_ask(&mut write, &ask);
                    self.wait(turn, ask);
                }
                Plan::Wait(ask) => self.wait(turn, ask),
            }
        }
        if !write.is_empty() {
            turn.observe_if_complete(&mut write);
            self.scope.append(write).await?;
        }
        Ok(starts)
    }

    /// Lets the turn wait for an answer.
    fn wait(&self, turn: &mut Turn<'_>, ask: Ask) {
        if ask.subject.is_in_doubt() {
            self.scope.note_doubt(&ask);
        }
        turn.wait(ask);
    }

    /// Whether the failure of `call` may still end the agent.
    fn counts(&self, call: &ValidatedCall) -> bool {
        let record = self.scope.fact(&call::result_key(call.id()));
        record.is_none_or(|record| !self.is_retried(record))
    }

    fn records(&self, call: &ValidatedCall, progress: &Progress<'_>) -> Result<CallRecords, Halt> {
        let minted_now = call.id().number() > self.scope.run().log.last_call();
        let mut records = if minted_now {
            CallRecords::default()
        } else {
            CallRecords::gather(call.id(), |key| self.scope.fact(key))?
        };
        records.asked |= progress.raised.contains(&call::approval_id(call.id()));
        let now = call.spec().effect;
        match records.effect {
            Some(then) if then != now && records.result.is_none() => Err(Halt::Incompatible {
                what: format!("call {}", call.id()),
                difference: format!(
                    "the effect of `{}` was `{}` and is `{}`",
                    call.spec().name,
                    then.as_str(),
                    now.as_str()
                ),
            }),
            _ => Ok(records),
        }
    }

    pub(crate) fn plan(&self, call: &ValidatedCall, records: &CallRecords) -> Plan {
        call::plan(call, &self.agent.name, records, || {
            let tool = self.agent.tools.get(&call.spec().name);
            tool.and_then(|offered| offered.tool().question(call.arguments().value()))
                .unwrap_or_else(|| format!("{} {}", call.spec().name, call.arguments().text()))
        })
    }

    /// Runs calls in order: neighbours that change nothing together, each that
    /// changes something alone.
    async fn run_all(
        &self,
        turn: &mut Turn<'_>,
        at: &At<Acting>,
        starts: Starts<'_>,
    ) -> Result<(), Halt> {
        for group in starts.chunk_by(|a, b| a.intent.is_none() && b.intent.is_none()) {
            if turn.doubtful || turn.failure.is_some() {
                return Ok(());
            }
            if let [start] = group {
                let _unsettled = start.intent.map(|_| self.scope.unsettled());
                let (open, ended) = self.perform(turn.number, start).await?;
                self.record(turn, at, start, open, ended).await?;
                continue;
            }
            let runs: Vec<_> = group
                .iter()
                .map(|start| self.start(turn.number, start))
                .collect();
            let mut runs = stream::iter(runs).buffer_unordered(self.agent.concurrency);
            // What stops one call must not drop the others in flight.
            let mut halted = None;
            while let Some((start, ended)) = runs.next().await {
                let recorded = match ended {
                    Ok((open, ended)) => self.record(turn, at, start, open, ended).await,
                    Err(halt) => Err(halt),
                };
                halted = halted.or(recorded.err());
            }
            if let Some(halt) = halted {
                return Err(halt);
            }
        }
        Ok(())
    }

    fn start<'s>(&'s self, step: u32, start: &'s Start<'s>) -> BoxFuture<'s, Started<'s>> {
        Box::pin(async move { (start, self.perform(step, start).await) })
    }

    /// Runs one call: the intent first, where it needs one.
    async fn perform(&self, step: u32, start: &Start<'_>) -> Result<(OpenCall<'_>, Ended), Halt> {
        let call = start.call;
        self.scope.boundary()?;
        self.scope.run().budget.take(Resource::ToolCalls)?;
        if let Some(number) = start.intent {
            let body = IntentBody {
                call: call.id().clone(),
                tool: call.spec().name.clone(),
                number,
                approval: start.approval.clone(),
            };
            let mut write = self.scope.write();
            let (key, digest) = (
                call::intent_key(call.id(), number),
                call.arguments().digest(),
            );
            write.effect(key, kind::INTENT, call.spec().effect, digest, &body);
            self.scope.append(write).await?;
        }
        if call.spec().effect == EffectClass::Idempotent {
            // Its key is made of the call's id: after a crash no other call may have it.
            self.scope.flush().await?;
        }
        let _in_flight = start.intent.map(|_| self.scope.in_flight());
        let open = OpenCall::dispatch(self.scope, step, call.id(), &call.spec().name);
        let Some(offered) = self.agent.tools.get(&call.spec().name) else {
            return Ok((open, Ended::Unknown));
        };
        let outcome = invoke::invoke(self.scope, offered.tool().as_ref(), call, start.trace).await;
        Ok((open, ended(call.spec().effect, outcome)))
    }

    async fn record(
        &self,
        turn: &mut Turn<'_>,
        at: &At<Acting>,
        start: &Start<'_>,
        open: OpenCall<'_>,
        ended: Ended,
    ) -> Result<(), Halt> {
        let call = start.call;
        let mut write = self.scope.write();
        let ok = match &ended {
            Ended::Result(result) => {
                let id = self.scope.mint_message();
                let message = write_end(&mut write, call, id, result);
                turn.results.push((call.id().clone(), message));
                if let Err(error) = result {
                    turn.fail(at, call, failed(error));
                }
                result.is_ok()
            }
            Ended::Unknown => {
                let tries = start.intent.unwrap_or(1) as usize;
                let ask = call::doubt(call, &self.agent.name, tries);
                write_ask(&mut write, &ask);
                self.wait(turn, ask);
                false
            }
            Ended::Released => {
                write_release(&mut write, start);
                self.append_end(start, &ended, write).await?;
                return Err(self.scope.boundary().err().unwrap_or(Halt::Cancelled));
            }
        };
        turn.observe_if_complete(&mut write);
        self.append_end(start, &ended, write).await?;
        open.complete(ok);
        Ok(())
    }

    /// Writes how a call ended. Where another driver took the thread over meanwhile,
    /// that one is told of a call that it would have to ask a person about.
    async fn append_end(
        &self,
        start: &Start<'_>,
        ended: &Ended,
        write: Write,
    ) -> Result<(), JournalError> {
        let _in_flight = start.intent.map(|_| self.scope.in_flight());
        let mut written = self.scope.append(write).await;
        if written.is_ok() && start.intent.is_some() {
            // What was lost of it would be in doubt.
            written = self.scope.flush().await;
        }
        if let (Err(error), Some(number)) = (&written, start.intent)
            && error.code() == Code::Fenced
        {
            let call = start.call;
            let mut late = self.scope.write();
            match ended {
                Ended::Result(result) => {
                    // The numbers of messages are the other driver's by now.
                    let id = MessageId::from(format_args!("late/{}", call.id()));
                    write_end(&mut late, call, id, result);
                }
                Ended::Released => write_release(&mut late, start),
                Ended::Unknown => return written,
            }
            // If this fails, the call stays in doubt; this driver is over either way.
            let intent = call::intent_key(call.id(), number);
            let _ = self.scope.append_late(intent, late).await;
        }
        written
    }

    /// Moves on: to observing, to waiting, or to an end.
    async fn finish(
        &self,
        turn: Turn<'_>,
        at: At<Acting>,
        progress: &mut Progress<'_>,
    ) -> Result<Phase, Halt> {
        let step = turn.number;
        if let Some((error, decision)) = turn.failure {
            return self.stop(at, step, error, decision, progress).await;
        }
        if !turn.waiting.is_empty() {
            progress.step.end(AgentEvent::StepSuspended { step });
            return Ok(AnyPhase::Suspended(at.suspend(turn.waiting)));
        }
        let results = turn.results.into_iter().map(|(_, message)| message);
        let results =
            Observations::collect(turn.action, results).map_err(|call| Halt::Incompatible {
                what: format!("call {call}"),
                difference: "it has no result and nothing to do".into(),
            })?;
        let phase = AnyPhase::Acting(at);
        if turn.observed {
            progress.step.end(AgentEvent::StepCompleted { step });
            return self.apply(phase, Move::Observe(results));
        }
        let ids = results.messages().iter().map(|message| message.id.clone());
        let transition = Transition::Observing {
            turn: step,
            results: ids.collect(),
        };
        let made = Move::Observe(results);
        self.commit(
            phase,
            self.scope.write(),
            &transition,
            made,
            &mut progress.step,
        )
        .await
    }

    async fn stop(
        &self,
        at: At<Acting>,
        step: u32,
        error: AgentError,
        decision: PolicyDecision,
        progress: &mut Progress<'_>,
    ) -> Result<Phase, Halt> {
        let (transition, made) = if decision == PolicyDecision::Interrupt {
            let reason = error.to_string();
            (
                Transition::Interrupted {
                    turn: step,
                    reason: reason.clone(),
                },
                Move::Interrupt {
                    reason,
                    usage: None,
                },
            )
        } else {
            let recorded = RecordedError::of(&error);
            (
                Transition::Failed {
                    turn: step,
                    error: recorded,
                    message: None,
                },
                Move::Fail {
                    error,
                    message: None,
                    usage: None,
                },
            )
        };
        let phase = AnyPhase::Acting(at);
        self.commit(
            phase,
            self.scope.write(),
            &transition,
            made,
            &mut progress.step,
        )
        .await
    }

    fn write_result(
        &self,
        write: &mut Write,
        call: &ValidatedCall,
        end: End,
        content: &Value,
    ) -> Arc<Message> {
        write_result(write, call, self.scope.mint_message(), end, content, None)
    }
}

/// Writes the result of a call that was executed, as the message `id`.
fn write_end(
    write: &mut Write,
    call: &ValidatedCall,
    id: MessageId,
    result: &Result<Value, ToolError>,
) -> Arc<Message> {
    match result {
        Ok(value) => write_result(write, call, id, End::Done, value, None),
        Err(error) => {
            let content = call::failure(error.code(), &error.message);
            write_result(write, call, id, End::Failed, &content, Some(failed(error)))
        }
    }
}

fn failed(error: &ToolError) -> CallFailure {
    CallFailure {
        kind: error.kind,
        message: head(&error.message, MAX_SAID).to_owned(),
    }
}

/// The start of a text, in `most` bytes.
fn head(text: &str, most: usize) -> &str {
    let end = text.floor_char_boundary(most);
    text.get(..end).unwrap_or(text)
}

pub(crate) fn write_result(
    write: &mut Write,
    call: &ValidatedCall,
    id: MessageId,
    end: End,
    content: &Value,
    failure: Option<CallFailure>,
) -> Arc<Message> {
    let spec = call.spec();
    let text = json(content, str::to_owned).unwrap_or_else(|_| content.to_string());
    let limit = spec.max_output_bytes.min(MAX_OUTPUT_BYTES);
    let text = bounded(write, text, limit);
    let status = if end.is_ok() {
        ResultStatus::Ok
    } else {
        ResultStatus::Error
    };
    let message = Arc::new(Message::tool(
        id,
        call.id().clone(),
        spec.name.clone(),
        status,
        text,
    ));
    write.message(Arc::clone(&message));
    let body = ResultBody {
        call: call.id().clone(),
        tool: Cow::Borrowed(&spec.name),
        end,
        message: message.id.clone(),
        failure,
    };
    let (key, digest) = (call::result_key(call.id()), call.arguments().digest());
    write.effect(key, kind::RESULT.at(1), spec.effect, digest, &body);
    message
}

pub(crate) fn write_ask(write: &mut Write, ask: &Ask) {
    match ask.call() {
        Some(subject) => {
            write.effect(ask.key(), kind::ASK, subject.effect, subject.hash, ask);
        }
        None => write.fact(ask.key(), kind::ASK, ask),
    }
}

fn write_release(write: &mut Write, start: &Start<'_>) {
    if let Some(number) = start.intent {
        let call = start.call;
        let key = call::released_key(call.id(), number);
        let digest = call.arguments().digest();
        let body = serde_json::json!({ "call": call.id(), "number": number });
        write.effect(key, kind::RESULT.at(1), EffectClass::Once, digest, &body);
    }
}

/// A result over its limit is kept whole as a content; the model sees its head.
fn bounded(write: &mut Write, text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    if text.len() > MAX_ARTIFACT {
        let head: String = text.chars().take(limit.min(1_024) / 4).collect();
        return serde_json::json!({ "truncated": true, "bytes": text.len(), "head": head })
            .to_string();
    }
    let digest = rustagents_core::digest::Digest::of(text.as_bytes());
    let head: String = text.chars().take(limit.min(1_024) / 4).collect();
    let marker = serde_json::json!({ "truncated": true, "bytes": text.len(), "artifact": digest, "head": head });
    write.content(Content {
        digest,
        bytes: text.into_bytes(),
    });
    marker.to_string()
}

fn has_once(action: &ValidatedAction) -> bool {
    let mut calls = action.calls().iter();
    calls.any(|call| call.spec().effect == EffectClass::Once)
}

/// What an outcome means for its effect class.
fn ended(effect: EffectClass, outcome: Result<Value, ToolError>) -> Ended {
    match outcome {
        Err(error) if error.kind == ToolErrorKind::Cancelled => match (effect, error.executed) {
            (EffectClass::Once, Executed::Unknown) => Ended::Unknown,
            _ => Ended::Released,
        },
        Err(error) if effect == EffectClass::Once && error.executed == Executed::Unknown => {
            Ended::Unknown
        }
        outcome => Ended::Result(outcome),
    }
}

impl<'a> Turn<'a> {
    fn new(action: &'a ValidatedAction, number: u32) -> Self {
        Self {
            action,
            number,
            results: Vec::new(),
            waiting: Vec::new(),
            doubtful: false,
            observed: false,
            failure: None,
        }
    }

    fn wait(&mut self, ask: Ask) {
        self.doubtful |= matches!(ask.subject, rustagents_core::ask::Subject::InDoubt(_));
        self.waiting.push(ask);
    }

    fn fail(&mut self, at: &At<Acting>, call: &ValidatedCall, failure: CallFailure) {
        let error = AgentError::ToolDispatch {
            step: self.number,
            tool: call.spec().name.clone(),
            kind: failure.kind,
            message: failure.message,
        };
        let decision = at.policy().on_tool_error(at.state(), &error);
        if matches!(decision, PolicyDecision::Fail | PolicyDecision::Interrupt) {
            self.failure = Some((error, decision));
        }
    }

    fn result(&self, call: &CallId) -> Option<&Arc<Message>> {
        let mut results = self.results.iter();
        results.find_map(|(id, message)| (id == call).then_some(message))
    }

    fn result_ids(&self) -> Vec<MessageId> {
        let results = self
            .action
            .calls()
            .iter()
            .filter_map(|call| self.result(call.id()));
        results.map(|message| message.id.clone()).collect()
    }

    /// The last result and the next phase are one batch.
    fn observe_if_complete(&mut self, write: &mut Write) {
        if self.results.len() == self.action.calls().len() && self.failure.is_none() {
            let results = self.result_ids();
            write.commit(
                kind::TRANSITION,
                &Transition::Observing {
                    turn: self.number,
                    results,
                },
            );
            self.observed = true;
        }
    }
}
