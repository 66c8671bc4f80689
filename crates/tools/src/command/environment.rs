//! What a program gets of the environment.

use std::{
    ffi::{OsStr, OsString},
    fmt,
};

use crate::declaration::DeclarationError;

/// The variable that holds the call's idempotency key: the same for every try
/// of one call.
pub const IDEMPOTENCY_KEY: &str = "RAG_IDEMPOTENCY_KEY";

/// The variables of a program, and no others.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// What a program gets where nothing is declared: where it finds programs
    /// and files, and how it writes text and times. No keys are among them.
    pub const USUAL: [&str; 9] = [
        "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER",
    ];

    /// The variables in `entries`: `NAME` is handed on as `inherited` has it, or
    /// not at all where it has none, and `NAME=VALUE` is fixed.
    ///
    /// ```
    /// use rustagents_tools::command::Environment;
    ///
    /// let inherited = |name: &str| (name == "PATH").then(|| "/bin".into());
    /// let environment = Environment::select(&["PATH", "HOME", "LANG=C"], inherited)?;
    /// assert_eq!(environment.names(), ["PATH", "LANG"]);
    /// # Ok::<(), rustagents_tools::DeclarationError>(())
    /// ```
    ///
    /// # Errors
    /// [`DeclarationError::Variable`]: an entry has no name, or holds a zero byte.
    pub fn select(
        entries: &[impl AsRef<str>],
        inherited: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, DeclarationError> {
        let mut variables = Vec::new();
        for entry in entries.iter().map(AsRef::as_ref) {
            let (name, fixed) = match entry.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (entry, None),
            };
            if name.is_empty() || entry.contains('\0') {
                return Err(DeclarationError::Variable {
                    found: entry.replace('\0', ""),
                });
            }
            if let Some(value) = fixed.map(OsString::from).or_else(|| inherited(name)) {
                variables.push((name.into(), value));
            }
        }
        Ok(Self(variables))
    }

    /// The names of the variables.
    pub fn names(&self) -> Vec<&OsStr> {
        self.0.iter().map(|(name, _)| name.as_os_str()).collect()
    }

    /// The last value of `name`, which is the one that counts.
    pub(super) fn get(&self, name: &str) -> Option<&OsStr> {
        let found = self.0.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str())
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

/// Names only: a value may be a secret.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Environment").field(&self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_is_not_handed_on() {
        let inherited = |name: &str| (name != "GONE").then(|| "x".into());
        let environment = Environment::select(&["A", "GONE", "B=1=2", "C="], inherited).unwrap();
        let variables: Vec<_> = environment.variables().collect();
        let expected = [("A", "x"), ("B", "1=2"), ("C", "")];
        assert_eq!(
            variables,
            expected.map(|(name, value)| (OsStr::new(name), OsStr::new(value)))
        );
        assert!(!format!("{environment:?}").contains("1=2"));
    }

    #[test]
    fn a_variable_has_a_name() {
        for entry in ["", "=x", "A\0", "A=\0"] {
            let error = Environment::select(&[entry], |_| None).unwrap_err();
            assert!(matches!(error, DeclarationError::Variable { .. }));
        }
    }
}
