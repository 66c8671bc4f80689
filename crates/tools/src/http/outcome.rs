//! A response as the result of a call.

use base64::{Engine, engine::general_purpose::STANDARD};
use rustagents_http::Secret;
use serde_json::{Map, Value, json};

use super::{MASK, body::Body};

/// What of a response becomes a result.
#[derive(Debug)]
pub(super) struct Outcome<'a> {
    pub(super) status: u16,
    /// Where a redirect that was not followed leads.
    pub(super) location: Option<String>,
    /// Whether the body says that it is JSON.
    pub(super) json: bool,
    pub(super) body: Body,
    /// What no result may hold, even where the server repeats it.
    pub(super) secrets: &'a [Secret],
}

impl Outcome<'_> {
    /// The whole response; `None` where it is over `limit` bytes as JSON.
    pub(super) fn whole(&self, limit: usize) -> Option<Value> {
        if !self.body.whole {
            return None;
        }
        let mut result = self.head();
        if let Some(location) = &self.location {
            result.insert("location".into(), self.masked(location).into());
        }
        if !self.body.bytes.is_empty() {
            result.insert("body".into(), self.body());
        }
        let result = Value::Object(result);
        (result.to_string().len() <= limit).then_some(result)
    }

    /// As much of the response as `limit` bytes hold, as text.
    pub(super) fn cut(&self, limit: usize) -> Value {
        let mut result = self.head();
        result.insert("truncated".into(), true.into());
        let location = self.location.as_deref().map(|text| self.masked(text));
        if let Some(location) = location.filter(|text| text.len() <= limit / 4) {
            result.insert("location".into(), location.into());
        }
        result.insert("body".into(), json!({ "base64": "" }));
        // A secret that is cut in two ends as its mask.
        let masks = self.secrets.len() * MASK.len();
        let used = Value::Object(result.clone()).to_string().len() + masks;
        let body = self.cut_body(limit.saturating_sub(used));
        result.insert("body".into(), body);
        Value::Object(result)
    }

    fn head(&self) -> Map<String, Value> {
        Map::from_iter([("status".to_owned(), self.status.into())])
    }

    fn body(&self) -> Value {
        let bytes = &self.body.bytes;
        if self.json
            && let Ok(mut value) = serde_json::from_slice(bytes)
        {
            self.mask(&mut value);
            return value;
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => self.masked(text).into(),
            Err(_) => json!({ "base64": STANDARD.encode(self.masked_bytes()) }),
        }
    }

    fn cut_body(&self, room: usize) -> Value {
        let bytes = &self.body.bytes;
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => Some(text),
            // Only the last character is cut.
            Err(error) if error.error_len().is_none() && !self.body.whole => bytes
                .get(..error.valid_up_to())
                .and_then(|bytes| std::str::from_utf8(bytes).ok()),
            Err(_) => None,
        };
        if let Some(text) = text {
            let start = start(&self.masked(text), room);
            let mut secrets = self.secrets.iter();
            return secrets
                .try_fold(start, |text, secret| Some(secret.masked_in_part(&text)))
                .into();
        }
        let masked = self.masked_bytes();
        let bytes = masked.get(..room / 4 * 3).unwrap_or(&masked);
        json!({ "base64": STANDARD.encode(bytes) })
    }

    fn masked(&self, text: &str) -> String {
        let secrets = self.secrets.iter();
        secrets.fold(text.to_owned(), |text, secret| secret.masked_in(&text))
    }

    fn masked_bytes(&self) -> Vec<u8> {
        let secrets = self.secrets.iter().map(|secret| secret.expose().as_bytes());
        secrets.fold(self.body.bytes.clone(), |bytes, secret| {
            without(&bytes, secret)
        })
    }

    /// Escapes are gone in a parsed value, so that a secret cannot hide behind one.
    fn mask(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.masked(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask(item)),
            Value::Object(fields) => {
                let owned = std::mem::take(fields);
                fields.extend(owned.into_iter().map(|(key, mut value)| {
                    self.mask(&mut value);
                    (self.masked(&key), value)
                }));
            }
            Value::Number(number) => {
                let text = number.to_string();
                let masked = self.masked(&text);
                if masked != text {
                    *value = masked.into();
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

/// As much of `text` as takes `room` bytes in JSON, without the quotes.
fn start(text: &str, room: usize) -> String {
    let mut left = room;
    let fits = |character: &char| {
        let size = match character {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            '\0'..='\u{1f}' => 6,
            other => other.len_utf8(),
        };
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    };
    text.chars().take_while(fits).collect()
}

/// `bytes` with the mask in the place of each `secret`.
fn without(bytes: &[u8], secret: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        if !secret.is_empty()
            && let Some(after) = rest.strip_prefix(secret)
        {
            kept.extend_from_slice(MASK.as_bytes());
            rest = after;
        } else {
            kept.push(*first);
            rest = after;
        }
    }
    kept
}
