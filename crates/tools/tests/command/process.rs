//! The tools of these tests, and what the system tells of their processes.

use std::{
    env, fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustagents_core::{
    canonical::Canonical,
    ids::CallId,
    tool::{EffectClass, Executed, Tool, ToolContext, ToolError, ToolErrorKind, ToolSpec},
};
use rustagents_tools::command::{CommandTool, Declaration, Environment, Output, Stdin, Word};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder in which programs work.
pub(crate) struct Desk(TempDir);

impl Desk {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// A command that changes nothing; `a` is required of a call, `b` is not.
    pub(crate) fn reads(&self, words: &[&str]) -> Declaration {
        let any = json!({});
        let schema = json!({
            "type": "object",
            "required": ["a"],
            "properties": { "a": any, "b": any },
        });
        let inherited = |name: &str| env::var_os(name);
        Declaration {
            spec: ToolSpec {
                effect: EffectClass::Repeatable,
                ..ToolSpec::new("tool", "Does it.", schema)
            },
            ask: None,
            command: words
                .iter()
                .map(|word| Word::Always((*word).to_owned()))
                .collect(),
            stdin: Stdin::Nothing,
            base: self.path().into(),
            folder: self.path().into(),
            environment: Environment::select(&Environment::USUAL, inherited).unwrap(),
            output: Output::Text,
        }
    }

    /// A command that changes something.
    pub(crate) fn writes(&self, words: &[&str]) -> Declaration {
        let mut declaration = self.reads(words);
        declaration.spec.effect = EffectClass::Once;
        declaration
    }

    /// The script as a command of each effect class.
    pub(crate) fn both(&self, script: &str) -> [Declaration; 2] {
        let words = ["sh", "-c", script];
        [self.reads(&words), self.writes(&words)]
    }

    /// Waits for a program to write a number into `name`, and a line's end.
    pub(crate) fn number(&self, name: &str) -> i32 {
        let file = self.path().join(name);
        let text = || fs::read_to_string(&file).unwrap_or_default();
        until(name, || text().ends_with('\n'));
        text().trim().parse().unwrap()
    }
}

/// What a call is told when nothing is special about it.
pub(crate) fn context() -> ToolContext {
    ToolContext::detached(CallId::numbered(1))
}

/// Makes the tool and calls it once.
pub(crate) async fn call(declaration: Declaration, arguments: Value) -> Result<Value, ToolError> {
    let tool = CommandTool::new(declaration).unwrap();
    tool.call(Canonical::of(&arguments), context()).await
}

/// The message of a call that failed so.
#[track_caller]
pub(crate) fn failed(
    result: Result<Value, ToolError>,
    executed: Executed,
    kind: ToolErrorKind,
) -> String {
    let error = result.unwrap_err();
    assert_eq!((error.executed, error.kind), (executed, kind), "{error:?}");
    assert!(!error.message.contains('\n'), "{error:?}");
    error.message
}

/// The group of each process that is not over.
fn groups() -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let groups = lines.filter_map(|line| {
        let (_, rest) = line.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let state = fields.next()?;
        (state != "Z").then(|| fields.nth(1)?.parse().ok())?
    });
    groups.collect()
}

/// How many processes of a group are not over.
pub(crate) fn at_work(group: i32) -> usize {
    groups().into_iter().filter(|own| *own == group).count()
}

/// How many processes work in a folder.
pub(crate) fn at_work_in(folder: &Path) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let folders = entries.filter_map(|entry| fs::read_link(entry.path().join("cwd")).ok());
    folders.filter(|own| own == folder).count()
}

/// Waits until `condition` holds, for ten seconds at most.
#[track_caller]
pub(crate) fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < deadline, "never: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}
