//! The plan that a run was opened or last resumed with, read back from the journal.

use rustagents_core::{
    code::{Code, Coded},
    ids::ThreadId,
    journal::{Journal, JournalError},
};
use rustagents_lang::{Blueprint, BlueprintError};
use serde_json::Value;

use crate::view::ThreadView;

impl ThreadView {
    /// The plan that the last attempt executed, as `journal` keeps it, for resuming
    /// with it whatever became of its file. [`Program::lower`](crate::Program::lower)
    /// binds it to the models and tools that there are now.
    ///
    /// There is none for a graph that a program builds: the journal keeps its shape,
    /// and its code is in that program alone.
    ///
    /// # Errors
    /// [`PinError`].
    pub async fn recorded_plan(&self, journal: &dyn Journal) -> Result<Blueprint, PinError> {
        let corrupt = |reason: String| {
            PinError::Journal(JournalError::Corrupt {
                place: format!("definition {}", self.definition),
                reason,
            })
        };
        let found = journal.content(&self.thread, self.definition).await?;
        let bytes = found.ok_or_else(|| corrupt("it is missing".into()))?;
        let whole: Value =
            serde_json::from_slice(&bytes).map_err(|error| corrupt(error.to_string()))?;
        let Some(blueprint) = whole.get("blueprint") else {
            return Err(PinError::Built {
                thread: self.thread.clone(),
            });
        };
        match Blueprint::from_canonical(&blueprint.to_string()) {
            Ok(blueprint) => Ok(blueprint),
            Err(error @ BlueprintError::Newer { .. }) => Err(PinError::Newer {
                reason: error.to_string(),
            }),
            Err(error) => Err(corrupt(error.to_string())),
        }
    }
}

/// Why the recorded plan cannot be had.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PinError {
    /// The journal failed, or what it keeps is no plan.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A later version of this program wrote it.
    #[error("{reason}")]
    Newer {
        /// Which version.
        reason: String,
    },
    /// The thread runs a graph that a program builds.
    #[error("thread `{thread}` has no recorded plan: a program builds its graph")]
    Built {
        /// The thread.
        thread: ThreadId,
    },
}

impl Coded for PinError {
    fn code(&self) -> Code {
        match self {
            Self::Journal(error) => error.code(),
            Self::Newer { .. } => Code::StoreNewer,
            Self::Built { .. } => Code::NoRecordedPlan,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Journal(error) => error.hint(),
            Self::Newer { .. } => Some("use the version that wrote it, or a later one".into()),
            Self::Built { .. } => Some("resume it with the program that builds the graph".into()),
        }
    }
}
