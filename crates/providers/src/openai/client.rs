//! The HTTP client: built when it is first needed, one request at a time.

use std::{sync::OnceLock, time::Duration};

use reqwest::{
    Response, StatusCode, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION},
};
use rustagents_http::{Security, SetupError};
use tokio::{runtime::Handle, time::timeout};

use super::{
    Auth, OpenAiConfig, OpenAiError, Secret, Timeouts,
    failure::{Failure, Verdict},
    said,
};

/// Where requests go, and how.
pub(super) struct Client {
    http: OnceLock<reqwest::Client>,
    url: Url,
    authorization: Option<HeaderValue>,
    timeouts: Timeouts,
    max_error_body: usize,
    max_line_bytes: usize,
}

/// What an answer must keep to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) idle: Duration,
    pub(super) line_bytes: usize,
}

impl Client {
    pub(super) fn new(config: &OpenAiConfig) -> Result<Self, OpenAiError> {
        Ok(Self {
            http: OnceLock::new(),
            url: endpoint(config)?,
            authorization: config
                .api_key
                .as_ref()
                .map(|key| authorization(config.dialect.auth, key))
                .transpose()?,
            timeouts: config.timeouts,
            max_error_body: config.max_error_body,
            max_line_bytes: config.max_line_bytes,
        })
    }

    pub(super) fn bounds(&self) -> Bounds {
        Bounds {
            idle: self.timeouts.idle,
            line_bytes: self.max_line_bytes,
        }
    }

    /// Sends `body`; the answer is one of success. Where an error's body is cut,
    /// half of `key` does not stay at its end.
    pub(super) async fn post(
        &self,
        body: Vec<u8>,
        key: Option<&Secret>,
    ) -> Result<Response, Failure> {
        let mut request = self
            .http()?
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .body(body);
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let after = self.timeouts.header;
        let response = match timeout(after, request.send()).await {
            Ok(sent) => sent.map_err(|error| self.not_sent(error))?,
            Err(_) => return Err(Failure::NoHead { after }),
        };
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.refused(response, key).await)
    }

    /// Asks for `place`, which stands beside the one of answers; each status is an
    /// answer.
    pub(super) async fn get(&self, place: &str) -> Result<Response, Failure> {
        // An address of the web can be joined to, so this is never the other one.
        let beside = self.url.join(&format!("../{place}"));
        let url = beside.unwrap_or_else(|_| self.url.clone());
        let mut request = self.http()?.get(url).header(ACCEPT, "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let sent = request.send().await;
        sent.map_err(|error| self.not_sent(error))
    }

    /// The client, built once it is needed.
    fn http(&self) -> Result<&reqwest::Client, Failure> {
        // The client's own timers panic where there is no runtime.
        Handle::try_current().map_err(|_| SetupError::NoRuntime)?;
        if let Some(http) = self.http.get() {
            return Ok(http);
        }
        let security = match self.url.scheme() {
            "https" => Security::System,
            _ => Security::None,
        };
        let builder = rustagents_http::builder(security, self.timeouts.connect)?;
        let http = builder.build().map_err(SetupError::from)?;
        Ok(self.http.get_or_init(|| http))
    }

    fn not_sent(&self, error: reqwest::Error) -> Failure {
        let after = self.timeouts.connect;
        match (error.is_connect(), error.is_timeout()) {
            (true, true) => Failure::NoConnection { after },
            (true, false) => Failure::Connect(error.without_url()),
            (false, _) => Failure::Network(error.without_url()),
        }
    }

    async fn refused(&self, response: Response, key: Option<&Secret>) -> Failure {
        let status = response.status();
        if status.is_redirection() {
            let location = response.headers().get(LOCATION);
            let location = location.and_then(|location| location.to_str().ok());
            return Failure::Redirect {
                status: status.as_u16(),
                location: location.unwrap_or_default().to_owned(),
            };
        }
        let headers = response.headers().clone();
        let body = self.error_body(response, key).await;
        Failure::Status {
            status: status_line(status),
            said: said::in_body(&body),
            verdict: Verdict::of(status, &headers, &body),
        }
    }

    /// As much of an error's body as there is and as may be read.
    async fn error_body(&self, mut response: Response, key: Option<&Secret>) -> String {
        let limit = self.max_error_body;
        let mut body = Vec::new();
        let read = async {
            loop {
                match response.chunk().await {
                    Ok(Some(bytes)) => {
                        let room = limit.saturating_sub(body.len());
                        body.extend(bytes.iter().take(room));
                        if bytes.len() > room {
                            return false;
                        }
                    }
                    Ok(None) => return true,
                    Err(_) => return false,
                }
            }
        };
        let whole = timeout(self.timeouts.idle, read).await;
        let body = String::from_utf8_lossy(&body);
        match (whole, key) {
            (Ok(true), _) | (_, None) => body.into_owned(),
            (_, Some(key)) => key.masked_in_part(&body),
        }
    }
}

fn endpoint(config: &OpenAiConfig) -> Result<Url, OpenAiError> {
    let dialect = config.dialect;
    let base = config.base_url.as_deref().or(dialect.base_url);
    let base = base.ok_or(OpenAiError::NoBaseUrl {
        dialect: dialect.name,
    })?;
    let whole = format!("{}/chat/completions", base.trim().trim_end_matches('/'));
    let url = Url::parse(&whole).map_err(|error| OpenAiError::BaseUrl {
        reason: error.to_string(),
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(OpenAiError::Scheme {
            found: url.scheme().to_owned(),
        });
    }
    let excess = if !url.username().is_empty() || url.password().is_some() {
        "a user name or a password"
    } else if url.query().is_some() {
        "a query"
    } else if url.fragment().is_some() {
        "a fragment"
    } else {
        return Ok(url);
    };
    Err(OpenAiError::Excess { part: excess })
}

fn authorization(auth: Auth, key: &Secret) -> Result<HeaderValue, OpenAiError> {
    let key = key.expose();
    if key.trim().is_empty() {
        return Err(OpenAiError::ApiKey);
    }
    let text = match auth {
        Auth::Bearer => format!("Bearer {key}"),
    };
    let mut value = HeaderValue::try_from(text).map_err(|_| OpenAiError::ApiKey)?;
    value.set_sensitive(true);
    Ok(value)
}

fn status_line(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}
