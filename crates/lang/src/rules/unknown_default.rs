//! RAG0112: an unknown default, or a value that it cannot have.
//!
//! What: `defaults` knows `recursion_limit`, an integer from 1 to 10000.
//! Why: a misspelt limit that is ignored is no limit.
//! Example: `defaults { recursion_limit 0 }`
//! Instead: `defaults { recursion_limit 20 }`

use rustagents_core::Code;
use rustagents_syntax::ast::Value;

use super::Context;
use crate::{
    diagnostic::{Report, Wording},
    names::{shown, suggestion},
};

/// The setting for the most supersteps of a run.
pub(crate) const RECURSION_LIMIT: &str = "recursion_limit";

/// The highest recursion limit.
const MAX_RECURSION_LIMIT: i64 = 10_000;

pub(super) fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for setting in &context.outline.settings {
        let Some(key) = setting.key() else { continue };
        if key.text() != RECURSION_LIMIT {
            report.error(Code::UnknownDefault, key.range(), || {
                let known = [RECURSION_LIMIT].into_iter();
                Wording::new(format!("unknown setting {}", shown(key.text()))).help(suggestion(
                    key.text(),
                    "settings",
                    known,
                ))
            });
            continue;
        }
        let (Some(value), Some(range)) = (setting.value(), setting.value_range()) else {
            continue;
        };
        if !matches!(value, Value::Integer(1..=MAX_RECURSION_LIMIT)) {
            report.error(Code::UnknownDefault, range, || {
                Wording::new(format!(
                    "`{RECURSION_LIMIT}` is an integer from 1 to {MAX_RECURSION_LIMIT}"
                ))
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, in_graph};

    #[test]
    fn a_setting_is_known() {
        for (written, help) in [
            ("recursion_limits", "did you mean `recursion_limit`?"),
            ("retries", "known settings: `recursion_limit`"),
        ] {
            check(
                &in_graph(&format!("defaults {{ {written} 3 }}")),
                &[&format!("RAG0112 unknown setting `{written}` ({help})")],
            );
        }
    }

    #[test]
    fn the_recursion_limit_is_an_integer_in_its_range() {
        let source = |value: &str| in_graph(&format!("defaults {{ recursion_limit {value} }}"));
        for value in ["1", "20", "10_000"] {
            check(&source(value), &[]);
        }
        for value in ["0", "-1", "10001", "\"20\"", "many"] {
            check(
                &source(value),
                &["RAG0112 `recursion_limit` is an integer from 1 to 10000"],
            );
        }
    }
}
