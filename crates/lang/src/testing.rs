//! What the tests of the rules share.

use std::sync::Arc;

use rustagents_core::tool::ToolSpec;
use rustagents_registry::{Registry, Snapshot};

use crate::{Severity, compile};

/// Checks the diagnostics of `source`, each as `CODE message (help)`.
#[track_caller]
pub(crate) fn check(source: &str, expected: &[&str]) {
    let compiled = compile(source, &capabilities());
    let found: Vec<_> = compiled
        .diagnostics
        .iter()
        .map(|one| {
            let help = one.help.as_ref().map(|help| format!(" ({help})"));
            format!("{} {}{}", one.code, one.message, help.unwrap_or_default())
        })
        .collect();
    assert_eq!(found, expected, "in {source}");
    let is_error = |one: &crate::Diagnostic| one.severity == Severity::Error;
    assert_eq!(
        compiled.blueprint.is_none(),
        compiled.diagnostics.iter().any(is_error),
        "in {source}"
    );
}

/// The codes of the diagnostics of `source`.
pub(crate) fn codes(source: &str) -> Vec<String> {
    let compiled = compile(source, &capabilities());
    let codes = compiled.diagnostics.iter().map(|one| one.code.to_string());
    codes.collect()
}

/// A graph with a conversation, an agent `a` and `items`, which start in line 4.
///
/// The agent leads to the end if `items` have no edge for it.
pub(crate) fn in_graph(items: &str) -> String {
    let next = if items.contains("a -> ") {
        ""
    } else {
        "next END"
    };
    format!(
        "graph g {{ start a
         channel talk messages
         node a {{ kind agent  model \"default\"  prompt \"x\"  {next} }}
{items}
}}
"
    )
}

/// A graph of one agent with `items`, which start in line 2, and what they lack.
pub(crate) fn in_node(items: &str) -> String {
    let rest = ["model \"default\"", "prompt \"x\"", "next END"]
        .into_iter()
        .filter(|item| !items.contains(&item[..5]));
    let rest: Vec<_> = rest.collect();
    format!(
        "graph g {{ start a  channel talk messages  node a {{ kind agent
{items} {} }} }}",
        rest.join(" ")
    )
}

/// The model `default` and three tools.
fn capabilities() -> Snapshot {
    let mut registry = Registry::new();
    registry.model("default", "test:").expect("a new name");
    for name in ["lookup_order", "refund", "open_claim"] {
        let schema = serde_json::json!({"type": "object"});
        let tool = Arc::new(ToolSpec::new(name, "Does it.", schema));
        registry.tool(tool).expect("a new name");
    }
    registry.freeze()
}
