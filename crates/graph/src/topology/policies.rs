//! How a node is run, as far as a shape says it.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Shown;
use crate::policy::NodeSpec;

/// How a node is run: what of its specification is neither an edge nor a field of its
/// own in the shape. What is not there is as if nobody had said anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a word of its own in the document"
)]
pub struct TopologyPolicies {
    /// How often it is tried, where that is more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tries: Option<u32>,
    /// How many milliseconds a try may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_timeout_ms: Option<u64>,
    /// How many milliseconds it may be without a sign of life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout_ms: Option<u64>,
    /// The group in whose limit it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Whether the output of an earlier task may be taken instead of running it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// Whether its failure fails nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// Whether a person is asked before each of its tasks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ask_before: bool,
    /// Whether a person is asked after each of its tasks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ask_after: bool,
}

impl TopologyPolicies {
    /// Those of a node that is run as `spec` says.
    pub(crate) fn of(spec: &NodeSpec, cached: bool) -> Self {
        let limits = spec.timeout.unwrap_or_default();
        let ms = |limit: Duration| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let tries = spec.retry.as_ref().map(|retry| retry.tries);
        Self {
            tries: tries.filter(|tries| *tries > 1),
            run_timeout_ms: limits.run.map(ms),
            idle_timeout_ms: limits.idle.map(ms),
            group: spec.group.clone(),
            cached,
            optional: spec.is_optional,
            ask_before: spec.asks.before,
            ask_after: spec.asks.after,
        }
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What is said, by its name in a document.
    pub(super) fn said(&self) -> BTreeMap<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(said)) => said.into_iter().collect(),
            _ => BTreeMap::new(),
        }
    }
}

/// What is said of a node now, and was not before, or not so.
pub(super) struct Changed<'a>(
    pub(super) &'a TopologyPolicies,
    pub(super) &'a TopologyPolicies,
);

impl fmt::Display for Changed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (old, new) = (self.0.said(), self.1.said());
        let gone = old.iter().filter(|(name, _)| !new.contains_key(*name));
        let gone = gone.map(|(name, value)| format!("{} is gone", said(name, value)));
        let fresh = new.iter().filter_map(|(name, value)| match old.get(name) {
            None => Some(format!("{} is new", said(name, value))),
            Some(before) if before != value => {
                let (before, now) = (shown(before), shown(value));
                Some(format!("{name} was {before}, is {now}"))
            }
            Some(_) => None,
        });
        let changes: Vec<_> = gone.chain(fresh).collect();
        f.write_str(&changes.join("; "))
    }
}

/// A name with its value, where that says more than the name.
fn said(name: &str, value: &Value) -> String {
    match value {
        Value::Bool(_) => name.to_owned(),
        value => format!("{name} {}", shown(value)),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => Shown(text).to_string(),
        value => value.to_string(),
    }
}
