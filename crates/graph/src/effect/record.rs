//! What is recorded of steps.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The body of a step's intent, and of the record that it did nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepStart<'a> {
    /// The step, with its number inside the task.
    pub step: Cow<'a, str>,
    /// Which start of it, from 1.
    pub number: u32,
}

/// The body of a step's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepResult<'a, T> {
    /// The step, with its number inside the task.
    pub step: Cow<'a, str>,
    /// What it returned.
    pub value: T,
}
