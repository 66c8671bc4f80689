//! Models: can each be made, and does its server answer.

use std::time::Duration;

use rustagents_config::{Config, ModelEntry};
use rustagents_core::model::ModelError;
use rustagents_providers::openai::{OpenAiConfig, OpenAiModel, Probe};
use tokio::task::JoinHandle;

use super::Check;
use crate::{
    failure::Failure,
    models::{self, KEY, Specification},
};

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// How many of a server's models a hint names.
const NAMED: usize = 5;

/// How many characters of a name it shows.
const LONGEST: usize = 100;

/// A check, or one whose server is being asked.
enum Pending {
    Made(Check),
    Asked(String, JoinHandle<Check>),
}

/// Looks at each model; their servers are asked side by side.
pub(crate) async fn examine(config: &Config) -> Vec<Check> {
    let begun = config.models.iter().flat_map(|entry| begin(config, entry));
    let mut checks = Vec::new();
    for pending in begun.collect::<Vec<_>>() {
        checks.push(match pending {
            Pending::Made(check) => check,
            Pending::Asked(name, asked) => asked.await.unwrap_or_else(|error| {
                Check::error(name, format!("asking its server failed: {error}"))
                    .hint("see `rag explain RAG0999`")
            }),
        });
    }
    checks
}

fn begin(config: &Config, entry: &ModelEntry) -> Vec<Pending> {
    let name = format!("model {}", entry.alias);
    try_begin(&name, config, entry).unwrap_or_else(|failure| {
        let (path, at) = (config.path.display(), entry.at);
        let placed = match failure.place {
            Some(_) => failure,
            None => failure.at(format!("{path}:{}:{}", at.line, at.column)),
        };
        vec![Pending::Made(Check::failed(name, &placed))]
    })
}

fn try_begin(name: &str, config: &Config, entry: &ModelEntry) -> Result<Vec<Pending>, Failure> {
    match Specification::read(&entry.spec, &config.folder)? {
        Specification::Scripted(file) => {
            models::scripted(&file)?;
            let message = format!("the script `{}` can be read", file.display());
            Ok(vec![Pending::Made(Check::ok(name, message))])
        }
        Specification::Http(http) => {
            let server = Server::of(&http);
            let model = models::openai(*http)?;
            let key = Pending::Made(server.key(format!("{name} key")));
            let asked = tokio::spawn(server.ask(name.to_owned(), model));
            Ok(vec![key, Pending::Asked(name.to_owned(), asked)])
        }
    }
}

/// What is said about a server beside what it says itself.
struct Server {
    url: String,
    has_key: bool,
    /// Whether it is one that lets nobody in without a key.
    needs_key: bool,
}

impl Server {
    fn of(config: &OpenAiConfig) -> Self {
        let own = config.dialect.base_url;
        let url = config.base_url.as_deref().or(own).unwrap_or_default();
        Self {
            url: url.to_owned(),
            has_key: config.api_key.is_some(),
            needs_key: config.base_url.is_none() && own.is_some(),
        }
    }

    fn key(&self, name: String) -> Check {
        match (self.has_key, self.needs_key) {
            (true, _) => Check::ok(name, format!("`{KEY}` is set")),
            (false, false) => Check::ok(
                name,
                format!("`{KEY}` is not set; a server of your own may need none"),
            ),
            (false, true) => Check::error(name, format!("`{KEY}` is not set, and is needed"))
                .hint(format!("put the key into the variable `{KEY}`")),
        }
    }

    async fn ask(self, name: String, model: OpenAiModel) -> Check {
        let asked = model.probe(PATIENCE).await;
        let (url, wanted) = (&self.url, model.name());
        match asked {
            Ok(Probe::Models(known)) => listed(name, url, wanted, &known),
            Ok(Probe::NoList { said }) => {
                let message = format!("`{url}` answers, and lists no models: {said}");
                let hint = "see whether the base URL is right; most of them end with `/v1`";
                Check::warning(name, message).hint(hint)
            }
            Ok(Probe::Refused { said }) if self.has_key => {
                let message = format!("`{url}` answers, and refuses the key in `{KEY}`: {said}");
                Check::error(name, message).hint("put a key of this server into that variable")
            }
            Ok(Probe::Refused { said }) => {
                let message = format!("`{url}` answers, and wants a key: {said}");
                let hint = format!("put a key of this server into the variable `{KEY}`");
                Check::error(name, message).hint(hint)
            }
            Ok(Probe::Failed { said }) => {
                let message = format!("`{url}` answers, and does not work: {said}");
                Check::error(name, message).hint("see what the server's log says, and try again")
            }
            Ok(_) => Check::warning(name, format!("`{url}` answers in a way that is not known"))
                .hint("see what the server's log says"),
            Err(error) => {
                let message = format!("`{url}` is not reachable: {}", reason(error));
                Check::error(name, message)
                    .hint("see whether the server runs, and whether the base URL is right")
            }
        }
    }
}

fn listed(name: String, url: &str, wanted: &str, known: &[String]) -> Check {
    if known.iter().any(|known| known == wanted) {
        return Check::ok(name, format!("`{url}` answers, and has `{wanted}`"));
    }
    let message = format!("`{url}` answers, and does not list `{wanted}`");
    let names: Vec<_> = known
        .iter()
        .take(NAMED)
        .map(|name| format!("`{}`", name.chars().take(LONGEST).collect::<String>()))
        .collect();
    let more = if known.len() > NAMED { " and more" } else { "" };
    Check::warning(name, message).hint(match names.as_slice() {
        [] => "it lists no models at all; load one".to_owned(),
        names => format!("it lists {}{more}", names.join(", ")),
    })
}

fn reason(error: ModelError) -> String {
    match error {
        ModelError::Transport { reason, .. }
        | ModelError::Unavailable { reason, .. }
        | ModelError::Rejected { reason, .. } => reason,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use rustagents_providers::openai::Dialect;

    use super::*;
    use crate::doctor::Status;

    #[test]
    fn a_missing_key_is_an_error_at_the_vendors_own_server_only() {
        let own = OpenAiConfig::new(&Dialect::OPENAI, "openai:tiny", "tiny");
        let check = Server::of(&own).key("key".into());
        assert_eq!(check.status, Status::Error);
        assert_eq!(check.message, "`OPENAI_API_KEY` is not set, and is needed");
        let mut other = own;
        other.base_url = Some("http://127.0.0.1:8080/v1".into());
        assert_eq!(Server::of(&other).key("key".into()).status, Status::Ok);
    }
}
