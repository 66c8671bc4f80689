//! Why runs are refused.

use rustagents_core::{
    code::{Class, Code, Coded},
    ids::{CallId, ThreadId},
    journal::JournalError,
    scope::Halt,
};
use rustagents_graph::graph::OpenError;

use crate::{
    answers::AnswerError,
    report::{self, Report},
    threads::ThreadsError,
};

/// Why a run was refused, or stopped without an outcome.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The journal refused or failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The run could not be recorded, not even its beginning: nothing of it is there, and
    /// it can be started again.
    #[error("nothing of the run is recorded: {0}")]
    NotRecorded(#[source] JournalError),
    /// The machine stopped.
    #[error(transparent)]
    Halt(#[from] Halt),
    /// The input does not fit the graph.
    #[error(transparent)]
    Open(OpenError),
    /// A decision does not fit what is pending.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// A value does not fit its channel.
    #[error(transparent)]
    Value(#[from] rustagents_graph::state::UpdateError),
    /// An overwrite channel was given two values.
    #[error("channel `{channel}` is given two values")]
    SetTwice {
        /// The channel.
        channel: String,
    },
    /// The thread's name is not valid.
    #[error(transparent)]
    Name(#[from] rustagents_core::ids::ThreadNameError),
    /// There is no such thread, or nothing was ever started on it: a run can be.
    #[error("{}", nothing_there(thread, *is_empty))]
    UnknownThread {
        /// The thread.
        thread: ThreadId,
        /// Whether the store knows the thread, which has no run: who was about to open
        /// one did not come to it.
        is_empty: bool,
    },
    /// The thread waits for people; a new input is refused.
    #[error("thread `{}` waits for an answer", report.thread)]
    Suspended {
        /// What it waits for.
        report: Box<Report>,
    },
    /// The thread's last run did not end.
    #[error("the last run of thread `{thread}` did not end")]
    Unfinished {
        /// The thread.
        thread: ThreadId,
        /// Whether a file holds its plan, so that a resume finds it there.
        has_plan: bool,
    },
    /// Calls or steps of the run may have taken effect; it must be settled, not given up.
    #[error("thread `{}` has a call in doubt: {}", report.thread, named(calls))]
    InDoubt {
        /// How the run stands.
        report: Box<Report>,
        /// The calls, each with its tool; that of a step is `step`.
        calls: Vec<(CallId, String)>,
    },
    /// Calls would be gone without that may have taken effect, and nobody said what
    /// became of them.
    #[error("thread `{}` has a call in doubt that no longer fits: {}", report.thread, named(calls))]
    ForcedDoubt {
        /// How the run stands, with the questions about them.
        report: Box<Report>,
        /// The calls, each with its tool; that of a step is `step`.
        calls: Vec<(CallId, String)>,
    },
    /// The last run of the thread stands so that this cannot be done.
    #[error("the last run of thread `{thread}` {stands}")]
    Stands {
        /// The thread.
        thread: ThreadId,
        /// How it stands, and what therefore cannot be done.
        stands: String,
        /// What can be done.
        hint: String,
    },
    /// Nothing could be done with the thread.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// The graph would stop at once: it took as many supersteps as it may.
    #[error("the graph took {limit} steps, as many as it may")]
    RecursionLimit {
        /// How many.
        limit: u64,
    },
    /// There is no channel for an input.
    #[error("the graph has no messages channel, so it takes no input")]
    NoConversation,
}

impl From<OpenError> for RunError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Halt(halt) => Self::Halt(halt),
            other => Self::Open(other),
        }
    }
}

impl RunError {
    /// The same of a run that was being opened: where not even that was recorded, nothing
    /// of it is.
    pub(crate) fn of_opening(self) -> Self {
        match self {
            Self::Halt(Halt::Journal(error)) if error.code() != Code::Fenced => {
                Self::NotRecorded(error)
            }
            error => error,
        }
    }

    /// The same of the first attempt at a run, whose records may be durable later than
    /// it goes on.
    pub(crate) fn of_first_attempt(self) -> Self {
        let lost_all = |error: &JournalError| {
            let is_behind = matches!(
                error,
                JournalError::Behind {
                    checkpoint: None,
                    ..
                }
            );
            is_behind && error.code() != Code::Fenced
        };
        match self {
            Self::Journal(error) | Self::Halt(Halt::Journal(error)) if lost_all(&error) => {
                Self::NotRecorded(error)
            }
            error => error,
        }
    }
}

impl Coded for RunError {
    fn code(&self) -> Code {
        match self {
            Self::Journal(error) | Self::NotRecorded(error) => error.code(),
            Self::Halt(error) => error.code(),
            Self::Open(OpenError::Input(error)) => error.code(),
            Self::Open(_) => Code::Internal,
            Self::Answer(error) => error.code(),
            Self::Name(error) => error.code(),
            Self::UnknownThread { is_empty, .. } => code_of_nothing(*is_empty),
            Self::Suspended { .. } => Code::ThreadSuspended,
            Self::Unfinished { .. } => Code::RunUnfinished,
            Self::InDoubt { .. } | Self::ForcedDoubt { .. } => Code::CallInDoubt,
            Self::Stands { .. } => Code::RunStands,
            Self::Threads(error) => error.code(),
            Self::RecursionLimit { .. } => Code::RecursionLimit,
            Self::NoConversation | Self::Value(_) | Self::SetTwice { .. } => Code::ValueForChannel,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Journal(error) => error.hint(),
            Self::NotRecorded(error) => Some(
                error
                    .hint()
                    .unwrap_or_else(|| "start it again once that is mended".into()),
            ),
            Self::Halt(error) => error.hint(),
            Self::Open(OpenError::Input(error)) => error.hint(),
            Self::Answer(error) => error.hint(),
            Self::Name(error) => error.hint(),
            Self::Threads(error) => error.hint(),
            Self::Stands { hint, .. } => Some(hint.clone()),
            Self::RecursionLimit { .. } => Some(report::RECURSION_HINT.into()),
            Self::InDoubt { .. } => Some(
                "find out what became of it; resume the thread to be asked, and say `--done` or \
                 `--not-done`"
                    .into(),
            ),
            Self::ForcedDoubt { .. } => Some(
                "find out what became of it; say `--done` or `--not-done` together with `--force`"
                    .into(),
            ),
            Self::NoConversation => Some("declare `channel messages messages`".into()),
            Self::UnknownThread { thread, is_empty } if *is_empty => Some(format!(
                "start one with `rag run TARGET --thread {thread}`, or remove the thread with \
                 `rag threads delete {thread}`"
            )),
            _ => None,
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Journal(error) | Self::NotRecorded(error) => error.class(),
            Self::Halt(error) => error.class(),
            Self::Threads(error) => error.class(),
            _ => Class::Caller,
        }
    }
}

/// What is said where no run can be told of.
pub(crate) fn nothing_there(thread: &ThreadId, is_empty: bool) -> String {
    if is_empty {
        format!("thread `{thread}` has no run: nothing was started on it")
    } else {
        format!("there is no thread `{thread}`")
    }
}

pub(crate) fn code_of_nothing(is_empty: bool) -> Code {
    if is_empty {
        Code::NoRun
    } else {
        Code::UnknownThread
    }
}

fn named(calls: &[(CallId, String)]) -> String {
    let named = calls.iter().map(|(call, tool)| format!("{call} ({tool})"));
    named.collect::<Vec<_>>().join(", ")
}
