//! What can be said about a source.

mod excerpt;
mod report;

use std::fmt;

use rustagents_core::Code;
use rustagents_syntax::TextRange;

pub use report::MAX_DIAGNOSTICS;
pub(crate) use report::{Report, Wording};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// There is no blueprint.
    Error,
    /// There is one, which may not be what was meant.
    Warning,
}

impl Severity {
    /// The name, as it is printed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Something about a place in a source.
///
/// Displays as its first line without a path; [`render`](Self::render) shows
/// the place too. Lines and columns count from one, columns in Unicode scalar
/// values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The stable code, explained on a page of its own.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// What it is, in one line that reads alone.
    pub message: String,
    /// The bytes of the source that are meant; empty if something is missing there.
    pub range: TextRange,
    /// The line of its first character.
    pub line: u32,
    /// The column of its first character.
    pub column: u32,
    /// The line of its end.
    pub end_line: u32,
    /// The column after its last character.
    pub end_column: u32,
    /// What the reader can do about it, in one line.
    pub help: Option<String>,
}

impl Diagnostic {
    /// The diagnostic as people read it, without a line end at its end: where and
    /// what, the line of `source` with the place underlined, help.
    ///
    /// The line is cut if it is long; tabs are shown as spaces, and characters
    /// that could change how a terminal shows the others as `U+FFFD`.
    pub fn render(&self, path: &str, source: &str) -> String {
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        let mut lines = vec![format!("{path}:{self}")];
        if let Some(excerpt) = excerpt::excerpt(source, self.range) {
            lines.push(format!("{gutter} |"));
            lines.push(format!("{number} | {}", excerpt.line));
            lines.push(format!("{gutter} | {}", excerpt.marks));
        }
        if let Some(help) = &self.help {
            lines.push(format!("{gutter} = help: {help}"));
        }
        lines.join("\n")
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            column,
            severity,
            code,
            message,
            ..
        } = self;
        write!(f, "{line}:{column}: {severity}[{code}]: {message}")
    }
}
