//! Behaviour of the compiler, its blueprints, and the language's specification.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is a failed test"
)]

mod blueprint;
mod diagnostics;
mod properties;
mod spec;

use std::sync::Arc;

use rustagents_core::tool::ToolSpec;
use rustagents_registry::{Registry, Snapshot};

/// A complete plan without anything wrong.
const SUPPORT: &str = include_str!("support.rag");

/// What the plans of these tests are checked against.
fn capabilities() -> Snapshot {
    let mut registry = Registry::new();
    registry.model("default", "scripted:script.toml").unwrap();
    for name in ["lookup_order", "refund", "open_claim"] {
        let schema = serde_json::json!({"type": "object"});
        let tool = Arc::new(ToolSpec::new(name, "Does it.", schema));
        registry.tool(tool).unwrap();
    }
    registry.freeze()
}
