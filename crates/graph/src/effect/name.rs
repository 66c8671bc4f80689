//! How a step is named, for people and in the keys of its facts.

use std::fmt::{self, Write};

use rustagents_core::{
    digest::Digest,
    ids::{AskId, FactKey, Namespace},
    tool::EffectClass,
};

use super::{MAX_NAME_BYTES, StepError};

/// The name of a step and its key, as `NAME` or `NAME:KEY`. What the keys of facts
/// and the names of questions need for themselves is escaped, so that no two pairs
/// share a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StepName(String);

impl StepName {
    /// # Errors
    /// [`StepError::Name`].
    pub(super) fn new(name: &str, key: Option<&str>) -> Result<Self, StepError> {
        let mut text = String::new();
        escape(&mut text, "name", name)?;
        if let Some(key) = key {
            text.push(':');
            escape(&mut text, "key", key)?;
        }
        Ok(Self(text))
    }
}

impl fmt::Display for StepName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn escape(into: &mut String, what: &'static str, text: &str) -> Result<(), StepError> {
    if !(1..=MAX_NAME_BYTES).contains(&text.len()) {
        let bytes = text.len();
        return Err(StepError::Name { what, bytes });
    }
    for c in text.chars() {
        if c.is_control() || matches!(c, '%' | '/' | '#' | ':' | '=') {
            let mut utf8 = [0; 4];
            for byte in c.encode_utf8(&mut utf8).bytes() {
                // Writing to a text cannot fail.
                let _ = write!(into, "%{byte:02X}");
            }
        } else {
            into.push(c);
        }
    }
    Ok(())
}

/// One step of one task: `NAMESPACE/NAME#N`, where N counts the steps of a name in
/// the order in which they are made.
#[derive(Clone, Debug)]
pub(super) struct StepId {
    pub(super) name: StepName,
    path: String,
    namespace: usize,
}

impl StepId {
    pub(super) fn new(namespace: &Namespace, name: StepName, number: u32) -> Self {
        Self {
            path: format!("{namespace}/{name}#{number}"),
            namespace: namespace.as_str().len() + 1,
            name,
        }
    }

    /// The step that the records of a task name `label`.
    pub(super) fn recorded(namespace: &Namespace, label: &str) -> Option<Self> {
        let (name, number) = label.rsplit_once('#')?;
        let name = StepName(name.to_owned());
        Some(Self::new(namespace, name, number.parse().ok()?))
    }

    /// The step inside its task, such as `charge#1`.
    pub(super) fn label(&self) -> &str {
        self.path.get(self.namespace..).unwrap_or(&self.path)
    }

    /// The key of its result in try `tries` at the task. What must not run twice is
    /// done for all tries.
    pub(super) fn result(&self, effect: EffectClass, tries: u32) -> FactKey {
        if tries == 1 || effect == EffectClass::Once {
            return FactKey::from(format_args!("step/{}/result", self.path));
        }
        FactKey::from(format_args!("step/{}/result/{tries}", self.path))
    }

    /// The key of its result where the first one has another input.
    pub(super) fn result_on(&self, input: Digest, tries: u32) -> FactKey {
        FactKey::from(format_args!("step/{}/result/{tries}/{input}", self.path))
    }

    /// The key of the fact that start `number` of it is near.
    pub(super) fn intent(&self, number: u32) -> FactKey {
        FactKey::from(format_args!("step/{}/intent/{number}", self.path))
    }

    /// The key of the fact that start `number` of it did nothing.
    pub(super) fn released(&self, number: u32) -> FactKey {
        FactKey::from(format_args!("step/{}/released/{number}", self.path))
    }

    /// The question whether start `number` took effect, asked for the `time`th time.
    pub(super) fn doubt(&self, number: u32, time: u32) -> AskId {
        if time == 1 {
            return AskId::from(format_args!("{}/doubt/{number}", self.path));
        }
        AskId::from(format_args!("{}/doubt/{number}/{time}", self.path))
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]
mod tests {
    use super::*;

    fn name(name: &str, key: Option<&str>) -> String {
        StepName::new(name, key).unwrap().to_string()
    }

    #[test]
    fn no_two_names_share_a_text() {
        assert_eq!(name("charge", Some("A-17")), "charge:A-17");
        assert_ne!(name("a", Some("b:c")), name("a:b", Some("c")));
        assert_ne!(name("a:b", None), name("a", Some("b")));
        assert_eq!(name("GET /ä#1\n", None), "GET %2Fä%231%0A");
    }

    #[test]
    fn names_and_keys_have_one_to_200_bytes() {
        let long = "n".repeat(201);
        for (name, key) in [
            ("", None),
            (&*long, None),
            ("n", Some("")),
            ("n", Some(&long)),
        ] {
            StepName::new(name, key).unwrap_err();
        }
        StepName::new(&"n".repeat(200), None).unwrap();
    }

    #[test]
    fn only_what_must_not_run_twice_is_found_by_a_later_try() {
        let name = StepName::new("charge", None).unwrap();
        let step = StepId::new(&Namespace::from("pay:1.0"), name, 2);
        assert_eq!(step.label(), "charge#2");
        let again = StepId::recorded(&Namespace::from("pay:1.0"), "charge#2").unwrap();
        assert_eq!(again.to_string(), step.to_string());
        let (once, again) = (EffectClass::Once, EffectClass::Repeatable);
        assert_eq!(
            step.result(again, 1).as_str(),
            "step/pay:1.0/charge#2/result"
        );
        assert_eq!(
            step.result(again, 3).as_str(),
            "step/pay:1.0/charge#2/result/3"
        );
        assert_eq!(step.result(once, 3), step.result(once, 1));
    }
}
