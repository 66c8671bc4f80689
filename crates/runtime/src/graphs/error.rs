//! Why nothing was done with a thread, or a run stopped without an outcome.

use rustagents_core::{
    ask::Ask,
    code::{Class, Code, Coded},
    ids::{ThreadId, ThreadNameError},
    journal::JournalError,
    scope::Halt,
};
use rustagents_graph::{graph::OpenError, schedule::ScheduleError};

use crate::{
    answers::AnswerError,
    report::Status,
    runs::{RunError, code_of_nothing, nothing_there},
    threads::ThreadsError,
    view::ThreadView,
};

/// Why a call was refused, or a run stopped without an outcome.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphRunError {
    /// The journal refused or failed; [`JournalError::Busy`] if somebody else drives
    /// the thread.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The run stopped without an outcome, and can be resumed: it was cancelled, say,
    /// or what is pending does not fit the graph.
    #[error(transparent)]
    Halt(#[from] Halt),
    /// The input or an edit does not fit the graph.
    #[error(transparent)]
    Input(#[from] ScheduleError),
    /// The run was not opened for another reason.
    #[error(transparent)]
    Open(OpenError),
    /// An answer does not fit what is pending.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// The thread's name is not valid.
    #[error(transparent)]
    Name(#[from] ThreadNameError),
    /// What is to be looked at is not there.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// Giving the run up was refused.
    #[error(transparent)]
    Run(#[from] RunError),
    /// There is no such thread, or nothing was ever started on it: a run can be.
    #[error("{}", nothing_there(thread, *is_empty))]
    UnknownThread {
        /// The thread.
        thread: ThreadId,
        /// Whether the store knows the thread, which has no run: who was about to open
        /// one did not come to it.
        is_empty: bool,
    },
    /// The thread waits for answers; first they are given, or the run is given up.
    #[error("thread `{thread}` waits for an answer to {}", named(asks))]
    Waits {
        /// The thread.
        thread: ThreadId,
        /// The questions.
        asks: Vec<Ask>,
    },
    /// The thread's last run did not end: it is resumed first, or given up.
    #[error("the last run of thread `{thread}` did not end")]
    Unfinished {
        /// The thread.
        thread: ThreadId,
    },
    /// The last run is over, and so this cannot be done.
    #[error("the last run of thread `{thread}` is {}, {what}", status.as_str())]
    Stands {
        /// The thread.
        thread: ThreadId,
        /// How it ended.
        status: Status,
        /// What cannot be done.
        what: &'static str,
    },
    /// Steps or calls may have taken effect, which would be forgotten.
    #[error("thread `{thread}` has in doubt: {}", effects.join(", "))]
    InDoubt {
        /// The thread.
        thread: ThreadId,
        /// The steps and calls.
        effects: Vec<String>,
    },
    /// Steps or calls would be gone without that may have taken effect, and nobody said
    /// what became of them.
    #[error("thread `{thread}` has in doubt what no longer fits: {}", effects.join(", "))]
    ForcedDoubt {
        /// The thread.
        thread: ThreadId,
        /// The steps and calls.
        effects: Vec<String>,
        /// The questions of the run, with those about them that can be answered.
        asks: Vec<Ask>,
    },
    /// Steps or calls that must not run twice stand behind the checkpoint.
    #[error("going back in thread `{thread}` could repeat {}", effects.join(", "))]
    WouldRepeat {
        /// The thread.
        thread: ThreadId,
        /// The steps and calls.
        effects: Vec<String>,
    },
}

fn named(asks: &[Ask]) -> String {
    let named = asks.iter().map(|ask| format!("`{}`", ask.id));
    named.collect::<Vec<_>>().join(", ")
}

impl GraphRunError {
    pub(super) fn waits(view: &ThreadView) -> Self {
        Self::Waits {
            thread: view.thread.clone(),
            asks: view.pending().cloned().collect(),
        }
    }

    /// A run that was closed because somebody asked for that.
    pub(super) fn given_up(view: &ThreadView) -> Self {
        Self::over(view, Status::Cancelled, "as somebody asked")
    }

    pub(super) fn over(view: &ThreadView, status: Status, what: &'static str) -> Self {
        let thread = view.thread.clone();
        Self::Stands {
            thread,
            status,
            what,
        }
    }
}

impl From<OpenError> for GraphRunError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Halt(halt) => Self::Halt(halt),
            OpenError::Input(error) => Self::Input(error),
            other => Self::Open(other),
        }
    }
}

impl Coded for GraphRunError {
    fn code(&self) -> Code {
        match self {
            Self::Journal(error) => error.code(),
            Self::Halt(error) => error.code(),
            Self::Input(error) => error.code(),
            Self::Open(_) => Code::Internal,
            Self::Answer(error) => error.code(),
            Self::Name(error) => error.code(),
            Self::Threads(error) => error.code(),
            Self::Run(error) => error.code(),
            Self::UnknownThread { is_empty, .. } => code_of_nothing(*is_empty),
            Self::Waits { .. } => Code::ThreadSuspended,
            Self::Unfinished { .. } => Code::RunUnfinished,
            Self::Stands { .. } => Code::RunStands,
            Self::InDoubt { .. } | Self::ForcedDoubt { .. } | Self::WouldRepeat { .. } => {
                Code::CallInDoubt
            }
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Journal(error) => error.hint(),
            Self::Halt(error) => error.hint(),
            Self::Input(error) => error.hint(),
            Self::Answer(error) => error.hint(),
            Self::Name(error) => error.hint(),
            Self::Threads(error) => error.hint(),
            Self::Run(error) => error.hint(),
            Self::Waits { .. } => Some("answer with `resume`, or give it up with `cancel`".into()),
            Self::Unfinished { .. } => {
                Some("go on with `resume`, or give it up with `cancel`".into())
            }
            Self::Stands { .. } => Some("give it a new input, or go back with `rewind`".into()),
            Self::InDoubt { .. } => {
                Some("find out what became of it; `resume` asks, and takes the answer".into())
            }
            Self::ForcedDoubt { .. } => Some(
                "find out what became of it, and say `Done` or `NotDone` in the same call; of a \
                 step that nobody asked about, bring its node back to be asked"
                    .into(),
            ),
            Self::WouldRepeat { .. } => Some("`rewind_and_repeat` goes back all the same".into()),
            Self::UnknownThread { is_empty, .. } => is_empty.then(|| "start one with `run`".into()),
            Self::Open(_) => None,
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Journal(error) => error.class(),
            Self::Halt(error) => error.class(),
            Self::Input(error) => error.class(),
            Self::Threads(error) => error.class(),
            Self::Run(error) => error.class(),
            _ => Class::Caller,
        }
    }
}
