//! Which schemas are known to compile without being compiled.

use serde_json::{Map, Value};

/// The names of JSON's types.
const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// Whether `schema` is of an object and made of common keywords alone, each with a
/// value that it may have. Such a schema compiles. Of any other one only its
/// compilation tells, such as one with a reference.
pub(super) fn is_plain(schema: &Value) -> bool {
    schema.get("type").is_some_and(|name| name == "object") && is_part(schema)
}

fn is_part(schema: &Value) -> bool {
    match schema {
        Value::Bool(_) => true,
        Value::Object(keywords) => keywords.iter().all(|(name, value)| fits(name, value)),
        _ => false,
    }
}

fn fits(keyword: &str, value: &Value) -> bool {
    match keyword {
        "title" | "description" => value.is_string(),
        "default" | "const" => true,
        "type" => is_type(value),
        "enum" => value.as_array().is_some_and(|values| !values.is_empty()),
        "properties" => value.as_object().is_some_and(are_parts),
        "additionalProperties" | "items" => is_part(value),
        "required" => is_set(value, |_| true),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            value.is_u64()
        }
        "uniqueItems" => value.is_boolean(),
        "pattern" => value.as_str().is_some_and(is_plain_pattern),
        _ => false,
    }
}

/// The longest pattern that is looked at, in bytes.
const MAX_PATTERN: usize = 100;

/// The most repetitions of a part of a pattern; a pattern that grows is bounded, too.
const MAX_REPEATS: u32 = 64;

/// Whether `pattern` is a list of letters, digits and classes of them, each repeated
/// or not, perhaps from the start or to the end: what each engine takes, and no more.
fn is_plain_pattern(pattern: &str) -> bool {
    let rest = pattern.strip_prefix('^').unwrap_or(pattern);
    let mut rest = rest.strip_suffix('$').unwrap_or(rest);
    while !rest.is_empty() {
        match after_part(rest).and_then(after_repeat) {
            Some(next) => rest = next,
            None => return false,
        }
    }
    pattern.len() <= MAX_PATTERN
}

/// What follows the class or the character at the start.
fn after_part(pattern: &str) -> Option<&str> {
    if let Some(class) = pattern.strip_prefix('[') {
        let (class, rest) = class.split_once(']')?;
        return is_plain_class(class).then_some(rest);
    }
    let literal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ' ' | '@' | ':');
    pattern.strip_prefix(literal)
}

/// Whether `class` has letters, digits, ranges of them in their order, and perhaps `_`
/// before and `-` at its end.
fn is_plain_class(class: &str) -> bool {
    let class = class.strip_suffix('-').unwrap_or(class);
    let mut left = class.as_bytes();
    while let [first, others @ ..] = left {
        left = match others {
            [b'-', last, rest @ ..] => {
                let same = |kind: fn(&u8) -> bool| kind(first) && kind(last);
                let kinds = [
                    u8::is_ascii_digit,
                    u8::is_ascii_lowercase,
                    u8::is_ascii_uppercase,
                ];
                if first > last || !kinds.into_iter().any(same) {
                    return false;
                }
                rest
            }
            rest if first.is_ascii_alphanumeric() || *first == b'_' => rest,
            _ => return false,
        };
    }
    !class.is_empty()
}

/// What follows the repetition at the start, where there is one.
fn after_repeat(pattern: &str) -> Option<&str> {
    if let Some(rest) = pattern.strip_prefix(['?', '*', '+']) {
        return Some(rest);
    }
    let Some(counts) = pattern.strip_prefix('{') else {
        return Some(pattern);
    };
    let (counts, rest) = counts.split_once('}')?;
    let (least, most) = counts.split_once(',').unwrap_or((counts, counts));
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u32>().ok()).flatten()
    };
    let (least, most) = (number(least)?, number(most)?);
    (least <= most && most <= MAX_REPEATS).then_some(rest)
}

fn are_parts(properties: &Map<String, Value>) -> bool {
    properties.values().all(is_part)
}

fn is_type(value: &Value) -> bool {
    match value {
        Value::String(name) => TYPES.contains(&name.as_str()),
        Value::Array(names) => !names.is_empty() && is_set(value, |name| TYPES.contains(&name)),
        _ => false,
    }
}

/// Whether `value` is a list of texts for which `holds` does, none of them twice.
fn is_set(value: &Value, holds: impl Fn(&str) -> bool) -> bool {
    let Some(values) = value.as_array() else {
        return false;
    };
    let mut seen = std::collections::BTreeSet::new();
    values.iter().all(|value| {
        let text = value.as_str();
        text.is_some_and(|text| holds(text) && seen.insert(text))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rustagents_core::tool::ToolSpec;
    use serde_json::json;

    use super::*;
    use crate::tools::compile;

    /// Values that some keyword can have, and others that none can.
    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-3_i64..40).prop_map(Value::from),
            (-2.0..2.0_f64).prop_map(Value::from),
            prop::sample::select(&["object", "string", "integer", "nope", "a", "(", ""][..])
                .prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((keyword(), inner), 0..4)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    fn keyword() -> impl Strategy<Value = String> {
        let names = [
            "type",
            "title",
            "description",
            "default",
            "const",
            "enum",
            "properties",
            "additionalProperties",
            "items",
            "required",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "minProperties",
            "maxProperties",
            "uniqueItems",
            "pattern",
            "$ref",
            "x",
        ];
        prop::sample::select(names.map(str::to_owned).to_vec())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        #[test]
        fn what_is_plain_compiles(pairs in prop::collection::vec((keyword(), value()), 0..5)) {
            let mut schema: Map<String, Value> = pairs.into_iter().collect();
            schema.insert("type".into(), "object".into());
            let spec = ToolSpec::new("tool", "Does it.", Value::Object(schema));
            if is_plain(&spec.input_schema) {
                prop_assert!(compile(&spec).is_ok(), "{}", spec.input_schema);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        #[test]
        fn a_pattern_that_is_plain_compiles(
            pattern in r"\^?([a-zA-Z0-9_ @:-]|\[[a-zA-Z0-9_^-]{0,5}\]|[?*+]|\{[0-9]{0,2},?[0-9]{0,2}\}|[(|.\\])*\$?",
        ) {
            let schema = json!({"type": "object", "properties": {"p": {"pattern": pattern}}});
            let spec = ToolSpec::new("tool", "Does it.", schema);
            if is_plain(&spec.input_schema) {
                prop_assert!(compile(&spec).is_ok(), "{}", spec.input_schema);
            }
        }
    }

    #[test]
    fn patterns_of_letters_and_digits_are_plain() {
        let plain = [
            "^[A-Z]-[0-9]{4}$",
            "",
            "^$",
            "abc",
            "[a-zA-Z0-9_-]+",
            "x{2,4}y?",
            "[_]",
        ];
        let other = [
            "(",
            "a|b",
            "a.b",
            r"\d",
            "[",
            "[]",
            "[^a]",
            "[z-a]",
            "[A-z]",
            "a**",
            "*",
            "a{4,2}",
            "a{,2}",
            "a{2,}",
            "a{999}",
            "é",
            "a$b",
            "[a--b]",
            "[[:alpha:]]",
        ];
        for pattern in plain {
            assert!(is_plain_pattern(pattern), "{pattern}");
        }
        for pattern in other {
            assert!(!is_plain_pattern(pattern), "{pattern}");
        }
        assert!(!is_plain_pattern(&"a".repeat(101)));
    }

    #[test]
    fn each_keyword_with_a_value_that_it_may_have_is_plain_and_compiles() {
        let cases = [
            json!({"properties": {"order": {"type": "string", "minLength": 1, "maxLength": 9}}}),
            json!({"additionalProperties": false, "required": ["a", "b"]}),
            json!({"additionalProperties": {"type": ["string", "null"]}, "minProperties": 1}),
            json!({"properties": {"n": {"type": "integer", "minimum": 1, "exclusiveMaximum": 2.5}}}),
            json!({"properties": {"l": {"items": {"enum": [1, "a", null]}, "uniqueItems": true}}}),
            json!({"title": "t", "description": "d", "default": {}, "maxProperties": 3}),
            json!({"properties": {"x": true, "y": {"const": [1], "minItems": 0, "maxItems": 2}}}),
        ];
        for mut schema in cases {
            schema["type"] = "object".into();
            let spec = ToolSpec::new("tool", "Does it.", schema);
            assert!(is_plain(&spec.input_schema), "{}", spec.input_schema);
            assert!(compile(&spec).is_ok(), "{}", spec.input_schema);
        }
    }

    #[test]
    fn what_may_not_compile_is_not_plain() {
        for (keyword, value) in [
            ("type", json!("nope")),
            ("type", json!([])),
            ("type", json!(["string", "string"])),
            ("required", json!("a")),
            ("required", json!(["a", "a"])),
            ("required", json!([1])),
            ("properties", json!([])),
            ("properties", json!({"a": {"type": "nope"}})),
            ("items", json!([])),
            ("additionalProperties", json!(1)),
            ("enum", json!("a")),
            ("minimum", json!("1")),
            ("minLength", json!(-1)),
            ("maxItems", json!(1.5)),
            ("uniqueItems", json!(1)),
            ("description", json!(1)),
            ("pattern", json!("(")),
            ("pattern", json!(1)),
            ("$ref", json!("#/nowhere")),
            ("allOf", json!([])),
        ] {
            let schema = json!({"type": "object", "properties": {"p": {keyword: value}}});
            assert!(!is_plain(&schema), "{schema}");
        }
        for root in [
            json!({}),
            json!({"type": ["object"]}),
            json!({"type": "string"}),
            json!(true),
        ] {
            assert!(!is_plain(&root), "{root}");
        }
    }
}
