//! A program under the tool contract.

use std::sync::Arc;

use rustagents_core::{
    BoxFuture,
    canonical::Canonical,
    tool::{Reconciled, Tool, ToolContext, ToolError, ToolSpec},
};
use serde_json::Value;

use crate::declaration::{DeclarationError, Offer};

use super::{declaration::Declaration, job::Job, output::Report, reconcile, template::Template};

/// A program that a model can call.
///
/// A call returns `{"status":0,"stdout":"…"}`, with `"output"` in the place of
/// `"stdout"` where the program writes JSON. It needs a tokio runtime with its
/// I/O and time enabled.
///
/// ```
/// use rustagents_core::tool::{Tool, ToolSpec};
/// use rustagents_tools::command::{
///     CommandTool, Declaration, Environment, Output, Stdin, Word,
/// };
/// use serde_json::json;
///
/// let schema = json!({
///     "type": "object",
///     "required": ["file"],
///     "properties": { "file": { "type": "string" } },
/// });
/// let words = ["wc", "-l", "--", "{{ file }}"];
/// let count = CommandTool::new(Declaration {
///     spec: ToolSpec::new("count", "Count the lines of a file.", schema),
///     ask: Some("Count {{ file }}?".into()),
///     command: words.map(|word| Word::Always(word.into())).to_vec(),
///     stdin: Stdin::Nothing,
///     base: "/desk".into(),
///     folder: "/desk/work".into(),
///     environment: Environment::select(&Environment::USUAL, |name| std::env::var_os(name))?,
///     output: Output::Text,
/// })?;
/// let question = count.question(&json!({"file": "a.txt"}));
/// assert_eq!(question.as_deref(), Some("Count a.txt?"));
/// # Ok::<(), rustagents_tools::DeclarationError>(())
/// ```
#[derive(Debug)]
pub struct CommandTool {
    offer: Offer,
    job: Job,
}

impl CommandTool {
    /// The tool that `declaration` describes. Nothing is started yet; whether
    /// the program is there is found by each call.
    ///
    /// # Errors
    /// [`DeclarationError`].
    pub fn new(declaration: Declaration) -> Result<Self, DeclarationError> {
        let offer = Offer::new(declaration.spec, declaration.ask.as_deref())?;
        let job = Job {
            template: Template::new(&declaration.command, &offer.spec.input_schema)?,
            base: declaration.base,
            folder: declaration.folder,
            environment: declaration.environment,
            stdin: declaration.stdin,
            report: Report {
                output: declaration.output,
                effect: offer.spec.effect,
                limit: offer.spec.max_output_bytes,
            },
        };
        Ok(Self { offer, job })
    }
}

impl Tool for CommandTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.offer.spec
    }

    fn question(&self, arguments: &Value) -> Option<String> {
        self.offer.question(arguments)
    }

    fn call(
        &self,
        arguments: Canonical,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(self.job.run(arguments, context))
    }

    fn reconcile(&self, started: Value, context: ToolContext) -> BoxFuture<'_, Reconciled> {
        Box::pin(async move { reconcile::reconcile(&started, &context).await })
    }
}
