//! A SQL statement under the tool contract.

use std::sync::Arc;

use rustagents_core::{
    BoxFuture,
    canonical::Canonical,
    tool::{EffectClass, Tool, ToolContext, ToolError, ToolErrorKind, ToolSpec},
};
use serde_json::Value;
use tokio::task::{JoinError, spawn_blocking};

use super::{
    declaration::{Declaration, DeclarationError},
    failure::Failure,
    job::Job,
    question::Question,
    rehearsal::Rehearsal,
    statement::Statement,
    watch::{Guard, Watch},
};

/// A statement that a model can call.
///
/// A call returns `{"rows":[…]}`, and `{"rows":[],"changes":N}` for a statement
/// that returns none. It needs a tokio runtime and runs on its blocking threads.
///
/// ```
/// # use std::{sync::Arc, time::Duration};
/// use rustagents_core::tool::{EffectClass, Tool};
/// use rustagents_tools::sql::{Database, Declaration, SqlTool};
/// use serde_json::json;
///
/// # let folder = std::path::Path::new("shop");
/// let database = Database::new(folder, "orders", &folder.join("orders.sql"))?;
/// let refund = SqlTool::new(Declaration {
///     name: "refund".into(),
///     description: "Pay the full price of a paid order back.".into(),
///     input_schema: json!({"type": "object", "properties": {"order": {"type": "string"}}}),
///     sql: "UPDATE orders SET status = 'refunded' WHERE id = :order RETURNING id".into(),
///     effect: EffectClass::Once,
///     approval: None,
///     ask: Some("Refund {{ order }}".into()),
///     rows: Some(1),
///     timeout: Duration::from_secs(5),
///     max_output_bytes: 16 << 10,
///     database: Arc::new(database),
/// })?;
/// let question = refund.question(&json!({"order": "A-1042"}));
/// assert_eq!(question.as_deref(), Some("Refund A-1042"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SqlTool {
    spec: Arc<ToolSpec>,
    question: Option<Question>,
    job: Arc<Job>,
}

impl SqlTool {
    /// The tool that `declaration` describes. Nothing is read or written yet.
    ///
    /// # Errors
    /// [`DeclarationError`]. Whether the statement fits the database is found by
    /// [`SqlTool::rehearse`] and by the first call.
    pub fn new(declaration: Declaration) -> Result<Self, DeclarationError> {
        let Declaration {
            name,
            input_schema,
            sql,
            ask,
            ..
        } = &declaration;
        if !ToolSpec::is_valid_name(name) {
            return Err(DeclarationError::Name { name: name.clone() });
        }
        if input_schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(DeclarationError::SchemaRoot);
        }
        let known = properties(input_schema);
        let statement = Statement::scan(sql)?;
        if let Some(name) = statement
            .parameters
            .iter()
            .find(|name| !known.contains(name))
        {
            return Err(DeclarationError::UnknownParameter {
                name: name.clone(),
                known,
            });
        }
        let question = ask
            .as_ref()
            .map(|ask| Question::new(ask, &known))
            .transpose()?;
        Ok(Self::assemble(declaration, statement, question))
    }

    /// Whether the statement fits the database that the seed makes. It is
    /// prepared under the rules of a call, and not run.
    ///
    /// `rehearsal` is the one of the declared database.
    ///
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// # use rustagents_core::tool::EffectClass;
    /// # use rustagents_tools::sql::{Database, Declaration, SqlTool};
    /// # let folder = tempfile::tempdir()?;
    /// # let seed = folder.path().join("orders.sql");
    /// # std::fs::write(&seed, "CREATE TABLE orders (id TEXT PRIMARY KEY)")?;
    /// # let database = Arc::new(Database::new(folder.path(), "orders", &seed)?);
    /// # let declaration = |sql: &str| Declaration {
    /// #     name: "orders".into(),
    /// #     description: "The orders.".into(),
    /// #     input_schema: serde_json::json!({"type": "object"}),
    /// #     sql: sql.into(),
    /// #     effect: EffectClass::Repeatable,
    /// #     approval: None,
    /// #     ask: None,
    /// #     rows: None,
    /// #     timeout: Duration::from_secs(5),
    /// #     max_output_bytes: 16 << 10,
    /// #     database: Arc::clone(&database),
    /// # };
    /// let rehearsal = database.rehearse()?;
    /// let good = SqlTool::new(declaration("SELECT id FROM orders"))?;
    /// good.rehearse(&rehearsal)?;
    ///
    /// let broken = SqlTool::new(declaration("SELECT id FROM ordres"))?;
    /// let error = broken.rehearse(&rehearsal).unwrap_err();
    /// assert!(error.to_string().ends_with("no such table: ordres"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DeclarationError::Sql`], [`DeclarationError::Writes`] and
    /// [`DeclarationError::DuplicateColumn`]: each call would fail so.
    pub fn rehearse(&self, rehearsal: &Rehearsal) -> Result<(), DeclarationError> {
        self.job
            .rehearse(rehearsal)
            .map_err(Failure::into_declaration_error)
    }

    fn assemble(declared: Declaration, statement: Statement, question: Option<Question>) -> Self {
        let spec = ToolSpec {
            name: declared.name,
            description: declared.description,
            input_schema: declared.input_schema,
            effect: declared.effect,
            approval: declared.approval,
            timeout: declared.timeout,
            max_output_bytes: declared.max_output_bytes,
        };
        let job = Job {
            database: declared.database,
            statement,
            effect: declared.effect,
            rows: declared.rows,
            limit: declared.max_output_bytes,
        };
        Self {
            spec: Arc::new(spec),
            question,
            job: Arc::new(job),
        }
    }
}

impl Tool for SqlTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn question(&self, arguments: &Value) -> Option<String> {
        self.question.as_ref()?.render(arguments)
    }

    fn call(
        &self,
        arguments: Canonical,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<Value, ToolError>> {
        let timeout = context.timeout.min(self.spec.timeout);
        let job = Arc::clone(&self.job);
        Box::pin(async move {
            let watch = Watch::start(timeout, context.cancel);
            let _guard = Guard(Arc::clone(&watch));
            let effect = job.effect;
            spawn_blocking(move || job.run(&arguments, &watch))
                .await
                .unwrap_or_else(|error| Err(lost(effect, error)))
        })
    }
}

/// The arguments that the schema declares.
fn properties(schema: &Value) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flat_map(|properties| properties.keys().cloned())
        .collect()
}

/// What it means that the thread brought no result.
fn lost(effect: EffectClass, error: JoinError) -> ToolError {
    if error.is_cancelled() {
        let message = "the runtime shut down before the statement started";
        return ToolError::not_executed(ToolErrorKind::Cancelled, message).with_source(error);
    }
    let message = "the statement's thread panicked";
    let panicked = match effect {
        EffectClass::Repeatable => ToolError::not_executed(ToolErrorKind::Panicked, message),
        _ => ToolError::unknown(ToolErrorKind::Panicked, message),
    };
    panicked.with_source(error)
}
