//! A SQL statement under the tool contract.

use std::sync::Arc;

use rustagents_core::{
    BoxFuture,
    canonical::Canonical,
    tool::{EffectClass, Tool, ToolContext, ToolError, ToolErrorKind, ToolSpec},
};
use serde_json::Value;
use tokio::task::{JoinError, spawn_blocking};

use crate::declaration::{DeclarationError, Offer};

use super::{
    declaration::Declaration,
    failure::Failure,
    job::Job,
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
/// # use std::sync::Arc;
/// use rustagents_core::tool::{Tool, ToolSpec};
/// use rustagents_tools::sql::{Database, Declaration, SqlTool};
/// use serde_json::json;
///
/// # let folder = std::path::Path::new("shop");
/// let database = Database::new(folder, "orders", &folder.join("orders.sql"))?;
/// let spec = ToolSpec::new(
///     "refund",
///     "Pay the full price of a paid order back.",
///     json!({"type": "object", "properties": {"order": {"type": "string"}}}),
/// );
/// let refund = SqlTool::new(Declaration {
///     spec,
///     ask: Some("Refund {{ order }}".into()),
///     sql: "UPDATE orders SET status = 'refunded' WHERE id = :order RETURNING id".into(),
///     rows: Some(1),
///     database: Arc::new(database),
/// })?;
/// let question = refund.question(&json!({"order": "A-1042"}));
/// assert_eq!(question.as_deref(), Some("Refund A-1042"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SqlTool {
    offer: Offer,
    job: Arc<Job>,
}

impl SqlTool {
    /// The tool that `declaration` describes. Nothing is read or written yet.
    ///
    /// # Errors
    /// [`DeclarationError`]. Whether the statement fits the database is found by
    /// [`SqlTool::rehearse`] and by the first call.
    pub fn new(declaration: Declaration) -> Result<Self, DeclarationError> {
        let offer = Offer::new(declaration.spec, declaration.ask.as_deref())?;
        let known = offer.arguments();
        let statement = Statement::scan(&declaration.sql)?;
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
        let job = Job {
            database: declaration.database,
            statement,
            effect: offer.spec.effect,
            rows: declaration.rows,
            limit: offer.spec.max_output_bytes,
        };
        Ok(Self {
            offer,
            job: Arc::new(job),
        })
    }

    /// Whether the statement fits the database that the seed makes. It is
    /// prepared under the rules of a call, and not run.
    ///
    /// `rehearsal` is the one of the declared database.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use rustagents_core::tool::{EffectClass, ToolSpec};
    /// # use rustagents_tools::sql::{Database, Declaration, SqlTool};
    /// # let folder = tempfile::tempdir()?;
    /// # let seed = folder.path().join("orders.sql");
    /// # std::fs::write(&seed, "CREATE TABLE orders (id TEXT PRIMARY KEY)")?;
    /// # let database = Arc::new(Database::new(folder.path(), "orders", &seed)?);
    /// # let schema = serde_json::json!({"type": "object"});
    /// # let spec = ToolSpec {
    /// #     effect: EffectClass::Repeatable,
    /// #     ..ToolSpec::new("orders", "The orders.", schema)
    /// # };
    /// # let declaration = |sql: &str| Declaration {
    /// #     spec: spec.clone(),
    /// #     ask: None,
    /// #     sql: sql.into(),
    /// #     rows: None,
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
}

impl Tool for SqlTool {
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
        let timeout = context.timeout.min(self.offer.spec.timeout);
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
