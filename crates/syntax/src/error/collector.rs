//! Collects errors, but never more than are reported.

use rowan::{TextRange, TextSize};

use super::{SyntaxError, SyntaxErrorKind};

/// How many errors of one source are reported, before the marker
/// [`SyntaxErrorKind::TooManyErrors`].
pub const MAX_ERRORS: usize = 64;

/// Errors as they are found; keeps one more than the limit, to know that there are more.
#[derive(Debug, Default)]
pub(crate) struct Errors(Vec<SyntaxError>);

impl Errors {
    pub(crate) fn push(&mut self, range: TextRange, kind: SyntaxErrorKind) {
        if self.0.len() <= MAX_ERRORS {
            self.0.push(SyntaxError { kind, range });
        }
    }

    /// Adds those of `others`, each list in its own order.
    pub(crate) fn merge(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// The errors in the order of the source, bounded.
    pub(crate) fn finish(self) -> Vec<SyntaxError> {
        let mut errors = self.0;
        errors.sort_by_key(|error| (error.range.start(), error.range.end()));
        if let Some(first_hidden) = errors.get(MAX_ERRORS) {
            let range = TextRange::at(first_hidden.range.start(), TextSize::default());
            errors.truncate(MAX_ERRORS);
            let kind = SyntaxErrorKind::TooManyErrors { limit: MAX_ERRORS };
            errors.push(SyntaxError { kind, range });
        }
        errors
    }
}
