//! What was looked at, for a person and for scripts.

use serde::Serialize;

use super::{Output, object, person, say};
use crate::{
    doctor::{Check, Status},
    failure::Failure,
};

/// What `rag.doctor/1` is.
#[derive(Serialize)]
struct Examination<'a> {
    schema: &'static str,
    ok: bool,
    checks: &'a [Check],
}

impl Output {
    /// What was looked at; says whether nothing is an error.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn checks(&self, checks: &[Check]) -> Result<bool, Failure> {
        let count = |status| checks.iter().filter(|check| check.status == status).count();
        let (warnings, errors) = (count(Status::Warning), count(Status::Error));
        let ok = errors == 0;
        if self.is_json() {
            object(&Examination {
                schema: "rag.doctor/1",
                ok,
                checks,
            })?;
            return Ok(ok);
        }
        say(&lines(checks))?;
        self.note(&format!(
            "{}: {}, {}",
            person::plural(checks.len(), "check"),
            person::plural(errors, "error"),
            person::plural(warnings, "warning"),
        ));
        Ok(ok)
    }
}

fn lines(checks: &[Check]) -> String {
    let names = checks.iter().map(|check| check.name.chars().count());
    let width = names.max().unwrap_or_default();
    let mut lines = Vec::new();
    for check in checks {
        let (status, name) = (check.status.as_str(), person::line(&check.name));
        let message = person::line(&check.message);
        lines.push(format!("{status:7}  {name:width$}  {message}"));
        if let Some(hint) = &check.hint {
            let (mark, hint) = ("hint:", person::line(hint));
            lines.push(format!("{mark:>7}  {hint}"));
        }
    }
    lines.join("\n")
}
