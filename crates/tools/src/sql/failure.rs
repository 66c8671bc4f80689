//! How a call fails, and what that says about the database.

use rusqlite::ErrorCode;
use rustagents_core::tool::{ToolError, ToolErrorKind};

use crate::DeclarationError;

use super::{
    database::DataError,
    watch::{Stop, Watch},
};

/// Why a call changed nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// It was stopped.
    #[error("{}", stopped(*.0))]
    Stopped(Stop),
    /// The database could not be made.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Another connection held the database all the time.
    #[error("the database is locked")]
    Locked,
    /// SQLite refused or failed.
    #[error("the statement failed: {}", reason(.0))]
    Sqlite(#[from] rusqlite::Error),
    /// A statement that writes, in a tool that only reads.
    #[error("the statement writes, but the tool is declared to read only")]
    Writes,
    /// The number of rows is not the declared one.
    #[error("expected {}, found {found}", counted(*expected))]
    Rows {
        /// The declared number.
        expected: u64,
        /// The number of rows.
        found: u64,
    },
    /// The result is over its limit.
    #[error("the result is over {limit} bytes")]
    OutputTooLarge {
        /// The limit.
        limit: usize,
    },
    /// One value is larger than the result may be.
    #[error("a value of the result is too large")]
    ValueTooLarge,
    /// Two values of a row would have one key.
    #[error("two columns of the result are named `{name}`")]
    DuplicateColumn {
        /// The name.
        name: String,
    },
    /// An integer beyond 64 bits with a sign.
    #[error("`{name}` is over the largest integer of SQL")]
    Integer {
        /// The argument.
        name: String,
    },
}

impl Failure {
    /// The tool's error; `watch` says whether SQLite failed because it was stopped.
    pub(super) fn into_tool_error(self, watch: &Watch) -> ToolError {
        let failure = self.explained(watch);
        let error = ToolError::not_executed(failure.kind(), failure.to_string());
        match failure {
            Self::Data(source) => error.with_source(source),
            Self::Sqlite(source) => error.with_source(source),
            _ => error,
        }
    }

    /// What a call that would always fail so means for the declaration.
    pub(super) fn into_declaration_error(self) -> DeclarationError {
        match self {
            Self::Writes => DeclarationError::Writes,
            Self::DuplicateColumn { name } => DeclarationError::DuplicateColumn { name },
            Self::Sqlite(error) => DeclarationError::Sql {
                reason: reason(&error),
            },
            other => DeclarationError::Sql {
                reason: other.to_string(),
            },
        }
    }

    fn explained(self, watch: &Watch) -> Self {
        match (code(&self), watch.stop()) {
            (Some(ErrorCode::OperationInterrupted), Some(stop)) => Self::Stopped(stop),
            (Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked), stop) => match stop {
                Some(Stop::Cancelled) => Self::Stopped(Stop::Cancelled),
                _ => Self::Locked,
            },
            (Some(ErrorCode::TooBig), _) => Self::ValueTooLarge,
            (_, Some(stop)) if matches!(self, Self::Data(DataError::Interrupted)) => {
                Self::Stopped(stop)
            }
            _ => self,
        }
    }

    fn kind(&self) -> ToolErrorKind {
        match self {
            Self::Stopped(Stop::Timeout(_)) => ToolErrorKind::Timeout,
            Self::Stopped(Stop::Cancelled) => ToolErrorKind::Cancelled,
            Self::Data(_) | Self::Locked => ToolErrorKind::Unavailable,
            Self::Sqlite(error) => error
                .sqlite_error_code()
                .map_or(ToolErrorKind::Failed, kind_of),
            Self::OutputTooLarge { .. } | Self::ValueTooLarge => ToolErrorKind::OutputTooLarge,
            Self::Writes
            | Self::Rows { .. }
            | Self::DuplicateColumn { .. }
            | Self::Integer { .. } => ToolErrorKind::Refused,
        }
    }
}

/// What a failed COMMIT means.
///
/// A lock and a deferred constraint are found before anything is written, and
/// the transaction is rolled back. After any other error nobody knows.
pub(super) fn commit_failed(error: rusqlite::Error, watch: &Watch) -> ToolError {
    let code = error.sqlite_error_code();
    if matches!(
        code,
        Some(ErrorCode::DatabaseBusy | ErrorCode::ConstraintViolation)
    ) {
        return Failure::Sqlite(error).into_tool_error(watch);
    }
    let message = format!("the commit failed: {}", reason(&error));
    ToolError::unknown(ToolErrorKind::Failed, message).with_source(error)
}

/// What SQLite says, without the statement and on one line.
pub(super) fn reason(error: &rusqlite::Error) -> String {
    let reason = match error {
        rusqlite::Error::SqliteFailure(_, Some(message))
        | rusqlite::Error::SqlInputError { msg: message, .. } => message.clone(),
        other => other.to_string(),
    };
    // It repeats names of the statement, which may hold anything.
    reason.replace(char::is_control, " ")
}

fn code(failure: &Failure) -> Option<ErrorCode> {
    match failure {
        Failure::Sqlite(error) => error.sqlite_error_code(),
        _ => None,
    }
}

fn kind_of(code: ErrorCode) -> ToolErrorKind {
    match code {
        ErrorCode::ConstraintViolation
        | ErrorCode::AuthorizationForStatementDenied
        | ErrorCode::ReadOnly
        | ErrorCode::TypeMismatch => ToolErrorKind::Refused,
        ErrorCode::PermissionDenied
        | ErrorCode::OutOfMemory
        | ErrorCode::SystemIoFailure
        | ErrorCode::DatabaseCorrupt
        | ErrorCode::DiskFull
        | ErrorCode::CannotOpen
        | ErrorCode::FileLockingProtocolFailed
        | ErrorCode::NoLargeFileSupport
        | ErrorCode::NotADatabase => ToolErrorKind::Unavailable,
        _ => ToolErrorKind::Failed,
    }
}

fn stopped(stop: Stop) -> String {
    match stop {
        Stop::Timeout(timeout) => format!("the statement took longer than {timeout:?}"),
        Stop::Cancelled => "the statement was cancelled".into(),
    }
}

fn counted(rows: u64) -> String {
    if rows == 1 {
        "1 row".into()
    } else {
        format!("{rows} rows")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rusqlite::ffi;
    use rustagents_core::{CancellationToken, tool::Executed};

    use super::*;

    fn failed_commit(code: std::ffi::c_int) -> ToolError {
        let watch = Watch::start(Duration::from_mins(1), CancellationToken::new());
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some("x".into()));
        commit_failed(error, &watch)
    }

    #[test]
    fn a_commit_that_never_started_changed_nothing() {
        let error = failed_commit(ffi::SQLITE_BUSY);
        assert_eq!(
            (error.executed, error.kind),
            (Executed::No, ToolErrorKind::Unavailable)
        );
        let error = failed_commit(ffi::SQLITE_CONSTRAINT_FOREIGNKEY);
        assert_eq!(
            (error.executed, error.kind),
            (Executed::No, ToolErrorKind::Refused)
        );
    }

    #[test]
    fn after_any_other_failed_commit_nobody_knows() {
        for code in [ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_FULL, ffi::SQLITE_ERROR] {
            let error = failed_commit(code);
            assert_eq!(
                (error.executed, error.kind),
                (Executed::Unknown, ToolErrorKind::Failed)
            );
            assert_eq!(error.message, "the commit failed: x");
        }
    }
}
