//! Blueprints as canonical JSON, and back.

use rustagents_core::{
    canonical::{Canonical, CanonicalError},
    code::{Class, Code, Coded},
    digest::Digest,
};
use serde::Deserialize as _;

use super::{Blueprint, VERSION};

impl Blueprint {
    /// The canonical text: equal for equal blueprints, and only for them.
    pub fn canonical(&self) -> String {
        self.encode().text().to_owned()
    }

    /// The digest of the canonical text.
    pub fn digest(&self) -> Digest {
        self.encode().digest()
    }

    #[expect(
        clippy::expect_used,
        reason = "structs, strings and integers have a JSON value"
    )]
    fn encode(&self) -> Canonical {
        let value = serde_json::to_value(self).expect("a blueprint is plain data");
        Canonical::of(&value)
    }

    /// Reads what [`canonical`](Self::canonical) wrote.
    ///
    /// # Errors
    /// [`BlueprintError::Newer`] for a version that is not known yet; otherwise
    /// what is wrong with the text. Nothing in it is ignored.
    pub fn from_canonical(text: &str) -> Result<Self, BlueprintError> {
        let canonical = Canonical::parse(text)?;
        let found = canonical
            .value()
            .get("version")
            .and_then(serde_json::Value::as_u64)
            .ok_or(BlueprintError::NoVersion)?;
        if found > u64::from(VERSION) {
            return Err(BlueprintError::Newer { found });
        }
        if found < u64::from(VERSION) {
            return Err(BlueprintError::NoVersion);
        }
        Ok(Self::deserialize(canonical.value())?)
    }
}

/// Why a text is no blueprint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlueprintError {
    /// It was written by a newer version of this program.
    #[error("the blueprint has version {found}, newer than {VERSION}")]
    Newer {
        /// Its version.
        found: u64,
    },
    /// It does not say its version, or one that never was.
    #[error("the blueprint has no valid version")]
    NoVersion,
    /// It is not strict JSON.
    #[error("the blueprint is not valid JSON")]
    Json(#[from] CanonicalError),
    /// It lacks something, or has something that its version does not have.
    #[error("the blueprint is not as its version says")]
    Shape(#[from] serde_json::Error),
}

impl Coded for BlueprintError {
    fn code(&self) -> Code {
        match self {
            Self::Newer { .. } => Code::StoreNewer,
            Self::NoVersion | Self::Json(_) | Self::Shape(_) => Code::StoreCorrupt,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Newer { .. } => Some("use the version that wrote it, or a newer one".into()),
            Self::NoVersion | Self::Json(_) | Self::Shape(_) => None,
        }
    }

    fn class(&self) -> Class {
        Class::Caller
    }
}
