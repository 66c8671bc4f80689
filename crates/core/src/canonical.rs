//! The one JSON form that approvals, records and tools share.
//!
//! A strict decoder refuses text that two readers could understand differently:
//! duplicate keys, deep nesting, and numbers that do not survive `i64`, `u64` or
//! `f64`. The canonical form has keys sorted by their UTF-8 bytes, no white
//! space, minimal escapes and shortest numbers; equal values have equal bytes.

use std::{fmt, sync::Arc};

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::{digest::Digest, encode};

/// The deepest nesting that is accepted.
pub const MAX_DEPTH: usize = 64;

/// A JSON value with its canonical bytes and their digest.
///
/// ```
/// use rustagents_core::canonical::Canonical;
/// let a = Canonical::parse(r#"{"b": 1.0, "a": "x"}"#)?;
/// assert_eq!(a.text(), r#"{"a":"x","b":1}"#);
/// assert!(Canonical::parse(r#"{"a":1,"a":2}"#).is_err());
/// # Ok::<(), rustagents_core::canonical::CanonicalError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Canonical {
    value: Arc<Value>,
    text: Arc<str>,
    digest: Digest,
}

impl PartialEq for Canonical {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for Canonical {}

impl Canonical {
    /// Decodes `text` strictly.
    ///
    /// # Errors
    /// [`CanonicalError`]: the text is not JSON, or could be read in two ways.
    pub fn parse(text: &str) -> Result<Self, CanonicalError> {
        check_numbers(text)?;
        let mut decoder = serde_json::Deserializer::from_str(text);
        let value = Strict { depth: 0 }
            .deserialize(&mut decoder)
            .and_then(|value| decoder.end().map(|()| value))
            .map_err(|error| CanonicalError::Json {
                reason: error.to_string(),
            })?;
        Ok(Self::from_normal(value))
    }

    /// The canonical form of a value that our own code made.
    pub fn of(value: &Value) -> Self {
        Self::from_normal(normal(value))
    }

    fn from_normal(value: Value) -> Self {
        let text: Arc<str> =
            encode::json(&value, |text| text.into()).unwrap_or_else(|_| value.to_string().into());
        Self {
            digest: Digest::of(text.as_bytes()),
            value: Arc::new(value),
            text,
        }
    }

    /// The value.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The canonical text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The canonical text, shared.
    pub fn shared_text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// The digest of the canonical bytes.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

/// Why a text has no canonical form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CanonicalError {
    /// Not JSON, a duplicate key, or nested too deeply.
    #[error("{reason}")]
    Json {
        /// What the decoder says, with line and column.
        reason: String,
    },
    /// A number that would change when it is read.
    #[error("the number `{number}` is not exact as a 64-bit integer or a double")]
    Number {
        /// The number as it stands in the text, cut at 40 characters.
        number: String,
    },
}

struct Strict {
    depth: usize,
}

impl Strict {
    fn deeper<E: serde::de::Error>(&self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH {
            return Err(E::custom(format_args!("nested deeper than {MAX_DEPTH}")));
        }
        Ok(Self {
            depth: self.depth + 1,
        })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(shortest(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.deeper()?)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format_args!("duplicate key `{key}`")));
            }
            let value = entries.next_value_seed(self.deeper()?)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

fn normal(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => number.as_f64().map_or(Value::Null, shortest),
        Value::Array(items) => Value::Array(items.iter().map(normal).collect()),
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, value)| (key.clone(), normal(value)))
                .collect(),
        ),
        other => other.clone(),
    }
}

/// The number as an integer where it is one that 64 bits hold.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the bounds above each cast make it exact"
)]
fn shortest(value: f64) -> Value {
    const I64_LIMIT: f64 = 9_223_372_036_854_775_808.0;
    const U64_LIMIT: f64 = 18_446_744_073_709_551_616.0;
    if value.fract() == 0.0 && (-I64_LIMIT..I64_LIMIT).contains(&value) {
        return Value::from(value as i64);
    }
    if value.fract() == 0.0 && (0.0..U64_LIMIT).contains(&value) {
        return Value::from(value as u64);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// Refuses a number literal that changes when it is read as `i64`, `u64` or `f64`.
fn check_numbers(text: &str) -> Result<(), CanonicalError> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at + 1),
            b'-' | b'0'..=b'9' => {
                let end = end_of_number(bytes, at);
                let literal = text.get(at..end).unwrap_or_default();
                if !survives(literal) {
                    let number = literal.chars().take(40).collect();
                    return Err(CanonicalError::Number { number });
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    Ok(())
}

fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

fn end_of_number(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    let part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    start + rest.iter().take_while(|byte| part(byte)).count()
}

fn survives(literal: &str) -> bool {
    if literal.parse::<i64>().is_ok() || literal.parse::<u64>().is_ok() {
        return true;
    }
    match literal.parse::<f64>() {
        Ok(value) if value.is_finite() => {
            // Where two shortest decimals are equally near, the standard library may
            // choose one and the encoder of the canonical form the other.
            let written = |text: &str| decimal(literal) == decimal(text);
            written(&format!("{value:e}"))
                || serde_json::to_string(&value).is_ok_and(|text| written(&text))
        }
        // Not a number at all: the JSON decoder says so, with a place.
        _ => literal.parse::<f64>().is_err(),
    }
}

/// A decimal literal as (digits without outer zeros, power of ten of the last digit).
fn decimal(literal: &str) -> Option<(String, i64)> {
    let literal = literal.trim_start_matches('-');
    let (mantissa, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let kept = digits.trim_end_matches('0');
    let power = exponent.parse::<i64>().ok()? - i64::try_from(fraction.len()).ok()?
        + i64::try_from(digits.len() - kept.len()).ok()?;
    let kept = kept.trim_start_matches('0').to_owned();
    Some(if kept.is_empty() {
        (kept, 0)
    } else {
        (kept, power)
    })
}
