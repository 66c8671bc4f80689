//! The application store that a run is given, for tools and nodes.

use std::{fmt, sync::Arc};

use super::{Store, StoreError};
use crate::{
    code::{Class, Code, Coded},
    tool::{ToolError, ToolErrorKind},
};

/// The application store of a run, if somebody gave it one.
#[derive(Clone, Default)]
pub struct GivenStore(Option<Arc<dyn Store>>);

impl fmt::Debug for GivenStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GivenStore")
            .field(&self.0.is_some())
            .finish()
    }
}

impl GivenStore {
    /// The store.
    ///
    /// # Errors
    /// [`NoStore`]: nobody gave the run one.
    pub fn get(&self) -> Result<&Arc<dyn Store>, NoStore> {
        self.0.as_ref().ok_or(NoStore)
    }
}

impl From<Arc<dyn Store>> for GivenStore {
    fn from(store: Arc<dyn Store>) -> Self {
        Self(Some(store))
    }
}

/// A tool or a node asked for the application store, and its run has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the run has no application store")]
pub struct NoStore;

impl NoStore {
    const HINT: &str =
        "give the runtime one with `Runtime::with_store` or `GraphRunner::with_store`";
}

impl Coded for NoStore {
    fn code(&self) -> Code {
        Code::NoStore
    }

    fn hint(&self) -> Option<String> {
        Some(Self::HINT.into())
    }

    fn class(&self) -> Class {
        Class::Caller
    }
}

/// Nothing happened.
impl From<NoStore> for ToolError {
    fn from(error: NoStore) -> Self {
        let message = format!("{error} ({}): {}", error.code(), NoStore::HINT);
        Self::not_executed(ToolErrorKind::Unavailable, message).with_source(error)
    }
}

/// Nothing happened, unless the disk failed in the middle: then nobody knows.
impl From<StoreError> for ToolError {
    fn from(error: StoreError) -> Self {
        let message = format!("{error} ({})", error.code());
        let failed = match &error {
            StoreError::Unavailable { .. } => Self::unknown(ToolErrorKind::Unavailable, message),
            StoreError::Corrupt { .. } | StoreError::Newer { .. } | StoreError::Foreign { .. } => {
                Self::not_executed(ToolErrorKind::Unavailable, message)
            }
            _ => Self::not_executed(ToolErrorKind::Refused, message),
        };
        failed.with_source(error)
    }
}
