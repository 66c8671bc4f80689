//! How a model is reached, and why that may not work.

use std::time::Duration;

use rustagents_core::{Code, Coded};

use super::{Dialect, Secret};

/// How a model is reached.
///
/// ```
/// use rustagents_providers::openai::{Dialect, OpenAiConfig, OpenAiModel};
///
/// let mut config = OpenAiConfig::new(&Dialect::COMPATIBLE, "local:tiny", "tiny");
/// config.base_url = Some("http://127.0.0.1:8080/v1".into());
/// let model = OpenAiModel::new(config)?;
/// # Ok::<(), rustagents_providers::openai::OpenAiError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenAiConfig {
    /// What records and people call the model, such as `openai:gpt-5-mini`.
    pub id: String,
    /// What the server calls it.
    pub model: String,
    /// How the server speaks the wire.
    pub dialect: &'static Dialect,
    /// Where it is served, `/v1` included; `None` takes the dialect's own.
    pub base_url: Option<String>,
    /// The key, where the server wants one.
    pub api_key: Option<Secret>,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// The longest line, event or whole document of an answer, in bytes.
    pub max_line_bytes: usize,
    /// How much of an error's body is read, in bytes.
    pub max_error_body: usize,
}

/// How long to wait for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection, TLS included.
    pub connect: Duration,
    /// From the request to the head of the answer.
    pub header: Duration,
    /// For the next bytes of the answer, whatever they say.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            header: Duration::from_mins(1),
            idle: Duration::from_mins(2),
        }
    }
}

impl OpenAiConfig {
    /// The server's `model` under the name `id`: where the dialect is served,
    /// without a key, with the default limits.
    pub fn new(dialect: &'static Dialect, id: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            model: model.into(),
            dialect,
            base_url: None,
            api_key: None,
            timeouts: Timeouts::default(),
            max_line_bytes: 1 << 20,
            max_error_body: 64 << 10,
        }
    }
}

/// Why a configuration cannot be used.
///
/// None of them shows the base URL or the key: either may hold a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenAiError {
    /// Neither the configuration nor the dialect has a base URL.
    #[error("the dialect `{dialect}` needs a base URL")]
    NoBaseUrl {
        /// The dialect's name.
        dialect: &'static str,
    },
    /// The base URL is none.
    #[error("the base URL is not valid: {reason}")]
    BaseUrl {
        /// What the parser said.
        reason: String,
    },
    /// The base URL is not of the web.
    #[error("the base URL has the scheme `{found}`, not `http` or `https`")]
    Scheme {
        /// The scheme.
        found: String,
    },
    /// The base URL has more than a host and a path.
    #[error("the base URL has {part}")]
    Excess {
        /// What it has, with its article.
        part: &'static str,
    },
    /// The key cannot stand in a header.
    #[error("the API key is empty, or holds a character that no header can")]
    ApiKey,
}

impl Coded for OpenAiError {
    fn code(&self) -> Code {
        Code::ModelSpec
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoBaseUrl { .. } | Self::BaseUrl { .. } | Self::Scheme { .. } => {
                "a base URL looks like `https://models.example.com/v1`"
            }
            Self::Excess { .. } => "keep its host and path only; a key is given on its own",
            Self::ApiKey => "look for white space around the key",
        };
        Some(hint.into())
    }
}
