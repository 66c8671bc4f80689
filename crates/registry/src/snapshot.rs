//! What plans are resolved against: a registry that never changes.

use std::sync::Arc;

use rustagents_core::tool::ToolSpec;

use crate::nearest::nearest;

/// A frozen [`Registry`](crate::Registry). Cheap to clone; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Snapshot(Arc<Entries>);

/// Both lists are short, so a name is found by looking at each entry.
#[derive(Debug, Default)]
struct Entries {
    models: Vec<(String, String)>,
    tools: Vec<Arc<ToolSpec>>,
}

impl Snapshot {
    pub(crate) fn new(models: Vec<(String, String)>, tools: Vec<Arc<ToolSpec>>) -> Self {
        Self(Arc::new(Entries { models, tools }))
    }

    /// Whether a model has this alias.
    pub fn has_model(&self, alias: &str) -> bool {
        self.model(alias).is_some()
    }

    /// The specification of the model with this alias.
    pub fn model(&self, alias: &str) -> Option<&str> {
        self.models()
            .find(|(known, _)| *known == alias)
            .map(|(_, spec)| spec)
    }

    /// All models as alias and specification, in the order of registration.
    pub fn models(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .models
            .iter()
            .map(|(alias, spec)| (alias.as_str(), spec.as_str()))
    }

    /// The tool with this name.
    pub fn tool(&self, name: &str) -> Option<&Arc<ToolSpec>> {
        self.tools().find(|tool| tool.name == name)
    }

    /// All tools, in the order of registration.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<ToolSpec>> {
        self.0.tools.iter()
    }

    /// The alias that somebody who wrote `alias` probably meant.
    pub fn nearest_model(&self, alias: &str) -> Option<&str> {
        nearest(alias, self.models().map(|(known, _)| known))
    }

    /// The tool's name that somebody who wrote `name` probably meant.
    pub fn nearest_tool(&self, name: &str) -> Option<&str> {
        nearest(name, self.tools().map(|tool| tool.name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;

    fn snapshot() -> Snapshot {
        let mut registry = Registry::new();
        registry
            .model("zeta", "z:1")
            .unwrap()
            .model("alpha", "a:1")
            .unwrap();
        for name in ["refund", "lookup_order"] {
            let schema = serde_json::json!({"type": "object"});
            registry
                .tool(Arc::new(ToolSpec::new(name, "Does it.", schema)))
                .unwrap();
        }
        registry.freeze()
    }

    #[test]
    fn entries_keep_the_order_of_registration() {
        let snapshot = snapshot();
        let models: Vec<_> = snapshot.models().collect();
        assert_eq!(models, [("zeta", "z:1"), ("alpha", "a:1")]);
        let tools: Vec<_> = snapshot.tools().map(|tool| tool.name.as_str()).collect();
        assert_eq!(tools, ["refund", "lookup_order"]);
    }

    #[test]
    fn a_name_is_found_exactly_or_not_at_all() {
        let snapshot = snapshot();
        assert!(snapshot.has_model("alpha"));
        assert!(!snapshot.has_model("Alpha"));
        assert_eq!(snapshot.tool("refund").unwrap().name, "refund");
        assert!(snapshot.tool("refunds").is_none());
    }

    #[test]
    fn an_unknown_name_has_a_nearest_one() {
        let snapshot = snapshot();
        assert_eq!(snapshot.nearest_model("alhpa"), Some("alpha"));
        assert_eq!(snapshot.nearest_tool("lookup_oder"), Some("lookup_order"));
        assert_eq!(snapshot.nearest_tool("weather"), None);
    }

    #[test]
    fn clones_share_their_entries() {
        let snapshot = snapshot();
        let clone = snapshot.clone();
        assert!(Arc::ptr_eq(
            snapshot.tool("refund").unwrap(),
            clone.tool("refund").unwrap()
        ));
    }
}
