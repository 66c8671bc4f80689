//! Why nothing was done with a thread.

use std::fmt;

use rustagents_core::{
    code::{Class, Code, Coded},
    ids::{CallId, RunId, ThreadId},
    journal::JournalError,
    store::StoreError,
};

use super::transfer::ImportError;

/// Why nothing was done with a thread. Nothing was written then.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ThreadsError {
    /// The journal refused or failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The event journal refused or failed.
    #[error("the kept events of the thread cannot be removed: {0}")]
    Events(#[source] StoreError),
    /// What was to be imported is no whole export.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The thread has no such checkpoint.
    #[error("thread `{thread}` has no checkpoint {checkpoint}")]
    UnknownCheckpoint {
        /// The thread.
        thread: ThreadId,
        /// What was asked for.
        checkpoint: u64,
        /// The first and the last checkpoint that it has.
        known: Option<(u64, u64)>,
    },
    /// The thread has no such run.
    #[error("thread `{thread}` has no run `{run}`")]
    UnknownRun {
        /// The thread.
        thread: ThreadId,
        /// What was asked for.
        run: RunId,
    },
    /// What came before was pruned, so the state cannot be told any more.
    #[error("the state of thread `{thread}` at checkpoint {checkpoint} was pruned")]
    StateGone {
        /// The thread.
        thread: ThreadId,
        /// The checkpoint.
        checkpoint: u64,
    },
    /// Calls that change something stand after the checkpoint.
    #[error("{by} thread `{thread}` could make calls again: {}", named(calls))]
    WouldRepeat {
        /// What could make them again.
        by: Again,
        /// The thread.
        thread: ThreadId,
        /// The calls, each with its tool.
        calls: Vec<(CallId, String)>,
    },
    /// The last run of the thread waits for people.
    #[error("thread `{thread}` waits for an answer")]
    Waits {
        /// The thread.
        thread: ThreadId,
    },
    /// The last run of the thread did not end.
    #[error("the last run of thread `{thread}` did not end")]
    Unfinished {
        /// The thread.
        thread: ThreadId,
    },
}

/// What could make calls again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// A thread that is made of another one.
    Fork,
    /// Going back in a thread.
    Rewind,
}

impl fmt::Display for Again {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fork => "a fork of",
            Self::Rewind => "going back in",
        })
    }
}

fn named(calls: &[(CallId, String)]) -> String {
    let named = calls.iter().map(|(call, tool)| format!("{call} ({tool})"));
    named.collect::<Vec<_>>().join(", ")
}

impl Coded for ThreadsError {
    fn code(&self) -> Code {
        match self {
            Self::Journal(error) => error.code(),
            Self::Events(error) => error.code(),
            Self::Import(error) => error.code(),
            Self::UnknownCheckpoint { .. } | Self::UnknownRun { .. } | Self::StateGone { .. } => {
                Code::UnknownPoint
            }
            Self::WouldRepeat { .. } => Code::CallInDoubt,
            Self::Waits { .. } => Code::ThreadSuspended,
            Self::Unfinished { .. } => Code::RunUnfinished,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Journal(error) => error.hint(),
            Self::Events(error) => error.hint(),
            Self::Import(error) => error.hint(),
            Self::UnknownCheckpoint { known, .. } => Some(match known {
                Some((first, last)) if first == last => format!("it has checkpoint {first}"),
                Some((first, last)) => format!("it has the checkpoints {first} to {last}"),
                None => "it has no checkpoint".into(),
            }),
            Self::UnknownRun { thread, .. } => Some(format!(
                "`rag threads history {thread} --json` names its runs"
            )),
            Self::StateGone { .. } => {
                Some("delete the whole thread, or fork it at a checkpoint that it has".into())
            }
            Self::WouldRepeat { by, .. } => Some(match by {
                Again::Fork => "`--yes` makes the fork; it may make them once more".into(),
                Again::Rewind => "`--yes` goes back; the run may make them once more".into(),
            }),
            Self::Waits { .. } | Self::Unfinished { .. } => {
                Some("resume it, or give it up with `rag cancel`".into())
            }
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Journal(error) => error.class(),
            Self::Events(error) => error.class(),
            _ => Class::Caller,
        }
    }
}
