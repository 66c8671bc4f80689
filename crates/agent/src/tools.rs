//! The tools of an agent, each with its compiled schema.

mod plain;

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use jsonschema::PatternOptions;
use rustagents_core::{
    code::{Code, Coded},
    tool::{Tool, ToolSpec},
};
use serde_json::Value;

use crate::typed::{Erased, TypedTool};

/// The tools that an agent offers, in order of registration. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct ToolSet(Arc<Tools>);

#[derive(Debug, Default)]
struct Tools {
    tools: Vec<Offered>,
    specs: Vec<Arc<ToolSpec>>,
}

/// A tool with its schema, which is compiled at the first call: that takes longer than
/// all else that is done before a model is asked.
#[derive(Clone)]
pub struct Offered {
    tool: Arc<dyn Tool>,
    schema: Arc<OnceLock<Result<jsonschema::Validator, ToolSetError>>>,
}

impl fmt::Debug for Offered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Offered").field(&self.spec().name).finish()
    }
}

impl Offered {
    /// The tool.
    pub fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    /// Its declaration.
    pub fn spec(&self) -> &Arc<ToolSpec> {
        self.tool.spec()
    }

    /// Checks arguments against the schema.
    pub(crate) fn check(&self, arguments: &Value) -> Result<(), String> {
        let schema = self.schema.get_or_init(|| compile(self.spec())).as_ref();
        let schema = schema.map_err(ToString::to_string)?;
        schema.validate(arguments).map_err(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() {
                "/".to_owned()
            } else {
                place
            };
            // The value may be large or private: the message names its place only.
            format!("at `{place}`: {}", error.masked())
        })
    }
}

impl ToolSet {
    /// Starts a set: `ToolSet::new().register(tool).build()?`.
    #[expect(
        clippy::new_ret_no_self,
        reason = "a set is built in steps that can fail"
    )]
    pub fn new() -> ToolSetBuilder {
        ToolSetBuilder::default()
    }

    /// The tool with this name.
    pub fn get(&self, name: &str) -> Option<&Offered> {
        self.0
            .tools
            .iter()
            .find(|offered| offered.spec().name == name)
    }

    /// All declarations, in order of registration.
    pub fn specs(&self) -> &[Arc<ToolSpec>] {
        &self.0.specs
    }
}

/// Collects tools; the first fault is reported by [`build`](ToolSetBuilder::build).
#[derive(Default)]
pub struct ToolSetBuilder {
    tools: Vec<Arc<dyn Tool>>,
}

impl fmt::Debug for ToolSetBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolSetBuilder")
            .field(&self.tools.len())
            .finish()
    }
}

impl ToolSetBuilder {
    /// Adds a typed tool.
    #[must_use]
    pub fn register<T: TypedTool>(self, tool: T) -> Self {
        self.offer(Arc::new(Erased::new(tool)))
    }

    /// Adds a tool in its object-safe form.
    #[must_use]
    pub fn offer(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Checks names and schemas.
    ///
    /// # Errors
    /// [`ToolSetError`] names the tool.
    pub fn build(self) -> Result<ToolSet, ToolSetError> {
        let mut tools: Vec<Offered> = Vec::with_capacity(self.tools.len());
        for tool in self.tools {
            let name = &tool.spec().name;
            if !ToolSpec::is_valid_name(name) {
                return Err(ToolSetError::Name { name: name.clone() });
            }
            if tools.iter().any(|other| other.spec().name == *name) {
                return Err(ToolSetError::Duplicate { name: name.clone() });
            }
            let schema = OnceLock::new();
            if !plain::is_plain(&tool.spec().input_schema) {
                // It may not work, and then that is said now.
                let compiled = compile(tool.spec())?;
                schema.get_or_init(|| Ok(compiled));
            }
            tools.push(Offered {
                tool,
                schema: Arc::new(schema),
            });
        }
        let specs = tools
            .iter()
            .map(|offered| Arc::clone(offered.spec()))
            .collect();
        Ok(ToolSet(Arc::new(Tools { tools, specs })))
    }
}

fn compile(spec: &ToolSpec) -> Result<jsonschema::Validator, ToolSetError> {
    let fault = |reason: String| ToolSetError::Schema {
        name: spec.name.clone(),
        reason,
    };
    if spec.input_schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(fault("the root's `type` must be `object`".into()));
    }
    // Patterns meet text that a model wrote: only an engine that is linear in it.
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
        .build(&spec.input_schema)
        .map_err(|error| fault(error.to_string()))
}

/// Why tools do not make a set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolSetError {
    /// A name is not valid.
    #[error("`{name}` cannot name a tool")]
    Name {
        /// The name.
        name: String,
    },
    /// Two tools have one name.
    #[error("there are two tools `{name}`")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// A schema does not compile.
    #[error("the schema of tool `{name}` does not work: {reason}")]
    Schema {
        /// The tool.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Coded for ToolSetError {
    fn code(&self) -> Code {
        Code::ToolDeclaration
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Name { .. } => Some("use 1 to 64 letters, digits, `_` and `-`".into()),
            _ => None,
        }
    }
}
