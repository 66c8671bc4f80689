//! Collects diagnostics, but never more than are shown.

use std::collections::BTreeMap;

use rustagents_core::Code;
use rustagents_syntax::{LineIndex, TextRange, TextSize};

use super::{Diagnostic, Severity};

/// How many diagnostics of one source are kept, before a marker that says that
/// there are more.
pub const MAX_DIAGNOSTICS: usize = 100;

/// What is kept first: errors, then what comes first in the source. The last
/// part tells apart what is at one place.
type Place = (Severity, TextSize, TextSize, usize);

/// The diagnostics of a source, while they are found.
#[derive(Debug)]
pub(crate) struct Report<'s> {
    source: &'s str,
    lines: LineIndex,
    /// One more than the limit, to know that there are more.
    kept: BTreeMap<Place, Diagnostic>,
    count: usize,
    has_errors: bool,
}

/// What a diagnostic says.
#[derive(Debug)]
pub(crate) struct Wording {
    message: String,
    help: Option<String>,
}

impl Wording {
    /// A message without help.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: None,
        }
    }

    /// Adds help.
    pub(crate) fn help(self, help: impl Into<Option<String>>) -> Self {
        Self {
            help: help.into(),
            ..self
        }
    }
}

impl<'s> Report<'s> {
    pub(crate) fn new(source: &'s str) -> Self {
        Self {
            source,
            lines: LineIndex::new(source),
            kept: BTreeMap::new(),
            count: 0,
            has_errors: false,
        }
    }

    /// Adds an error; asks for its wording only if it is kept.
    pub(crate) fn error(
        &mut self,
        code: Code,
        range: TextRange,
        wording: impl FnOnce() -> Wording,
    ) {
        self.has_errors = true;
        self.push(Severity::Error, code, range, wording);
    }

    /// Adds a warning; asks for its wording only if it is kept.
    pub(crate) fn warning(
        &mut self,
        code: Code,
        range: TextRange,
        wording: impl FnOnce() -> Wording,
    ) {
        self.push(Severity::Warning, code, range, wording);
    }

    /// Whether there is an error, kept or not.
    pub(crate) fn has_errors(&self) -> bool {
        self.has_errors
    }

    /// The line in which `range` starts.
    pub(crate) fn line(&self, range: TextRange) -> u32 {
        self.lines.line_column(range.start()).line
    }

    /// The diagnostics in the order of the source, bounded.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        let hidden = (self.kept.len() > MAX_DIAGNOSTICS)
            .then(|| self.kept.pop_last())
            .flatten();
        let marker = hidden.map(|(_, hidden)| self.marker(&hidden));
        let mut diagnostics: Vec<_> = self.kept.into_values().collect();
        diagnostics.sort_by_key(|kept| (kept.range.start(), kept.range.end()));
        diagnostics.extend(marker);
        diagnostics
    }

    fn push(
        &mut self,
        severity: Severity,
        code: Code,
        range: TextRange,
        wording: impl FnOnce() -> Wording,
    ) {
        let place = (severity, range.start(), range.end(), self.count);
        self.count += 1;
        let is_full = self.kept.len() > MAX_DIAGNOSTICS;
        let is_last = self
            .kept
            .last_key_value()
            .is_some_and(|(last, _)| *last < place);
        if is_full && is_last {
            return;
        }
        let diagnostic = self.diagnostic(severity, code, range, wording());
        self.kept.insert(place, diagnostic);
        if is_full {
            self.kept.pop_last();
        }
    }

    fn diagnostic(
        &self,
        severity: Severity,
        code: Code,
        range: TextRange,
        Wording { message, help }: Wording,
    ) -> Diagnostic {
        let start = self.lines.line_column(range.start());
        let end = self.lines.line_column(range.end());
        Diagnostic {
            code,
            severity,
            message,
            range,
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
            help,
        }
    }

    /// What stands for `hidden` and all after it: at the end, where nothing else is.
    fn marker(&self, hidden: &Diagnostic) -> Diagnostic {
        let end = TextSize::from(u32::try_from(self.source.len()).unwrap_or(u32::MAX));
        let message = format!("more than {MAX_DIAGNOSTICS} diagnostics; the others are not shown");
        self.diagnostic(
            hidden.severity,
            hidden.code,
            TextRange::empty(end),
            Wording::new(message),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(count: u32) -> Report<'static> {
        let mut report = Report::new("one line\n");
        for at in (0..count).rev() {
            let range = TextRange::empty((at % 9).into());
            report.error(Code::Syntax, range, || Wording::new(at.to_string()));
        }
        report
    }

    #[test]
    fn no_more_than_the_limit_and_one_marker_come_out() {
        for (count, expected) in [(0, 0), (99, 99), (100, 100), (101, 101), (500, 101)] {
            let diagnostics = report(count).finish();
            assert_eq!(diagnostics.len(), expected);
            assert!(diagnostics.is_sorted_by_key(|one| one.range.start()));
            let is_marked = diagnostics.iter().any(|one| {
                one.to_string()
                    == "2:1: error[RAG0101]: more than 100 diagnostics; the others are not shown"
            });
            assert_eq!(is_marked, count > 100);
        }
    }

    #[test]
    fn warnings_never_take_the_place_of_errors() {
        let mut report = Report::new("");
        for _ in 0..200 {
            report.warning(Code::Unreachable, TextRange::default(), || {
                Wording::new("later")
            });
        }
        assert!(!report.has_errors());
        report.error(Code::Syntax, TextRange::default(), || Wording::new("first"));
        let diagnostics = report.finish();
        assert_eq!(diagnostics[0].message, "first");
        assert_eq!(diagnostics[100].severity, Severity::Warning);
    }

    #[test]
    fn what_is_not_kept_is_not_worded() {
        let mut report = report(200);
        report.error(Code::Syntax, TextRange::empty(9.into()), || {
            unreachable!("it is after all others")
        });
    }
}
