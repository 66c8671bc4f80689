//! Values that no record, event, error or log ever holds.

use std::{cell::Cell, fmt};

use serde::{Serialize, Serializer, ser::Error as _};
use serde_json::Value;

/// What stands in the place of a secret.
pub const MASK: &str = "***";

thread_local! {
    /// Whether secrets are encoded as [`MASK`] instead of being refused.
    static MASKS: Cell<bool> = const { Cell::new(false) };
}

/// A value that is shown as `***` and cannot be written anywhere.
///
/// Whatever holds one has no JSON form: a write of it to a channel, an input, a step's
/// input or result, a stored item is refused before anything is recorded, and the
/// error names the place, not the value. The result of a tool was got by an effect
/// that must not be lost: there, [`MASK`] is recorded in the secret's place.
///
/// ```
/// use rustagents_core::secret::Secret;
///
/// let key = Secret::new("sk-made-up");
/// assert_eq!(format!("{key} {key:?}"), "*** ***");
/// assert!(serde_json::to_value(&key).is_err());
/// assert_eq!(*key.expose(), "sk-made-up");
/// ```
///
/// It cannot be read from JSON either, since what was there is no secret any more: so
/// no tool takes one as an argument, and no step gives one back.
///
/// ```compile_fail,E0277
/// use rustagents_core::secret::Secret;
/// serde_json::from_str::<Secret<String>>("\"sk-made-up\"");
/// ```
#[derive(Clone, Default)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Takes the value.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value, for the one place that needs it.
    pub const fn expose(&self) -> &T {
        &self.0
    }

    /// The value itself.
    pub fn into_exposed(self) -> T {
        self.0
    }
}

impl<T> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl<T> fmt::Display for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl<T> Serialize for Secret<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if MASKS.with(Cell::get) {
            return serializer.serialize_str(MASK);
        }
        Err(S::Error::custom(
            "it holds a secret, which is never recorded or printed",
        ))
    }
}

/// The JSON form of `value`, with [`MASK`] in the place of each secret: for what must
/// not be lost, since the effect that it comes of has happened.
///
/// # Errors
/// What the encoder says of anything else.
pub fn masked(value: &impl Serialize) -> Result<Value, serde_json::Error> {
    /// Ends the masking, also where the encoder panics.
    struct Masking(bool);
    impl Drop for Masking {
        fn drop(&mut self) {
            MASKS.with(|masks| masks.set(self.0));
        }
    }
    let _masking = Masking(MASKS.with(|masks| masks.replace(true)));
    serde_json::to_value(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::encode;

    #[derive(Debug, Serialize)]
    struct Account {
        name: &'static str,
        keys: Vec<Secret<String>>,
    }

    fn account() -> Account {
        Account {
            name: "desk",
            keys: vec![Secret::new("hunter2".to_owned())],
        }
    }

    #[test]
    fn a_secret_is_shown_as_a_mask() {
        let shown = format!("{:?} {:#?} {}", account(), account(), account().keys[0]);
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains(MASK));
    }

    #[test]
    fn nothing_that_holds_one_is_encoded() {
        for error in [
            serde_json::to_value(account()).unwrap_err().to_string(),
            serde_json::to_string(&account()).unwrap_err().to_string(),
            encode::json(&account(), str::to_owned)
                .unwrap_err()
                .to_string(),
        ] {
            assert!(error.contains("secret") && !error.contains("hunter2"));
        }
    }

    #[test]
    fn what_must_not_be_lost_is_masked_and_only_there() {
        let masked = masked(&account()).unwrap();
        assert_eq!(masked, json!({ "name": "desk", "keys": ["***"] }));
        assert!(serde_json::to_value(account()).is_err());
    }

    #[test]
    fn a_panic_of_the_encoder_ends_the_masking() {
        struct Panics;
        impl Serialize for Panics {
            fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                panic!("as planned")
            }
        }
        let caught = std::panic::catch_unwind(|| masked(&Panics).is_ok());
        assert!(caught.is_err());
        assert!(serde_json::to_value(account()).is_err());
    }
}
