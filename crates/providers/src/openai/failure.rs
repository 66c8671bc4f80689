//! Why a call failed, and how that is told.

use std::{
    error::Error,
    time::{Duration, UNIX_EPOCH},
};

use reqwest::{
    StatusCode,
    header::{HeaderMap, RETRY_AFTER},
};
use rustagents_core::model::{ModelError, Rejection, RetryAfter};
use rustagents_http::SetupError;

use super::{Secret, said};

/// What a failure means for a next try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It may do.
    Transport,
    /// It may do, then.
    Later(RetryAfter),
    /// It would not do.
    Rejected(Rejection),
}

impl Verdict {
    /// What a status that is no success means, with what the server says of it.
    pub(super) fn of(status: StatusCode, headers: &HeaderMap, body: &str) -> Self {
        match status.as_u16() {
            // Time brings no room where the account has none.
            429 if said::is_used_up(body) => Self::Rejected(Rejection::Quota),
            408 | 409 | 425 | 429 => Self::passing(headers),
            401..=403 => Self::Rejected(Rejection::Key),
            404 | 405 => Self::Rejected(Rejection::Target),
            400..=499 => Self::Rejected(Rejection::Request),
            _ => Self::passing(headers),
        }
    }

    fn passing(headers: &HeaderMap) -> Self {
        retry_after(headers).map_or(Self::Transport, Self::Later)
    }
}

/// What the header of that name says: seconds, or a date. One that says neither is
/// as good as none.
fn retry_after(headers: &HeaderMap) -> Option<RetryAfter> {
    let said = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !said.is_empty() && said.bytes().all(|byte| byte.is_ascii_digit()) {
        // More seconds than a number holds are for ever.
        let seconds = said.parse().unwrap_or(u64::MAX);
        return Some(RetryAfter::In(Duration::from_secs(seconds)));
    }
    let then = httpdate::parse_http_date(said).ok()?;
    let then = then.duration_since(UNIX_EPOCH).unwrap_or_default();
    let then = u64::try_from(then.as_millis()).unwrap_or(u64::MAX);
    Some(RetryAfter::At(then))
}

/// Why a call failed. Text in it is the server's own, as it came.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error("the request cannot be encoded")]
    Encode(#[source] serde_json::Error),
    #[error("cannot connect")]
    Connect(#[source] reqwest::Error),
    #[error("no connection after {after:?}")]
    NoConnection { after: Duration },
    #[error("no answer after {after:?}")]
    NoHead { after: Duration },
    #[error("the answer stopped: nothing came for {after:?}")]
    Silence { after: Duration },
    #[error("the connection failed")]
    Network(#[source] reqwest::Error),
    #[error("status {status}: redirects are not followed, here to `{location}`")]
    Redirect { status: u16, location: String },
    #[error("status {status}: {said}")]
    Status {
        status: String,
        said: String,
        verdict: Verdict,
    },
    #[error("it answered with `{content_type}`, which is no event stream")]
    NotEvents { content_type: String },
    #[error("it failed while it answered: {said}")]
    Provider { said: String },
    #[error("it sent something that cannot be read ({reason}): {data}")]
    Unreadable { reason: String, data: String },
    #[error("the answer broke off before its end")]
    Cut,
    #[error("the answer ended, and there was none")]
    NoAnswer,
    #[error("more than {limit} bytes in one piece")]
    TooLong { limit: usize },
    #[error("more than {limit} calls")]
    TooManyCalls { limit: usize },
}

impl Failure {
    /// What the caller is told: never the key, and no more than a few lines.
    pub(super) fn explain(self, model: &str, key: Option<&Secret>) -> ModelError {
        match self {
            Self::TooLong { limit } => ModelError::TooLarge { limit },
            Self::TooManyCalls { limit } => ModelError::TooManyCalls { limit },
            other => {
                let reason = other.reason();
                let reason = key.map_or_else(|| reason.clone(), |key| key.masked_in(&reason));
                let (model, reason) = (model.to_owned(), said::abbreviated(&reason));
                match other.verdict() {
                    Verdict::Transport => ModelError::Transport { model, reason },
                    Verdict::Later(retry_after) => ModelError::Unavailable {
                        model,
                        reason,
                        retry_after,
                    },
                    Verdict::Rejected(because) => ModelError::Rejected {
                        model,
                        reason,
                        because: match (because, key) {
                            (Rejection::Key, None) => Rejection::NoKey,
                            (because, _) => because,
                        },
                    },
                }
            }
        }
    }

    fn verdict(&self) -> Verdict {
        match self {
            Self::Status { verdict, .. } => *verdict,
            // Where the server really is, is for the configuration to say.
            Self::Redirect { .. } => Verdict::Rejected(Rejection::Target),
            _ => Verdict::Transport,
        }
    }

    /// What happened, and the innermost cause of it.
    fn reason(&self) -> String {
        let mut cause = self.source();
        while let Some(inner) = cause.and_then(Error::source) {
            cause = Some(inner);
        }
        match cause {
            Some(cause) => format!("{self}: {cause}"),
            None => self.to_string(),
        }
    }
}
