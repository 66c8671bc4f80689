//! The registry: where a host says what it offers.

use std::sync::Arc;

use rustagents_core::{
    code::{Code, Coded},
    tool::{MAX_NAME_BYTES, ToolSpec},
};

use crate::snapshot::Snapshot;

/// What a host offers, before it is frozen.
///
/// ```
/// use std::sync::Arc;
/// use rustagents_core::tool::ToolSpec;
/// use rustagents_registry::Registry;
///
/// let schema = serde_json::json!({"type": "object"});
/// let mut registry = Registry::new();
/// registry.model("default", "scripted:script.toml")?;
/// registry.tool(Arc::new(ToolSpec::new("refund", "Pay an order back.", schema)))?;
///
/// let snapshot = registry.freeze();
/// assert!(snapshot.has_model("default"));
/// assert_eq!(snapshot.nearest_tool("refnd"), Some("refund"));
/// # Ok::<(), rustagents_registry::RegisterError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Registry {
    models: Vec<(String, String)>,
    tools: Vec<Arc<ToolSpec>>,
}

impl Registry {
    /// A registry that offers nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Offers a model: `alias` is what plans write, `spec` what a provider reads.
    ///
    /// # Errors
    /// [`RegisterError::DuplicateModel`]; the first registration stays.
    pub fn model(
        &mut self,
        alias: impl Into<String>,
        spec: impl Into<String>,
    ) -> Result<&mut Self, RegisterError> {
        let alias = alias.into();
        if self.models.iter().any(|(known, _)| *known == alias) {
            return Err(RegisterError::DuplicateModel { alias });
        }
        self.models.push((alias, spec.into()));
        Ok(self)
    }

    /// Offers a tool under the name that it declares.
    ///
    /// # Errors
    /// [`RegisterError::DuplicateTool`], the first registration stays;
    /// [`RegisterError::ToolName`] for a name that no tool may have.
    pub fn tool(&mut self, spec: Arc<ToolSpec>) -> Result<&mut Self, RegisterError> {
        if !ToolSpec::is_valid_name(&spec.name) {
            return Err(RegisterError::ToolName {
                name: spec.name.clone(),
            });
        }
        if self.tools.iter().any(|known| known.name == spec.name) {
            return Err(RegisterError::DuplicateTool {
                name: spec.name.clone(),
            });
        }
        self.tools.push(spec);
        Ok(self)
    }

    /// The offer as it stands; it never changes again.
    pub fn freeze(self) -> Snapshot {
        Snapshot::new(self.models, self.tools)
    }
}

/// Why something cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Another model has this alias.
    #[error("the model `{alias}` is registered twice")]
    DuplicateModel {
        /// The alias.
        alias: String,
    },
    /// Another tool has this name.
    #[error("the tool `{name}` is registered twice")]
    DuplicateTool {
        /// The name.
        name: String,
    },
    /// No tool may have this name.
    #[error("`{name}` cannot name a tool")]
    ToolName {
        /// The name.
        name: String,
    },
}

impl Coded for RegisterError {
    fn code(&self) -> Code {
        match self {
            Self::DuplicateModel { .. } | Self::DuplicateTool { .. } => Code::DuplicateName,
            Self::ToolName { .. } => Code::ToolDeclaration,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::DuplicateModel { .. } => "give one of the models another alias".into(),
            Self::DuplicateTool { .. } => "give one of the tools another name".into(),
            Self::ToolName { .. } => {
                format!("use 1 to {MAX_NAME_BYTES} ASCII letters, digits, `_` and `-`")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> Arc<ToolSpec> {
        Arc::new(ToolSpec::new(
            name,
            "Does it.",
            serde_json::json!({"type": "object"}),
        ))
    }

    #[test]
    fn a_second_registration_is_refused_and_the_first_stays() {
        let mut registry = Registry::new();
        registry.model("default", "first").unwrap();
        let again = registry.model("default", "second").unwrap_err();
        assert_eq!(again.to_string(), "the model `default` is registered twice");
        assert_eq!(again.code(), Code::DuplicateName);

        registry.tool(tool("refund")).unwrap();
        let again = registry.tool(tool("refund")).unwrap_err();
        assert_eq!(
            again,
            RegisterError::DuplicateTool {
                name: "refund".into()
            }
        );

        let snapshot = registry.freeze();
        assert_eq!(snapshot.model("default"), Some("first"));
        assert_eq!(snapshot.tools().count(), 1);
    }

    #[test]
    fn a_tool_needs_a_valid_name() {
        let error = Registry::new().tool(tool("re fund")).unwrap_err();
        assert_eq!(
            error,
            RegisterError::ToolName {
                name: "re fund".into()
            }
        );
        assert_eq!(error.code(), Code::ToolDeclaration);
    }
}
