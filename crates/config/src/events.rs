//! `[events]`: which events of runs are kept, and how long.

use std::time::Duration;

use crate::{error::ConfigError, quantity, section::Section};

/// Which events of runs are kept, and how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventsKept {
    /// Whether any are.
    pub keep: bool,
    /// Whether the text of models, as it comes, is among them.
    pub deltas: bool,
    /// The last so many of the store are kept; without it, as many as the store keeps
    /// by itself.
    pub last: Option<u64>,
    /// What is older is dropped.
    pub age: Option<Duration>,
}

pub(crate) fn read(section: &Section<'_>) -> Result<EventsKept, ConfigError> {
    section.only(&["keep", "deltas", "last", "age"])?;
    let flag = |key| section.field(key).map(|field| field.boolean()).transpose();
    let last = section.field("last").map(|field| field.whole(1));
    let age = section.field("age").map(quantity::duration);
    Ok(EventsKept {
        keep: flag("keep")?.unwrap_or_default(),
        deltas: flag("deltas")?.unwrap_or_default(),
        last: last.transpose()?,
        age: age.transpose()?,
    })
}
