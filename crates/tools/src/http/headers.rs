//! The headers that a tool declares.

use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use rustagents_http::Secret;

use crate::DeclarationError;

use super::{
    MASK,
    declaration::{Header, HeaderText},
};

/// What the client says itself, or what would change how a message is read.
const OWN: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "idempotency-key",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Checked headers, and the secrets in them. What is shown of it holds none.
#[derive(Debug)]
pub(super) struct Headers {
    pub(super) map: HeaderMap,
    pub(super) secrets: Vec<Secret>,
}

impl Headers {
    pub(super) fn new(declared: Vec<Header>) -> Result<Self, DeclarationError> {
        let mut map = HeaderMap::new();
        let mut secrets = Vec::new();
        for Header { name, text } in declared {
            let refused = |reason| DeclarationError::Header {
                // It may hold anything, and a message is one line.
                name: name.replace(char::is_control, " "),
                reason,
            };
            let key = HeaderName::try_from(&name).map_err(|_| refused("that is no name of one"))?;
            if OWN.contains(&key.as_str()) {
                return Err(refused("the client says it itself"));
            }
            let value = value(&text).ok_or_else(|| refused("its value is none of a header"))?;
            if map.insert(key, value).is_some() {
                return Err(refused("it is there twice"));
            }
            if let HeaderText::Secret { secret, .. } = text {
                secrets.push(secret);
            }
        }
        Ok(Self { map, secrets })
    }

    /// The origin of `url`, or nothing of it where a server put a secret into it.
    pub(super) fn masked_origin(&self, url: &Url) -> String {
        let origin = url.origin().ascii_serialization();
        let mut secrets = self.secrets.iter().map(Secret::expose);
        let is_in = |secret: &str| {
            // A host is in lower case, whatever the secret was.
            !secret.is_empty() && origin.contains(&secret.to_ascii_lowercase())
        };
        if secrets.any(is_in) {
            return MASK.to_owned();
        }
        origin
    }
}

fn value(text: &HeaderText) -> Option<HeaderValue> {
    match text {
        HeaderText::Plain(text) => HeaderValue::try_from(text).ok(),
        HeaderText::Secret { prefix, secret } => {
            let whole = format!("{prefix}{}", secret.expose());
            let mut value = HeaderValue::try_from(whole).ok()?;
            value.set_sensitive(true);
            Some(value)
        }
    }
}
