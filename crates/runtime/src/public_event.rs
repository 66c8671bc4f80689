//! Events in their public form, `rag.event/1`: what `rag --events` prints and an
//! event journal keeps. The names are stable; the reference page
//! `docs/reference/events.md` lists them.

use rustagents_core::{
    event::{AgentEvent, Event},
    ids::Namespace,
};
use serde_json::{Value, json};

/// Each name that an event has here.
pub const KINDS: [&str; 22] = [
    "run.started",
    "run.definition_changed",
    "run.ended",
    "node.started",
    "node.completed",
    "node.suspended",
    "node.failed",
    "node.cached",
    "node.retried",
    "node.step_repeated",
    "node.custom",
    "checkpoint.saved",
    "step.started",
    "text.delta",
    "model.responded",
    "tool.dispatched",
    "tool.completed",
    "step.completed",
    "step.failed",
    "step.suspended",
    "agent.completed",
    "events.lost",
];

/// The name of `event`, and its line as JSON.
///
/// ```
/// use rustagents_core::event::{Event, RunEnd};
/// use rustagents_runtime::public_event;
///
/// let end = Event::RunEnded { how: RunEnd::Completed, message: None };
/// let (name, line) = public_event::line(&end);
/// assert_eq!(name, "run.ended");
/// assert_eq!(line["schema"], "rag.event/1");
/// assert_eq!(line["how"], "completed");
/// ```
pub fn line(event: &Event) -> (&'static str, Value) {
    let (name, mut body) = match event {
        Event::RunStarted { thread, attempt } => (
            "run.started",
            json!({ "thread": thread, "attempt": attempt }),
        ),
        Event::DefinitionChanged { definition } => (
            "run.definition_changed",
            json!({ "definition": definition }),
        ),
        Event::Forced { what, why } => ("run.forced", json!({ "what": what, "why": why })),
        Event::CheckpointSaved {
            checkpoint,
            steps,
            is_durable,
            ..
        } => (
            "checkpoint.saved",
            json!({ "checkpoint": checkpoint, "steps": steps, "durable": is_durable }),
        ),
        Event::RunEnded { how, message } => (
            "run.ended",
            json!({ "how": how.as_str(), "message": message }),
        ),
        Event::EventsLost { lost, reason } => {
            ("events.lost", json!({ "lost": lost, "reason": reason }))
        }
        Event::Agent { task, event } => {
            let (name, mut body) = agent(event);
            if let Value::Object(fields) = &mut body {
                fields.insert("task".into(), json!(task));
            }
            (name, body)
        }
        event => node(event),
    };
    if let Value::Object(fields) = &mut body {
        fields.insert("schema".into(), json!("rag.event/1"));
        fields.insert("event".into(), json!(name));
    }
    (name, body)
}

/// Where in its run an event happened: the task, the graph inside others, or empty.
pub fn place(event: &Event) -> Namespace {
    match event {
        Event::CheckpointSaved { namespace, .. } | Event::StateCommitted { namespace, .. } => {
            namespace.clone()
        }
        Event::NodeStarted { task, .. }
        | Event::NodeCompleted { task, .. }
        | Event::NodeSuspended { task, .. }
        | Event::NodeFailed { task, .. }
        | Event::NodeCached { task, .. }
        | Event::NodeRetried { task, .. }
        | Event::NodeWrote { task, .. }
        | Event::Custom { task, .. }
        | Event::StepRepeated { task, .. } => Namespace::from(task.as_str()),
        Event::Agent { task, .. } => Namespace::from(task.as_str()),
        _ => Namespace::root(),
    }
}

/// What a task of the graph does.
fn node(event: &Event) -> (&'static str, Value) {
    match event {
        Event::NodeStarted { node, task } => {
            ("node.started", json!({ "node": node, "task": task }))
        }
        Event::NodeCompleted {
            node,
            task,
            took,
            summary,
        } => (
            "node.completed",
            json!({ "node": node, "task": task, "summary": summary,
                    "took_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX) }),
        ),
        Event::NodeSuspended { node, task, asks } => {
            let asks: Vec<_> = asks.iter().map(|ask| &ask.id).collect();
            (
                "node.suspended",
                json!({ "node": node, "task": task, "asks": asks }),
            )
        }
        Event::NodeFailed {
            node,
            task,
            message,
        } => (
            "node.failed",
            json!({ "node": node, "task": task, "message": message }),
        ),
        Event::NodeCached { node, task } => ("node.cached", json!({ "node": node, "task": task })),
        Event::NodeRetried {
            node,
            task,
            tries,
            message,
        } => (
            "node.retried",
            json!({ "node": node, "task": task, "tries": tries, "message": message }),
        ),
        Event::StepRepeated {
            node,
            task,
            step,
            recorded,
            now,
        } => (
            "node.step_repeated",
            json!({ "node": node, "task": task, "step": step, "recorded": recorded, "now": now }),
        ),
        Event::Custom { node, task, value } => (
            "node.custom",
            json!({ "node": node, "task": task, "value": value }),
        ),
        _ => ("unknown", json!({})),
    }
}

fn agent(event: &AgentEvent) -> (&'static str, Value) {
    match event {
        AgentEvent::StepStarted { step } => ("step.started", json!({ "step": step })),
        AgentEvent::TextDelta { text } => ("text.delta", json!({ "text": text })),
        AgentEvent::ModelResponded { step, usage } => {
            ("model.responded", json!({ "step": step, "usage": usage }))
        }
        AgentEvent::ToolDispatched { step, call, tool } => (
            "tool.dispatched",
            json!({ "step": step, "call": call, "tool": tool }),
        ),
        AgentEvent::ToolCompleted { step, call, ok } => (
            "tool.completed",
            json!({ "step": step, "call": call, "ok": ok }),
        ),
        AgentEvent::StepCompleted { step } => ("step.completed", json!({ "step": step })),
        AgentEvent::StepFailed { step, message } => {
            ("step.failed", json!({ "step": step, "message": message }))
        }
        AgentEvent::StepSuspended { step } => ("step.suspended", json!({ "step": step })),
        AgentEvent::Completed { step } => ("agent.completed", json!({ "step": step })),
        _ => ("unknown", json!({})),
    }
}
