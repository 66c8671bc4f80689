//! Guards that keep the promises about events, however a step ends.

use rustagents_core::{
    event::{AgentEvent, Event},
    ids::CallId,
    scope::Scope,
};

use crate::transition::Transition;

pub(crate) fn emit(scope: &Scope, build: impl FnOnce() -> AgentEvent) {
    scope.emit(|| Event::Agent {
        task: scope.namespace().to_string(),
        event: build(),
    });
}

/// A step that was started must end: dropping it open says that it failed.
pub(crate) struct OpenStep<'a> {
    scope: &'a Scope,
    open: Option<u32>,
}

impl<'a> OpenStep<'a> {
    pub(crate) fn new(scope: &'a Scope) -> Self {
        Self { scope, open: None }
    }

    /// Starts step `step`, unless this attempt already did.
    pub(crate) fn start(&mut self, step: u32) {
        if self.open != Some(step) {
            self.open = Some(step);
            emit(self.scope, || AgentEvent::StepStarted { step });
        }
    }

    /// Ends the step where `transition` ends it.
    pub(crate) fn moved(&mut self, transition: &Transition) {
        let step = transition.turn();
        let ended = match transition {
            Transition::Acting { .. } => return,
            Transition::Completed { .. } => AgentEvent::Completed { step },
            Transition::Repaired { .. } | Transition::Observing { .. } => {
                AgentEvent::StepCompleted { step }
            }
            Transition::Failed { error, .. } => AgentEvent::StepFailed {
                step,
                message: error.message.clone(),
            },
            Transition::Interrupted { reason, .. } => AgentEvent::StepFailed {
                step,
                message: reason.clone(),
            },
        };
        self.end(ended);
    }

    pub(crate) fn end(&mut self, event: AgentEvent) {
        if self.open.take().is_some() {
            emit(self.scope, || event);
        }
    }
}

impl Drop for OpenStep<'_> {
    fn drop(&mut self) {
        if let Some(step) = self.open {
            self.end(AgentEvent::StepFailed {
                step,
                message: "the attempt stopped".into(),
            });
        }
    }
}

/// A dispatched call must end: dropping it open says that it did not go well.
pub(crate) struct OpenCall<'a> {
    scope: &'a Scope,
    step: u32,
    call: CallId,
    open: bool,
}

impl<'a> OpenCall<'a> {
    pub(crate) fn dispatch(scope: &'a Scope, step: u32, call: &CallId, tool: &str) -> Self {
        emit(scope, || AgentEvent::ToolDispatched {
            step,
            call: call.clone(),
            tool: tool.into(),
        });
        Self {
            scope,
            step,
            call: call.clone(),
            open: true,
        }
    }

    pub(crate) fn complete(mut self, ok: bool) {
        self.end(ok);
    }

    fn end(&mut self, ok: bool) {
        if std::mem::take(&mut self.open) {
            let (step, call) = (self.step, self.call.clone());
            emit(self.scope, || AgentEvent::ToolCompleted { step, call, ok });
        }
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        self.end(false);
    }
}
