//! Why the state of a thread is not brought to what a program declares.

use crate::{
    code::{Code, Coded},
    ids::TaskId,
};

/// Why a state was not migrated. Nothing was written, and the program that wrote the
/// thread goes on with it as before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MigrationRefused {
    /// What the state went through is not how the declared migrations begin.
    #[error(
        "the state went through the migrations {}, and the graph declares {}",
        listed(recorded),
        listed(declared)
    )]
    Order {
        /// What the state went through, in order.
        recorded: Vec<String>,
        /// What the graph declares, in order.
        declared: Vec<String>,
    },
    /// A migration refused the state, or made one that the graph does not take.
    #[error(
        "migration `{migration}`{}: {reason}",
        channel.as_ref().map_or(String::new(), |channel| format!(", channel `{channel}`"))
    )]
    Failed {
        /// The migration.
        migration: String,
        /// The channel, where it is about one.
        channel: Option<String>,
        /// What is wrong.
        reason: String,
    },
    /// Something of the step that is not over belongs to the state of before.
    #[error("migration `{migration}` waits for the end of a step: task {task} {reason}")]
    Pending {
        /// The migration.
        migration: String,
        /// The task.
        task: TaskId,
        /// What it has to do with the state of before.
        reason: String,
    },
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "none".into();
    }
    let names = names.iter().map(|name| format!("`{name}`"));
    names.collect::<Vec<_>>().join(", ")
}

impl Coded for MigrationRefused {
    fn code(&self) -> Code {
        match self {
            Self::Order { .. } => Code::MigrationOrder,
            Self::Failed { .. } => Code::MigrationFailed,
            Self::Pending { .. } => Code::Incompatible,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Order { .. } => {
                "use a program that declares the recorded ones first, in their order".into()
            }
            Self::Failed { .. } => {
                "put the migration right; the program of before goes on with the thread meanwhile"
                    .into()
            }
            Self::Pending { .. } => {
                "let the program of before end the step, then resume with this one".into()
            }
        })
    }
}
