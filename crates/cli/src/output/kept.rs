//! Events that were kept, and what is put together from them.

use anstream::AutoStream;
use rustagents_core::event_journal::PlacedEvent;
use rustagents_runtime::status::{NodeHealth, ThreadStatus};
use serde_json::{Value, json};

use super::{
    Form, Output, object,
    person::{DIM, line, plural},
    say, wrote,
};
use crate::{failure::Failure, since};

impl Output {
    /// Whether standard output is for one JSON object, and no lines before it.
    pub(crate) fn is_object(&self) -> bool {
        self.form == Form::Json
    }

    /// An event that was kept.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn kept_event(&self, placed: &PlacedEvent) -> Result<(), Failure> {
        if self.is_json() {
            return say(&public(placed).to_string());
        }
        let stream = AutoStream::new(std::io::stdout(), self.color);
        wrote(super::writeln(stream, &told(placed)))
    }

    /// Events that were kept, up to `after`.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn kept_events(
        thread: &str,
        events: &[PlacedEvent],
        after: u64,
        more: bool,
    ) -> Result<(), Failure> {
        let events: Vec<_> = events.iter().map(public).collect();
        object(&json!({
            "schema": "rag.events/1",
            "thread": thread,
            "events": events,
            "after": after,
            "more": more,
        }))
    }

    /// How a thread stands, as its events tell it.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn thread_status(&self, thread: &str, status: &ThreadStatus) -> Result<(), Failure> {
        if self.is_json() {
            return object(&status_object(thread, status));
        }
        say(&status_lines(thread, status))
    }
}

/// The line of an event, with its place.
fn public(placed: &PlacedEvent) -> Value {
    let mut payload = placed.event.payload.clone();
    if let Value::Object(fields) = &mut payload {
        fields.insert("offset".into(), json!(placed.offset));
        fields.insert("run".into(), json!(placed.event.run));
        fields.insert("at".into(), json!(placed.event.at_ms));
    }
    payload
}

/// An event for people: where it stands, when it was, what it was, and the rest.
fn told(placed: &PlacedEvent) -> String {
    let event = &placed.event;
    let shown = |(name, value): (&String, &Value)| match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(format!("{name}={}", line(text))),
        value => Some(format!("{name}={}", line(&value.to_string()))),
    };
    let told_already = ["schema", "event", "task", "node", "thread"];
    let fields = event.payload.as_object().into_iter().flatten();
    let rest = fields.filter(|(name, _)| !told_already.contains(&name.as_str()));
    let rest: Vec<_> = rest.filter_map(shown).collect();
    format!(
        "{:>6} {DIM}{}{DIM:#} {:20} {:16} {}",
        placed.offset,
        since::moment(event.at_ms),
        line(&event.kind),
        line(event.namespace.as_str()),
        rest.join(" ")
    )
}

fn ms(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn status_object(thread: &str, status: &ThreadStatus) -> Value {
    let node = |health: &NodeHealth| {
        json!({
            "started": health.started,
            "completed": health.completed,
            "failed": health.failed,
            "retried": health.retried,
            "suspended": health.suspended,
            "cached": health.cached,
            "mean_ms": health.mean().map(ms),
            "longest_ms": ms(health.longest),
            "last_failure": health.last_failure,
        })
    };
    let nodes = status.health.nodes.iter();
    let nodes: serde_json::Map<_, _> = nodes.map(|(name, of)| (name.clone(), node(of))).collect();
    let run = &status.status;
    json!({
        "schema": "rag.thread_status/1",
        "thread": thread,
        "run": status.run,
        "status": run.status,
        "attempt": run.attempt,
        "checkpoint": run.checkpoint,
        "steps": run.steps,
        "active": run.active,
        "asks": run.asks,
        "error": run.error,
        "started_at": run.started_ms,
        "updated_at": run.updated_ms,
        "ended_at": run.ended_ms,
        "nodes": nodes,
        "lost": status.lost,
        "partial": status.is_partial,
        "offset": status.offset() - 1,
    })
}

fn status_lines(thread: &str, status: &ThreadStatus) -> String {
    let run = &status.status;
    let mut lines = vec![format!("thread    {}", line(thread))];
    let word = serde_json::to_value(run.status).unwrap_or_default();
    lines.push(format!(
        "status    {}, attempt {}, {} steps",
        word.as_str().unwrap_or_default(),
        run.attempt,
        run.steps
    ));
    if let Some(updated) = run.updated_ms {
        lines.push(format!("heard     {}", since::moment(updated)));
    }
    if !run.active.is_empty() {
        let active: Vec<_> = run.active.iter().map(|task| line(task)).collect();
        lines.push(format!("at work   {}", active.join(", ")));
    }
    if !run.asks.is_empty() {
        let asks = plural(run.asks.len(), "answer");
        lines.push(format!("waits     for {asks}"));
    }
    if let Some(error) = &run.error {
        lines.push(format!("error     {}", line(error)));
    }
    let nodes = status.health.nodes.iter();
    lines.extend(nodes.map(|(name, health)| node_line(name, health)));
    if status.lost > 0 || status.is_partial {
        let lost = format!("some events are missing: {} could not be kept", status.lost);
        let dropped = if status.is_partial {
            ", and old ones were dropped"
        } else {
            ""
        };
        lines.push(format!("{lost}{dropped}"));
    }
    lines.join("\n")
}

fn node_line(name: &str, health: &NodeHealth) -> String {
    let mean = health.mean().map(ms).unwrap_or_default();
    let mut told = format!(
        "  {:16} {} of {} done, {mean} ms on average, {} ms at the most",
        line(name),
        health.completed,
        health.started,
        ms(health.longest)
    );
    for (count, what) in [
        (health.failed, "failed"),
        (health.retried, "tried again"),
        (health.suspended, "waited"),
        (health.cached, "cached"),
    ] {
        if count > 0 {
            told = format!("{told}, {count} {what}");
        }
    }
    if let Some(failure) = &health.last_failure {
        told = format!("{told} (last: {})", line(failure));
    }
    told
}
