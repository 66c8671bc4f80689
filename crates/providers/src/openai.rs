#![doc = include_str!("openai.md")]

mod answer;
mod calls;
mod client;
mod config;
mod dialect;
mod echo;
mod encode;
mod failure;
mod fold;
mod probe;
mod said;
mod sse;
mod wire;

use std::fmt;

use futures::{
    TryStreamExt,
    stream::{self, BoxStream, StreamExt},
};
use rustagents_core::model::{Model, ModelDelta, ModelRequest, StreamItem};

use self::{answer::Answer, client::Client, failure::Failure};
pub use self::{
    config::{OpenAiConfig, OpenAiError, Timeouts},
    dialect::{Auth, Dialect, Quirks},
    probe::Probe,
};
pub use rustagents_http::Secret;

/// A model behind the chat-completions wire.
///
/// The [module](self) describes what is sent and how the answer is read. It needs
/// a `tokio` runtime with its clock and its I/O.
///
/// ```
/// use rustagents_core::model::Model;
/// use rustagents_providers::openai::{Dialect, OpenAiConfig, OpenAiModel, Secret};
///
/// let mut config = OpenAiConfig::new(&Dialect::OPENAI, "openai:gpt-5-mini", "gpt-5-mini");
/// config.api_key = Some(Secret::new("sk-made-up"));
/// let model = OpenAiModel::new(config)?;
/// assert_eq!(model.id(), "openai:gpt-5-mini");
/// # Ok::<(), rustagents_providers::openai::OpenAiError>(())
/// ```
pub struct OpenAiModel {
    id: String,
    model: String,
    dialect: &'static Dialect,
    key: Option<Secret>,
    client: Client,
}

impl OpenAiModel {
    /// A model that is asked as `config` says. Nothing is opened or sent yet.
    ///
    /// # Errors
    /// [`OpenAiError`] says what of the configuration cannot be used.
    pub fn new(config: OpenAiConfig) -> Result<Self, OpenAiError> {
        Ok(Self {
            client: Client::new(&config)?,
            id: config.id,
            model: config.model,
            dialect: config.dialect,
            key: config.api_key,
        })
    }

    /// The next piece of an answer, and what the rest needs.
    async fn step<'a>(&'a self, call: Call<'a>) -> Result<Option<(ModelDelta, Call<'a>)>, Failure> {
        let mut answer = match call {
            Call::Ask(request) => Box::new(self.ask(request).await?),
            Call::Read(answer) => answer,
        };
        let delta = answer.next().await?;
        Ok(delta.map(|delta| (delta, Call::Read(answer))))
    }

    async fn ask(&self, request: ModelRequest<'_>) -> Result<Answer, Failure> {
        let body = encode::request(&self.model, self.dialect, request)?;
        let response = self.client.post(body, self.key.as_ref()).await?;
        Answer::new(response, self.client.bounds(), self.key.as_ref())
    }
}

/// How far a call is.
enum Call<'a> {
    Ask(ModelRequest<'a>),
    Read(Box<Answer>),
}

impl Model for OpenAiModel {
    fn id(&self) -> &str {
        &self.id
    }

    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> BoxStream<'a, StreamItem> {
        stream::try_unfold(Call::Ask(request), |call| self.step(call))
            .map_err(|failure| failure.explain(&self.id, self.key.as_ref()))
            .boxed()
    }
}

impl fmt::Debug for OpenAiModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiModel")
            .field("id", &self.id)
            .field("model", &self.model)
            .field("dialect", &self.dialect.name)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
