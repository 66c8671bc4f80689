//! Why a script is not valid.

use std::fmt;

use rustagents_core::{Code, Coded};

/// Why a script is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The text is not TOML.
    #[error("script `{script}`: line {line}, column {column}: {reason}")]
    Toml {
        /// The script's name.
        script: String,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What the TOML parser said.
        reason: String,
    },
    /// Something else than `rule` stands beside the rules.
    #[error("script `{script}`: unknown key `{key}`")]
    UnknownKey {
        /// The script's name.
        script: String,
        /// The key.
        key: String,
    },
    /// `rule` is not a list.
    #[error("script `{script}`: `rule` is not a list of tables")]
    NotRules {
        /// The script's name.
        script: String,
    },
    /// A rule is not valid.
    #[error("script `{script}`: rule {rule}: {problem}")]
    Rule {
        /// The script's name.
        script: String,
        /// The rule's number, from 1.
        rule: usize,
        /// What is wrong with it.
        problem: RuleProblem,
    },
}

/// What is wrong with a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleProblem {
    /// It is not a table.
    #[error("it is not a table")]
    NotATable,
    /// A key has no meaning here.
    #[error("unknown key {key}")]
    UnknownKey {
        /// The key.
        key: Key,
        /// The keys that have one.
        known: &'static [&'static str],
    },
    /// A value has the wrong type.
    #[error("{key} is not {expected}")]
    WrongType {
        /// The key.
        key: Key,
        /// What it should be, with its article.
        expected: &'static str,
    },
    /// The rule does not say what to answer.
    #[error("no `text`, no `call` and no `calls`")]
    NoOutcome,
    /// The rule has both `call` and `calls`.
    #[error("both `call` and `calls`")]
    TwoOutcomes,
    /// A key stands without the `call` that it belongs to.
    #[error("{key} without `call`")]
    WithoutCall {
        /// The key.
        key: Key,
    },
    /// One of `calls` does not name its tool.
    #[error("no {key}")]
    Missing {
        /// The key.
        key: Key,
    },
    /// `last` names no role.
    #[error("`last` has the unknown role `{found}`")]
    UnknownRole {
        /// What it names.
        found: String,
    },
    /// `finish` names no end.
    #[error("`finish` has the unknown reason `{found}`")]
    UnknownFinish {
        /// What it names.
        found: String,
    },
    /// A regular expression is not valid.
    #[error("{key} is not a regular expression: {reason}")]
    Regex {
        /// The key.
        key: Key,
        /// What the engine said.
        reason: String,
    },
    /// A capture has the name of a variable.
    #[error("{key} has a capture with the reserved name `{name}`")]
    ReservedCapture {
        /// The key.
        key: Key,
        /// The name.
        name: String,
    },
    /// An expression is not valid.
    #[error("{key} is not an expression: {reason}")]
    Expression {
        /// The key.
        key: Key,
        /// What the engine said.
        reason: String,
    },
    /// A template is not valid.
    #[error("{key} is not a template: {reason}")]
    Template {
        /// The key.
        key: Key,
        /// What the engine said.
        reason: String,
    },
}

/// A key of a rule, or of one of its `calls`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key as the script writes it.
    pub name: String,
    /// The number of the entry of `calls` in which it stands, from 1.
    pub call: Option<usize>,
}

impl Key {
    pub(super) fn new(name: &str, call: Option<usize>) -> Self {
        Self {
            name: name.to_owned(),
            call,
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.call {
            None => write!(f, "`{}`", self.name),
            Some(call) => write!(f, "`{}` of call {call}", self.name),
        }
    }
}

impl Coded for ScriptError {
    fn code(&self) -> Code {
        Code::Script
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Toml { .. } => None,
            Self::UnknownKey { .. } | Self::NotRules { .. } => {
                Some("a script is one list: `rule = [{ … }, { … }]`".into())
            }
            Self::Rule { problem, .. } => problem.hint(),
        }
    }
}

impl RuleProblem {
    fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownKey { known, .. } => {
                Some(format!("the keys are `{}`", known.join("`, `")))
            }
            Self::UnknownRole { .. } => Some("the roles are `user`, `assistant`, `tool`".into()),
            Self::UnknownFinish { .. } => Some("the reasons are `length`, `refusal`".into()),
            Self::NoOutcome => Some("say what to answer, such as `text = \"…\"`".into()),
            Self::TwoOutcomes => Some("put the call into `calls`".into()),
            Self::ReservedCapture { .. } => Some("give the capture another name".into()),
            _ => None,
        }
    }
}
