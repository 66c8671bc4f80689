//! Tools with typed arguments and results.

use std::sync::Arc;

use rustagents_core::{
    BoxFuture,
    canonical::Canonical,
    secret,
    tool::{EffectClass, Executed, Tool, ToolContext, ToolError, ToolErrorKind, ToolSpec},
};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// A tool whose arguments and result are Rust types; the schema comes from them.
///
/// ```
/// use rustagents_agent::{ToolSet, TypedTool};
/// use rustagents_core::tool::{EffectClass, ToolContext, ToolError};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Sum { a: i64, b: i64 }
///
/// struct Add;
///
/// impl TypedTool for Add {
///     const NAME: &'static str = "add";
///     const DESCRIPTION: &'static str = "Add two whole numbers.";
///     const EFFECT: EffectClass = EffectClass::Repeatable;
///     type Args = Sum;
///     type Output = i64;
///
///     async fn run(&self, args: Sum, _: ToolContext) -> Result<i64, ToolError> {
///         Ok(args.a.saturating_add(args.b))
///     }
/// }
///
/// let tools = ToolSet::new().register(Add).build()?;
/// assert_eq!(tools.specs().len(), 1);
/// # Ok::<(), rustagents_agent::ToolSetError>(())
/// ```
pub trait TypedTool: Send + Sync + 'static {
    /// `[a-zA-Z0-9_-]`, 1 to 64 bytes.
    const NAME: &'static str;
    /// What the model is told about it.
    const DESCRIPTION: &'static str;
    /// What it does to the world. A tool that declares nothing changes something.
    const EFFECT: EffectClass = EffectClass::Once;
    /// The arguments: a struct with named fields.
    type Args: DeserializeOwned + JsonSchema + Send;
    /// The result. Where it holds a [`Secret`](rustagents_core::secret::Secret), the
    /// model and the records get `***` in its place.
    type Output: Serialize + JsonSchema;

    /// Performs one call. Cancellation: as [`Tool::call`].
    fn run(
        &self,
        args: Self::Args,
        context: ToolContext,
    ) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}

/// A typed tool behind the object-safe contract.
pub(crate) struct Erased<T> {
    tool: T,
    spec: Arc<ToolSpec>,
}

impl<T: TypedTool> Erased<T> {
    pub(crate) fn new(tool: T) -> Self {
        let schema = schemars::schema_for!(T::Args).to_value();
        let mut spec = ToolSpec::new(T::NAME, T::DESCRIPTION, schema);
        spec.effect = T::EFFECT;
        Self {
            tool,
            spec: Arc::new(spec),
        }
    }

    async fn run(&self, arguments: Canonical, context: ToolContext) -> Result<Value, ToolError> {
        let args = serde_json::from_str(arguments.text())
            .map_err(|e| ToolError::not_executed(ToolErrorKind::Refused, e.to_string()))?;
        let output = self.tool.run(args, context).await?;
        // The effect has happened: what cannot be encoded is a lost result, not a lost
        // call, and a secret in it is masked.
        secret::masked(&output).map_err(|error| ToolError {
            kind: ToolErrorKind::Failed,
            executed: Executed::Unknown,
            message: format!("the result cannot be encoded: {error}"),
            source: None,
        })
    }
}

impl<T: TypedTool> Tool for Erased<T> {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn call(
        &self,
        arguments: Canonical,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(self.run(arguments, context))
    }
}
