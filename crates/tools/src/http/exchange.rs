//! One call: from its arguments to the response that is its result.

use reqwest::{
    Request, Response, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION},
};
use rustagents_core::{digest::Digest, tool::EffectClass};
use serde_json::Value;

use super::{
    MAX_URL,
    address::objection,
    body,
    client::Clients,
    declaration::Method,
    failure::Failure,
    flight::Flight,
    headers::Headers,
    hosts::{Hosts, literal},
    outcome::Outcome,
    resolver::Forbidden,
    template::Template,
};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// What a tool does in each call.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) method: Method,
    pub(super) template: Template,
    /// The arguments that the body has, where there is one.
    pub(super) body: Vec<String>,
    pub(super) hosts: Hosts,
    pub(super) headers: Headers,
    pub(super) clients: Clients,
    pub(super) private: bool,
    /// The most redirects; zero where none is followed.
    pub(super) redirects: u8,
    pub(super) effect: EffectClass,
    /// The most bytes of a result.
    pub(super) limit: usize,
}

impl Exchange {
    /// Performs one call. `flight` tells how far it got.
    pub(super) async fn run(
        &self,
        arguments: &Value,
        key: Digest,
        flight: &Flight,
    ) -> Result<Value, Failure> {
        let mut url = self.template.render(arguments)?;
        let mut headers = self.headers.map.clone();
        let mut hops = 0;
        loop {
            let request = self.request(&url, &headers, arguments, key);
            let response = self.send(request, flight).await?;
            let Some(next) = self.next(&url, &response)? else {
                return self.result(response).await;
            };
            if hops == self.redirects {
                let limit = self.redirects;
                return Err(Failure::TooManyRedirects { limit });
            }
            hops += 1;
            if next.origin() != url.origin() {
                // They are for the URL's own origin; another one could send them on.
                headers.clear();
            }
            url = next;
        }
    }

    fn request(&self, url: &Url, headers: &HeaderMap, arguments: &Value, key: Digest) -> Request {
        let mut request = Request::new(self.method.into(), url.clone());
        if !self.body.is_empty() {
            *request.body_mut() = Some(self.body_of(arguments).to_string().into());
            let json = HeaderValue::from_static("application/json");
            request.headers_mut().insert(CONTENT_TYPE, json);
        }
        request.headers_mut().extend(headers.clone());
        if self.effect != EffectClass::Repeatable
            && let Ok(key) = HeaderValue::try_from(key.to_string())
        {
            request.headers_mut().insert(IDEMPOTENCY_KEY, key);
        }
        request
    }

    fn body_of(&self, arguments: &Value) -> Value {
        let fields = self.body.iter().filter_map(|name| {
            let value = arguments.get(name)?;
            Some((name.clone(), value.clone()))
        });
        Value::Object(fields.collect())
    }

    /// Sends a request where it may go.
    async fn send(&self, request: Request, flight: &Flight) -> Result<Response, Failure> {
        let url = request.url();
        let host = url.host_str().unwrap_or_default().to_owned();
        // An address in the URL is never resolved, so that nothing else checks it.
        if let Some(address) = literal(url)
            && let Some(what) = objection(address, self.private)
        {
            return Err(Failure::Address { host, what });
        }
        let client = self.clients.of(url)?;
        let is_first = !flight.starts();
        client.execute(request).await.map_err(|error| {
            if error.is_connect() && is_first {
                flight.never_left();
            }
            self.unanswered(error, host)
        })
    }

    fn unanswered(&self, error: reqwest::Error, host: String) -> Failure {
        if let Some(forbidden) = forbidden(&error) {
            return Failure::Address {
                host,
                what: forbidden.what,
            };
        }
        let source = error.without_url();
        match (source.is_connect(), source.is_timeout()) {
            (true, true) => Failure::NoConnection {
                host,
                after: self.clients.connect,
            },
            (true, false) => Failure::Connect { host, source },
            (false, _) => Failure::Network(source),
        }
    }

    /// Where the response leads, if that is followed.
    fn next(&self, from: &Url, response: &Response) -> Result<Option<Url>, Failure> {
        if self.redirects == 0 {
            return Ok(None);
        }
        let Some(location) = location(response) else {
            return Ok(None);
        };
        if location.len() > MAX_URL {
            return Err(Failure::BadRedirect);
        }
        let mut next = from.join(&location).map_err(|_| Failure::BadRedirect)?;
        next.set_fragment(None);
        match self.hosts.redirect_objection(from, &next) {
            None => Ok(Some(next)),
            Some(why) => Err(Failure::Redirect {
                to: self.headers.masked_origin(&next),
                why,
            }),
        }
    }

    async fn result(&self, mut response: Response) -> Result<Value, Failure> {
        let body = body::read(&mut response, self.limit).await;
        let outcome = Outcome {
            status: response.status().as_u16(),
            location: location(&response),
            json: is_json(response.headers()),
            body: body.map_err(|error| Failure::Cut(error.without_url()))?,
            secrets: &self.headers.secrets,
        };
        match outcome.whole(self.limit) {
            Some(result) => Ok(result),
            // What it did is done: its status must not get lost.
            None if self.effect != EffectClass::Repeatable => Ok(outcome.cut(self.limit)),
            None => Err(Failure::OutputTooLarge { limit: self.limit }),
        }
    }
}

/// Where a redirect leads.
fn location(response: &Response) -> Option<String> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = response.headers().get(LOCATION)?;
    Some(String::from_utf8_lossy(location.as_bytes()).into_owned())
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    let kind = kind.unwrap_or_default().trim().to_ascii_lowercase();
    matches!(kind.as_str(), "application/json" | "text/json") || kind.ends_with("+json")
}

fn forbidden(error: &reqwest::Error) -> Option<&Forbidden> {
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if let Some(forbidden) = inner.downcast_ref() {
            return Some(forbidden);
        }
        cause = inner.source();
    }
    None
}
