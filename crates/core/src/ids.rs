//! Names of things: newtypes over shared text, validated where people type them.
//!
//! Threads and runs are named by people or by an [`Ids`] source. Tasks and
//! questions are named by their position; calls and messages are counted through
//! the thread in the order in which they are recorded, and found again by the
//! records that name them.

use std::{
    borrow::Borrow,
    cmp::Ordering,
    fmt::{self, Write},
    hash::{Hash, Hasher},
    sync::Arc,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use self::Part::{Number, Text};
use crate::{
    code::{Code, Coded},
    encode,
};

/// The longest name of a thread, in bytes.
pub const MAX_THREAD_BYTES: usize = 255;

macro_rules! told_as_text {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.as_str())
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                self.as_str()
            }
        }
    };
}

macro_rules! text_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            fn of(text: Arc<str>) -> Self {
                Self(text)
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        told_as_text! { $name }
    )*};
}

/// Ids that nearly every record has with the same text. That one is kept nowhere, so that
/// its clones are not counted: counting takes as long as much else that a step does.
macro_rules! usual_ids {
    ($($(#[$doc:meta])* $name:ident = $usual:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq)]
        pub struct $name(Option<Arc<str>>);

        impl $name {
            const USUAL: Self = Self(None);

            fn of(text: Arc<str>) -> Self {
                Self((&*text != $usual).then_some(text))
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                self.0.as_deref().unwrap_or($usual)
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> Ordering {
                match (&self.0, &other.0) {
                    (None, None) => Ordering::Equal,
                    _ => self.as_str().cmp(other.as_str()),
                }
            }
        }

        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.as_str().hash(state);
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Arc::deserialize(deserializer).map(Self::of)
            }
        }

        told_as_text! { $name }
    )*};
}

macro_rules! from_text {
    ($($name:ident)*) => {$(
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::of(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self::of(text.into())
            }
        }

        impl From<fmt::Arguments<'_>> for $name {
            fn from(text: fmt::Arguments<'_>) -> Self {
                Self::of(shared(text))
            }
        }
    )*};
}

usual_ids! {
    /// A branch of a thread; the first one is `main`.
    Branch = "main";
    /// Where in the run tree a chain belongs; the root's is empty.
    Namespace = "";
}
text_ids! {
    /// The name of a thread: 1 to 255 bytes, no control characters, no `@`, no
    /// `-` at the start.
    ThreadId;
    /// The name of a run: one input up to its terminal outcome.
    RunId;
    /// A node of a graph.
    NodeName;
    /// One activation of a node, such as `refunds:2.0`: node, number of the
    /// checkpoint that names it, place in the step.
    TaskId;
    /// A tool call, such as `c-3`; unique in its thread.
    CallId;
    /// A message, such as `m-7`; unique in its thread.
    MessageId;
    /// A question that waits for a person.
    AskId;
    /// The unique key of a fact.
    FactKey;
}
from_text! { RunId Branch Namespace NodeName TaskId CallId MessageId AskId FactKey }

impl ThreadId {
    /// A thread's name from text that a person typed.
    ///
    /// # Errors
    /// [`ThreadNameError`] says which rule the text breaks.
    pub fn new(text: &str) -> Result<Self, ThreadNameError> {
        if text.is_empty() {
            return Err(ThreadNameError::Empty);
        }
        if text.len() > MAX_THREAD_BYTES {
            return Err(ThreadNameError::TooLong { bytes: text.len() });
        }
        if text.starts_with('-') {
            return Err(ThreadNameError::Dash);
        }
        if let Some(found) = text.chars().find(|c| c.is_control() || *c == '@') {
            return Err(ThreadNameError::Character { found });
        }
        Ok(Self::of(text.into()))
    }
}

/// Why a text cannot name a thread.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ThreadNameError {
    /// There is no text.
    #[error("a thread's name is empty")]
    Empty,
    /// The text is longer than [`MAX_THREAD_BYTES`].
    #[error("a thread's name has {bytes} bytes, more than {MAX_THREAD_BYTES}")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// The text starts like an option of a command line.
    #[error("a thread's name starts with `-`")]
    Dash,
    /// The text holds a character that names must not have.
    #[error("a thread's name holds {found:?}")]
    Character {
        /// The character.
        found: char,
    },
}

impl Coded for ThreadNameError {
    fn code(&self) -> Code {
        Code::ThreadName
    }

    fn hint(&self) -> Option<String> {
        Some(format!(
            "use 1 to {MAX_THREAD_BYTES} bytes without control characters and `@`, not starting with `-`"
        ))
    }
}

impl Branch {
    /// The branch that every thread starts with.
    pub fn main() -> Self {
        Self::USUAL
    }
}

impl Namespace {
    /// The namespace of a run's own chain.
    pub fn root() -> Self {
        Self::USUAL
    }

    /// The namespace of `task` inside this one.
    #[must_use]
    pub fn child(&self, task: &TaskId) -> Self {
        if self.is_root() {
            Self::of(Arc::clone(&task.0))
        } else {
            Self::from(format!("{self}/{task}"))
        }
    }

    /// How many tasks lie in each other here; 0 at the root.
    pub fn depth(&self) -> usize {
        if self.is_root() {
            return 0;
        }
        1 + self.as_str().matches('/').count()
    }

    /// The namespace around this one, and the task whose namespace this is there; `None`
    /// at the root.
    ///
    /// ```
    /// use rustagents_core::ids::{Namespace, TaskId};
    ///
    /// let inner = Namespace::from("pay:1.0/charge:2.0");
    /// let (outer, task) = inner.split().unwrap();
    /// assert_eq!((outer.as_str(), task.as_str()), ("pay:1.0", "charge:2.0"));
    /// assert_eq!(outer.split().unwrap(), (Namespace::root(), TaskId::from("pay:1.0")));
    /// assert!(Namespace::root().split().is_none());
    /// ```
    pub fn split(&self) -> Option<(Self, TaskId)> {
        if self.is_root() {
            return None;
        }
        let (outer, task) = match self.as_str().rsplit_once('/') {
            Some((outer, task)) => (Self::from(outer), task),
            None => (Self::root(), self.as_str()),
        };
        Some((outer, TaskId::from(task)))
    }

    /// Whether this is `outer`, or inside it.
    ///
    /// ```
    /// use rustagents_core::ids::Namespace;
    ///
    /// let outer = Namespace::from("pay:1.0");
    /// assert!(Namespace::from("pay:1.0/charge:2.0").is_in(&outer));
    /// assert!(outer.is_in(&outer) && outer.is_in(&Namespace::root()));
    /// assert!(!Namespace::from("pay:1.01").is_in(&outer));
    /// ```
    pub fn is_in(&self, outer: &Self) -> bool {
        let rest = self.as_str().strip_prefix(outer.as_str());
        outer.is_root() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Whether this is the root.
    pub fn is_root(&self) -> bool {
        self.0.is_none()
    }
}

impl TaskId {
    /// The id of the task at place `index` of superstep `step`.
    pub fn derive(node: &NodeName, step: u64, index: usize) -> Self {
        let index = index as u64;
        Self(joined(&[
            Text(&node.0),
            Text(":"),
            Number(step),
            Text("."),
            Number(index),
        ]))
    }
}

impl TaskId {
    /// The node that the task activates.
    pub fn node(&self) -> NodeName {
        let node = self.0.rsplit_once(':').map_or(&*self.0, |(node, _)| node);
        NodeName::from(node)
    }

    /// The place in its step, from 0; 0 where the id has none.
    pub fn place(&self) -> u64 {
        self.placed().map_or(0, |(_, place)| place)
    }

    /// The id of the task `places` further on in the same step.
    #[must_use]
    pub fn moved(&self, places: u64) -> Self {
        let (step, place) = self.placed().unwrap_or((&self.0, 0));
        let place = place.saturating_add(places);
        Self(joined(&[Text(step), Text("."), Number(place)]))
    }

    fn placed(&self) -> Option<(&str, u64)> {
        let (step, place) = self.0.rsplit_once('.')?;
        Some((step, place.parse().ok()?))
    }
}

impl CallId {
    /// The id of the thread's call number `number`.
    pub fn numbered(number: u64) -> Self {
        Self(joined(&[Text("c-"), Number(number)]))
    }

    /// The number in the id; 0 where it has none.
    pub fn number(&self) -> u64 {
        numbered(&self.0, "c-")
    }
}

impl From<&CallId> for AskId {
    /// A question that has the name of the call that it is about.
    fn from(call: &CallId) -> Self {
        Self(Arc::clone(&call.0))
    }
}

impl FactKey {
    /// The key of these parts: the same as formatting them, in a fraction of the time.
    pub fn joined(parts: &[Part<'_>]) -> Self {
        Self(joined(parts))
    }
}

impl MessageId {
    /// The id of the thread's message number `number`.
    pub fn numbered(number: u64) -> Self {
        Self(joined(&[Text("m-"), Number(number)]))
    }

    /// The number in the id; 0 where it has none.
    pub fn number(&self) -> u64 {
        numbered(&self.0, "m-")
    }
}

/// Formats into one allocation.
pub(crate) fn shared(text: fmt::Arguments<'_>) -> Arc<str> {
    encode::with_buffer(|buffer| {
        // Writing to a text cannot fail; a `Display` that says so has no more to say.
        let _ = buffer.write_fmt(text);
        buffer.as_str().into()
    })
}

/// A part of an id.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// Text, as it is.
    Text(&'a str),
    /// A number, in decimal digits.
    Number(u64),
}

/// Joins parts as formatting them does, in a fraction of the time.
fn joined(parts: &[Part<'_>]) -> Arc<str> {
    encode::with_buffer(|buffer| {
        for part in parts {
            match part {
                Text(text) => buffer.push_str(text),
                Number(number) => buffer.push_str(itoa::Buffer::new().format(*number)),
            }
        }
        buffer.as_str().into()
    })
}

fn numbered(text: &str, prefix: &str) -> u64 {
    text.strip_prefix(prefix)
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(0)
}

/// Where names of threads and runs come from.
pub trait Ids: Send + Sync {
    /// A name that was never given before.
    fn fresh(&self) -> String;
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};

    use super::*;

    #[test]
    fn the_usual_branch_and_namespace_are_like_others() {
        let texts = ["main", "", "a", "main/a", "n"];
        let branches = texts.map(Branch::from);
        let told = texts.map(|text| serde_json::to_value(Branch::from(text)).unwrap());
        assert_eq!(told, texts);
        let read = told.map(|told| serde_json::from_value::<Branch>(told).unwrap());
        assert_eq!(branches, read);
        assert_eq!(
            (&branches[0], branches[0].as_str()),
            (&Branch::main(), "main")
        );
        let sorted: BTreeSet<Branch> = branches.into();
        let sorted: Vec<&str> = sorted.iter().map(Branch::as_str).collect();
        assert_eq!(sorted, ["", "a", "main", "main/a", "n"]);
        let found: HashSet<Namespace> = texts.map(Namespace::from).into();
        assert!(texts.iter().all(|text| found.contains(*text)));
        assert!(Namespace::from("").is_root() && !Namespace::from("main").is_root());
        assert_eq!(
            format!("{:?} {}", Namespace::root(), Branch::main()),
            "\"\" main"
        );
    }

    #[test]
    fn ids_are_what_formatting_would_make_of_their_parts() {
        let long = "n".repeat(300);
        for number in [0, 9, 10, 4_711, u64::MAX] {
            assert_eq!(CallId::numbered(number).as_str(), format!("c-{number}"));
            assert_eq!(CallId::numbered(number).number(), number);
            for node in ["ä", long.as_str()] {
                let task = TaskId::derive(&NodeName::from(node), number, 7);
                assert_eq!(task.as_str(), format!("{node}:{number}.7"));
                assert_eq!(task.place(), 7);
                assert_eq!(task.moved(3), TaskId::derive(&task.node(), number, 10));
            }
        }
    }
}
