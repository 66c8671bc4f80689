//! The one place where these tests start the program.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use serde_json::Value;

/// The input of the support example that leads to both clerks.
pub(crate) const REFUND: &str = "Order A-1042 never arrived, please refund it";

/// A folder of its own with a copy of the support example.
pub(crate) struct Desk {
    folder: tempfile::TempDir,
    fault: Option<String>,
}

/// What the program said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/support");
        for name in [
            "support.rag",
            "rustagents.toml",
            "script.toml",
            "orders.sql",
        ] {
            fs::copy(example.join(name), folder.path().join(name)).unwrap();
        }
        Self {
            folder,
            fault: None,
        }
    }

    /// The program ends at this write: `before:N` or `after:N`.
    pub(crate) fn set_fault(&mut self, fault: Option<String>) {
        self.fault = fault;
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Changes a file of the example.
    pub(crate) fn edit(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path().join(name)).unwrap();
        assert!(text.contains(from), "{name} holds no `{from}`");
        self.write(name, text.replace(from, to));
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rag"));
        command
            .args(arguments)
            .current_dir(self.path())
            .stdin(Stdio::null());
        command.env_remove("RAG_FAULT").env("NO_COLOR", "1");
        if let Some(fault) = &self.fault {
            command.env("RAG_FAULT", fault);
        }
        command
    }

    pub(crate) fn rag(&self, arguments: &[&str]) -> Said {
        Said::of(self.command(arguments).output().unwrap())
    }

    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// `rag run . --thread demo` on the refund, as JSON.
    pub(crate) fn run_refund(&self) -> Said {
        self.rag(&["run", ".", "--thread", "demo", "--input", REFUND, "--json"])
    }

    /// `rag resume demo`, as JSON.
    pub(crate) fn resume(&self, options: &[String]) -> Said {
        let mut arguments = vec!["resume", "demo", "--json"];
        arguments.extend(options.iter().map(String::as_str));
        self.rag(&arguments)
    }

    /// Every file below the folder with its bytes, the locks' owners left out.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push((path.clone(), fs::read(&path).unwrap()));
                }
            }
        }
        files.sort();
        files
    }

    /// A column of an order, as text.
    pub(crate) fn order(&self, id: &str, column: &str) -> Option<String> {
        let file = self.path().join(".rustagents/data/orders.db");
        let data = rusqlite::Connection::open(file).unwrap();
        let sql = format!("SELECT {column} FROM orders WHERE id = ?1");
        data.query_row(&sql, [id], |row| row.get(0)).unwrap()
    }

    /// Rows of the journal, each as the text of its columns joined by `|`.
    pub(crate) fn journal(&self, sql: &str) -> Vec<String> {
        let file = self.path().join(".rustagents/journal.db");
        let journal = rusqlite::Connection::open(file).unwrap();
        let mut statement = journal.prepare(sql).unwrap();
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| {
            let text = (0..columns).map(|index| {
                Ok(match row.get::<_, rusqlite::types::Value>(index)? {
                    rusqlite::types::Value::Null => String::new(),
                    rusqlite::types::Value::Integer(number) => number.to_string(),
                    rusqlite::types::Value::Real(number) => number.to_string(),
                    rusqlite::types::Value::Text(text) => text,
                    rusqlite::types::Value::Blob(bytes) => String::from_utf8(bytes).unwrap(),
                })
            });
            text.collect::<rusqlite::Result<Vec<_>>>()
                .map(|columns| columns.join("|"))
        });
        rows.unwrap().map(Result::unwrap).collect()
    }
}

impl Said {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The one JSON object on standard output.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn interrupts(&self) -> Vec<Value> {
        self.json()["interrupts"].as_array().unwrap().clone()
    }

    /// Whether there was nothing to resume, since no run was opened: the process died
    /// before its claim, or behind it.
    pub(crate) fn has_no_run(&self) -> bool {
        self.status == Some(2) && ["RAG0401", "RAG0419"].contains(&&*self.code())
    }

    /// The error's code.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

/// The options that approve everything that is asked.
pub(crate) fn approvals(said: &Said) -> Vec<String> {
    let approve = |ask: &Value| {
        let (call, hash) = (ask["call"].as_str().unwrap(), ask["hash"].as_str().unwrap());
        vec!["--approve".to_owned(), format!("{call}@{hash}")]
    };
    said.interrupts().iter().flat_map(approve).collect()
}
