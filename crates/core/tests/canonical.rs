use proptest::prelude::*;
use rustagents_core::canonical::{Canonical, MAX_DEPTH};
use serde_json::Value;

fn text(source: &str) -> Result<String, String> {
    Canonical::parse(source)
        .map(|c| c.text().to_owned())
        .map_err(|e| e.to_string())
}

#[test]
fn equal_values_have_equal_bytes() {
    let cases = [
        (r#"{"b":1,"a":2}"#, r#"{"a":2,"b":1}"#),
        (" [ 1.0 , 1e0, 10e-1 ] ", "[1,1,1]"),
        ("1e16", "10000000000000000"),
        ("100000000000000000000", "1e+20"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("0.10", "0.1"),
        ("18446744073709551615", "18446744073709551615"),
        // Two shortest decimals of this number are equally near.
        ("-203581044839182.12", "-203581044839182.12"),
        (r#""\u00e9\/""#, "\"é/\""),
        ("\"\\u0001\"", "\"\\u0001\""),
    ];
    for (source, expected) in cases {
        assert_eq!(text(source).as_deref(), Ok(expected), "{source}");
    }
}

#[test]
fn what_two_readers_could_read_differently_is_refused() {
    let deep = format!("{}{}", "[".repeat(MAX_DEPTH + 1), "]".repeat(MAX_DEPTH + 1));
    let cases = [
        (r#"{"a":1,"a":1}"#, "duplicate key `a`"),
        (r#"{"x":{"a":1,"\u0061":2}}"#, "duplicate key `a`"),
        ("0.1000000000000000055511151231257827", "not exact"),
        ("18446744073709551617", "not exact"),
        ("1e400", "not exact"),
        (deep.as_str(), "nested deeper than 64"),
        ("[1,]", "trailing comma"),
        ("{} {}", "trailing"),
        ("", "EOF"),
        ("01", "invalid number"),
        ("--1", "invalid number"),
        ("NaN", "expected value"),
    ];
    for (source, expected) in cases {
        let error = text(source).expect_err(source);
        assert!(error.contains(expected), "{source}: {error}");
    }
}

#[test]
fn the_deepest_accepted_nesting_is_accepted() {
    let source = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
    assert_eq!(text(&source), Ok(source));
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(".{0,4}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn canonical_text_is_a_fixed_point(value in json()) {
        let first = Canonical::of(&value);
        let again = Canonical::parse(first.text()).unwrap();
        prop_assert_eq!(first.text(), again.text());
        prop_assert_eq!(first.digest(), again.digest());
        prop_assert_eq!(first.value(), again.value());
    }

    #[test]
    fn any_text_gets_a_verdict(source in ".{0,64}") {
        let strict = Canonical::parse(&source).is_ok();
        let loose = serde_json::from_str::<Value>(&source).is_ok();
        prop_assert!(loose || !strict);
    }
}
