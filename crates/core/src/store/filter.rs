//! Conditions on values. They are evaluated here for all backends, so that all
//! agree on what a condition means.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::StoreError;

/// The most conditions of a filter.
pub const MAX_CONDITIONS: usize = 32;

/// The longest path into a value, in bytes.
pub const MAX_PATH_BYTES: usize = 1_024;

/// The way to a part of a value: member names, and places of an array from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValuePath(Vec<String>);

impl ValuePath {
    /// Reads a JSON pointer (`/user/tags/0`) or a path with dots (`user.tags.0`).
    /// Who has names with dots or slashes in them takes the pointer, in which
    /// `~1` stands for `/` and `~0` for `~`. The empty text is the whole value.
    ///
    /// # Errors
    /// [`StoreError::Malformed`]: it is too long, or has an empty name between dots.
    ///
    /// ```
    /// use rustagents_core::store::ValuePath;
    /// assert_eq!(ValuePath::parse("/user/name")?, ValuePath::parse("user.name")?);
    /// assert!(ValuePath::parse("user..name").is_err());
    /// # Ok::<(), rustagents_core::store::StoreError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        if text.len() > MAX_PATH_BYTES {
            let rule = "a path into a value has at most 1024 bytes";
            return Err(StoreError::Malformed { rule });
        }
        if text.is_empty() {
            return Ok(Self::default());
        }
        if let Some(pointer) = text.strip_prefix('/') {
            let names = pointer.split('/');
            let names = names.map(|name| name.replace("~1", "/").replace("~0", "~"));
            return Ok(Self(names.collect()));
        }
        if text.split('.').any(str::is_empty) {
            let rule = "a path with dots has a name on each side of each dot";
            return Err(StoreError::Malformed { rule });
        }
        Ok(Self(text.split('.').map(str::to_owned).collect()))
    }

    /// What stands there in `value`.
    pub fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(value, |value, name| match value {
            Value::Object(members) => members.get(name),
            Value::Array(elements) => elements.get(place(name)?),
            _ => None,
        })
    }
}

/// A place in an array has one spelling: no sign, and no zeros before it.
fn place(name: &str) -> Option<usize> {
    let canonical = name == "0" || !name.starts_with(['0', '+']);
    canonical.then(|| name.parse().ok()).flatten()
}

/// What must hold of a part of a value.
///
/// Numbers are equal if they have the same worth, so `1` is `1.0`. The four
/// orders hold between two numbers or two texts, the latter by their bytes, and
/// between nothing else. Where there is nothing, only `NotEqual` and
/// `Exists(false)` hold.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Test {
    /// It is equal.
    Equal(Value),
    /// It is not equal, or is not there.
    NotEqual(Value),
    /// It is greater.
    Greater(Value),
    /// It is greater or equal.
    AtLeast(Value),
    /// It is less.
    Less(Value),
    /// It is less or equal.
    AtMost(Value),
    /// Whether it is there, even if it is `null`.
    Exists(bool),
}

impl Test {
    /// Whether it holds of `found`.
    pub fn holds(&self, found: Option<&Value>) -> bool {
        let order = |wanted| found.and_then(|found| order(found, wanted));
        match self {
            Self::Equal(wanted) => found.is_some_and(|found| same(found, wanted)),
            Self::NotEqual(wanted) => !found.is_some_and(|found| same(found, wanted)),
            Self::Greater(wanted) => order(wanted).is_some_and(Ordering::is_gt),
            Self::AtLeast(wanted) => order(wanted).is_some_and(Ordering::is_ge),
            Self::Less(wanted) => order(wanted).is_some_and(Ordering::is_lt),
            Self::AtMost(wanted) => order(wanted).is_some_and(Ordering::is_le),
            Self::Exists(wanted) => found.is_some() == *wanted,
        }
    }
}

/// A test of what stands at a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Where.
    pub path: ValuePath,
    /// What must hold there.
    pub test: Test,
}

/// Conditions that must all hold. The empty filter lets everything through.
///
/// ```
/// use rustagents_core::store::{Filter, Test};
/// use serde_json::json;
/// let filter = Filter::default()
///     .and("kind", Test::Equal(json!("note")))?
///     .and("stars", Test::AtLeast(json!(3)))?;
/// assert!(filter.matches(&json!({"kind": "note", "stars": 4.5})));
/// assert!(!filter.matches(&json!({"kind": "note"})));
/// # Ok::<(), rustagents_core::store::StoreError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter(Vec<Condition>);

impl Filter {
    /// One condition more, on a path as [`ValuePath::parse`] reads it.
    ///
    /// # Errors
    /// [`StoreError::Malformed`]: the path is not valid, or there are
    /// [`MAX_CONDITIONS`] conditions already.
    pub fn and(mut self, path: &str, test: Test) -> Result<Self, StoreError> {
        if self.0.len() >= MAX_CONDITIONS {
            let rule = "a filter has at most 32 conditions";
            return Err(StoreError::Malformed { rule });
        }
        let path = ValuePath::parse(path)?;
        self.0.push(Condition { path, test });
        Ok(self)
    }

    /// The conditions.
    pub fn conditions(&self) -> &[Condition] {
        &self.0
    }

    /// Whether all conditions hold of `value`.
    pub fn matches(&self, value: &Value) -> bool {
        let mut conditions = self.0.iter();
        conditions.all(|condition| condition.test.holds(condition.path.find(value)))
    }
}

/// Whether two values are the same, with numbers by their worth.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => numbers(one, other) == Some(Ordering::Equal),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has = |(name, value)| other.get(name).is_some_and(|found| same(value, found));
            one.len() == other.len() && one.iter().all(has)
        }
        (one, other) => one == other,
    }
}

fn order(found: &Value, wanted: &Value) -> Option<Ordering> {
    match (found, wanted) {
        (Value::Number(found), Value::Number(wanted)) => numbers(found, wanted),
        (Value::String(found), Value::String(wanted)) => Some(found.cmp(wanted)),
        _ => None,
    }
}

fn numbers(one: &Number, other: &Number) -> Option<Ordering> {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        (Some(one), None) => whole_and_part(one, other.as_f64()?),
        (None, Some(other)) => whole_and_part(other, one.as_f64()?).map(Ordering::reverse),
        (None, None) => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

/// Compares exactly, where turning the whole number into a float would round it.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the cast saturates, and whole numbers of JSON are far from the limits"
)]
fn whole_and_part(whole: i128, float: f64) -> Option<Ordering> {
    let by_whole = whole.cmp(&(float.trunc() as i128));
    Some(by_whole.then(0.0.partial_cmp(&float.fract())?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn holds(value: &Value, path: &str, test: Test) -> bool {
        let filter = Filter::default().and(path, test);
        filter.is_ok_and(|filter| filter.matches(value))
    }

    #[test]
    fn paths_go_through_objects_and_arrays() {
        let value = json!({"a": [{"b.c": 1, "d/~": 2}], "": 3});
        assert!(holds(&value, "/a/0/b.c", Test::Equal(json!(1))));
        assert!(holds(&value, "/a/0/d~1~0", Test::Equal(json!(2))));
        assert!(holds(&value, "/", Test::Equal(json!(3))));
        assert!(holds(&value, "a.0", Test::Exists(true)));
        for path in ["a.00", "a.+0", "a.1", "a.0.b", "/a/0/b.c/d"] {
            assert!(holds(&value, path, Test::Exists(false)), "{path}");
        }
        assert!(holds(&json!(7), "", Test::Equal(json!(7))));
    }

    #[test]
    fn numbers_compare_by_their_worth_and_exactly() {
        let large = json!(u64::MAX);
        assert!(holds(
            &large,
            "",
            Test::Less(json!(18_446_744_073_709_551_616.0))
        ));
        assert!(holds(&json!(1), "", Test::Equal(json!(1.0))));
        assert!(holds(
            &json!([1, {"a": 2.0}]),
            "",
            Test::Equal(json!([1.0, {"a": 2}]))
        ));
        assert!(holds(&json!(-2), "", Test::Less(json!(-1.5))));
        assert!(holds(&json!(-1), "", Test::Greater(json!(-1.5))));
        assert!(holds(&json!(1.5), "", Test::Greater(json!(1))));
        assert!(holds(
            &json!(9_007_199_254_740_993_i64),
            "",
            Test::Greater(json!(9_007_199_254_740_992.0))
        ));
        assert!(holds(&json!(1e300), "", Test::Greater(json!(u64::MAX))));
    }

    #[test]
    fn orders_hold_between_like_and_like_only() {
        assert!(holds(&json!("b"), "", Test::Greater(json!("a"))));
        for value in [json!("1"), json!(null), json!([1]), json!(true)] {
            for test in [Test::Greater(json!(0)), Test::AtMost(json!(9))] {
                assert!(!holds(&value, "", test));
            }
        }
        assert!(!holds(&json!({}), "a", Test::Less(json!(1))));
        assert!(holds(&json!({}), "a", Test::NotEqual(json!(1))));
        assert!(holds(&json!({"a": null}), "a", Test::Exists(true)));
    }
}
