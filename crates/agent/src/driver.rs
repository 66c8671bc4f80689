//! The driver: performs what the pure parts decide, and records it.
//!
//! Reading order: [`Driver::drive`], then `think.rs` (one turn of the model),
//! `act.rs` (the calls of a turn), `invoke.rs` (one call), `restore.rs`, and
//! `events.rs` (guards that keep the promises about events).

mod act;
mod events;
mod invoke;
mod restore;
mod think;

use std::{collections::BTreeSet, sync::Arc};

use rustagents_core::{
    ask::{Ask, Unanswerable},
    event::AgentEvent,
    ids::AskId,
    journal::{JournalError, kind},
    recorder::Durability,
    scope::{Halt, Scope, Write},
};

use crate::{
    agent::{AgentEnd, AgentOutcome, Parts, Policy},
    driver::events::OpenStep,
    runtime::{AgentRuntime, AnyPhase},
    state::{AgentState, Conversation},
    tools::ToolSet,
    transition::{self, Move, Transition},
};

pub(crate) use act::{write_ask, write_result};

pub(crate) type Phase = AnyPhase<Conversation, ToolSet, Policy>;
pub(crate) type At<P> = AgentRuntime<Conversation, ToolSet, Policy, P>;

/// Drives one agent on one chain.
pub(crate) struct Driver<'a> {
    agent: &'a Parts,
    scope: &'a Scope,
}

/// What the driver knows beside the phase.
pub(crate) struct Progress<'a> {
    step: OpenStep<'a>,
    /// Questions that this attempt recorded.
    raised: BTreeSet<AskId>,
}

impl<'a> Driver<'a> {
    pub(crate) fn new(agent: &'a Parts, scope: &'a Scope) -> Self {
        Self { agent, scope }
    }

    /// Drives until the agent ends or waits.
    pub(crate) async fn drive(&self, start: Conversation) -> Result<AgentEnd, Halt> {
        let idle = AgentRuntime::new(
            start,
            self.agent.tools.clone(),
            Arc::clone(&self.agent.policy),
        );
        let mut phase = self.restore(idle)?;
        let mut progress = Progress {
            step: OpenStep::new(self.scope),
            raised: BTreeSet::new(),
        };
        loop {
            phase = match phase {
                AnyPhase::Idle(at) => self.begin(AnyPhase::Thinking(at.think()))?,
                AnyPhase::Observing(at) => self.begin(AnyPhase::Thinking(at.think()))?,
                AnyPhase::Thinking(at) => self.think(at, &mut progress).await?,
                AnyPhase::Acting(at) => self.act(at, &mut progress).await?,
                AnyPhase::Completed(at) => {
                    let answer = AgentOutcome::Completed(at.answer().clone());
                    return Ok(end(answer, at.state()));
                }
                AnyPhase::Suspended(at) => {
                    return Ok(end(self.waits(at.asks()), at.state()));
                }
                AnyPhase::Interrupted(at) => {
                    return Ok(end(
                        AgentOutcome::Interrupted(at.reason().into()),
                        at.state(),
                    ));
                }
                AnyPhase::Failed(at) => {
                    return Ok(end(AgentOutcome::Failed(at.error().clone()), at.state()));
                }
            };
        }
    }

    /// The wait for `asks`. A run that records nothing cannot wait: nobody could resume it.
    fn waits(&self, asks: &[Ask]) -> AgentOutcome {
        let is_recorded = self.scope.run().durability != Durability::None;
        // An agent inside a graph hands its questions on.
        match Unanswerable::of(asks) {
            Some(error) if self.scope.namespace().is_root() && !is_recorded => {
                AgentOutcome::Failed(error.into())
            }
            _ => AgentOutcome::Suspended(asks.to_vec()),
        }
    }

    fn begin(&self, phase: Phase) -> Result<Phase, Halt> {
        self.scope.boundary().map(|()| phase)
    }

    /// Records a move together with `write`, then makes it.
    async fn commit(
        &self,
        phase: Phase,
        mut write: Write,
        transition: &Transition,
        made: Move,
        step: &mut OpenStep<'_>,
    ) -> Result<Phase, Halt> {
        write.commit(kind::TRANSITION, transition);
        self.scope.append(write).await?;
        if let (true, usage) = made.answered() {
            self.scope.run().budget.consumed(usage.unwrap_or_default());
            self.emit(|| AgentEvent::ModelResponded {
                step: transition.turn(),
                usage,
            });
        }
        step.moved(transition);
        self.apply(phase, made)
    }

    fn apply(&self, phase: Phase, made: Move) -> Result<Phase, Halt> {
        transition::apply(phase, made).map_err(|reason| {
            let place = format!("chain `{}`", self.scope.namespace());
            Halt::Journal(JournalError::Corrupt {
                place,
                reason: reason.to_owned(),
            })
        })
    }

    fn emit(&self, build: impl FnOnce() -> AgentEvent) {
        events::emit(self.scope, build);
    }
}

fn end(outcome: AgentOutcome, state: &Conversation) -> AgentEnd {
    AgentEnd {
        outcome,
        messages: state.own().to_vec(),
        usage: state.usage(),
    }
}

/// The turn that a phase is in.
fn turn<P>(at: &At<P>) -> u32 {
    at.state().step()
}
