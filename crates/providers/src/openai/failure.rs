//! Why a call failed, and how that is told.

use std::{error::Error, time::Duration};

use rustagents_core::model::ModelError;
use rustagents_http::SetupError;

use super::{Secret, said};

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
    Status { status: String, said: String },
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
                ModelError::Transport {
                    model: model.to_owned(),
                    reason: said::abbreviated(&reason),
                }
            }
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
