//! What is said to the questions of a run.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::answers::Decision;

/// Answers to the questions of a run: `()`, pairs of a question's id and JSON, a map
/// of them, or [`Decision`]s.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decisions(Vec<Decision>);

impl Decisions {
    pub(super) fn as_slice(&self) -> &[Decision] {
        &self.0
    }
}

impl<K: ToString, V: Into<Value>> FromIterator<(K, V)> for Decisions {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(answers: I) -> Self {
        let answers = answers.into_iter();
        let answers = answers.map(|(id, value)| Decision::Answer {
            ask: id.to_string(),
            value: value.into(),
        });
        Self(answers.collect())
    }
}

impl From<()> for Decisions {
    fn from((): ()) -> Self {
        Self::default()
    }
}

impl From<Decision> for Decisions {
    fn from(decision: Decision) -> Self {
        Self(vec![decision])
    }
}

impl From<Vec<Decision>> for Decisions {
    fn from(decisions: Vec<Decision>) -> Self {
        Self(decisions)
    }
}

impl<K: ToString, V: Into<Value>, const N: usize> From<[(K, V); N]> for Decisions {
    fn from(answers: [(K, V); N]) -> Self {
        answers.into_iter().collect()
    }
}

impl<K: ToString, V: Into<Value>> From<Vec<(K, V)>> for Decisions {
    fn from(answers: Vec<(K, V)>) -> Self {
        answers.into_iter().collect()
    }
}

impl<K: ToString, V: Into<Value>> From<BTreeMap<K, V>> for Decisions {
    fn from(answers: BTreeMap<K, V>) -> Self {
        answers.into_iter().collect()
    }
}

impl<K: ToString, V: Into<Value>, H> From<HashMap<K, V, H>> for Decisions {
    fn from(answers: HashMap<K, V, H>) -> Self {
        answers.into_iter().collect()
    }
}
