//! `[limits]`: what a run may consume.

use rustagents_core::budget::Limits;

use crate::{error::ConfigError, quantity, section::Section};

/// The limits, with the defaults where the file says nothing.
pub(crate) fn read(section: &Section<'_>) -> Result<Limits, ConfigError> {
    section.only(&["steps", "model_calls", "tool_calls", "driven"])?;
    let mut limits = Limits::default();
    if let Some(field) = section.field("steps") {
        limits.steps = field.whole(1)?;
    }
    if let Some(field) = section.field("model_calls") {
        limits.model_calls = field.whole(0)?;
    }
    if let Some(field) = section.field("tool_calls") {
        limits.tool_calls = field.whole(0)?;
    }
    if let Some(field) = section.field("driven") {
        limits.driven = quantity::duration(field)?;
    }
    Ok(limits)
}
