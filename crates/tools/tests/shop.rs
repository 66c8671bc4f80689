//! The shop that the tests work on: a folder with a seed, and calls of tools.

use std::{fs, path::Path, sync::Arc, time::Duration};

use rusqlite::Connection;
use rustagents_core::{
    canonical::Canonical,
    ids::CallId,
    tool::{EffectClass, Executed, Tool, ToolContext, ToolError, ToolErrorKind, ToolSpec},
};
use rustagents_tools::sql::{Database, Declaration, SqlTool};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const SEED: &str = "
CREATE TABLE orders (
  id TEXT PRIMARY KEY, item TEXT, paid_cents INTEGER, status TEXT, claim TEXT
);
INSERT INTO orders VALUES
  ('A-1042', 'lamp', 1299, 'paid', NULL),
  ('A-1043', 'chair', 8900, 'shipped', NULL),
  ('A-1044', 'table', 19900, 'refunded', NULL);
CREATE TABLE parts (id INTEGER PRIMARY KEY, item TEXT NOT NULL UNIQUE);
";

/// An endless statement.
pub(crate) const ENDLESS: &str =
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c";

/// A folder with a seed, and a database that may not exist yet.
pub(crate) struct Shop {
    pub(crate) folder: TempDir,
    pub(crate) database: Arc<Database>,
}

impl Shop {
    pub(crate) fn new() -> Self {
        Self::seeded(SEED)
    }

    pub(crate) fn seeded(seed: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("orders.sql"), seed).unwrap();
        let database = Arc::new(open(folder.path()));
        Self { folder, database }
    }

    /// A tool that only reads, with every argument that the tests use.
    pub(crate) fn reads(&self, sql: &str) -> Declaration {
        let any = json!({});
        Declaration {
            spec: ToolSpec {
                effect: EffectClass::Repeatable,
                timeout: Duration::from_secs(5),
                ..ToolSpec::new(
                    "tool",
                    "Does it.",
                    json!({
                        "type": "object",
                        "properties": { "order": any, "cents": any, "a": any, "b": any },
                    }),
                )
            },
            sql: sql.into(),
            ask: None,
            rows: None,
            database: Arc::clone(&self.database),
        }
    }

    /// A tool that changes something.
    pub(crate) fn writes(&self, sql: &str) -> Declaration {
        spec(self.reads(sql), |spec| spec.effect = EffectClass::Once)
    }

    /// A connection of somebody else to the database, which is made first.
    pub(crate) fn outside(&self) -> Connection {
        self.database.ensure().unwrap();
        Connection::open(self.database.file()).unwrap()
    }

    /// The first value of what `sql` finds.
    pub(crate) fn text(&self, sql: &str) -> String {
        let value = self
            .outside()
            .query_row(sql, [], |row| row.get::<_, rusqlite::types::Value>(0));
        match value.unwrap() {
            rusqlite::types::Value::Text(text) => text,
            other => format!("{other:?}"),
        }
    }

    pub(crate) fn status(&self) -> String {
        self.text("SELECT status FROM orders WHERE id = 'A-1042'")
    }

    /// The names of the files beside the database.
    pub(crate) fn data_files(&self) -> Vec<String> {
        let folder = self.database.file().parent().unwrap();
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// The declaration with another specification.
pub(crate) fn spec(
    mut declaration: Declaration,
    change: impl FnOnce(&mut ToolSpec),
) -> Declaration {
    change(&mut declaration.spec);
    declaration
}

pub(crate) fn open(folder: &Path) -> Database {
    Database::new(folder, "orders", &folder.join("orders.sql")).unwrap()
}

/// What a call is told when nothing is special about it.
pub(crate) fn context() -> ToolContext {
    ToolContext {
        timeout: Duration::from_mins(1),
        ..ToolContext::detached(CallId::numbered(1))
    }
}

/// Makes the tool and calls it once.
pub(crate) async fn call(declaration: Declaration, arguments: Value) -> Result<Value, ToolError> {
    let tool = SqlTool::new(declaration).unwrap();
    tool.call(Canonical::of(&arguments), context()).await
}

/// The message of a call that changed nothing, and failed as a `kind`.
#[track_caller]
pub(crate) fn not_executed(result: Result<Value, ToolError>, kind: ToolErrorKind) -> String {
    let error = result.unwrap_err();
    assert_eq!(
        (error.kind, error.executed),
        (kind, Executed::No),
        "{error:?}"
    );
    assert!(!error.message.contains('\n'), "{error:?}");
    error.message
}
