//! The rules that the events of every attempt must keep.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use rustagents_core::{
    event::{AgentEvent, Event, Events},
    ids::CallId,
};

/// Collects the events of one attempt.
#[derive(Clone, Debug, Default)]
pub struct EventLog(Arc<Mutex<Vec<Event>>>);

impl EventLog {
    /// An empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// A bus that fills the log.
    pub fn bus(&self) -> Events {
        let log = self.clone();
        Events::listen(move |event| log.lock().push(event.clone()))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Event>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was collected so far.
    pub fn events(&self) -> Vec<Event> {
        self.lock().clone()
    }

    /// The agent events so far, of all tasks.
    pub fn agent_events(&self) -> Vec<AgentEvent> {
        let events = self.events().into_iter();
        events
            .filter_map(|event| match event {
                Event::Agent { event, .. } => Some(event),
                _ => None,
            })
            .collect()
    }

    /// Checks the rules for an attempt that is over.
    ///
    /// # Errors
    /// The first rule that is broken, and where.
    pub fn check(&self) -> Result<(), String> {
        let mut agents: BTreeMap<String, AgentRules> = BTreeMap::new();
        for event in self.events() {
            if let Event::Agent { task, event } = event {
                let rules = agents.entry(task.clone()).or_default();
                rules
                    .see(&event)
                    .map_err(|rule| format!("agent `{task}`: {rule}: {event:?}"))?;
            }
        }
        for (task, rules) in agents {
            if let Some(step) = rules.step {
                return Err(format!("agent `{task}`: step {step} has no end"));
            }
        }
        Ok(())
    }
}

/// Where one agent stands.
#[derive(Default)]
struct AgentRules {
    step: Option<u32>,
    started: u32,
    calls: BTreeSet<CallId>,
    dispatched: BTreeSet<CallId>,
    completed: bool,
}

impl AgentRules {
    fn see(&mut self, event: &AgentEvent) -> Result<(), &'static str> {
        if self.completed {
            return Err("nothing follows the end");
        }
        match event {
            AgentEvent::StepStarted { step } => self.start(*step),
            AgentEvent::TextDelta { .. } => self.within(self.step),
            AgentEvent::ModelResponded { step, .. } => self.within(Some(*step)),
            AgentEvent::ToolDispatched { step, call, .. } => {
                self.within(Some(*step))?;
                if !self.dispatched.insert(call.clone()) {
                    return Err("a call is dispatched once");
                }
                self.calls.insert(call.clone());
                Ok(())
            }
            AgentEvent::ToolCompleted { step, call, .. } => {
                self.within(Some(*step))?;
                let open = self.calls.remove(call);
                if open {
                    Ok(())
                } else {
                    Err("a completed call was dispatched and not yet completed")
                }
            }
            AgentEvent::StepCompleted { step }
            | AgentEvent::StepFailed { step, .. }
            | AgentEvent::StepSuspended { step } => self.end(*step),
            AgentEvent::Completed { step } => {
                self.completed = true;
                self.end(*step)
            }
            _ => Err("an event without a rule"),
        }
    }

    fn start(&mut self, step: u32) -> Result<(), &'static str> {
        if self.step.is_some() {
            return Err("a step starts after the end of the one before");
        }
        if step <= self.started {
            return Err("steps count up");
        }
        (self.step, self.started) = (Some(step), step);
        Ok(())
    }

    fn within(&self, step: Option<u32>) -> Result<(), &'static str> {
        if self.step.is_some() && self.step == step {
            Ok(())
        } else {
            Err("what happens in a step follows its start")
        }
    }

    fn end(&mut self, step: u32) -> Result<(), &'static str> {
        self.within(Some(step))?;
        if !self.calls.is_empty() {
            return Err("each dispatched call is completed before its step ends");
        }
        self.step = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(events: &[AgentEvent]) -> Result<(), String> {
        let log = EventLog::new();
        let bus = log.bus();
        for event in events {
            bus.emit(|| Event::Agent {
                task: String::new(),
                event: event.clone(),
            });
        }
        log.check()
    }

    #[test]
    fn broken_rules_are_found() {
        let call = CallId::numbered(1);
        let start = AgentEvent::StepStarted { step: 1 };
        let dispatched = || AgentEvent::ToolDispatched {
            step: 1,
            call: call.clone(),
            tool: "t".into(),
        };
        let done = AgentEvent::ToolCompleted {
            step: 1,
            call: call.clone(),
            ok: true,
        };
        let end = AgentEvent::StepCompleted { step: 1 };
        let good = [start.clone(), dispatched(), done.clone(), end.clone()];
        assert_eq!(check(&good), Ok(()));
        let bad: [&[AgentEvent]; 6] = [
            std::slice::from_ref(&end),
            std::slice::from_ref(&start),
            &[start.clone(), dispatched(), end.clone()],
            &[start.clone(), done.clone(), end.clone()],
            &[start.clone(), dispatched(), done.clone(), done, end.clone()],
            &[start.clone(), end.clone(), start.clone(), end.clone()],
        ];
        for events in bad {
            check(events).expect_err("a rule is broken");
        }
    }
}
