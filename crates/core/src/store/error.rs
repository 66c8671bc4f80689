//! Why a store did not do what was asked.

use super::{Address, Expect, NameError, Version};
use crate::code::{Class, Code, Coded};

/// Why the store did not do what was asked. Nothing was written then, unless the
/// variant says otherwise.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A namespace or a key breaks a rule.
    #[error(transparent)]
    Name(#[from] NameError),
    /// What the write expected is not there.
    #[error("`{address}` is {}, not {}", found(*current), wanted(*expected))]
    Conflict {
        /// Where.
        address: Box<Address>,
        /// What the write expected.
        expected: Expect,
        /// The version that is there; `None` if there is no item.
        current: Option<Version>,
    },
    /// Something is over a limit.
    #[error("a {what} of {bytes} bytes is over the limit of {limit}")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// What was asked breaks a rule of the contract.
    #[error("the store was asked for something that it does not do: {rule}")]
    Malformed {
        /// The rule.
        rule: &'static str,
    },
    /// Something stored cannot be read.
    #[error("{place} cannot be read: {reason}")]
    Corrupt {
        /// Where.
        place: String,
        /// What is wrong.
        reason: String,
    },
    /// The store was written by a newer version.
    #[error("{what} has format {found}, this program reads up to {supported}")]
    Newer {
        /// What it is.
        what: String,
        /// Its version.
        found: u32,
        /// The newest version that is understood.
        supported: u32,
    },
    /// The file is something else.
    #[error("`{path}` is not a store of this kind: {reason}")]
    Foreign {
        /// The file.
        path: String,
        /// What shows it.
        reason: String,
    },
    /// The backend cannot work. After an error of the disk in the middle of a
    /// write, it may be there or not: read before you repeat it.
    #[error("the store `{store}` cannot be used: {reason}")]
    Unavailable {
        /// The store.
        store: String,
        /// What the backend says.
        reason: String,
    },
}

fn found(current: Option<Version>) -> String {
    current.map_or("absent".into(), |version| format!("at version {version}"))
}

fn wanted(expected: Expect) -> String {
    match expected {
        Expect::Any => "anything".into(),
        Expect::Absent => "absent".into(),
        Expect::Version(version) => format!("at version {version}"),
    }
}

impl Coded for StoreError {
    fn code(&self) -> Code {
        match self {
            Self::Name(_) => Code::ItemName,
            Self::Conflict { .. } => Code::ItemConflict,
            Self::Malformed { .. } => Code::StoreRequest,
            Self::TooLarge { .. } => Code::TooLarge,
            Self::Corrupt { .. } => Code::StoreCorrupt,
            Self::Newer { .. } => Code::StoreNewer,
            Self::Foreign { .. } => Code::StoreForeign,
            Self::Unavailable { .. } => Code::StoreUnavailable,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Conflict { .. } => Some("read it again, and decide anew".into()),
            Self::Newer { .. } => {
                Some("use the version of `rag` that wrote it, or a newer one".into())
            }
            _ => None,
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Conflict { .. } | Self::Unavailable { .. } => Class::Retryable,
            _ => Class::Caller,
        }
    }
}
