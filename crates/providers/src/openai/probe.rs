//! Whether a server is there, lets us in, and has the model.

use std::time::Duration;

use reqwest::{Response, StatusCode};
use rustagents_core::model::ModelError;
use serde::Deserialize;
use tokio::time::timeout;

use super::{OpenAiModel, failure::Failure, said};

/// Where servers list their models, beside the place of answers.
const PLACE: &str = "models";

/// The longest list that is read, in bytes.
const MAX_LIST_BYTES: usize = 1 << 20;

/// What a server says when it is asked which models it has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Probe {
    /// It has these.
    Models(Vec<String>),
    /// It is there, and what it says is no list.
    NoList {
        /// What it says instead, in a few words.
        said: String,
    },
    /// It lets nobody in with this key, or without one.
    Refused {
        /// What it says, in a few words.
        said: String,
    },
    /// It is there, and does not do what it is asked.
    Failed {
        /// What it says, in a few words.
        said: String,
    },
}

/// A list as servers send it.
#[derive(Deserialize)]
struct List {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
}

impl OpenAiModel {
    /// Asks the server which models it has, for no longer than `patience` in all.
    /// No model is called.
    ///
    /// # Errors
    /// [`ModelError::Transport`]: no server answered in time.
    pub async fn probe(&self, patience: Duration) -> Result<Probe, ModelError> {
        let outcome = timeout(patience, self.look()).await;
        let late = Failure::NoHead { after: patience };
        let found = outcome.unwrap_or(Err(late));
        found.map_err(|failure| failure.explain(&self.id, self.key.as_ref()))
    }

    /// What the server calls the model.
    pub fn name(&self) -> &str {
        &self.model
    }

    async fn look(&self) -> Result<Probe, Failure> {
        let response = self.client.get(PLACE).await?;
        let status = response.status();
        let body = body(response).await?;
        if status == StatusCode::OK
            && let Some(list) = body.as_deref().and_then(list)
        {
            return Ok(Probe::Models(self.names(list)));
        }
        let said = self.in_a_few_words(status, body.as_deref());
        Ok(match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Probe::Refused { said },
            // Not every server that answers lists its models.
            StatusCode::OK
            | StatusCode::NOT_FOUND
            | StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::NOT_IMPLEMENTED => Probe::NoList { said },
            _ => Probe::Failed { said },
        })
    }

    fn names(&self, list: List) -> Vec<String> {
        let names = list.data.into_iter();
        names.map(|entry| self.without_key(&entry.id)).collect()
    }

    fn in_a_few_words(&self, status: StatusCode, body: Option<&str>) -> String {
        let words = match body {
            Some(body) => said::in_body(body),
            None => format!("it says more than {MAX_LIST_BYTES} bytes"),
        };
        let line = format!("status {}: {words}", status.as_u16());
        said::abbreviated(&self.without_key(&line))
    }

    fn without_key(&self, text: &str) -> String {
        match &self.key {
            Some(key) => key.masked_in(text),
            None => text.to_owned(),
        }
    }
}

fn list(body: &str) -> Option<List> {
    serde_json::from_str(body).ok()
}

/// The whole body; `None` where it is too long.
async fn body(mut response: Response) -> Result<Option<String>, Failure> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(network)? {
        if body.len() + bytes.len() > MAX_LIST_BYTES {
            return Ok(None);
        }
        body.extend_from_slice(&bytes);
    }
    Ok(Some(String::from_utf8_lossy(&body).into_owned()))
}

fn network(error: reqwest::Error) -> Failure {
    Failure::Network(error.without_url())
}
