//! A key that is never shown.

use std::fmt;

/// What stands in the place of a key.
const MASK: &str = "***";

/// A text that is shown as `***`, whoever asks.
///
/// ```
/// use rustagents_http::Secret;
/// assert_eq!(format!("{:?}", Secret::new("sk-made-up")), "***");
/// ```
///
/// It cannot be turned into JSON, so no store and no record takes it:
///
/// ```compile_fail,E0277
/// use rustagents_http::Secret;
/// serde_json::to_value(Secret::new("sk-made-up"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes the text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the one header that holds it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// `text` without the secret.
    pub fn masked_in(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        text.replace(&self.0, MASK)
    }

    /// The start of a text, without the secret and without the start of it that
    /// the cut may have left.
    pub fn masked_in_part(&self, start: &str) -> String {
        let masked = self.masked_in(start);
        let parts = self.0.char_indices().rev().map(|(at, _)| self.0.get(..at));
        let mut parts = parts.flatten().filter(|part| !part.is_empty());
        match parts.find_map(|part| masked.strip_suffix(part)) {
            Some(rest) => format!("{rest}{MASK}"),
            None => masked,
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}
