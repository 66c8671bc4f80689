//! Events as lines of JSON: `rag.event/1`. The names are stable; the reference
//! page `docs/reference/events.md` lists them.

use rustagents_core::event::{AgentEvent, Event};
use serde_json::{Value, json};

/// The line that tells of `event`.
pub(super) fn line(event: &Event) -> String {
    let (name, mut body) = match event {
        Event::RunStarted { thread, attempt } => (
            "run.started",
            json!({ "thread": thread, "attempt": attempt }),
        ),
        Event::DefinitionChanged { definition } => (
            "run.definition_changed",
            json!({ "definition": definition }),
        ),
        Event::CheckpointSaved {
            checkpoint,
            is_durable,
            ..
        } => (
            "checkpoint.saved",
            json!({ "checkpoint": checkpoint, "durable": is_durable }),
        ),
        Event::RunEnded { how, message } => (
            "run.ended",
            json!({ "how": how.as_str(), "message": message }),
        ),
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
    body.to_string()
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
