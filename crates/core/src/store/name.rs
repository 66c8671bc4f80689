//! Namespaces and keys: where an item stands.

use std::{borrow::Borrow, fmt, sync::Arc};

use serde::{Deserialize, Serialize};

/// The most parts of a namespace.
pub const MAX_PARTS: usize = 16;

/// The longest part of a namespace, in bytes.
pub const MAX_PART_BYTES: usize = 255;

/// The longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 512;

/// What stands behind each part in the encoded form. It is less than any byte
/// that a part may hold, so encoded namespaces sort as their lists of parts do.
const END: char = '\u{1f}';

/// The character after [`END`]: what is below a namespace sorts before it.
const AFTER_END: char = ' ';

/// A namespace: a path of 0 to 16 parts, each of 1 to 255 bytes without control
/// characters. The path without parts is the root, above all others.
///
/// ```
/// use rustagents_core::store::NamespacePath;
/// let user = NamespacePath::new(["users", "42"])?;
/// let taste = user.child("preferences")?;
/// assert!(user.holds(&taste) && user < taste);
/// assert_eq!(taste.to_string(), "users/42/preferences");
/// assert!(NamespacePath::new(["users", ""]).is_err());
/// # Ok::<(), rustagents_core::store::NameError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct NamespacePath(Arc<str>);

impl NamespacePath {
    /// The namespace above all others.
    pub fn root() -> Self {
        Self::default()
    }

    /// The namespace with these parts.
    ///
    /// # Errors
    /// [`NameError`] says which rule they break.
    pub fn new<P: AsRef<str>>(parts: impl IntoIterator<Item = P>) -> Result<Self, NameError> {
        let mut text = String::new();
        for (index, part) in parts.into_iter().enumerate() {
            if index == MAX_PARTS {
                return Err(NameError::TooDeep);
            }
            check_text("part of a namespace", part.as_ref(), MAX_PART_BYTES)?;
            text.push_str(part.as_ref());
            text.push(END);
        }
        Ok(Self(text.into()))
    }

    /// The namespace with one part more.
    ///
    /// # Errors
    /// [`NameError`] says which rule the part breaks.
    pub fn child(&self, part: &str) -> Result<Self, NameError> {
        Self::new(self.parts().chain([part]))
    }

    /// The parts, from the outermost.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split_terminator(END)
    }

    /// How many parts there are.
    pub fn depth(&self) -> usize {
        self.parts().count()
    }

    /// Whether `other` is this namespace or stands below it.
    pub fn holds(&self, other: &Self) -> bool {
        other.0.starts_with(&*self.0)
    }

    /// The namespace of the first `depth` parts.
    #[must_use]
    pub fn cut(&self, depth: usize) -> Self {
        let kept = self.0.split_inclusive(END).take(depth);
        Self(kept.collect::<String>().into())
    }

    /// The form in which a backend may keep it: each part, and U+001F behind each.
    /// Its bytes sort as namespaces do.
    pub fn encoded(&self) -> &str {
        &self.0
    }

    /// Reads the encoded form.
    ///
    /// # Errors
    /// [`NameError`]: it is no encoded namespace.
    pub fn decode(text: &str) -> Result<Self, NameError> {
        let path = Self::new(text.split_terminator(END))?;
        if *path.0 == *text {
            return Ok(path);
        }
        Err(NameError::Empty {
            what: "part of a namespace",
        })
    }

    /// The least text that sorts after the encoded forms of this namespace and of
    /// all below it; `None` for the root, which all are below.
    pub fn encoded_end(&self) -> Option<String> {
        let inner = self.0.strip_suffix(END)?;
        let mut end = String::with_capacity(self.0.len());
        end.push_str(inner);
        end.push(AFTER_END);
        Some(end)
    }
}

/// As its encoded form, which is equal and sorts just as the namespace does.
impl Borrow<str> for NamespacePath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NamespacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.parts().enumerate() {
            f.write_str(if index == 0 { "" } else { "/" })?;
            f.write_str(part)?;
        }
        Ok(())
    }
}

impl fmt::Debug for NamespacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.parts()).finish()
    }
}

impl TryFrom<Vec<String>> for NamespacePath {
    type Error = NameError;

    fn try_from(parts: Vec<String>) -> Result<Self, NameError> {
        Self::new(parts)
    }
}

impl From<NamespacePath> for Vec<String> {
    fn from(path: NamespacePath) -> Self {
        path.parts().map(str::to_owned).collect()
    }
}

/// A key in a namespace: 1 to 512 bytes without control characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ItemKey(Arc<str>);

impl ItemKey {
    /// The key with this text.
    ///
    /// # Errors
    /// [`NameError`] says which rule it breaks.
    pub fn new(text: &str) -> Result<Self, NameError> {
        check_text("key", text, MAX_KEY_BYTES)?;
        Ok(Self(text.into()))
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for ItemKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl TryFrom<String> for ItemKey {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        Self::new(&text)
    }
}

impl From<ItemKey> for String {
    fn from(key: ItemKey) -> Self {
        key.0.as_ref().to_owned()
    }
}

/// Where an item stands. Addresses sort by namespace, then by key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Address {
    /// The namespace.
    pub namespace: NamespacePath,
    /// The key.
    pub key: ItemKey,
}

impl Address {
    /// The address with these parts and this key.
    ///
    /// # Errors
    /// [`NameError`] says which rule they break.
    pub fn new<P: AsRef<str>>(
        namespace: impl IntoIterator<Item = P>,
        key: &str,
    ) -> Result<Self, NameError> {
        Ok(Self {
            namespace: NamespacePath::new(namespace)?,
            key: ItemKey::new(key)?,
        })
    }

    /// The bytes of both names.
    pub fn bytes(&self) -> usize {
        self.namespace.0.len() + self.key.0.len()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.namespace, self.key)
    }
}

fn check_text(what: &'static str, text: &str, limit: usize) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty { what });
    }
    if text.len() > limit {
        let bytes = text.len();
        return Err(NameError::TooLong { what, bytes, limit });
    }
    match text.chars().find(|c| c.is_control()) {
        Some(found) => Err(NameError::Character { what, found }),
        None => Ok(()),
    }
}

/// Why a text cannot name a namespace or an item.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// There is no text.
    #[error("a {what} is empty")]
    Empty {
        /// What it would name.
        what: &'static str,
    },
    /// The text is too long.
    #[error("a {what} has {bytes} bytes, more than {limit}")]
    TooLong {
        /// What it would name.
        what: &'static str,
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// The text holds a control character.
    #[error("a {what} holds {found:?}")]
    Character {
        /// What it would name.
        what: &'static str,
        /// The character.
        found: char,
    },
    /// There are more than [`MAX_PARTS`] parts.
    #[error("a namespace has more than {MAX_PARTS} parts")]
    TooDeep,
}
