//! JSON text in a buffer that each thread of execution keeps.

mod escape;
mod plain;

use std::cell::Cell;

use serde::Serialize;

use self::plain::{Plain, Refused};
use crate::journal::JournalError;

/// How many lists and objects may stand around one another in what is recorded.
/// Values of [`canonical::MAX_DEPTH`](crate::canonical::MAX_DEPTH) fit with room for
/// what a record puts around them.
pub const MAX_DEPTH: u8 = 96;

/// How many of them a reader takes, which is `serde_json`'s own limit. What is made of
/// records that are there may have as many: older versions wrote up to that.
pub const MAX_READ_DEPTH: u8 = 127;

/// The largest buffer that is kept.
const KEPT: usize = 64 << 10;

thread_local! {
    static TEXT: Cell<String> = const { Cell::new(String::new()) };
    static BYTES: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Why something has no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// It has more lists and objects around one another than may be.
    #[error("it is nested deeper than {limit}")]
    TooDeep {
        /// How many there may be.
        limit: u8,
    },
    /// It has no JSON form.
    #[error("{reason}")]
    Form {
        /// What the encoder says.
        reason: String,
    },
}

impl EncodeError {
    /// What the journal says where a record has no text.
    #[must_use]
    pub fn of_record(self) -> JournalError {
        match self {
            Self::TooDeep { limit } => JournalError::TooDeep { limit },
            Self::Form { reason } => JournalError::Encode { reason },
        }
    }
}

/// Encodes `value`, and hands its text to `take`: what is kept of it is then
/// allocated once, at its size. The text is that of `serde_json`, byte for byte.
///
/// # Errors
/// [`EncodeError::TooDeep`]: it is nested deeper than [`MAX_DEPTH`];
/// [`EncodeError::Form`]: what the encoder says.
pub fn json<R>(value: &impl Serialize, take: impl FnOnce(&str) -> R) -> Result<R, EncodeError> {
    json_within(MAX_DEPTH, value, take)
}

/// As [`json`], with another limit on the depth.
///
/// # Errors
/// As [`json`].
pub fn json_within<R>(
    limit: u8,
    value: &impl Serialize,
    take: impl FnOnce(&str) -> R,
) -> Result<R, EncodeError> {
    with_bytes(|bytes| {
        let plain = Plain {
            text: bytes,
            room: limit,
        };
        match value.serialize(plain) {
            Ok(()) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(take(text)),
                Err(_) => by_serde_json(limit, value, take),
            },
            Err(Refused::Unusual) => by_serde_json(limit, value, take),
            Err(Refused::TooDeep) => Err(EncodeError::TooDeep { limit }),
        }
    })
}

#[cold]
fn by_serde_json<R>(
    limit: u8,
    value: &impl Serialize,
    take: impl FnOnce(&str) -> R,
) -> Result<R, EncodeError> {
    let text = serde_json::to_string(value).map_err(|error| EncodeError::Form {
        reason: error.to_string(),
    })?;
    if depth(&text) > usize::from(limit) {
        return Err(EncodeError::TooDeep { limit });
    }
    Ok(take(&text))
}

/// How many lists and objects stand around one another in a JSON text.
///
/// ```
/// use rustagents_core::encode::depth;
/// assert_eq!(depth(r#"{"a":[1,"[["]}"#), 2);
/// ```
#[must_use]
pub fn depth(text: &str) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    let (mut in_string, mut is_escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                now += 1;
                most = most.max(now);
            }
            b']' | b'}' => now = now.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// Lends `work` a buffer of bytes, which is empty.
pub(crate) fn with_bytes<R>(work: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    // Taken, not borrowed: what is encoded may itself encode something.
    let mut bytes = BYTES.try_with(Cell::take).unwrap_or_default();
    bytes.clear();
    let done = work(&mut bytes);
    if bytes.capacity() <= KEPT {
        let _ = BYTES.try_with(|buffer| buffer.set(bytes));
    }
    done
}

/// Lends `work` a buffer, which is empty.
pub(crate) fn with_buffer<R>(work: impl FnOnce(&mut String) -> R) -> R {
    let mut text = TEXT.try_with(Cell::take).unwrap_or_default();
    text.clear();
    let done = work(&mut text);
    if text.capacity() <= KEPT {
        let _ = TEXT.try_with(|buffer| buffer.set(text));
    }
    done
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn same(value: &impl Serialize) {
        let ours = json(value, str::to_owned).map_err(drop);
        assert_eq!(ours, serde_json::to_string(value).map_err(drop));
    }

    #[derive(Serialize)]
    struct Unit;
    #[derive(Serialize)]
    struct Pair(u8, i64);
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    enum Shape {
        Dot,
        Line(i8),
        Box { wide: u16, high: Option<f32> },
        Two(i16, i32),
    }
    #[derive(Serialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        Plain { text: &'static str },
    }
    #[derive(Serialize)]
    struct Flat {
        #[serde(rename = "a \"name\"")]
        id: char,
        #[serde(flatten)]
        body: Tagged,
    }

    #[test]
    fn every_shape_is_written_as_serde_json_writes_it() {
        same(&(
            Unit,
            Pair(7, i64::MIN),
            (),
            None::<u8>,
            true,
            "ä\u{1f}\u{7f}",
        ));
        let tall = Shape::Box {
            wide: u16::MAX,
            high: Some(0.1),
        };
        same(&(Shape::Dot, Shape::Line(-3), tall, Shape::Two(-1, 2)));
        let body = Tagged::Plain {
            text: "\u{8}\t\n\u{c}\r\\\"/",
        };
        same(&Flat { id: '"', body });
        same(&(
            f64::NAN,
            f64::MIN_POSITIVE,
            f32::MAX,
            -0.0,
            1e300,
            u128::MAX,
        ));
        same(&[0, 9, 10, 99, u64::MAX]);
    }

    #[test]
    fn keys_that_are_no_strings_are_left_to_serde_json() {
        same(&BTreeMap::from([(1, "one"), (-2, "two")]));
        same(&BTreeMap::from([(true, 1)]));
        same(&BTreeMap::from([('c', 1)]));
        same(&BTreeMap::from([(vec![1], 1)]));
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<String>().prop_map(Value::from),
            ".{0,40}".prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            Just(json!(null)),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::btree_map("\\PC{0,12}|[\"\\\\\u{1}]{1,9}", inner, 0..8)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// `value` with so many lists and objects around it, by turns.
    fn nested(value: Value, depth: usize) -> Value {
        (0..depth).fold(value, |inner, level| match level % 2 {
            0 => json!([inner]),
            _ => json!({ "]}\\\"": inner, "z": [] }),
        })
    }

    /// It is left to `serde_json`, for the name of its key.
    #[derive(Serialize)]
    struct Numbered(BTreeMap<u8, Value>);

    #[test]
    fn what_is_as_deep_as_may_be_is_encoded_and_what_is_deeper_is_not() {
        for limit in [1, 2, MAX_DEPTH, MAX_READ_DEPTH] {
            let most = usize::from(limit);
            let refused = Err(EncodeError::TooDeep { limit });
            let encoded = |value: &Value| json_within(limit, value, str::len).map(drop);
            let deep = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
            assert_eq!(encoded(&deep(most)), Ok(()));
            assert_eq!(encoded(&deep(most + 1)), refused);
            let by_serde_json = |value| {
                let value = Numbered(BTreeMap::from([(1, value)]));
                json_within(limit, &value, str::len).map(drop)
            };
            assert_eq!(by_serde_json(deep(most - 1)), Ok(()));
            assert_eq!(by_serde_json(deep(most)), refused);
        }
    }

    #[test]
    fn the_name_of_a_shape_is_one_level_and_its_fields_are_another() {
        let tall = Shape::Box {
            wide: 1,
            high: None,
        };
        assert_eq!(json_within(2, &tall, str::len).map(drop), Ok(()));
        assert!(json_within(1, &tall, str::len).is_err());
        assert_eq!(json_within(1, &Shape::Line(1), str::len).map(drop), Ok(()));
        assert!(json_within(0, &Shape::Line(1), str::len).is_err());
        assert_eq!(json_within(0, &Shape::Dot, str::len).map(drop), Ok(()));
    }

    #[test]
    fn what_is_very_deep_is_refused_without_writing_it() {
        let deep = (0..5_000).fold(json!(1), |inner, _| Value::Array(vec![inner]));
        let limit = MAX_DEPTH;
        assert_eq!(json(&deep, str::len), Err(EncodeError::TooDeep { limit }));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_read_back(value in value(), around in 0_usize..140) {
            let deep = nested(value, around);
            if let Ok(text) = json_within(MAX_READ_DEPTH, &deep, str::to_owned) {
                prop_assert!(serde_json::from_str::<Value>(&text).is_ok());
                prop_assert_eq!(text, deep.to_string());
            } else {
                prop_assert!(serde_json::from_str::<Value>(&deep.to_string()).is_err());
            }
            let record = Numbered(BTreeMap::from([(0, deep)]));
            if let Ok(text) = json(&record, str::to_owned) {
                prop_assert!(serde_json::from_str::<Value>(&text).is_ok());
            }
        }

        #[test]
        fn every_value_is_written_as_serde_json_writes_it(value in value()) {
            same(&value);
        }

        #[test]
        fn every_byte_at_every_place_is_escaped_where_it_must_be(
            text in prop::collection::vec(0_u8..=0x7f, 0..40),
        ) {
            same(&text.into_iter().map(char::from).collect::<String>());
        }
    }
}
