//! What a person is told when nothing came of a command.

use std::{fmt::Display, path::Path, process::ExitCode};

use rustagents_config::ConfigError;
use rustagents_core::{
    code::{Code, Coded},
    ids::ThreadId,
    journal::JournalError,
    scope::Halt,
    store::StoreError,
};
use rustagents_runtime::{Report, RunError, threads::ThreadsError};

/// The exit status of a user's mistake.
const MISTAKE: u8 = 2;

/// The exit status where another process drives the thread.
const BUSY: u8 = 5;

/// What is told where no plan can be found again.
pub(crate) const BUILT: &str = "a program built its graph, and that program goes on with it";

/// An error at the edge: code, what, where, what to do.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) place: Option<String>,
    pub(crate) hint: Option<String>,
    /// What is pending.
    pub(crate) pending: Option<Box<Pending>>,
    /// The thread whose resume is the way on; its start, where it has no run.
    pub(crate) thread: Option<Box<str>>,
    /// Diagnostics that were rendered already.
    pub(crate) details: Box<[String]>,
    exit: u8,
}

/// What is pending beside a failure.
#[derive(Clone, Debug)]
pub(crate) enum Pending {
    /// The run of a thread that waits.
    Run(Box<Report>),
    /// The input in the queue of a thread, by its name.
    Input(String),
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            place: None,
            hint: None,
            pending: None,
            thread: None,
            details: Box::default(),
            exit: MISTAKE,
        }
    }

    pub(crate) fn of(error: &(impl Coded + ?Sized)) -> Self {
        Self {
            hint: error.hint(),
            ..Self::new(error.code(), error.to_string())
        }
    }

    /// Another process drives the thread.
    pub(crate) fn busy(code: Code, message: impl Into<String>) -> Self {
        Self {
            exit: BUSY,
            ..Self::new(code, message)
        }
    }

    pub(crate) fn internal(error: &dyn Display) -> Self {
        Self {
            exit: 1,
            ..Self::new(Code::Internal, error.to_string())
        }
    }

    /// There is no such thread.
    pub(crate) fn unknown_thread(thread: &ThreadId) -> Self {
        Self::from(RunError::UnknownThread {
            thread: thread.clone(),
            is_empty: false,
        })
    }

    /// Standard output that cannot be written.
    pub(crate) fn output(error: &std::io::Error) -> Self {
        let message = format!("standard output cannot be written: {error}");
        Self {
            exit: 1,
            ..Self::new(Code::OutputFailed, message)
        }
        .hint("make room, or send the output elsewhere")
    }

    /// The same of the result of a thread, which can be printed again.
    pub(crate) fn of_result(self) -> Self {
        if self.code != Code::OutputFailed {
            return self;
        }
        self.hint("the thread keeps its result; resume it to print it again")
    }

    /// A command line that cannot be read, in clap's words.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        let text = text.into();
        // clap's first paragraph says what is wrong; the usage follows it.
        let paragraph = text
            .lines()
            .take_while(|line| !line.is_empty())
            .map(str::trim);
        let line = paragraph.collect::<Vec<_>>().join(" ");
        let line = line.trim_start_matches("error: ");
        Self::new(Code::Usage, line).hint("see `rag --help`")
    }

    pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        Self::new(
            Code::FileUnreadable,
            format!("`{}` cannot be read: {error}", path.display()),
        )
    }

    pub(crate) fn unwritable(path: &Path, error: &std::io::Error) -> Self {
        Self::new(
            Code::OutputFailed,
            format!("`{}` cannot be written: {error}", path.display()),
        )
    }

    pub(crate) fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same of an input that waits in the queue.
    pub(crate) fn of_queued(mut self, id: &str) -> Self {
        self.pending = Some(Box::new(Pending::Input(id.to_owned())));
        self
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.exit)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let failure = Self::of(&error);
        match (error.place(), error.path()) {
            (Some((path, line, column)), _) => {
                failure.at(format!("{}:{line}:{column}", path.display()))
            }
            (None, Some(path)) => failure.at(path.display().to_string()),
            (None, None) => failure,
        }
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        let exit = match error {
            JournalError::Busy { .. } | JournalError::Fenced { .. } => BUSY,
            _ => MISTAKE,
        };
        Self {
            exit,
            ..Self::of(&error)
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::of(&error)
    }
}

impl From<ThreadsError> for Failure {
    fn from(error: ThreadsError) -> Self {
        match error {
            ThreadsError::Journal(error) => error.into(),
            error => Self::of(&error),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let failure = Self::of(&error);
        match error {
            RunError::Journal(error @ JournalError::Busy { .. }) => Self::from(error)
                .hint("try again when it is done, or take the thread over with `--takeover`"),
            RunError::Journal(error) => error.into(),
            RunError::Threads(error) => error.into(),
            RunError::Unfinished { thread, has_plan } => Self {
                thread: has_plan.then(|| thread.as_str().into()),
                hint: (!has_plan).then(|| BUILT.to_owned()),
                ..failure
            },
            RunError::UnknownThread {
                thread,
                is_empty: true,
            } => Self {
                thread: Some(thread.as_str().into()),
                ..failure
            },
            RunError::Suspended { report }
            | RunError::InDoubt { report, .. }
            | RunError::ForcedDoubt { report, .. } => Self {
                pending: Some(Box::new(Pending::Run(report))),
                exit: 3,
                ..failure
            },
            RunError::Halt(Halt::Journal(
                JournalError::Fenced { .. } | JournalError::Busy { .. },
            )) => Self {
                exit: BUSY,
                ..failure
            },
            RunError::NotRecorded(_) => Self { exit: 1, ..failure },
            RunError::Halt(Halt::Journal(JournalError::Corrupt { .. })) => Self {
                exit: 1,
                ..failure
            }
            .hint("`rag doctor --full` says what is damaged; take a copy of the store, then restore a backup"),
            RunError::Halt(Halt::Journal(_)) => Self { exit: 1, ..failure }.hint(
                "what was recorded before is safe; see that the store can be used, then resume the thread",
            ),
            _ => failure,
        }
    }
}
