//! JSON text in a buffer that each thread of execution keeps.

mod escape;
mod plain;

use std::cell::Cell;

use serde::Serialize;

use self::plain::Plain;

/// The largest buffer that is kept.
const KEPT: usize = 64 << 10;

thread_local! {
    static TEXT: Cell<String> = const { Cell::new(String::new()) };
    static BYTES: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Encodes `value`, and hands its text to `take`: what is kept of it is then
/// allocated once, at its size. The text is that of `serde_json`, byte for byte.
///
/// # Errors
/// What the encoder says.
pub fn json<R>(value: &impl Serialize, take: impl FnOnce(&str) -> R) -> Result<R, String> {
    with_bytes(|bytes| {
        let written = value.serialize(Plain(bytes)).ok();
        match written.and_then(|()| std::str::from_utf8(bytes).ok()) {
            Some(text) => Ok(take(text)),
            None => serde_json::to_string(value)
                .map(|text| take(&text))
                .map_err(|error| error.to_string()),
        }
    })
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

    proptest! {
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
