//! Why a call has no result, and how that is told.

use std::{error::Error, time::Duration};

use rustagents_core::tool::{Executed, ToolError, ToolErrorKind};
use rustagents_http::SetupError;

use super::MAX_URL;

/// Why a call has no result. No text in it is a secret, a path or a query.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// An argument that the path needs.
    #[error("the URL needs `{name}`, which is missing or empty")]
    Missing { name: String },
    /// An argument that no URL can hold.
    #[error("`{name}` is no text, number or boolean, so the URL cannot hold it")]
    Shape { name: String },
    /// Arguments that would change more than their place in the path.
    #[error("the arguments would lead to another path")]
    Elsewhere,
    #[error("the URL would be over {MAX_URL} bytes")]
    UrlTooLong,
    /// An address that the tool may not reach.
    #[error("`{host}` is {what}, which the tool may not reach")]
    Address { host: String, what: &'static str },
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error("cannot connect to `{host}`")]
    Connect {
        host: String,
        #[source]
        source: reqwest::Error,
    },
    #[error("no connection to `{host}` after {after:?}")]
    NoConnection { host: String, after: Duration },
    #[error("the connection failed")]
    Network(#[source] reqwest::Error),
    #[error("the response broke off before its end")]
    Cut(#[source] reqwest::Error),
    /// A redirect that is not followed; `to` is an origin.
    #[error("the redirect to `{to}` is not followed: {why}")]
    Redirect { to: String, why: &'static str },
    #[error("a redirect leads to no URL")]
    BadRedirect,
    #[error("more than {limit} redirects")]
    TooManyRedirects { limit: u8 },
    #[error("the result is over {limit} bytes")]
    OutputTooLarge { limit: usize },
    #[error("the request took longer than {0:?}")]
    Timeout(Duration),
    #[error("the request was cancelled")]
    Cancelled,
}

impl Failure {
    /// The tool's error, after a call that got so far.
    pub(super) fn into_tool_error(self, executed: Executed) -> ToolError {
        let (kind, message) = (self.kind(), self.message());
        match executed {
            Executed::No => ToolError::not_executed(kind, message),
            Executed::Unknown => ToolError::unknown(kind, message),
        }
        .with_source(self)
    }

    fn kind(&self) -> ToolErrorKind {
        match self {
            Self::Missing { .. }
            | Self::Shape { .. }
            | Self::Elsewhere
            | Self::UrlTooLong
            | Self::Address { .. }
            | Self::Redirect { .. }
            | Self::BadRedirect
            | Self::TooManyRedirects { .. } => ToolErrorKind::Refused,
            Self::Setup(_) | Self::Connect { .. } | Self::NoConnection { .. } => {
                ToolErrorKind::Unavailable
            }
            Self::Network(_) | Self::Cut(_) => ToolErrorKind::Failed,
            Self::OutputTooLarge { .. } => ToolErrorKind::OutputTooLarge,
            Self::Timeout(_) => ToolErrorKind::Timeout,
            Self::Cancelled => ToolErrorKind::Cancelled,
        }
    }

    /// What happened, and the innermost cause of it, on one line.
    fn message(&self) -> String {
        let mut cause = self.source();
        while let Some(inner) = cause.and_then(Error::source) {
            cause = Some(inner);
        }
        let message = match cause {
            Some(cause) => format!("{self}: {cause}"),
            None => self.to_string(),
        };
        message.replace(char::is_control, " ")
    }
}
